#include "dsl/cpu/folds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "dsl/element.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

// Elements that are summed in the accumulators before they go to a double: keeps the error of a sum at that of a short
// one.
constexpr std::int64_t kRowBlock = 4096;
constexpr std::int64_t kRowsPerFlush = 256;
constexpr std::int64_t kMomentRows = 64;  // whose columns are read twice: they stay in the second-level cache
constexpr int kHoistedLet = 1000;         // lets of our own, beyond those that a program has
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kOnlineBlock = 2048;  // read and written, and the next one fetched, in the first-level cache
// What is fetched ahead: so many elements at a time, so many bytes ahead. A row longer than this would push itself out
// of the first-level cache, were the next one fetched there.
constexpr std::int64_t kFetchBlock = 64;
constexpr std::int64_t kFetchAhead = 2048;
constexpr std::int64_t kNearRow = 16 << 10;

// A range of a loop: constants where they are known.
struct Range {
  std::string begin = "0", end;
  std::optional<std::int64_t> count;  // end - begin, when it is a constant
};

Range Whole(const LoopDim& dim) { return {.begin = "0", .end = fmt::format("{}", dim.extent), .count = dim.extent}; }

std::string Plus(const std::string& a, const std::string& b) { return a == "0" ? b : b == "0" ? a : a + " + " + b; }
std::string Plus(const std::string& a, std::int64_t b) { return Plus(a, fmt::format("{}", b)); }
std::string Lesser(const std::string& a, const std::string& b) { return fmt::format("{} < {} ? {} : {}", a, b, a, b); }

// Whether an operator may stand beside the text without parentheses: nothing but a name, an element or a call.
bool IsAtom(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ' ' && depth == 0) return false;
  }
  return true;
}

class FoldEmitter {
 public:
  FoldEmitter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : kernel_(kernel),
        writer_(writer),
        loops_(program, kernel),
        target_type_(CppName(program.buffers[static_cast<std::size_t>(kernel.target)].dtype)) {
    rows_ = loops_.dims.back().reduced;
    bool any = false;
    for (const auto& dim : loops_.dims) any |= dim.reduced;
    if (!any) {  // a fold over one element
      LoopDim one = loops_.dims[0];
      one.extent = 1;
      one.reduced = true;
      std::fill(one.strides.begin(), one.strides.end(), 0);
      one.target_stride = 0;
      one.var = "r";
      loops_.dims.insert(loops_.dims.begin(), one);
    }
    for (std::size_t d = 0; d < loops_.dims.size(); ++d) (loops_.dims[d].reduced ? reduced_ : kept_).push_back(d);
    accumulators_ = std::max<std::int64_t>(1, IntSetting(kernel, "accumulators"));
    columns_ = std::max<std::int64_t>(1, IntSetting(kernel, "columns"));
    split_ = std::max<std::int64_t>(1, IntSetting(kernel, "split"));
    kept_count_ = loops_.Count(false);
    reduced_count_ = 1;
    for (const auto d : reduced_) reduced_count_ *= loops_.dims[d].extent;
    index_ = loops_.Vars();
    // The dense position of a row among the rows.
    kept_strides_.assign(loops_.dims.size(), 0);
    std::int64_t step = 1;
    for (std::size_t n = kept_.size(); n-- > 0; step *= loops_.dims[kept_[n]].extent) kept_strides_[kept_[n]] = step;
    // The dimension that is cut: the longest one, the outer one of equals; its rows then lie apart.
    split_dim_ = reduced_[0];
    for (const auto d : reduced_) {
      if (loops_.dims[d].extent > loops_.dims[split_dim_].extent) split_dim_ = d;
    }
    const std::int64_t extent = loops_.dims[split_dim_].extent;
    const std::int64_t grain = split_dim_ + 1 == loops_.dims.size() ? 64 : 1;
    chunk_ = (extent + split_ - 1) / split_;
    chunk_ = (chunk_ + grain - 1) / grain * grain;
    if (chunk_ > 0) split_ = (extent + chunk_ - 1) / chunk_;
    if (split_ < 1) split_ = 1;
    const std::string fetch = kernel.family->keeps_axes && rows_ ? WordSetting(kernel, "prefetch") : "no";
    if (fetch == "ahead") fetch_ = Fetch::kAhead;
    if (fetch == "row" && !kept_.empty()) fetch_ = Fetch::kRow;
    if (!rows_) {
      const LoopDim& inner = loops_.dims.back();
      columns_ = std::min(columns_, inner.extent);
      even_columns_ = columns_ > 0 && inner.extent % columns_ == 0;
      column_ = writer_.Fresh("c");
    }
  }

  void Emit(const std::vector<FoldPass>& wanted, const Expr& wanted_result) {
    std::vector<FoldPass> passes = wanted;
    if (AreMoments(wanted)) passes = {{.items = {wanted[0].items[0], wanted[1].items[0]}, .keep = {}, .moments = true}};
    const bool by_blocks = passes[0].online && passes[0].keep;
    const Expr result = kernel_.family->keeps_axes && !by_blocks ? Hoist(wanted_result) : wanted_result;
    for (const auto& pass : passes) {
      for (const auto& item : pass.items) {
        const bool itself = item.finish->kind == Expr::Kind::kLoad && item.finish->buffer == kItOperand;
        if (item.fold == ReduceOp::kMax && itself) maxima_[kLetOperand - item.let] = item.body;
      }
    }
    if (split_ > 1) return EmitSplit(passes, result);
    OpenKept(/*with_chunks=*/false);
    for (const auto& pass : passes) {
      last_pass_ = &pass == &passes.back();
      const auto folded = Pass(pass, Ranges({}));
      Finish(pass, folded);
    }
    WriteHoisted();
    Result(result, Ranges({}));
    CloseKept();
  }

 private:
  const LoopDim& Dim(std::size_t d) const { return loops_.dims[d]; }

  // --- Loops over what is not folded.

  // Opens the loops over rows (or blocks of columns), shared out to the threads or run by each.
  void OpenKept(bool with_chunks, bool shared = true) {
    std::size_t count = kept_.size() + (with_chunks ? 1 : 0);
    if (count > 0 && shared) writer_.ParallelFor(static_cast<int>(count));
    if (with_chunks) {
      chunk_var_ = chunk_var_.empty() ? writer_.Fresh("s") : chunk_var_;
      writer_.Open(For(chunk_var_, split_));
    }
    for (const auto d : kept_) {
      if (!rows_ && d + 1 == loops_.dims.size()) {
        start_ = Dim(d).var + "0";
        writer_.Open(
            fmt::format("for (long {} = 0; {} < {}; {} += {})", start_, start_, Dim(d).extent, start_, columns_));
        if (!even_columns_) {
          width_ = width_.empty() ? writer_.Fresh("width") : width_;
          writer_.Line(fmt::format("const long {} = {} - {} < {} ? {} - {} : {};", width_, Dim(d).extent, start_,
                                   columns_, Dim(d).extent, start_, columns_));
        } else {
          width_ = fmt::format("{}", columns_);
        }
        index_[d] = fmt::format("{} + {}", start_, column_);
      } else {
        writer_.Open(For(Dim(d).var, Dim(d).extent));
      }
    }
    depth_ = count;
    if (with_chunks) WriteChunk();
  }
  // The bounds of this chunk.
  void WriteChunk() {
    chunk_begin_ = chunk_begin_.empty() ? writer_.Fresh("begin") : chunk_begin_;
    chunk_end_ = chunk_end_.empty() ? writer_.Fresh("end") : chunk_end_;
    const std::int64_t extent = Dim(split_dim_).extent;
    writer_.Line(fmt::format("const long {} = {} * {};", chunk_begin_, chunk_var_, chunk_));
    if (extent % chunk_ == 0) {
      writer_.Line(fmt::format("const long {} = {} + {};", chunk_end_, chunk_begin_, chunk_));
    } else {
      const std::string end = fmt::format("{} + {}", chunk_begin_, chunk_);
      writer_.Line(fmt::format("const long {} = {};", chunk_end_, Lesser(end, fmt::format("{}", extent))));
    }
  }
  void CloseKept() {
    for (std::size_t n = 0; n < depth_; ++n) writer_.Close();
  }

