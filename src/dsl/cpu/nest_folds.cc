// The folds of a nest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/nest_element.h"
#include "expr/ranged_fold.h"

namespace hone::dsl {
namespace {

// Operations from which on a fold over everything is shared out, and into how many parts whatever the threads: the
// result does not depend on how many there are.
constexpr double kLargeFold = 100e3;
constexpr std::int64_t kParts = 32;

bool IsMax(ReduceOp op) { return op == ReduceOp::kArgMax || op == ReduceOp::kMax; }

}  // namespace

const ElementWriter::Ready* ElementWriter::Find(const Expr& fold, const Expr& guard) const {
  for (const auto& ready : ready_) {
    if (ready.guard && !(guard && SameExpr(ready.guard, guard))) continue;
    if (SameExpr(ready.fold, fold)) return &ready;
  }
  return nullptr;
}

bool ElementWriter::Knows(const std::set<int>& indices) const {
  return std::all_of(indices.begin(), indices.end(), [&](int id) { return open_.contains(id) || id == lane_; });
}

bool ElementWriter::CanBeMade(const GuardedFold& use) const {
  if (!Knows(FreeIndices(use.fold))) return false;
  return !use.guard || !NeedsGuard(use.fold) || Knows(FreeIndices(use.guard));
}

bool ElementWriter::HasUnready(const Expr& expr, const Expr& guard) const {
  for (const auto& use : OuterFolds(expr, guard)) {
    if (!Known(use.fold, use.guard)) return true;
  }
  return false;
}

bool ElementWriter::AnyReady(const Expr& expr, const Expr& guard) const {
  for (const auto& use : OuterFolds(expr, guard)) {
    if (Known(use.fold, use.guard)) continue;
    if (CanBeMade(use) || AnyReady(use.fold->operands[0], use.guard)) return true;
  }
  return false;
}

void ElementWriter::MakeReady(const Expr& expr, const Expr& guard) {
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

std::string ElementWriter::Start(ReduceOp op, ScalarType type) const {
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

Expr ElementWriter::Neutral(ReduceOp op, ScalarType type) {
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

std::string ElementWriter::Step(ReduceOp op, const std::string& into, const std::string& value) {
  switch (op) {
    case ReduceOp::kSum: return fmt::format("{} += {};", into, value);
    case ReduceOp::kProd: return fmt::format("{} *= {};", into, value);
    case ReduceOp::kAny: return fmt::format("{} |= {};", into, value);
    case ReduceOp::kAll: return fmt::format("{} &= {};", into, value);
    default: return fmt::format("{} = {}({}, {});", into, writer_.Helper(IsMax(op) ? "Max" : "Min"), into, value);
  }
}

std::string ElementWriter::Clause(ReduceOp op, ScalarType type) {
  switch (op) {
    case ReduceOp::kSum: return "+";
    case ReduceOp::kProd: return "*";
    case ReduceOp::kAny: return "|";
    case ReduceOp::kAll: return "&";
    default: return type == ScalarType::kReal ? writer_.MapMax(IsMax(op)) : IsMax(op) ? "max" : "min";
  }
}

std::string ElementWriter::PlaceText(const std::vector<IndexVar>& over) {
  Expr flat = 0;
  for (const auto& index : over) flat = flat * index.extent + index;
  return fmt::format("static_cast<{}>({})", PlaceType(over), TextOf(flat, {}));
}

std::int64_t ElementWriter::Places(const std::vector<IndexVar>& over) {
  std::int64_t count = 1;
  for (const auto& index : over) count *= index.extent;
  return count;
}

std::string ElementWriter::PlaceType(const std::vector<IndexVar>& over) {
  return Places(over) <= std::numeric_limits<int>::max() ? "int" : "long";
}

void ElementWriter::FoldLoops(const std::vector<IndexVar>& over, const Expr& body, const Expr& guard,
                              const std::string& reduction, const std::function<void()>& leaf) {
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

Expr ElementWriter::CutToRange(const Expr& fold, const Expr& guard) {
  const auto ranged = RangedFoldOf(*fold);
  if (!ranged || spans_.contains(ranged->index.id)) return fold;
  if (!Knows(FreeIndices(ranged->begin)) || !Knows(FreeIndices(ranged->end))) return fold;
  if (guard && (NeedsGuard(ranged->begin) || NeedsGuard(ranged->end))) return fold;
  if (lane_ >= 0 && (UsesIndex(ranged->begin, lane_) || UsesIndex(ranged->end, lane_))) return fold;
  const std::string begin = writer_.Fresh("begin"), end = writer_.Fresh("end");
  writer_.Line(
      fmt::format("const long {} = {}, {} = {};", begin, TextOf(ranged->begin, {}), end, TextOf(ranged->end, {})));
  spans_[ranged->index.id] = {.begin = begin, .end = end, .size = ranged->index.extent};
  return Reduce(fold->reduce, fold->over, ranged->body);
}

void ElementWriter::EndRange(const Expr& fold, const Expr& cut) {
  if (const auto ranged = cut.get() == fold.get() ? std::nullopt : RangedFoldOf(*fold)) spans_.erase(ranged->index.id);
}

std::string ElementWriter::WriteFold(const Expr& whole, const Expr& path, const Expr& guard) {
  const ReduceOp op = whole->reduce;
  // A fold of everything is shared out among threads instead.
  const Expr fold = open_.empty() && lane_ < 0 ? whole : CutToRange(whole, guard);
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
  EndRange(whole, fold);
  return name;
}

void ElementWriter::WriteRow(const Expr& fold, std::vector<IndexVar> over, const Expr& path, const std::string& name,
                             bool plain) {
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

std::string ElementWriter::WriteLaneFold(const Expr& whole, const Expr& path, const Expr& guard) {
  const ReduceOp op = whole->reduce;
  const Expr fold = CutToRange(whole, guard);
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
  EndRange(whole, fold);
  return IsArg(op) ? fmt::format("static_cast<long>({}{})", name, at) : name + at;
}

void ElementWriter::OpenGuard(const Expr& guard) {
  if (guard) writer_.Open(fmt::format("if ({})", TextOf(guard, {})));
}

void ElementWriter::CloseGuard(const Expr& guard) {
  if (guard) writer_.Close();
}

bool ElementWriter::NeedsGuard(const Expr& expr) {
  bool needs = false;
  Visit(expr, [&](const ExprNode& node) { needs |= MayTrap(node) || node.may_miss; });
  return needs;
}

}  // namespace hone::dsl
