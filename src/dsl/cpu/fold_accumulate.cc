// One pass over what is folded: rows, columns, blocks of either.
// One file because the passes are built of one another: blocks of rows, the joins of their parts, what is fetched.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "dsl/cpu/fold_emitter.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kRowsPerFlush = 256;  // that are summed in the accumulators before they go to a double
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kFetchAhead = 2048;  // bytes between what is computed and what is fetched

}  // namespace

bool FoldEmitter::IsAtom(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ' ' && depth == 0) return false;
  }
  return true;
}

std::string FoldEmitter::Start(const FoldPass::Item& item) const {
  const bool real = item.body->type == ScalarType::kReal;
  switch (item.fold) {
    case ReduceOp::kProd: return real ? writer_.Number(1) : "1";
    case ReduceOp::kMax:
      return real ? "-__builtin_inf" + std::string(writer_.wide() ? "()" : "f()") : "(-__LONG_MAX__ - 1)";
    case ReduceOp::kMin: return real ? "__builtin_inf" + std::string(writer_.wide() ? "()" : "f()") : "__LONG_MAX__";
    default: return real ? writer_.Number(0) : "0";
  }
}

std::string FoldEmitter::Clause(const FoldPass::Item& item) {
  const bool real = item.body->type == ScalarType::kReal;
  switch (item.fold) {
    case ReduceOp::kProd: return "*";
    case ReduceOp::kMax: return real ? writer_.MapMax(true) : "max";
    case ReduceOp::kMin: return real ? writer_.MapMax(false) : "min";
    default: return "+";
  }
}

std::string FoldEmitter::Join(const FoldPass::Item& item, const std::string& a, const std::string& b) {
  switch (item.fold) {
    case ReduceOp::kProd: return fmt::format("{} * {}", Wrap(a), Wrap(b));
    case ReduceOp::kMax: return fmt::format("{}({}, {})", writer_.Helper(item.nans ? "Max" : "Larger"), a, b);
    case ReduceOp::kMin: return fmt::format("{}({}, {})", writer_.Helper("Min"), a, b);
    default: return fmt::format("{} + {}", a, Wrap(b));
  }
}

std::string FoldEmitter::Update(const FoldPass::Item& item, const std::string& into, const std::string& value) {
  if (item.fold == ReduceOp::kSum) return fmt::format("{} += {};", into, value);
  if (item.fold == ReduceOp::kProd) return fmt::format("{} *= {};", into, value);
  return fmt::format("{} = {};", into, Join(item, value, into));  // the test for a NaN is then not in the chain
}