  std::vector<Range> Ranges(std::optional<Range> chunk) const {
    std::vector<Range> ranges;
    for (std::size_t d = 0; d < loops_.dims.size(); ++d)
      ranges.push_back(chunk && d == split_dim_ ? *chunk : Whole(Dim(d)));
    return ranges;
  }
  Range Chunk() const {
    const std::int64_t extent = Dim(split_dim_).extent;
    return {
        .begin = chunk_begin_, .end = chunk_end_, .count = extent % chunk_ == 0 ? std::optional(chunk_) : std::nullopt};
  }
  std::string ColumnLoop() const {
    return fmt::format("for (long {} = 0; {} < {}; ++{})", column_, column_, width_, column_);
  }

  // --- Expressions.

  std::string LoadText(const ExprNode& load, const std::vector<std::string>& index, const std::string& it) const {
    if (load.buffer >= 0) return loops_.Element(writer_, load.buffer, index);
    if (load.buffer == kItOperand) return it;
    if (load.buffer == kKeptOperand) return loops_.TargetElement(writer_, index);
    return lets_.at(kLetOperand - load.buffer);
  }
  std::vector<std::string> Texts(const std::vector<Expr>& exprs, const std::vector<std::string>& index,
                                 const std::string& it = "") {
    ExprWriter expr(writer_, [&, index, it](const ExprNode& load) { return LoadText(load, index, it); });
    // Nothing is above a maximum that was folded from the same.
    expr.KnowNotAboveZero([&](const ExprNode& exp) {
      const Expr& argument = exp.operands[0];
      if (argument->kind != Expr::Kind::kBinary || argument->binary != BinaryOp::kSub) return false;
      const Expr& top = argument->operands[1];
      if (top->kind != Expr::Kind::kLoad) return false;
      const auto maximum = maxima_.find(top->buffer);
      return maximum != maxima_.end() && SameExpr(maximum->second, argument->operands[0]);
    });
    return expr.Texts(exprs);
  }

  // --- Folding.

