#include "dsl/cpu/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/check.h"
#include "dsl/element.h"
#include "dsl/family.h"
#include "dsl/loops.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

// Fewer iterations of the outer loops than this are not shared out as they are: threads would wait for each other.
constexpr std::int64_t kFewOuter = 64;
// Operations below which a step of a sequence is not worth a barrier, which costs some microseconds.
constexpr double kSmallStep = 30e3;
// Operations from which on a fold over everything is shared out, and into how many parts whatever the threads: the
// result does not depend on how many there are.
constexpr double kLargeFold = 100e3;
constexpr std::int64_t kParts = 32;

// In what is handed to ExprWriter, numbers of texts: of memory, and of names.
constexpr int kMemoryText = 1 << 24, kNameText = -(1 << 24);

bool IsMax(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kMax; }

// A whole number's division, where a zero would stop the program.
bool MayTrap(const ExprNode& node) {
  if (node.kind != Kind::kBinary || node.type != ScalarType::kInt) return false;
  const bool divides =
      node.binary == BinaryOp::kFloorDiv || node.binary == BinaryOp::kFloorMod || node.binary == BinaryOp::kFmod;
  return divides && !(node.operands[1]->kind == Kind::kConst && node.operands[1]->whole != 0);
}

bool NeedsGuard(const Expr& expr) {
  bool needs = false;
  Visit(expr,
        [&](const ExprNode& node) { needs |= MayTrap(node) || (node.kind == Kind::kLoad && node.buffer >= kMayMiss); });
  return needs;
}

// How the outermost loops are run: on one thread, shared among threads that are woken for it, or among those of the
// parallel region in which they stand.
enum class Share { kAlone, kWake, kRegion };

// A part of an index's range.
struct Span {
  std::string begin, end;
  std::int64_t size = 0;  // at most
};