std::string FoldEmitter::JoinAll(const FoldPass::Item& item, std::vector<std::string> parts) {
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

std::string FoldEmitter::TotalType(const FoldPass::Item& item) const {
  return Adds(item) && item.body->type == ScalarType::kReal ? "double" : TypeOf(item);
}

FoldEmitter::Folded FoldEmitter::Pass(const FoldPass& pass, const std::vector<Range>& ranges) {
  if (pass.online) return OnlinePass(pass, ranges);
  if (pass.moments) return MomentsPass(pass, ranges);
  return rows_ ? RowPass(pass, ranges) : ColumnPass(pass, ranges);
}

std::size_t FoldEmitter::OpenReduced(const std::vector<Range>& ranges) {
  for (std::size_t n = 0; n + 1 < reduced_.size(); ++n) {
    const Range& range = ranges[reduced_[n]];
    const std::string& var = Dim(reduced_[n]).var;
    writer_.Open(fmt::format("for (long {} = {}; {} < {}; ++{})", var, range.begin, var, range.end, var));
  }
  return reduced_.size() - 1;
}

FoldEmitter::Folded FoldEmitter::RowPass(const FoldPass& pass, const std::vector<Range>& ranges) {
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
      writer_.Line(Left(count, range.end, begin, kRowBlock));
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

FoldEmitter::Folded FoldEmitter::RowBlock(const FoldPass& pass, const LoopDim& dim, std::size_t inner,
                                          const std::string& begin, std::optional<std::int64_t> known,
                                          const std::string& count) {
  const bool extreme = pass.items.size() == 1 && !Adds(pass.items[0]) && pass.items[0].body->type == ScalarType::kReal;
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

FoldEmitter::Folded FoldEmitter::LaneBlock(const FoldPass& pass, const LoopDim& dim, std::size_t inner,
                                           const std::string& begin, std::optional<std::int64_t> known,
                                           const std::string& count,
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
  writer_.Open(
      fmt::format("for (long {} = {}; {} + {} <= {}; {} += {})", dim.var, begin, dim.var, width, end, dim.var, width));
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

std::vector<std::string> FoldEmitter::FetchedIndex(std::size_t inner) const {
  if (fetch_ == Fetch::kAhead) return IndexAhead(inner, ahead_.value_or(kFetchAhead / (writer_.wide() ? 8 : 4)));
  std::vector<std::string> index = index_;
  index[kept_.back()] += " + 1";
  return index;
}

std::vector<std::string> FoldEmitter::IndexAhead(std::size_t inner, std::int64_t elements) const {
  std::vector<std::string> index = index_;
  index[inner] += fmt::format(" + {}", elements);
  return index;
}

std::vector<std::string> FoldEmitter::Values(const FoldPass& pass, const std::vector<std::string>& index) {
  std::vector<Expr> bodies;
  for (const auto& item : pass.items) bodies.push_back(item.body);
  if (!pass.keep) return Texts(bodies, index);
  bodies.insert(bodies.begin(), pass.keep);
  auto texts = Texts(bodies, index);
  writer_.Line(fmt::format("{} = {};", loops_.TargetElement(writer_, index), texts[0]));
  texts.erase(texts.begin());
  return texts;
}

void FoldEmitter::Step(const FoldPass& pass, const std::vector<std::string>& index,
                       const std::function<std::string(std::size_t)>& accumulator) {
  const auto values = Values(pass, index);
  for (std::size_t i = 0; i < pass.items.size(); ++i) writer_.Line(Update(pass.items[i], accumulator(i), values[i]));
}

FoldEmitter::Folded FoldEmitter::ColumnPass(const FoldPass& pass, const std::vector<Range>& ranges) {
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

void FoldEmitter::ColumnRows(const FoldPass& pass, const std::string& begin, const std::string& end,
                             std::optional<std::int64_t> known, const std::vector<std::string>& parts) {
  const std::size_t inner = reduced_.back();
  const LoopDim& dim = Dim(inner);
  const std::int64_t at_a_time = known ? std::min(accumulators_, std::max<std::int64_t>(1, *known)) : accumulators_;
  const auto row = [&](std::int64_t rows) {
    writer_.Line("#pragma omp simd");
    writer_.Open(ColumnLoop());
    std::vector<std::vector<std::string>> values(pass.items.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<std::string> index = index_;
      index[inner] = Plus(dim.var, r);
      const auto texts = Values(pass, index);
      for (std::size_t i = 0; i < pass.items.size(); ++i)
        values[i].push_back(rows > 1 ? Named(pass.items[i], texts[i]) : texts[i]);
    }
    for (std::size_t i = 0; i < pass.items.size(); ++i)
      writer_.Line(Update(pass.items[i], fmt::format("{}[{}]", parts[i], column_), JoinAll(pass.items[i], values[i])));
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

FoldEmitter::Folded FoldEmitter::MomentsPass(const FoldPass& pass, const std::vector<Range>& ranges) {
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
  writer_.Open(fmt::format("for (long {} = {}; {} < {}; {} += {})", begin, range.begin, begin, range.end, begin, most));
  if (range.count && *range.count % most == 0) {
    known = most;
    writer_.Line(fmt::format("constexpr long {} = {};", count, most));
  } else {
    writer_.Line(Left(count, range.end, begin, most));
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

std::string FoldEmitter::Named(const FoldPass::Item& item, const std::string& text) {
  if (IsAtom(text)) return text;
  const std::string name = writer_.Fresh(item.name + "_v");
  writer_.Line(fmt::format("const {} {} = {};", TypeOf(item), name, text));
  return name;
}

FoldEmitter::Folded FoldEmitter::OnlinePass(const FoldPass& pass, const std::vector<Range>& ranges) {
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
  writer_.Open(
      fmt::format("for (long {} = {}; {} < {}; {} += {})", begin, range.begin, begin, range.end, begin, kOnlineBlock));
  std::optional<std::int64_t> known;
  std::string count;
  if (range.count && *range.count % kOnlineBlock == 0) {
    known = kOnlineBlock;
  } else {
    count = writer_.Fresh("count");
    writer_.Line(Left(count, range.end, begin, kOnlineBlock));
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

std::string FoldEmitter::BlockNumber(const std::string& at, const std::string& begin) {
  return begin == "0" ? fmt::format("{} / {}", at, kOnlineBlock)
                      : fmt::format("({} - {}) / {}", at, begin, kOnlineBlock);
}

void FoldEmitter::DeclareTops(bool anew) {
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

}  // namespace hone::dsl