  std::string Start(const FoldPass::Item& item) const {
    const bool real = item.body->type == ScalarType::kReal;
    switch (item.fold) {
      case ReduceOp::kProd: return real ? writer_.Number(1) : "1";
      case ReduceOp::kMax:
        return real ? "-__builtin_inf" + std::string(writer_.wide() ? "()" : "f()") : "(-__LONG_MAX__ - 1)";
      case ReduceOp::kMin: return real ? "__builtin_inf" + std::string(writer_.wide() ? "()" : "f()") : "__LONG_MAX__";
      default: return real ? writer_.Number(0) : "0";
    }
  }
  std::string Clause(const FoldPass::Item& item) {
    const bool real = item.body->type == ScalarType::kReal;
    switch (item.fold) {
      case ReduceOp::kProd: return "*";
      case ReduceOp::kMax: return real ? writer_.MapMax(true) : "max";
      case ReduceOp::kMin: return real ? writer_.MapMax(false) : "min";
      default: return "+";
    }
  }
  static bool Adds(const FoldPass::Item& item) { return item.fold == ReduceOp::kSum || item.fold == ReduceOp::kProd; }
  // "a + b", "Max(a, b)".
  std::string Join(const FoldPass::Item& item, const std::string& a, const std::string& b) {
    switch (item.fold) {
      case ReduceOp::kProd: return fmt::format("{} * {}", Wrap(a), Wrap(b));
      case ReduceOp::kMax: return fmt::format("{}({}, {})", writer_.Helper(item.nans ? "Max" : "Larger"), a, b);
      case ReduceOp::kMin: return fmt::format("{}({}, {})", writer_.Helper("Min"), a, b);
      default: return fmt::format("{} + {}", a, Wrap(b));
    }
  }
  static std::string Wrap(const std::string& text) { return IsAtom(text) ? text : "(" + text + ")"; }
  std::string Update(const FoldPass::Item& item, const std::string& into, const std::string& value) {
    if (item.fold == ReduceOp::kSum) return fmt::format("{} += {};", into, value);
    if (item.fold == ReduceOp::kProd) return fmt::format("{} *= {};", into, value);
    return fmt::format("{} = {};", into, Join(item, value, into));  // the test for a NaN is then not in the chain
  }
  // A balanced combination: (a + b) + (c + d).
  std::string JoinAll(const FoldPass::Item& item, std::vector<std::string> parts) {
    while (parts.size() > 1) {
      std::vector<std::string> next;
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
        std::string pair = Join(item, parts[i], parts[i + 1]);
        if (parts.size() > 2 && Adds(item)) pair = "(" + pair + ")";
        next.push_back(std::move(pair));
      }
      if (parts.size() % 2) next.push_back(parts.back());
      parts = std::move(next);
    }
    return parts[0];
  }
  std::string TypeOf(const FoldPass::Item& item) const { return writer_.TypeName(item.body->type); }
  // Sums and products of many blocks are kept in double.
  std::string TotalType(const FoldPass::Item& item) const {
    return Adds(item) && item.body->type == ScalarType::kReal ? "double" : TypeOf(item);
  }

  // What a pass leaves: the text of each item's folded value, for one row or for column `column_`.
  using Folded = std::vector<std::string>;

  Folded Pass(const FoldPass& pass, const std::vector<Range>& ranges) {
    if (pass.online) return OnlinePass(pass, ranges);
    if (pass.moments) return MomentsPass(pass, ranges);
    return rows_ ? RowPass(pass, ranges) : ColumnPass(pass, ranges);
  }

  // Opens the loops over the folded dimensions but the innermost of them.
  std::size_t OpenReduced(const std::vector<Range>& ranges) {
    for (std::size_t n = 0; n + 1 < reduced_.size(); ++n) {
      const Range& range = ranges[reduced_[n]];
      const std::string& var = Dim(reduced_[n]).var;
      writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", var, range.begin, var, range.end, var));
    }
    return reduced_.size() - 1;
  }

  Folded RowPass(const FoldPass& pass, const std::vector<Range>& ranges) {
    const std::size_t inner = reduced_.back();
    const LoopDim& dim = Dim(inner);
    const Range& range = ranges[inner];
    const bool several = several_ = reduced_.size() > 1 || !range.count || *range.count > kRowBlock;
    Folded totals;
    for (const auto& item : pass.items) {
      if (!several) break;
      totals.push_back(writer_.Fresh(item.name + "_total"));
      writer_.Line(fmt::format("{} {} = {};", TotalType(item), totals.back(), Start(item)));
    }
    const std::size_t opened = OpenReduced(ranges);
    Folded folded;
    const bool blocked = !range.count || *range.count > kRowBlock;
    std::string begin = range.begin, count;
    std::optional<std::int64_t> known = range.count;
    if (blocked) {
      begin = dim.var + "_block";
      writer_.Open(
          fmt::format("for (long {} = {}; {} < {}; {} += {})", begin, range.begin, begin, range.end, begin, kRowBlock));
      if (range.count && *range.count % kRowBlock == 0) {
        known = kRowBlock;
      } else {
        known.reset();
        count = writer_.Fresh("count");
        writer_.Line(fmt::format("const long {} = {} - {} < {} ? {} - {} : {};", count, range.end, begin, kRowBlock,
                                 range.end, begin, kRowBlock));
      }
    }
    folded = RowBlock(pass, dim, inner, begin, known, count);
    if (several) {
      for (std::size_t i = 0; i < pass.items.size(); ++i) writer_.Line(Update(pass.items[i], totals[i], folded[i]));
      folded = totals;
    }
    if (blocked) writer_.Close();
    for (std::size_t n = 0; n < opened; ++n) writer_.Close();
    return folded;
  }

  // Folds `known` (or `count`) elements from `begin` on, in `accumulators_` streams side by side.
  Folded RowBlock(const FoldPass& pass, const LoopDim& dim, std::size_t inner, const std::string& begin,
                  std::optional<std::int64_t> known, const std::string& count) {
    const bool extreme =
        pass.items.size() == 1 && !Adds(pass.items[0]) && pass.items[0].body->type == ScalarType::kReal;
    const bool fetches = fetch_ == Fetch::kAhead || (fetch_ == Fetch::kRow && last_pass_);
    if (extreme ? !known || *known >= 2 * kLanes : fetches && (!known || *known >= kFetchBlock))
      return LaneBlock(pass, dim, inner, begin, known, count, [&](std::int64_t width) {
        if (fetches) loops_.FetchOperands(writer_, FetchedIndex(inner), width, FetchLevel());
      });
    std::int64_t streams = accumulators_;
    while (known && streams > 1 && *known / streams < 2 * kLanes) streams /= 2;
    std::vector<std::vector<std::string>> names(pass.items.size());
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      std::string line;
      for (std::int64_t s = 0; s < streams; ++s) {
        names[i].push_back(
            writer_.Fresh(streams == 1 ? pass.items[i].name + "_part" : fmt::format("{}_{}", pass.items[i].name, s)));
        line += fmt::format("{}{} = {}", s ? ", " : "", names[i].back(), Start(pass.items[i]));
      }
      writer_.Line(fmt::format("{} {};", TypeOf(pass.items[i]), line));
    }
    // Each stream takes `length` elements, a whole number of vectors; the rest is one short loop.
    std::string length, main_end, end;
    bool rest = true;
    if (known) {
      const std::int64_t each = streams == 1 ? *known : *known / streams / kLanes * kLanes;
      length = fmt::format("{}", each);
      main_end = Plus(begin, each);
      end = Plus(begin, *known);
      rest = each * streams != *known;
    } else if (streams == 1) {
      main_end = Plus(begin, count);
      rest = false;
    } else {
      length = writer_.Fresh("length");
      writer_.Line(fmt::format("const long {} = {} / {} * {};", length, count, streams * kLanes, kLanes));
      main_end = Plus(begin, length);
      end = Plus(begin, count);
    }
    const auto clauses = [&](bool all) {
      std::string text;
      for (std::size_t i = 0; i < pass.items.size(); ++i) {
        text += fmt::format(" reduction({} : {})", Clause(pass.items[i]),
                            all ? fmt::format("{}", fmt::join(names[i], ", ")) : names[i][0]);
      }
      return text;
    };
    const auto element = [&](const std::string& at, std::size_t stream) {
      std::vector<std::string> index = index_;
      index[inner] = at;
      Step(pass, index, [&](std::size_t i) { return names[i][stream]; });
    };
    writer_.Line("#pragma omp simd" + clauses(true));
    writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", dim.var, begin, dim.var, main_end, dim.var));
    for (std::int64_t s = 0; s < streams; ++s) {
      const std::string offset = s == 0   ? "0"
                                 : known  ? fmt::format("{}", s * (*known / streams / kLanes * kLanes))
                                 : s == 1 ? length
                                          : fmt::format("{} * {}", s, length);
      element(Plus(dim.var, offset), static_cast<std::size_t>(s));
    }
    writer_.Close();
    if (rest) {
      writer_.Line("#pragma omp simd" + clauses(false));
      const std::string from = known ? Plus(begin, *known / streams / kLanes * kLanes * streams)
                                     : Plus(begin, fmt::format("{} * {}", streams, length));
      writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", dim.var, from, dim.var, end, dim.var));
      element(dim.var, 0);
      writer_.Close();
    }
    Folded folded;
    for (std::size_t i = 0; i < pass.items.size(); ++i) folded.push_back(JoinAll(pass.items[i], names[i]));
    return folded;
  }

  // An array of lanes for each item. For the largest or smallest element, as the compiler would join the lanes of its
  // own reduction one by one, each with a test for NaN, and an array is joined by halves; and where memory is asked for
  // between blocks of elements, as a reduction of the compiler's own would be joined after each block.
  Folded LaneBlock(const FoldPass& pass, const LoopDim& dim, std::size_t inner, const std::string& begin,
                   std::optional<std::int64_t> known, const std::string& count,
                   const std::function<void(std::int64_t width)>& fetch) {
    std::int64_t width = kLanes * accumulators_;
    // A maximum is one long chain of dependent instructions in each vector.
    if (!Adds(pass.items[0])) width = std::max(width, 4 * kLanes);
    while (known && width > kLanes && width > *known / 2) width /= 2;
    const std::string lane = writer_.Fresh("lane"), half = writer_.Fresh("half");
    const std::string end = known ? Plus(begin, *known) : Plus(begin, count);
    std::vector<std::string> slots;
    Folded folded;
    for (const auto& item : pass.items) {
      const std::string lanes = writer_.Fresh(item.name + "_lanes");
      writer_.Line(fmt::format("alignas(64) {} {}[{}];", TypeOf(item), lanes, width));
      slots.push_back(fmt::format("{}[{}]", lanes, lane));
      writer_.Line(fmt::format("{} {} = {};", For(lane, width), slots.back(), Start(item)));
      folded.push_back(lanes);
    }
    const auto step = [&](const std::string& base, const std::string& below) {
      writer_.Line("#pragma omp simd");
      writer_.Open(fmt::format("for (long {} = 0; {} < {}; ++{})", lane, lane, below, lane));
      std::vector<std::string> index = index_;
      index[inner] = Plus(base, lane);
      Step(pass, index, [&](std::size_t i) { return slots[i]; });
      writer_.Close();
    };
    writer_.Open(fmt::format("for (long {} = {}; {} + {} <= {}; {} += {})", dim.var, begin, dim.var, width, end,
                             dim.var, width));
    fetch(width);
    step(dim.var, fmt::format("{}", width));
    writer_.Close();
    if (!known) {
      const std::string rest = writer_.Fresh("rest");
      writer_.Line(fmt::format("const long {} = {} % {};", rest, count, width));
      step(fmt::format("{} - {}", end, rest), rest);
    } else if (*known % width) {
      step(Plus(begin, *known - *known % width), fmt::format("{}", *known % width));
    }
    writer_.Line("#pragma GCC unroll 8");
    writer_.Open(fmt::format("for (long {} = {}; {} > 0; {} /= 2)", half, width / 2, half, half));
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      writer_.Line(fmt::format("for (long {} = 0; {} < {}; ++{}) {}", lane, lane, half, lane,
                               Update(pass.items[i], slots[i], fmt::format("{}[{} + {}]", folded[i], lane, half))));
    }
    writer_.Close();
    for (auto& lanes : folded) lanes += "[0]";
    return folded;
  }

  // --- Fetching ahead.

  // Where the elements stand that are asked for while those at `index_` are computed.
  std::vector<std::string> FetchedIndex(std::size_t inner) const {
    if (fetch_ == Fetch::kAhead) return IndexAhead(inner, ahead_.value_or(kFetchAhead / (writer_.wide() ? 8 : 4)));
    std::vector<std::string> index = index_;
    index[kept_.back()] += " + 1";
    return index;
  }
  std::vector<std::string> IndexAhead(std::size_t inner, std::int64_t elements) const {
    std::vector<std::string> index = index_;
    index[inner] += fmt::format(" + {}", elements);
    return index;
  }
  int FetchLevel() const { return fetch_ == Fetch::kRow && reduced_count_ * 4 > kNearRow ? 2 : 1; }

  // One element: its values into the accumulators, and what is kept into the target.
  void Step(const FoldPass& pass, const std::vector<std::string>& index,
            const std::function<std::string(std::size_t)>& accumulator) {
    std::vector<Expr> bodies;
    if (pass.keep) bodies.push_back(pass.keep);
    for (const auto& item : pass.items) bodies.push_back(item.body);
    const auto texts = Texts(bodies, index);
    std::size_t n = 0;
    if (pass.keep) writer_.Line(fmt::format("{} = {};", loops_.TargetElement(writer_, index), texts[n++]));
    for (std::size_t i = 0; i < pass.items.size(); ++i)
      writer_.Line(Update(pass.items[i], accumulator(i), texts[n + i]));
  }

  Folded ColumnPass(const FoldPass& pass, const std::vector<Range>& ranges) {
    const std::size_t inner = reduced_.back();
    const LoopDim& dim = Dim(inner);
    const Range& range = ranges[inner];
    const bool several = several_ = reduced_count_ > kRowsPerFlush;
    std::vector<std::string> parts, totals;
    for (const auto& item : pass.items) {
      parts.push_back(writer_.Fresh(item.name + "_part"));
      writer_.Line(fmt::format("alignas(64) {} {}[{}];", TypeOf(item), parts.back(), columns_));
      if (several) {
        totals.push_back(writer_.Fresh(item.name + "_total"));
        writer_.Line(fmt::format("alignas(64) {} {}[{}];", TotalType(item), totals.back(), columns_));
      }
    }
    const auto fill = [&](const std::vector<std::string>& arrays) {
      writer_.Open(ColumnLoop());
      for (std::size_t i = 0; i < arrays.size(); ++i)
        writer_.Line(fmt::format("{}[{}] = {};", arrays[i], column_, Start(pass.items[i])));
      writer_.Close();
    };
    fill(several ? totals : parts);
    const std::size_t opened = OpenReduced(ranges);
    std::string begin = range.begin, end = range.end;
    std::optional<std::int64_t> known = range.count;
    if (several) {
      begin = dim.var + "_block";
      writer_.Open(fmt::format("for (long {} = {}; {} < {}; {} += {})", begin, range.begin, begin, range.end, begin,
                               kRowsPerFlush));
      if (known && *known % kRowsPerFlush == 0) {
        end = Plus(begin, kRowsPerFlush);
        known = kRowsPerFlush;
      } else {
        known = known && *known < kRowsPerFlush ? known : std::nullopt;
        end = writer_.Fresh(dim.var + "_end");
        writer_.Line(fmt::format("const long {} = {};", end, Lesser(Plus(begin, kRowsPerFlush), range.end)));
      }
      fill(parts);
    }
    ColumnRows(pass, begin, end, known, parts);
    if (several) {
      writer_.Open(ColumnLoop());
      for (std::size_t i = 0; i < pass.items.size(); ++i) {
        writer_.Line(
            Update(pass.items[i], fmt::format("{}[{}]", totals[i], column_), fmt::format("{}[{}]", parts[i], column_)));
      }
      writer_.Close();
      writer_.Close();
    }
    for (std::size_t n = 0; n < opened; ++n) writer_.Close();
    Folded folded;
    for (const auto& name : several ? totals : parts) folded.push_back(fmt::format("{}[{}]", name, column_));
    return folded;
  }

  // Adds the rows from `begin` to `end` into the columns of `parts`, several rows at a time, which are added up before
  // they meet the accumulators.
  void ColumnRows(const FoldPass& pass, const std::string& begin, const std::string& end,
                  std::optional<std::int64_t> known, const std::vector<std::string>& parts) {
    const std::size_t inner = reduced_.back();
    const LoopDim& dim = Dim(inner);
    const std::int64_t at_a_time = known ? std::min(accumulators_, std::max<std::int64_t>(1, *known)) : accumulators_;
    const auto row = [&](std::int64_t rows) {
      writer_.Line("#pragma omp simd");
      writer_.Open(ColumnLoop());
      std::vector<Expr> bodies;
      std::vector<std::vector<std::string>> values(pass.items.size());
      for (std::int64_t r = 0; r < rows; ++r) {
        std::vector<std::string> index = index_;
        index[inner] = Plus(dim.var, r);
        bodies.clear();
        if (pass.keep) bodies.push_back(pass.keep);
        for (const auto& item : pass.items) bodies.push_back(item.body);
        const auto texts = Texts(bodies, index);
        std::size_t n = 0;
        if (pass.keep) writer_.Line(fmt::format("{} = {};", loops_.TargetElement(writer_, index), texts[n++]));
        for (std::size_t i = 0; i < pass.items.size(); ++i)
          values[i].push_back(rows > 1 ? Named(pass.items[i], texts[n + i]) : texts[n + i]);
      }
      for (std::size_t i = 0; i < pass.items.size(); ++i) {
        writer_.Line(
            Update(pass.items[i], fmt::format("{}[{}]", parts[i], column_), JoinAll(pass.items[i], values[i])));
      }
      writer_.Close();
    };
    if (at_a_time == 1) {
      writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", dim.var, begin, dim.var, end, dim.var));
      row(1);
      writer_.Close();
    } else {
      // The rows that are left over are the last ones.
      const std::string rest = known ? (*known % at_a_time ? fmt::format("{}", *known % at_a_time) : "")
                                     : fmt::format("({} - {}) % {}", end, begin, at_a_time);
      writer_.Open(rest.empty() ? fmt::format("for (long {} = {}; {} < {}; {} += {})", dim.var, begin, dim.var, end,
                                              dim.var, at_a_time)
                                : fmt::format("for (long {} = {}; {} + {} <= {}; {} += {})", dim.var, begin, dim.var,
                                              at_a_time, end, dim.var, at_a_time));
      row(at_a_time);
      writer_.Close();
      if (!rest.empty()) {
        writer_.Open(fmt::format("for (long {} = {} - {}; {} < {}; ++{})", dim.var, end, rest, dim.var, end, dim.var));
        row(1);
        writer_.Close();
      }
    }
  }

  // A sum and the sum of the squared distances from its mean, in one pass over memory: each block's mean first, then
  // its distances from that while the block is in the cache, and the two of all blocks so far put together (Chan,
  // Golub and LeVeque 1979). As exact as two passes.
  Folded MomentsPass(const FoldPass& pass, const std::vector<Range>& ranges) {
    const FoldPass::Item &sum = pass.items[0], &squares = pass.items[1];
    const std::size_t inner = reduced_.back();
    const LoopDim& dim = Dim(inner);
    const Range& range = ranges[inner];
    several_ = true;
    const std::string mean = writer_.Fresh("mean"), spread = writer_.Fresh("spread"), seen = writer_.Fresh("seen"),
                      at = writer_.Fresh("at"), shift = writer_.Fresh("shift"), delta = writer_.Fresh("delta"),
                      share = writer_.Fresh("share"), count = writer_.Fresh("count");
    const std::string array = rows_ ? "" : fmt::format("[{}]", columns_), each = rows_ ? "" : "[" + column_ + "]";
    const std::string& real = writer_.real();
    writer_.Line(fmt::format("{}double {}{} = {{}}, {}{} = {{}}, {} = 0;", rows_ ? "" : "alignas(64) ", mean, array,
                             spread, array, seen));
    const std::size_t opened = OpenReduced(ranges);
    const std::int64_t most = rows_ ? kRowBlock : kMomentRows;
    const std::string begin = dim.var + "_block";
    std::optional<std::int64_t> known;
    writer_.Open(
        fmt::format("for (long {} = {}; {} < {}; {} += {})", begin, range.begin, begin, range.end, begin, most));
    if (range.count && *range.count % most == 0) {
      known = most;
      writer_.Line(fmt::format("constexpr long {} = {};", count, most));
    } else {
      writer_.Line(fmt::format("const long {} = {};", count,
                               Lesser(fmt::format("{} - {}", range.end, begin), fmt::format("{}", most))));
    }
    const auto fold = [&](const FoldPass::Item& item) {
      const FoldPass one = {.items = {item}, .keep = {}};
      if (rows_) return RowBlock(one, dim, inner, begin, known, count)[0];
      const std::string part = writer_.Fresh(item.name + "_part");
      writer_.Line(fmt::format("alignas(64) {} {}[{}] = {{}};", real, part, columns_));
      ColumnRows(one, begin, fmt::format("{} + {}", begin, count), known, {part});
      return part + each;
    };
    // What comes next from memory is asked for during the second fold, whose elements are in the cache.
    const Fetch fetch = std::exchange(fetch_, Fetch::kNo);
    const std::string first = fold(sum);
    fetch_ = fetch;
    if (rows_) {
      writer_.Line(fmt::format("const double {} = static_cast<double>({}) / {};", at, first, count));
      writer_.Line(fmt::format("const {} {} = static_cast<{}>({});", real, shift, real, at));
    } else {
      writer_.Line(fmt::format("alignas(64) {} {}[{}];", real, shift, columns_));
      writer_.Line(fmt::format("{} {}{} = {} / {};", ColumnLoop(), shift, each, first, count));
    }
    lets_[sum.let] = shift + each;
    ahead_ = most;
    const std::string second = fold(squares);
    ahead_.reset();
    writer_.Line(fmt::format("const double {} = {} / ({} + {});", share, count, seen, count));
    if (!rows_) writer_.Open(ColumnLoop());
    writer_.Line(fmt::format("const double {} = {} - {}{};", delta,
                             rows_ ? at : fmt::format("static_cast<double>({}) / {}", first, count), mean, each));
    writer_.Line(fmt::format("{}{} += {} * {};", mean, each, delta, share));
    writer_.Line(fmt::format("{}{} += {} + {} * {} * {} * {};", spread, each, second, delta, delta, share, seen));
    if (!rows_) writer_.Close();
    writer_.Line(fmt::format("{} += {};", seen, count));
    writer_.Close();
    for (std::size_t n = 0; n < opened; ++n) writer_.Close();
    return {fmt::format("{}{} * {}", mean, each, seen), spread + each};
  }
  // How many elements the chunk at hand folds.
  std::string ChunkCount() const {
    const std::int64_t extent = Dim(split_dim_).extent, others = reduced_count_ / extent;
    if (extent % chunk_ == 0) return fmt::format("{}", chunk_ * others);
    const std::string left = fmt::format("{} - {} * {}", extent, chunk_var_, chunk_);
    return fmt::format("({}) * {}", Lesser(left, fmt::format("{}", chunk_)), others);
  }
  // Whether the two passes are a mean and the squared distances from it, and memory is worth sparing.
  bool AreMoments(const std::vector<FoldPass>& passes) const {
    if (passes.size() != 2 || passes[0].items.size() != 1 || passes[1].items.size() != 1) return false;
    if (passes[0].keep || passes[1].keep || passes[0].online) return false;
    if (rows_ ? Dim(reduced_.back()).extent < kRowBlock / 8 || reduced_count_ <= kRowBlock
              : Dim(reduced_.back()).extent < 4 * kMomentRows)
      return false;
    return IsVariance(passes[1].items[0], passes[0].items[0], reduced_count_);
  }

  // A value that is combined with others goes through a constant if it is more than a name.
  std::string Named(const FoldPass::Item& item, const std::string& text) {
    if (IsAtom(text)) return text;
    const std::string name = writer_.Fresh(item.name + "_v");
    writer_.Line(fmt::format("const {} {} = {};", TypeOf(item), name, text));
    return name;
  }

  // By blocks that stay in the first-level cache: the largest so far, then the sum of the exps below it, scaled when a
  // larger one comes. Exps that are kept are those below the largest of their time, which is noted for each block.
  Folded OnlinePass(const FoldPass& pass, const std::vector<Range>& ranges) {
    HONE_CHECK(rows_ && pass.items.size() == 2, "online softmax runs over rows");
    const FoldPass::Item& top_item = pass.items[0];
    const std::size_t inner = reduced_.back();
    const LoopDim& dim = Dim(inner);
    several_ = true;
    const std::string top = writer_.Fresh("top"), sum = writer_.Fresh("sum");
    writer_.Line(fmt::format("{} {} = {};", TypeOf(top_item), top, Start(top_item)));
    writer_.Line(fmt::format("double {} = 0;", sum));
    if (pass.keep) DeclareTops(/*anew=*/true);
    const std::size_t opened = OpenReduced(ranges);
    const std::string begin = dim.var + "_block";
    const Range& range = ranges[inner];
    writer_.Open(fmt::format("for (long {} = {}; {} < {}; {} += {})", begin, range.begin, begin, range.end, begin,
                             kOnlineBlock));
    std::optional<std::int64_t> known;
    std::string count;
    if (range.count && *range.count % kOnlineBlock == 0) {
      known = kOnlineBlock;
    } else {
      count = writer_.Fresh("count");
      writer_.Line(fmt::format("const long {} = {};", count,
                               Lesser(fmt::format("{} - {}", range.end, begin), fmt::format("{}", kOnlineBlock))));
    }
    const std::string largest =
        LaneBlock({.items = {top_item}, .keep = {}}, dim, inner, begin, known, count, [](std::int64_t) {})[0];
    const std::string new_top = writer_.Fresh("new_top");
    writer_.Line(fmt::format("const {} {} = {};", TypeOf(top_item), new_top, Join(top_item, largest, top)));
    const std::string nothing = fmt::format("{} == {}", new_top, Start(top_item));
    if (pass.keep) {
      writer_.Line(fmt::format("{}[{}] = {};", tops_, BlockNumber(begin, range.begin), new_top));
      writer_.Comment("Nothing but minus infinity so far: its exps are zero.");
      lets_[top_item.let] = writer_.Fresh("base");
      writer_.Line(fmt::format("const {} {} = {} ? {} : {};", TypeOf(top_item), lets_[top_item.let], nothing,
                               writer_.Number(0), new_top));
    } else {
      writer_.Comment("Nothing but minus infinity so far: there is no sum to scale yet.");
      writer_.Line(fmt::format("if ({}) continue;", nothing));
      lets_[top_item.let] = new_top;
    }
    // The next block comes while this one's exps are computed.
    const std::string part = LaneBlock({.items = {pass.items[1]}, .keep = pass.keep}, dim, inner, begin, known, count,
                                       [&](std::int64_t width) {
                                         if (fetch_ == Fetch::kNo) return;
                                         loops_.FetchOperands(writer_, IndexAhead(inner, kOnlineBlock), width);
                                         if (pass.keep) loops_.FetchTarget(writer_, FetchedIndex(inner), width);
                                       })[0];
    if (pass.keep) writer_.Line(fmt::format("if ({}) continue;", nothing));
    writer_.Line(fmt::format("{} = {} * {}({} - {}) + {};", sum, sum, writer_.Libm("exp"), top, new_top, part));
    writer_.Line(fmt::format("{} = {};", top, new_top));
    writer_.Close();
    for (std::size_t n = 0; n < opened; ++n) writer_.Close();
    return {top, sum};
  }
  static std::string BlockNumber(const std::string& at, const std::string& begin) {
    return begin == "0" ? fmt::format("{} / {}", at, kOnlineBlock)
                        : fmt::format("({} - {}) / {}", at, begin, kOnlineBlock);
  }
  // What each block of this row was scaled by: an array of the row's, or this chunk's place in scratch memory. Not
  // anew: again, where the chunks are come back to.
  void DeclareTops(bool anew) {
    if (split_ <= 1) {
      if (!anew) return;
      tops_ = writer_.Fresh("tops");
      const std::int64_t blocks = (Dim(reduced_.back()).extent + kOnlineBlock - 1) / kOnlineBlock;
      writer_.Line(fmt::format("{} {}[{}];", writer_.real(), tops_, blocks));
      return;
    }
    const std::int64_t blocks = (chunk_ + kOnlineBlock - 1) / kOnlineBlock;
    if (anew) {
      all_tops_ = writer_.Scratch("tops", writer_.real(), split_ * kept_count_ * blocks);
      tops_ = writer_.Fresh("tops");
    }
    const std::string row = Plus(fmt::format("{} * {}", chunk_var_, kept_count_), KeptAddress());
    writer_.Line(fmt::format("{}* const {} = {} + ({}) * {};", writer_.real(), tops_, all_tops_, row, blocks));
  }

  // --- What was folded, finished.

  // Makes each let a constant (rows) or an array (columns) of this place.
  void Finish(const FoldPass& pass, const Folded& folded) {
    if (rows_) {
      for (std::size_t i = 0; i < pass.items.size(); ++i) {
        const auto& item = pass.items[i];
        const std::string value = Texts({item.finish}, index_, Narrow(item, folded[i]))[0];
        const std::string name = writer_.Fresh(item.name);
        writer_.Line(fmt::format("const {} {} = {};", writer_.TypeName(item.finish->type), name, value));
        lets_[item.let] = name;
      }
      return;
    }
    std::vector<std::string> names;
    for (const auto& item : pass.items) {
      names.push_back(writer_.Fresh(item.name));
      writer_.Line(fmt::format("alignas(64) {} {}[{}];", writer_.TypeName(item.finish->type), names.back(), columns_));
    }
    writer_.Line("#pragma omp simd");
    writer_.Open(ColumnLoop());
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      const auto& item = pass.items[i];
      const std::string value = Texts({item.finish}, index_, Narrow(item, folded[i]))[0];
      lets_[item.let] = fmt::format("{}[{}]", names[i], column_);
      writer_.Line(fmt::format("{} = {};", lets_[item.let], value));
    }
    writer_.Close();
  }

  // The result with what depends on lets alone taken out, to be computed once a row or column and not once an element;
  // a division by such becomes a product.
  Expr Hoist(const Expr& e) {
    if (e->kind == Expr::Kind::kLoad || e->kind == Expr::Kind::kConst || e->kind == Expr::Kind::kIndex) return e;
    if (StandsStill(e) && e->type == ScalarType::kReal) return Hoisted(e);
    if (e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kDiv && e->type == ScalarType::kReal &&
        StandsStill(e->operands[1]))
      return Hoist(e->operands[0]) * Hoisted(Expr(1.0) / e->operands[1]);
    std::vector<Expr> operands;
    for (const auto& operand : e->operands) operands.push_back(Hoist(operand));
    return WithOperands(*e, std::move(operands));
  }
  Expr Hoisted(const Expr& e) {
    for (const auto& [let, other] : hoisted_) {
      if (SameExpr(e, other)) return Load(kLetOperand - let, {}, ScalarType::kReal);
    }
    hoisted_.emplace_back(kHoistedLet + static_cast<int>(hoisted_.size()), e);
    return Load(kLetOperand - hoisted_.back().first, {}, ScalarType::kReal);
  }
  // Whether it holds lets, and nothing that varies from element to element.
  static bool StandsStill(const Expr& e) {
    bool lets = false, still = true;
    Visit(e, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) {
        const bool let = node.buffer <= kLetOperand && node.buffer > kKeptOperand;
        lets |= let;
        still &= let;
      }
      if (node.kind == Expr::Kind::kIndex || node.kind == Expr::Kind::kReduce) still = false;
    });
    return lets && still;
  }
  void WriteHoisted() {
    for (const auto& [let, expr] : hoisted_) {
      const std::string name = writer_.Fresh("once");
      if (rows_) {
        const std::string value = Texts({expr}, index_)[0];
        writer_.Line(fmt::format("const {} {} = {};", writer_.real(), name, value));
        lets_[let] = name;
        continue;
      }
      writer_.Line(fmt::format("alignas(64) {} {}[{}];", writer_.real(), name, columns_));
      writer_.Line("#pragma omp simd");
      writer_.Open(ColumnLoop());
      const std::string value = Texts({expr}, index_)[0];
      lets_[let] = fmt::format("{}[{}]", name, column_);
      writer_.Line(fmt::format("{} = {};", lets_[let], value));
      writer_.Close();
    }
  }

  // The folded value as the kernel's type: totals are kept in double.
  std::string Narrow(const FoldPass::Item& item, const std::string& text) const {
    if (item.body->type != ScalarType::kReal || writer_.wide()) return Wrap(text);
    return Adds(item) && several_ ? fmt::format("static_cast<{}>({})", writer_.real(), text) : Wrap(text);
  }

  // The last loops: each element, or the row's one result.
  void Result(const Expr& result, const std::vector<Range>& ranges) {
    if (!kernel_.family->keeps_axes) {
      if (!rows_) {
        writer_.Line("#pragma omp simd");
        writer_.Open(ColumnLoop());
      }
      Store(result);
      if (!rows_) writer_.Close();
      return;
    }
    if (!tops_.empty()) return ResultByBlocks(result, ranges);
    const std::size_t opened = OpenReduced(ranges);
    const std::size_t inner = reduced_.back();
    const std::string& var = Dim(inner).var;
    const Range& range = ranges[inner];
    std::string begin = range.begin;
    if (fetch_ != Fetch::kNo && (!range.count || *range.count >= kFetchBlock)) {
      writer_.Open(fmt::format("for (long {} = {}; {} + {} <= {}; {} += {})", var, begin, var, kFetchBlock, range.end,
                               var, kFetchBlock));
      const std::vector<std::string> fetched = FetchedIndex(inner);
      if (fetch_ == Fetch::kAhead) loops_.FetchOperands(writer_, fetched, kFetchBlock);
      loops_.FetchTarget(writer_, fetched, kFetchBlock);
      const std::string at = writer_.Fresh("at");
      writer_.Line("#pragma omp simd");
      writer_.Open(For(at, kFetchBlock));
      index_[inner] = Plus(var, at);
      Store(result);
      index_[inner] = var;
      writer_.Close();
      writer_.Close();
      begin = range.count ? Plus(range.begin, *range.count / kFetchBlock * kFetchBlock)
                          : fmt::format("{} - ({} - {}) % {}", range.end, range.end, range.begin, kFetchBlock);
    }
    if (begin == range.end) {
      for (std::size_t n = 0; n < opened; ++n) writer_.Close();
      return;
    }
    if (rows_) {
      writer_.Line("#pragma omp simd");
      writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", var, begin, var, range.end, var));
    } else {
      // Upwards: the rows that were read last are in the cache yet.
      writer_.Open(fmt::format("for (long {} = {} - 1; {} >= {}; --{})", var, range.end, var, begin, var));
      writer_.Line("#pragma omp simd");
      writer_.Open(ColumnLoop());
    }
    Store(result);
    if (!rows_) writer_.Close();
    writer_.Close();
    for (std::size_t n = 0; n < opened; ++n) writer_.Close();
  }
  // What an online pass kept, each block scaled by its own factor in place of the row's.
  void ResultByBlocks(const Expr& result, const std::vector<Range>& ranges) {
    DeclareTops(/*anew=*/false);
    const std::string& var = Dim(reduced_.back()).var;
    const Range& range = ranges[reduced_.back()];
    const std::string begin = var + "_block", end = writer_.Fresh(var + "_end"), factor = writer_.Fresh("factor");
    // Backwards: the blocks that were kept last are in the cache yet, those kept first may have left it.
    const std::int64_t extent = Dim(reduced_.back()).extent;
    const bool divides = range.count && *range.count % kOnlineBlock == 0;
    const std::string last = range.begin == "0" && range.count
                                 ? fmt::format("{}", (extent - 1) / kOnlineBlock * kOnlineBlock)
                             : divides ? fmt::format("{} - {}", range.end, kOnlineBlock)
                                       : fmt::format("{} + ({} - {} - 1) / {} * {}", range.begin, range.end,
                                                     range.begin, kOnlineBlock, kOnlineBlock);
    writer_.Open(
        fmt::format("for (long {} = {}; {} >= {}; {} -= {})", begin, last, begin, range.begin, begin, kOnlineBlock));
    writer_.Line(fmt::format("const long {} = {};", end, Lesser(Plus(begin, kOnlineBlock), range.end)));
    writer_.Line(fmt::format("const {} {} = {}({}[{}] - {}) * {};", writer_.real(), factor, writer_.Libm("exp"), tops_,
                             BlockNumber(begin, range.begin), lets_.at(0), lets_.at(1)));
    const std::string scale = std::exchange(lets_[1], factor);
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", var, begin, var, end, var));
    Store(result);
    writer_.Close();
    writer_.Close();
    lets_[1] = scale;
  }
  void Store(const Expr& result) {
    const std::string value = Texts({result}, index_)[0];
    writer_.Line(fmt::format("{} = {};", loops_.TargetElement(writer_, index_), value));
  }

  // --- Split: what goes from step to step lies in scratch memory.

  std::vector<std::string> Partials(const FoldPass& pass) {
    std::vector<std::string> partials;
    for (const auto& item : pass.items)
      partials.push_back(writer_.Scratch(item.name + "_parts", TotalType(item), split_ * kept_count_));
    return partials;
  }
  std::string PartialAt(const std::string& partials) const {
    return fmt::format("{}[{}]", partials, Plus(fmt::format("{} * {}", chunk_var_, kept_count_), KeptAddress()));
  }
  void StorePartials(const std::vector<std::string>& partials, const Folded& folded) {
    if (!rows_) {
      writer_.Line("#pragma omp simd");
      writer_.Open(ColumnLoop());
    }
    for (std::size_t i = 0; i < partials.size(); ++i)
      writer_.Line(fmt::format("{} = {};", PartialAt(partials[i]), folded[i]));
    if (!rows_) writer_.Close();
  }

  void EmitSplit(const std::vector<FoldPass>& passes, const Expr& result) {
    if (kernel_.family->keeps_axes) return EmitSplitKept(passes, result);
    for (const auto& pass : passes) {
      const std::vector<std::string> partials = Partials(pass);
      writer_.Comment("Each chunk on its own.");
      OpenKept(/*with_chunks=*/true);
      StorePartials(partials, Pass(pass, Ranges(Chunk())));
      CloseKept();
      writer_.Comment("The chunks together, in order.");
      OpenKept(/*with_chunks=*/false);
      Combine(pass, partials, &result);
      CloseKept();
    }
  }

  // All threads work on the chunks of one row (or block of columns) after the other, so that a chunk's elements are
  // still in its core's cache when the next step reads them. Combining is so little that every thread does it for
  // itself.
  void EmitSplitKept(const std::vector<FoldPass>& passes, const Expr& result) {
    std::vector<std::vector<std::string>> partials;
    for (const auto& pass : passes) partials.push_back(Partials(pass));
    if (writer_.parallel()) {
      writer_.Line(fmt::format("#pragma omp parallel num_threads({})", writer_.ThreadsText()));
      writer_.Open("");
    }
    OpenKept(/*with_chunks=*/false, /*shared=*/false);
    const std::size_t kept = depth_;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      writer_.Comment("Each chunk on its own.");
      last_pass_ = i + 1 == passes.size();
      OpenChunks(/*waits=*/true);
      StorePartials(partials[i], Pass(passes[i], Ranges(Chunk())));
      writer_.Close();
      writer_.Comment("The chunks together, in order.");
      Combine(passes[i], partials[i], nullptr);
    }
    WriteHoisted();
    OpenChunks(/*waits=*/false);
    Result(result, Ranges(Chunk()));
    writer_.Close();
    depth_ = kept;
    CloseKept();
    if (writer_.parallel()) writer_.Close();
  }
  // The loop over chunks inside of a parallel region. The threads wait for each other behind it if someone else's
  // chunks are read next.
  void OpenChunks(bool waits) {
    if (writer_.parallel()) writer_.Line(fmt::format("#pragma omp for schedule(static){}", waits ? "" : " nowait"));
    chunk_var_ = chunk_var_.empty() ? writer_.Fresh("s") : chunk_var_;
    writer_.Open(For(chunk_var_, split_));
    WriteChunk();
  }

  std::string KeptAddress() const { return Address(index_, kept_strides_, 0); }

  // Folds the partial results of this place and stores `result`; without one the lets are left, as Finish leaves them.
  void Combine(const FoldPass& pass, const std::vector<std::string>& partials, const Expr* result) {
    several_ = true;
    std::vector<std::string> arrays;
    if (!result && !rows_) {
      for (const auto& item : pass.items) {
        arrays.push_back(writer_.Fresh(item.name));
        writer_.Line(
            fmt::format("alignas(64) {} {}[{}];", writer_.TypeName(item.finish->type), arrays.back(), columns_));
      }
    }
    if (!rows_) writer_.Open(ColumnLoop());
    Folded folded;
    for (const auto& item : pass.items) {
      folded.push_back(writer_.Fresh(item.name + "_all"));
      writer_.Line(fmt::format("{} {} = {};", TotalType(item), folded.back(), Start(item)));
    }
    if (pass.online) {
      // Sums of different maxima meet at the largest; a chunk of nothing but minus infinity has none to bring.
      const FoldPass::Item& top = pass.items[0];
      writer_.Line(fmt::format("{} {}", For(chunk_var_, split_), Update(top, folded[0], PartialAt(partials[0]))));
      writer_.Open(For(chunk_var_, split_));
      writer_.Line(fmt::format("if ({} == {}) continue;", PartialAt(partials[0]), Start(top)));
      writer_.Line(fmt::format("{} += {} * {}({} - {});", folded[1], PartialAt(partials[1]), writer_.Libm("exp"),
                               PartialAt(partials[0]), folded[0]));
      writer_.Close();
    } else if (pass.moments) {
      writer_.Line(
          fmt::format("{} {}", For(chunk_var_, split_), Update(pass.items[0], folded[0], PartialAt(partials[0]))));
      const std::string count = writer_.Fresh("count"), delta = writer_.Fresh("delta");
      writer_.Open(For(chunk_var_, split_));
      writer_.Line(fmt::format("const double {} = {};", count, ChunkCount()));
      writer_.Line(fmt::format("const double {} = {} / {} - {} / {};", delta, PartialAt(partials[0]), count, folded[0],
                               reduced_count_));
      writer_.Line(fmt::format("{} += {} + {} * {} * {};", folded[1], PartialAt(partials[1]), count, delta, delta));
      writer_.Close();
    } else {
      writer_.Open(For(chunk_var_, split_));
      for (std::size_t i = 0; i < pass.items.size(); ++i)
        writer_.Line(Update(pass.items[i], folded[i], PartialAt(partials[i])));
      writer_.Close();
    }
    for (std::size_t i = 0; i < pass.items.size(); ++i) {
      const auto& item = pass.items[i];
      const std::string value = Texts({item.finish}, index_, Narrow(item, folded[i]))[0];
      if (arrays.empty()) {
        const std::string name = writer_.Fresh(item.name);
        writer_.Line(fmt::format("const {} {} = {};", writer_.TypeName(item.finish->type), name, value));
        lets_[item.let] = name;
      } else {
        lets_[item.let] = fmt::format("{}[{}]", arrays[i], column_);
        writer_.Line(fmt::format("{} = {};", lets_[item.let], value));
      }
    }
    if (result) Store(*result);
    if (!rows_) writer_.Close();
  }

  const Kernel& kernel_;
  Writer& writer_;
  Loops loops_;
  std::string target_type_;
  bool rows_ = true;
  std::vector<std::size_t> kept_, reduced_;  // dimensions of loops_
  std::vector<std::int64_t> kept_strides_;
  std::int64_t accumulators_ = 1, columns_ = 1, split_ = 1, chunk_ = 0;
  std::int64_t kept_count_ = 1, reduced_count_ = 1;
  std::size_t split_dim_ = 0;
  bool even_columns_ = true;
  std::vector<std::string> index_;  // of each dimension, here
  std::map<int, std::string> lets_;
  std::map<int, Expr> maxima_;  // lets that are the largest of an expression, by their operand
  std::string column_, start_, width_, chunk_var_, chunk_begin_, chunk_end_;
  std::string tops_, all_tops_;  // of blocks whose exps are kept, and the scratch memory that they lie in, if any
  std::size_t depth_ = 0;
  enum class Fetch { kNo, kRow, kAhead } fetch_ = Fetch::kNo;
  bool last_pass_ = false;
  std::optional<std::int64_t> ahead_;          // elements to fetch ahead, if other than usual
  std::vector<std::pair<int, Expr>> hoisted_;  // lets of our own
  bool several_ = false;                       // whether the last pass went through totals
};