// Writes one nest.
class ElementWriter {
 public:
  ElementWriter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer) {}

  // An index whose loop is open already.
  void Open(const IndexVar& index, const std::string& name) {
    Reserve(index, name);
    open_.insert(index.id);
  }
  // An index of which only a part is gone through here.
  void Cut(const IndexVar& index, const std::string& name, Span span) {
    Reserve(index, name);
    (void)writer_.Fresh(span.begin);
    (void)writer_.Fresh(span.end);
    spans_[index.id] = std::move(span);
  }

  void Write(Share share) {
    share_ = share;
    std::set<int> fixed = open_;
    for (const auto& [id, span] : spans_) fixed.insert(id);
    element_ = MakeFlat(kernel_, fixed);
    for (const auto& index : kernel_.space) {
      if (spans_.contains(index.id)) {  // an innermost one that is cut: a loop all the same, which nothing merges with
        element_.indices.push_back(index);
      }
    }
    Plan();
    const Expr& value = element_.value;
    MakeReady(value, {});
    Pragma(SharedLoops());
    for (std::size_t n = 0; n < loops_.size(); ++n) {
      if (leaf_lanes_ && n == before_lanes_) lane_ = leaf_.id;
      if (n > 0 || lane_ >= 0) MakeReady(value, {});
      if (loops_[n].block > 0)
        OpenBlocks(loops_[n]);
      else
        OpenLoop(loops_[n].index);
    }
    if (has_leaf_) {
      if (leaf_lanes_) lane_ = leaf_.id;
      MakeReady(value, {});
      if (!leaf_shared_ && !HasUnready(value, {})) writer_.Line("#pragma omp simd");
      OpenLoop(leaf_);
      lane_ = -1;
    }
    MakeReady(value, {});
    Store();
    for (std::size_t n = 0; n < loops_.size() + (has_leaf_ ? 1 : 0); ++n) writer_.Close();
    if (single_) writer_.Close();
  }

  // A name for an index, as the program calls it where that is free.
  std::string NameOf(const IndexVar& index) {
    if (const auto it = names_.find(index.id); it != names_.end()) return it->second;
    const std::string name = NewName(kernel_.index_names.at(index.id));
    return names_[index.id] = name;
  }

 private:
  struct Loop {
    IndexVar index;
    std::int64_t block = 0;  // goes by blocks of so many
  };
  struct Ready {
    Expr fold, guard;  // under which it has a value; none: always
    std::string text;
  };
  struct Text {
    std::string text;
    bool stays = false;
  };

  // The writer keeps the usual names of indices for loops such as these.
  std::string NewName(const std::string& hint) {
    for (const std::string_view own : {"i", "j", "k", "l", "i0", "j0", "k0"}) {
      if (hint == own && used_.insert(hint).second) return hint;
    }
    std::string name;
    do name = writer_.Fresh(hint);
    while (!used_.insert(name).second);
    return name;
  }

  void Reserve(const IndexVar& index, const std::string& name) {
    names_[index.id] = name;
    used_.insert(name);
    (void)writer_.Fresh(name);
  }

  // --- The plan: which loops, in which order.

  void Plan() {
    std::vector<IndexVar>& indices = element_.indices;
    std::set<int> folded;  // what folds hang on
    const auto folds = OuterFolds(element_.value, {});
    for (const auto& use : folds) folded.merge(FreeIndices(use.fold));
    if (indices.empty()) return;
    const IndexVar last = indices.back();
    const bool last_folded = folded.contains(last.id);
    const bool lanes = last_folded && PrefersLanes(folds, last);
    std::vector<Loop> inner;
    std::int64_t outer = 1;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i + 1 == indices.size() && (lanes || !last_folded)) break;
      if (folded.contains(indices[i].id)) {
        loops_.push_back({indices[i], 0});
        outer *= indices[i].extent;
      } else {
        inner.push_back({indices[i], 0});
        if (folds.empty()) outer *= indices[i].extent;
      }
    }
    if (!last_folded || lanes) {
      has_leaf_ = true;
      leaf_ = last;
    } else if (!inner.empty()) {
      has_leaf_ = true;
      leaf_ = inner.back().index;
      inner.pop_back();
    }
    leaf_lanes_ = lanes;
    before_lanes_ = loops_.size();
    const std::int64_t block = Block(last, lanes);
    const bool cut = !spans_.contains(last.id) && last.extent > block;
    const bool share_leaf = share_ == Share::kWake && writer_.parallel() && outer < kFewOuter;
    if (cut && lanes) {
      loops_.push_back({last, block});
      ++before_lanes_;
      loops_.insert(loops_.end(), inner.begin(), inner.end());
    } else {
      loops_.insert(loops_.end(), inner.begin(), inner.end());
      if (cut && !last_folded && folded.empty() && share_leaf && !loops_.empty()) loops_.push_back({last, block});
    }
  }

  // How many results stand side by side: a divisor of all, so that the block's loops have a constant length.
  std::int64_t Block(const IndexVar& last, bool lanes) const {
    const std::int64_t block = std::max<std::int64_t>(IntSetting(kernel_, "block"), 1);
    if (!lanes) return std::max<std::int64_t>(block, 1024);
    // Without loops around it, the blocks are what threads share.
    if (before_lanes_ == 0 && share_ == Share::kWake && writer_.parallel())
      return std::min(block, (last.extent / 8 + 15) / 16 * 16);
    if (last.extent <= 2 * block) return last.extent;
    for (std::int64_t b = block; b >= std::max<std::int64_t>(block / 2, 16); --b) {
      if (last.extent % b == 0 && b % 8 == 0) return b;
    }
    return block;
  }

  bool PrefersLanes(const std::vector<GuardedFold>& folds, const IndexVar& last) const {
    const std::string inner = WordSetting(kernel_, "inner");
    if (inner == "result") return true;
    if (inner == "fold") return false;
    int far_lanes = 0, far_rows = 0;
    std::int64_t longest = 0;
    const std::function<void(const Expr&)> count = [&](const Expr& fold) {
      const IndexVar& row = fold->over.back();
      longest = std::max(longest, row.extent);
      Visit(fold->operands[0], [&](const ExprNode& node) {
        if (node.kind != Kind::kLoad) return;
        const auto along_last = StrideAlong(node.operands[0], last.id),
                   along_row = StrideAlong(node.operands[0], row.id);
        far_lanes += !along_last || (*along_last != 0 && *along_last != 1) ? 1 : 0;
        far_rows += !along_row || (*along_row != 0 && *along_row != 1) ? 1 : 0;
      });
    };
    for (const auto& use : folds) {
      if (FreeIndices(use.fold).contains(last.id)) count(use.fold);
    }
    if (last.extent < 8) return longest < 16 && last.extent > 1;
    return far_lanes <= far_rows || longest < 16;
  }

  // How many of the loops from the outermost on have nothing between them.
  std::size_t SharedLoops() {
    const std::set<int> open = open_;
    std::size_t count = 0;
    while (count < (leaf_lanes_ ? before_lanes_ : loops_.size())) {
      open_.insert(loops_[count].index.id);
      ++count;
      if (loops_[count - 1].block > 0 || AnyReady(element_.value, {})) break;
    }
    open_ = open;
    return count;
  }

  void Pragma(std::size_t shared) {
    if (share_ == Share::kAlone || (share_ == Share::kWake && !writer_.parallel())) return;
    const bool leaf = loops_.empty() && has_leaf_ && !leaf_lanes_;
    leaf_shared_ = leaf;
    if (shared == 0 && !leaf) {
      if (share_ == Share::kRegion) {
        writer_.Line("#pragma omp single");
        writer_.Open("");
        single_ = true;
      } else {
        writer_.Line("(void)threads;");
      }
      return;
    }
    const bool simd = leaf && !HasUnready(element_.value, {});
    writer_.Line(fmt::format("#pragma omp {}for{}{}{} schedule(static)", share_ == Share::kWake ? "parallel " : "",
                             simd ? " simd" : "", shared > 1 ? fmt::format(" collapse({})", shared) : "",
                             share_ == Share::kWake ? fmt::format(" num_threads({})", writer_.ThreadsText()) : ""));
  }

  // --- Loops.

  void OpenLoop(const IndexVar& index) {
    const std::string name = NameOf(index);
    const Span span = SpanOf(index);
    writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", name, span.begin, name, span.end, name));
    open_.insert(index.id);
  }
  void OpenBlocks(const Loop& loop) {
    const std::string name = NameOf(loop.index);
    const Span span = {.begin = NewName(name + "0"), .end = NewName(name + "_end"), .size = loop.block};
    const std::int64_t extent = loop.index.extent;
    writer_.Open(
        fmt::format("for (long {} = 0; {} < {}; {} += {})", span.begin, span.begin, extent, span.begin, loop.block));
    writer_.Line(extent % loop.block == 0
                     ? fmt::format("const long {} = {} + {};", span.end, span.begin, loop.block)
                     : fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", span.end, span.begin, loop.block,
                                   extent, span.begin, loop.block, extent));
    spans_[loop.index.id] = span;
  }
  Span SpanOf(const IndexVar& index) const {
    const auto it = spans_.find(index.id);
    return it != spans_.end() ? it->second
                              : Span{.begin = "0", .end = fmt::format("{}", index.extent), .size = index.extent};
  }

  // --- Folds.

  bool Known(const Expr& fold, const Expr& guard) const { return Find(fold, guard) != nullptr; }
  const Ready* Find(const Expr& fold, const Expr& guard) const {
    for (const auto& ready : ready_) {
      if (ready.guard && !(guard && SameExpr(ready.guard, guard))) continue;
      if (SameExpr(ready.fold, fold)) return &ready;
    }
    return nullptr;
  }
  bool Knows(const std::set<int>& indices) const {
    return std::all_of(indices.begin(), indices.end(), [&](int id) { return open_.contains(id) || id == lane_; });
  }
  bool CanBeMade(const GuardedFold& use) const {
    if (!Knows(FreeIndices(use.fold))) return false;
    return !use.guard || !NeedsGuard(use.fold) || Knows(FreeIndices(use.guard));
  }
  bool HasUnready(const Expr& expr, const Expr& guard) const {
    for (const auto& use : OuterFolds(expr, guard)) {
      if (!Known(use.fold, use.guard)) return true;
    }
    return false;
  }
  bool AnyReady(const Expr& expr, const Expr& guard) const {
    for (const auto& use : OuterFolds(expr, guard)) {
      if (Known(use.fold, use.guard)) continue;
      if (CanBeMade(use) || AnyReady(use.fold->operands[0], use.guard)) return true;
    }
    return false;
  }

  // Writes the folds whose indices are all open, those inside of others too.
  void MakeReady(const Expr& expr, const Expr& guard) {
    for (const auto& use : OuterFolds(expr, guard)) {
      if (Known(use.fold, use.guard)) continue;
      if (!CanBeMade(use)) {
        MakeReady(use.fold->operands[0], use.guard);
        continue;
      }
      Ready made = {.fold = use.fold, .guard = use.guard, .text = {}};
      if (made.guard && !Knows(FreeIndices(made.guard))) made.guard = Expr();
      std::set<int> indices = FreeIndices(use.fold);
      if (made.guard) indices.merge(FreeIndices(made.guard));
      made.text = lane_ >= 0 && indices.contains(lane_) ? WriteLaneFold(use.fold, use.guard, made.guard)
                                                        : WriteFold(use.fold, use.guard, made.guard);
      ready_.push_back(std::move(made));
    }
  }

  std::string Start(ReduceOp op, ScalarType type) const {
    switch (op) {
      case ReduceOp::kSum: return type == ScalarType::kReal ? writer_.Number(0) : "0";
      case ReduceOp::kProd: return type == ScalarType::kReal ? writer_.Number(1) : "1";
      case ReduceOp::kAny: return "false";
      case ReduceOp::kAll: return "true";
      default: break;
    }
    if (type == ScalarType::kReal) return writer_.Number(IsMax(op) ? -INFINITY : INFINITY);
    return IsMax(op) ? "-__LONG_MAX__ - 1" : "__LONG_MAX__";
  }
  // What changes nothing when it is folded in.
  static Expr Neutral(ReduceOp op, ScalarType type) {
    switch (op) {
      case ReduceOp::kSum: return Cast(Expr(0), type);
      case ReduceOp::kProd: return Cast(Expr(1), type);
      case ReduceOp::kAny: return Expr::Bool(false);
      case ReduceOp::kAll: return Expr::Bool(true);
      default: break;
    }
    if (type == ScalarType::kReal) return Expr(IsMax(op) ? -INFINITY : INFINITY);
    return IsMax(op) ? Expr(std::numeric_limits<std::int64_t>::min()) : Expr(std::numeric_limits<std::int64_t>::max());
  }
  // "sum += x;"
  std::string Step(ReduceOp op, const std::string& into, const std::string& value) {
    switch (op) {
      case ReduceOp::kSum: return fmt::format("{} += {};", into, value);
      case ReduceOp::kProd: return fmt::format("{} *= {};", into, value);
      case ReduceOp::kAny: return fmt::format("{} |= {};", into, value);
      case ReduceOp::kAll: return fmt::format("{} &= {};", into, value);
      default: return fmt::format("{} = {}({}, {});", into, writer_.Helper(IsMax(op) ? "Max" : "Min"), into, value);
    }
  }
  // The reduction clause's operator.
  std::string Clause(ReduceOp op, ScalarType type) {
    switch (op) {
      case ReduceOp::kSum: return "+";
      case ReduceOp::kProd: return "*";
      case ReduceOp::kAny: return "|";
      case ReduceOp::kAll: return "&";
      default: return type == ScalarType::kReal ? writer_.MapMax(IsMax(op)) : IsMax(op) ? "max" : "min";
    }
  }
  // The place of what the loops stand at. Of a vector's worth of them, twice as many fit as int: its type is PlaceType.
  std::string PlaceText(const std::vector<IndexVar>& over) {
    Expr flat = 0;
    for (const auto& index : over) flat = flat * index.extent + index;
    return fmt::format("static_cast<{}>({})", PlaceType(over), TextOf(flat, {}));
  }
  static std::int64_t Places(const std::vector<IndexVar>& over) {
    std::int64_t count = 1;
    for (const auto& index : over) count *= index.extent;
    return count;
  }
  static std::string PlaceType(const std::vector<IndexVar>& over) {
    return Places(over) <= std::numeric_limits<int>::max() ? "int" : "long";
  }

  // The loops of a fold around `leaf`; `reduction` is the innermost one's clause, if it vectorises.
  void FoldLoops(const std::vector<IndexVar>& over, const Expr& body, const Expr& guard, const std::string& reduction,
                 const std::function<void()>& leaf) {
    const std::size_t known = ready_.size();
    for (std::size_t i = 0; i < over.size(); ++i) {
      if (i > 0) MakeReady(body, guard);
      if (i + 1 == over.size() && !reduction.empty()) writer_.Line(fmt::format("#pragma omp simd {}", reduction));
      OpenLoop(over[i]);
    }
    MakeReady(body, guard);
    leaf();
    for (const auto& index : over) {
      writer_.Close();
      open_.erase(index.id);
    }
    ready_.resize(known);
  }

  // A fold into variables of their own. `path` is where in the expression it stands, `guard` what is asked.
  std::string WriteFold(const Expr& fold, const Expr& path, const Expr& guard) {
    const ReduceOp op = fold->reduce;
    const Expr body = fold->operands[0];
    MakeReady(body, path);  // what does not change in the loops
    const std::size_t known = ready_.size();
    const std::string name = writer_.Fresh(IsArg(op) ? "place" : std::string(Name(op)));
    const ScalarType type = IsArg(op) ? body->type : fold->type;
    const std::string cpp_type = writer_.TypeName(type);
    // Whether the innermost loop holds nothing but the step.
    bool plain = true;
    for (const auto& use : OuterFolds(body, path)) {
      const int row = fold->over.back().id;
      plain &= !FreeIndices(use.fold).contains(row);
      plain &= !use.guard || !NeedsGuard(use.fold) || !FreeIndices(use.guard).contains(row);
    }
    std::vector<IndexVar> over = fold->over;
    if (IsArg(op)) {
      const std::string best = writer_.Fresh("best");
      writer_.Line(fmt::format("{} {} = {};", cpp_type, best, Start(op, type)));
      const bool twice = plain && type == ScalarType::kReal && over.back().extent >= 64;
      writer_.Line(fmt::format("{} {} = {};", PlaceType(over), name, twice ? Places(over) : 0));
      OpenGuard(guard);
      if (twice) {
        // The extreme first, then the first place that has it: both vectorise.
        FoldLoops(over, body, path, fmt::format("reduction({} : {})", Clause(op, type), best),
                  [&] { writer_.Line(Step(op, best, TextOf(body, path))); });
        FoldLoops(over, body, path, fmt::format("reduction(min : {})", name), [&] {
          const std::string value = Constant(body, path, "value"), at = PlaceText(over);
          const std::string hit = writer_.Fresh("hit");
          writer_.Line(fmt::format("const bool {} = ({} == {}) | ({} != {});", hit, value, best, value, value));
          writer_.Line(fmt::format("{} = {} & ({} < {}) ? {} : {};", name, hit, at, name, at, name));
        });
      } else {
        FoldLoops(over, body, path, "", [&] {
          const std::string value = Constant(body, path, "value"), at = PlaceText(over);
          writer_.Open(fmt::format(
              "if ({} {} {}{})", value, IsMax(op) ? ">" : "<", best,
              type == ScalarType::kReal ? fmt::format(" || ({} != {} && {} == {})", value, value, best, best) : ""));
          writer_.Line(fmt::format("{} = {};", best, value));
          writer_.Line(fmt::format("{} = {};", name, at));
          writer_.Close();
        });
      }
      CloseGuard(guard);
      ready_.resize(known);
      return fmt::format("static_cast<long>({})", name);
    }
    const bool parts = share_ == Share::kWake && writer_.parallel() && open_.empty() && lane_ < 0 &&
                       FoldedOperations(fold) > kLargeFold && over[0].extent >= 2 * kParts;
    writer_.Line(fmt::format("{} {} = {};", cpp_type, name, Start(op, type)));
    OpenGuard(guard);
    if (parts) {
      const std::string partial = writer_.Fresh("partial"), part = writer_.Fresh("part");
      writer_.Line(fmt::format("{} {}[{}];", cpp_type, partial, kParts));
      writer_.Line(fmt::format("#pragma omp parallel for num_threads({}) schedule(static)", writer_.ThreadsText()));
      writer_.Open(For(part, kParts));
      const std::string inner = writer_.Fresh(name);
      writer_.Line(fmt::format("{} {} = {};", cpp_type, inner, Start(op, type)));
      spans_[over[0].id] = {.begin = fmt::format("{} * {} / {}", part, over[0].extent, kParts),
                            .end = fmt::format("({} + 1) * {} / {}", part, over[0].extent, kParts),
                            .size = over[0].extent / kParts + 1};
      WriteRow(fold, over, path, inner, plain);
      spans_.erase(over[0].id);
      writer_.Line(fmt::format("{}[{}] = {};", partial, part, inner));
      writer_.Close();
      writer_.Open(For(part, kParts));
      writer_.Line(Step(op, name, fmt::format("{}[{}]", partial, part)));
      writer_.Close();
    } else {
      WriteRow(fold, over, path, name, plain);
    }
    CloseGuard(guard);
    ready_.resize(known);
    return name;
  }

  // The loops of a fold into `name`. A long row goes into several accumulators, which hides the adder's latency.
  void WriteRow(const Expr& fold, std::vector<IndexVar> over, const Expr& path, const std::string& name, bool plain) {
    constexpr std::int64_t kAccumulators = 4, kLongRow = 256;
    const ReduceOp op = fold->reduce;
    const Expr& body = fold->operands[0];
    const std::string clause = Clause(op, fold->type);
    const IndexVar row = over.back();
    if (!plain || row.extent < kLongRow || spans_.contains(row.id)) {
      FoldLoops(over, body, path, plain ? fmt::format("reduction({} : {})", clause, name) : "",
                [&] { writer_.Line(Step(op, name, TextOf(body, path))); });
      return;
    }
    const std::int64_t chunk = row.extent / kAccumulators;
    std::string list;
    std::vector<std::string> names;
    for (std::int64_t a = 0; a < kAccumulators; ++a) {
      names.push_back(writer_.Fresh(fmt::format("{}_{}", name, a)));
      list += fmt::format("{}{}", a ? ", " : "", names.back());
      writer_.Line(fmt::format("{} {} = {};", writer_.TypeName(fold->type), names.back(), Start(op, fold->type)));
    }
    spans_[row.id] = {.begin = "0", .end = fmt::format("{}", chunk), .size = chunk};
    FoldLoops(over, body, path, fmt::format("reduction({} : {})", clause, list), [&] {
      for (std::int64_t a = 0; a < kAccumulators; ++a) {
        const Expr shifted = Substitute(
            body, [&](const IndexVar& index) { return index.id == row.id ? Expr(row) + Expr(a * chunk) : Expr(); });
        writer_.Line(Step(op, names[static_cast<std::size_t>(a)], TextOf(shifted, path)));
      }
    });
    if (chunk * kAccumulators < row.extent) {
      spans_[row.id] = {.begin = fmt::format("{}", chunk * kAccumulators),
                        .end = fmt::format("{}", row.extent),
                        .size = row.extent - chunk * kAccumulators};
      FoldLoops(over, body, path, fmt::format("reduction({} : {})", clause, names[0]),
                [&] { writer_.Line(Step(op, names[0], TextOf(body, path))); });
    }
    spans_.erase(row.id);
    for (const auto& accumulator : names) writer_.Line(Step(op, name, accumulator));
  }

  // A fold for each of the results that stand side by side.
  std::string WriteLaneFold(const Expr& fold, const Expr& path, const Expr& guard) {
    const ReduceOp op = fold->reduce;
    const IndexVar lane = leaf_;
    const Span span = SpanOf(lane);
    const bool by_lane = guard && FreeIndices(guard).contains(lane.id);
    // Where the condition differs from lane to lane, it is asked at each step.
    const Expr body =
        by_lane ? Select(guard, fold->operands[0], Neutral(op, fold->operands[0]->type)) : fold->operands[0];
    const Expr inside = by_lane ? Expr() : path;
    MakeReady(body, inside);
    const std::size_t known = ready_.size();
    const ScalarType type = IsArg(op) ? body->type : fold->type;
    const std::string name = writer_.Fresh(IsArg(op) ? "place" : std::string(Name(op)));
    const std::string at = fmt::format("[{}]", span.begin == "0" ? NameOf(lane) : NameOf(lane) + " - " + span.begin);
    const auto array = [&](const std::string& array_type, const std::string& of, const std::string& start) {
      const bool zero = start == "0" || start == "false" || start == writer_.Number(0);
      writer_.Line(fmt::format("alignas(64) {} {}[{}]{};", array_type, of, span.size, zero ? " = {}" : ""));
      if (zero) return;
      const std::string each = writer_.Fresh("lane");
      writer_.Line(
          fmt::format("for (long {} = 0; {} < {}; ++{}) {}[{}] = {};", each, each, span.size, each, of, each, start));
    };
    std::string best;
    if (IsArg(op)) {
      best = writer_.Fresh("best");
      array(writer_.TypeName(type), best, Start(op, type));
      array(PlaceType(fold->over), name, "0");
    } else {
      array(writer_.TypeName(type), name, Start(op, type));
    }
    if (!by_lane) OpenGuard(guard);
    FoldLoops(fold->over, body, inside, "", [&] {
      writer_.Line("#pragma omp simd");
      OpenLoop(lane);
      if (IsArg(op)) {
        const std::string value = Constant(body, inside, "value");
        const std::string better = writer_.Fresh("better");
        writer_.Line(fmt::format("const bool {} = ({} {} {}{}){};", better, value, IsMax(op) ? ">" : "<", best, at,
                                 type == ScalarType::kReal
                                     ? fmt::format(" | (({} != {}) & ({}{} == {}{}))", value, value, best, at, best, at)
                                     : ""));
        writer_.Line(fmt::format("{}{} = {} ? {} : {}{};", best, at, better, value, best, at));
        const std::string place = PlaceText(fold->over);
        writer_.Line(fmt::format("{}{} = {} ? {} : {}{};", name, at, better, place, name, at));
      } else {
        writer_.Line(Step(op, name + at, TextOf(body, inside)));
      }
      writer_.Close();
      open_.erase(lane.id);
    });
    if (!by_lane) CloseGuard(guard);
    ready_.resize(known);
    return IsArg(op) ? fmt::format("static_cast<long>({}{})", name, at) : name + at;
  }

  void OpenGuard(const Expr& guard) {
    if (guard) writer_.Open(fmt::format("if ({})", TextOf(guard, {})));
  }
  void CloseGuard(const Expr& guard) {
    if (guard) writer_.Close();
  }

  // --- Expressions.

  void Store() {
    std::string address;
    std::int64_t step = 1;
    std::map<int, std::int64_t> strides;
    for (std::size_t d = kernel_.space.size(); d-- > 0; step *= kernel_.space[d].extent) {
      if (kernel_.space[d].extent > 1) strides[kernel_.space[d].id] = step;
    }
    const std::string text = TextOf(element_.value, {});
    for (const auto& index : kernel_.space) {
      if (!open_.contains(index.id) || !strides.contains(index.id)) continue;
      const std::int64_t stride = strides[index.id];
      address += address.empty() ? "" : " + ";
      address += stride == 1 ? names_.at(index.id) : fmt::format("{} * {}", names_.at(index.id), stride);
    }
    writer_.Line(fmt::format("{}[{}] = {};", writer_.TargetName(), address.empty() ? "0" : address, text));
  }

  std::string TextOf(const Expr& expr, const Expr& path) { return Texts(expr, path, /*in_place=*/false); }

  // A constant that holds it, or what it is called already.
  std::string Constant(const Expr& expr, const Expr& path, const std::string& hint) {
    const std::string text = TextOf(expr, path);
    const std::string name = writer_.Fresh(hint);
    writer_.Line(fmt::format("const {} {} = {};", writer_.TypeName(expr->type), name, text));
    return name;
  }

  std::string Texts(const Expr& expr, const Expr& path, bool in_place) {
    bool stays = false;
    const Expr plain = Plain(expr, path, stays);
    ExprWriter writer(writer_, [&](const ExprNode& load) { return texts_[TextIndex(load.buffer)].text; });
    writer.KeepInBranches([&](const ExprNode& node) {
      return MayTrap(node) || (node.kind == Kind::kLoad && texts_[TextIndex(node.buffer)].stays);
    });
    if (in_place) writer.KeepInPlace();
    return writer.Text(plain);
  }
  static std::size_t TextIndex(int buffer) {
    return static_cast<std::size_t>(buffer >= kMemoryText ? buffer - kMemoryText : kNameText - buffer);
  }
  Expr AsText(std::string text, ScalarType type, bool memory, bool stays) {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (texts_[i].text == text && texts_[i].stays == stays)
        return Load(memory ? kMemoryText + static_cast<int>(i) : kNameText - static_cast<int>(i), {}, type);
    }
    texts_.push_back({std::move(text), stays});
    const int last = static_cast<int>(texts_.size()) - 1;
    return Load(memory ? kMemoryText + last : kNameText - last, {}, type);
  }

  // The expression with all that ExprWriter does not know replaced by texts: indices, elements, folds. `stays` is set
  // if something in it may be evaluated only where it stands.
  Expr Plain(const Expr& e, const Expr& path, bool& stays) {
    stays |= MayTrap(*e);
    switch (e->kind) {
      case Kind::kConst: return e;
      case Kind::kIndex: return AsText(names_.at(e->index.id), ScalarType::kInt, false, false);
      case Kind::kReduce: {
        const Ready* ready = Find(e, path);
        HONE_CHECK(ready != nullptr, "a fold is used before it is made");
        return AsText(ready->text, e->type, false, false);
      }
      case Kind::kLoad: {
        bool inner = e->buffer >= kMayMiss;
        std::string text = ElementText(*e, path, inner);
        stays |= inner;
        return AsText(std::move(text), e->type, true, inner);
      }
      case Kind::kSelect:
        return Select(Plain(e->operands[0], path, stays), Plain(e->operands[1], BothHold(path, e->operands[0]), stays),
                      Plain(e->operands[2], BothHold(path, Apply(UnaryOp::kNot, e->operands[0])), stays));
      default: break;
    }
    // Of what is not negative, C++'s own division does.
    if (e->kind == Kind::kBinary && e->type == ScalarType::kInt &&
        (e->binary == BinaryOp::kFloorDiv || e->binary == BinaryOp::kFloorMod) &&
        e->operands[1]->kind == Kind::kConst && e->operands[1]->whole > 0) {
      const auto range = RangeOf(e->operands[0]);
      if (range && range->low >= 0) {
        const Expr dividend = Plain(e->operands[0], path, stays);
        if (e->binary == BinaryOp::kFloorMod) return Apply(BinaryOp::kFmod, dividend, e->operands[1]);
        bool inner = false;
        const std::string text = fmt::format("({}) / {}", InPlace(e->operands[0], path, inner), e->operands[1]->whole);
        return AsText("(" + text + ")", ScalarType::kInt, true, inner);
      }
    }
    std::vector<Expr> operands;
    for (const auto& operand : e->operands) operands.push_back(Plain(operand, path, stays));
    return WithOperands(*e, std::move(operands));
  }

  std::string InPlace(const Expr& expr, const Expr& path, bool& stays) {
    (void)Plain(expr, path, stays);
    return Texts(expr, path, /*in_place=*/true);
  }

  // "x[i * 1024 + j]" as a value of the kernel's types.
  std::string ElementText(const ExprNode& load, const Expr& path, bool& stays) {
    const int number = load.buffer % kMayMiss;
    const int buffer_number = kernel_.operands[static_cast<std::size_t>(number)].buffer;
    const KernelBuffer& buffer = program_.buffers[static_cast<std::size_t>(buffer_number)];
    const LinearForm form = LinearOf(load.operands[0]);
    std::string text;
    const auto add = [&](const std::string& term, std::int64_t times) {
      const std::string scaled = times == 1 || times == -1 ? term : fmt::format("{} * {}", term, std::abs(times));
      text += text.empty() ? (times < 0 ? "-" : "") : times < 0 ? " - " : " + ";
      text += scaled;
    };
    // The largest steps first, as one writes addresses.
    std::vector<std::pair<int, std::int64_t>> terms(form.indices.begin(), form.indices.end());
    std::stable_sort(terms.begin(), terms.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
    for (const auto& [index, times] : terms) add(names_.at(index), times);
    for (const auto& [rest, times] : form.rest) add("(" + InPlace(rest, path, stays) + ")", times);
    if (form.constant != 0 || text.empty())
      text += text.empty() ? fmt::format("{}", form.constant)
                           : fmt::format(" {} {}", form.constant < 0 ? "-" : "+", std::abs(form.constant));
    text = fmt::format("{}[{}]", writer_.BufferName(buffer_number), text);
    const std::string type = writer_.TypeName(ScalarOf(buffer.dtype));
    const bool same = type == CppName(buffer.dtype) || buffer.dtype == DType::kI64;
    return same ? text : fmt::format("static_cast<{}>({})", type, text);
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  Share share_ = Share::kAlone;
  FlatElement element_;
  std::vector<Loop> loops_;
  bool has_leaf_ = false;    // an innermost loop of its own
  bool leaf_lanes_ = false;  // whose elements have accumulators side by side, made within so many loops
  std::size_t before_lanes_ = 0;
  bool leaf_shared_ = false;  // by threads
  bool single_ = false;
  IndexVar leaf_;
  int lane_ = -1;       // the index that runs side by side in what is written now
  std::set<int> open_;  // indices whose loops are open
  std::map<int, std::string> names_;
  std::set<std::string> used_;
  std::map<int, Span> spans_;
  std::vector<Ready> ready_;
  std::vector<Text> texts_;
};

// --- Sequences.

class SequenceWriter {
 public:
  SequenceWriter(const KernelProgram& program, std::size_t first, std::size_t end, Writer& writer)
      : program_(program), first_(first), end_(end), writer_(writer), leader_(program.kernels[first]) {}

  void Write() {
    const auto along = Along(leader_);
    const IndexVar& step = leader_.space[along];
    double work = 0;
    for (std::size_t m = first_; m < end_; ++m) {
      const Kernel& member = program_.kernels[m];
      for (const auto& index : member.space) {
        if (index.extent == 0) return Nothing();
      }
      work += member.family->flops(member);
    }
    FindFree();
    std::int64_t outer = 1;
    for (const auto p : outer_) outer *= leader_.space[p].extent;
    const bool wide = writer_.parallel();
    const bool cut = wide && lane_ >= 0 && outer < kFewOuter && LaneExtent() >= 2 * kCut;
    const bool shared = wide && (outer > 1 || cut);
    const bool region =
        wide && !shared && work / static_cast<double>(std::max<std::int64_t>(step.extent, 1)) > kSmallStep;
    if (wide && !shared && !region) writer_.Line("(void)threads;");
    // The names of what is open are the leader's, for all members.
    ElementWriter names(program_, leader_, writer_);
    std::map<std::size_t, std::string> name;
    int opened = 0;
    const std::size_t loops = outer_.size() + (cut ? 1 : 0);
    if (shared) {
      writer_.Line(fmt::format("#pragma omp parallel for{} num_threads({}) schedule(static)",
                               loops > 1 ? fmt::format(" collapse({})", loops) : "", writer_.ThreadsText()));
    }
    if (region) {
      writer_.Line(fmt::format("#pragma omp parallel num_threads({})", writer_.ThreadsText()));
      writer_.Open("");
      ++opened;
    }
    for (const auto p : outer_) {
      name[p] = names.NameOf(leader_.space[p]);
      writer_.Open(For(name[p], leader_.space[p].extent));
      ++opened;
    }
    Span span;
    if (cut) {
      const std::string lane = names.NameOf(leader_.space[static_cast<std::size_t>(lane_)]);
      name[static_cast<std::size_t>(lane_)] = lane;
      span = {.begin = writer_.Fresh(lane + "0"), .end = writer_.Fresh(lane + "_end"), .size = kCut};
      const std::int64_t extent = LaneExtent();
      writer_.Open(
          fmt::format("for (long {} = 0; {} < {}; {} += {})", span.begin, span.begin, extent, span.begin, kCut));
      writer_.Line(fmt::format("const long {} = {} + {} < {} ? {} + {} : {};", span.end, span.begin, kCut, extent,
                               span.begin, kCut, extent));
      ++opened;
    }
    const std::string t = names.NameOf(step);
    const bool reversed = leader_.attributes.at("reversed")[0] != 0;
    writer_.Open(reversed ? fmt::format("for (long {} = {}; {} >= 0; --{})", t, step.extent - 1, t, t)
                          : For(t, step.extent));
    ++opened;
    for (std::size_t m = first_; m < end_; ++m) {
      const Kernel& member = program_.kernels[m];
      writer_.Begin(member);
      ElementWriter element(program_, member, writer_);
      element.Open(member.space[Along(member)], t);
      for (const auto p : outer_) element.Open(member.space[p], name[p]);
      if (cut) element.Cut(member.space[static_cast<std::size_t>(lane_)], name[static_cast<std::size_t>(lane_)], span);
      const bool block = end_ - first_ > 1;
      if (block) writer_.Open("");
      element.Write(region ? Share::kRegion : Share::kAlone);
      if (block) writer_.Close();
    }
    writer_.Begin(leader_);
    while (opened-- > 0) writer_.Close();
  }

 private:
  void Nothing() {
    if (writer_.parallel()) writer_.Line("(void)threads;");
  }
  static constexpr std::int64_t kCut = 128;  // elements of the innermost dimension that one thread takes through time

  static std::size_t Along(const Kernel& kernel) { return static_cast<std::size_t>(kernel.attributes.at("along")[0]); }
  std::int64_t LaneExtent() const { return leader_.space[static_cast<std::size_t>(lane_)].extent; }

  // The dimensions along which the members do not look at each other: threads share those out, without barriers.
  void FindFree() {
    const std::size_t along = Along(leader_);
    std::set<int> targets;
    bool same_rank = true;
    for (std::size_t m = first_; m < end_; ++m) {
      targets.insert(program_.kernels[m].target);
      same_rank &= program_.kernels[m].space.size() == leader_.space.size();
    }
    for (std::size_t p = 0; p < leader_.space.size(); ++p) {
      if (p == along) continue;
      bool free = true;
      for (std::size_t m = first_; m < end_ && free; ++m) {
        const Kernel& member = program_.kernels[m];
        free = Along(member) == along && p < member.space.size() && member.space[p].extent == leader_.space[p].extent;
        if (!free) break;
        Visit(member.epilogue, [&](const ExprNode& node) {
          if (node.kind != Kind::kLoad || node.buffer < 0) return;
          if (!targets.contains(member.operands[static_cast<std::size_t>(node.buffer)].buffer)) return;
          const Expr& index = node.operands[p];
          free &= index->kind == Kind::kIndex && index->index.id == member.space[p].id;
        });
      }
      if (!free) continue;
      if (same_rank && p + 1 == leader_.space.size() && leader_.space[p].extent > 1)
        lane_ = static_cast<int>(p);
      else
        outer_.push_back(p);
    }
  }

  const KernelProgram& program_;
  std::size_t first_, end_;
  Writer& writer_;
  const Kernel& leader_;
  std::vector<std::size_t> outer_;
  int lane_ = -1;  // the innermost dimension, if it is one of those
};

}  // namespace

void EmitNest(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  if (kernel.attributes.contains("sequence")) {
    const auto which = static_cast<std::size_t>(&kernel - program.kernels.data());
    return SequenceWriter(program, which, SequenceEnd(program, which), writer).Write();
  }
  for (const auto& index : kernel.space) {
    if (index.extent != 0) continue;
    if (writer.parallel()) writer.Line("(void)threads;");
    return;
  }
  ElementWriter(program, kernel, writer).Write(Share::kWake);
}

}  // namespace hone::dsl