// The kernel's nest without the program, for knobs: merging is the same for every program that holds the kernel.
struct NestShape {
  bool rows = true;
  double kept = 1, reduced = 1;
  std::int64_t inner = 1;
};

NestShape ShapeOf(const Kernel& kernel) {
  static const KernelProgram kNone;
  const Loops loops(kNone, kernel);
  NestShape shape;
  shape.rows = loops.dims.back().reduced;
  shape.inner = loops.dims.back().extent;
  shape.kept = static_cast<double>(loops.Count(false));
  shape.reduced = static_cast<double>(loops.Count(true));
  return shape;
}

}  // namespace

void EmitFolds(const KernelProgram& program, const Kernel& kernel, Writer& writer, const std::vector<FoldPass>& passes,
               const Expr& result) {
  FoldEmitter(program, kernel, writer).Emit(passes, result);
}

std::vector<Setting> AccumulatorsValues(const Kernel& kernel, const Limits&) {
  // Several exps side by side leave no registers for their coefficients; one after the other they overlap anyway.
  const auto fetch = kernel.settings.find("prefetch");
  if (kernel.settings.contains("passes") && fetch != kernel.settings.end() && fetch->second != Word("no"))
    return {Whole(1), Whole(4), Whole(2)};
  return {Whole(4), Whole(2), Whole(8), Whole(1)};
}
std::optional<std::string> CheckAccumulators(const Kernel&, const Setting& value) {
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (whole && (*whole == 1 || *whole == 2 || *whole == 4 || *whole == 8)) return std::nullopt;
  return "it is 1, 2, 4 or 8; try 4";
}

std::vector<Setting> ColumnsValues(const Kernel& kernel, const Limits& limits) {
  const NestShape shape = ShapeOf(kernel);
  if (shape.rows) return {Whole(256)};
  // Wide enough that a row's piece is some cache lines; narrow enough that there is a block for every thread and, where
  // later passes read the block again, that it stays in the second-level cache.
  const double outer = shape.kept / static_cast<double>(std::max<std::int64_t>(1, shape.inner));
  std::vector<Setting> values;
  for (const std::int64_t width : {512, 256, 128, 64, 32, 16}) {
    const double blocks = outer * static_cast<double>((shape.inner + width - 1) / width);
    const bool enough = blocks >= 2.0 * limits.threads || shape.reduced > 64;
    const bool fits = !kernel.family->keeps_axes ||
                      static_cast<double>(width) * shape.reduced * 4 <= static_cast<double>(limits.l2_bytes) / 2;
    if (enough && fits) values.push_back(Whole(width));
    if (values.size() == 4) break;
  }
  if (values.empty()) values.push_back(Whole(64));
  if (kernel.family->keeps_axes && shape.inner > 256 && std::get<std::int64_t>(values[0].value) < 256) {
    // Pieces of far rows come slowly (every one from a page of its own), so narrow blocks lose more than staying in the
    // cache gains them.
    values.clear();
    for (const std::int64_t width : {1024, 2048, 512}) {
      if (width < 2 * shape.inner) values.push_back(Whole(width));
    }
    values.push_back(Whole(64));
  }
  return values;
}
std::optional<std::string> CheckColumns(const Kernel&, const Setting& value) { return CheckRange(value, 1, 8192); }

std::vector<Setting> SplitValues(const Kernel& kernel, const Limits& limits) {
  const NestShape shape = ShapeOf(kernel);
  double units = shape.kept;
  if (!shape.rows) {
    const auto set = kernel.settings.find("columns");
    const auto* width = set == kernel.settings.end() ? nullptr : std::get_if<std::int64_t>(&set->second.value);
    const std::int64_t columns = std::max<std::int64_t>(1, width ? *width : 256);
    units = shape.kept / static_cast<double>(shape.inner) * static_cast<double>((shape.inner + columns - 1) / columns);
  }
  // A chunk should be worth waking a thread for.
  const double largest = shape.kept * shape.reduced / 16384;
  std::vector<Setting> values;
  if (units < 2.0 * limits.threads && limits.threads > 1) {
    // One chunk a thread where it comes back to its rows, from the last to the first.
    const double few = 1.0 * limits.threads, more = 4.0 * limits.threads;
    const bool comes_back = !shape.rows && kernel.family->keeps_axes;
    for (const double wanted : {comes_back ? few : more, comes_back ? more : few, 16.0 * limits.threads}) {
      const auto split = static_cast<std::int64_t>(std::min(wanted / std::max(1.0, units) + 0.999, largest));
      if (split > 1 && static_cast<double>(split) <= shape.reduced) values.push_back(Whole(split));
    }
  }
  // A row that outgrows its core's cache, and is read again, fits when the cores share it.
  const double row_bytes = shape.reduced * 4;
  if (values.empty() && shape.rows && kernel.family->keeps_axes && limits.threads > 1 &&
      row_bytes > static_cast<double>(limits.l2_bytes) / 4) {
    values.push_back(Whole(limits.threads));
    values.push_back(Whole(2 * limits.threads));
  }
  values.push_back(Whole(1));
  return values;
}
bool FoldsOneRange(const Kernel& kernel) {
  static const KernelProgram kNone;
  const Loops loops(kNone, kernel);
  return std::count_if(loops.dims.begin(), loops.dims.end(), [](const LoopDim& dim) { return dim.reduced; }) <= 1;
}

std::vector<Setting> FoldPrefetchValues(const Kernel& kernel, const Limits& limits) {
  const NestShape shape = ShapeOf(kernel);
  if (!shape.rows || shape.kept * shape.reduced * 4 <= static_cast<double>(limits.l2_bytes)) return {Word("no")};
  // A row that stays in a cache is read from memory by the first pass only, which does little else; the next row can
  // come during the later ones, which have arithmetic to do. Passes that go by blocks fetch the next block.
  const double row = shape.reduced * 4;
  const auto passes = kernel.settings.find("passes");
  const bool by_blocks = passes == kernel.settings.end() ? row > 2 * kNearRow : passes->second != Word("three");
  if (by_blocks) return {Word("ahead"), Word("no"), Word("row")};
  if (row * 4 <= static_cast<double>(limits.l2_bytes)) return {Word("row"), Word("no"), Word("ahead")};
  return {Word("no"), Word("ahead")};
}
std::optional<std::string> CheckFoldPrefetch(const Kernel&, const Setting& value) {
  return CheckWord(value, {"no", "row", "ahead"});
}

std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1,
                    std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(1e6, ShapeOf(kernel).reduced))));
}

}  // namespace hone::dsl
