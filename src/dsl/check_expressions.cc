// From terms to Exprs over a kernel's iteration space.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "dsl/checker.h"
#include "dsl/functions.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {
namespace {

// The operand's number in the kernel: each is held once.
int AddOperand(Kernel& kernel, KernelOperand operand) {
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    const KernelOperand& other = kernel.operands[i];
    if (other.buffer == operand.buffer && other.strides == operand.strides && other.offset == operand.offset &&
        other.extents == operand.extents)
      return static_cast<int>(i);
  }
  kernel.operands.push_back(std::move(operand));
  return static_cast<int>(kernel.operands.size()) - 1;
}

// Whole only for want of anything but numbers in it: select(x > 0, 1, 0).
bool OnlyNumbersAreWhole(const Expr& expr) {
  if (expr->type != ScalarType::kInt) return false;
  switch (expr->kind) {
    case Expr::Kind::kConst: return true;
    case Expr::Kind::kSelect: return OnlyNumbersAreWhole(expr->operands[1]) && OnlyNumbersAreWhole(expr->operands[2]);
    case Expr::Kind::kReduce:
      if (IsArg(expr->reduce)) return false;
      [[fallthrough]];
    case Expr::Kind::kUnary:
    case Expr::Kind::kBinary: return std::all_of(expr->operands.begin(), expr->operands.end(), OnlyNumbersAreWhole);
    default: return false;
  }
}

// Whether a term whose numbers are open is whole all the same, by an `int` somewhere: select(x > 0, int(1), 0).
bool SaysWhole(const TermPtr& term) {
  if (term->kind == Term::Kind::kCall && term->name == "int") return true;
  const bool chooses = term->kind == Term::Kind::kCall && term->name == "select";
  return std::any_of(term->arguments.begin() + (chooses ? 1 : 0), term->arguments.end(), SaysWhole);
}

bool IsFold(const std::string& name, std::size_t arguments) {
  return arguments == 1 &&
         (name == "sum" || name == "prod" || name == "mean" || name == "max_over" || name == "min_over");
}

// The folds in a term; a fold inside of a fold counts too.
void FindFolds(const TermPtr& term, std::vector<TermPtr>& folds) {
  if (term->kind == Term::Kind::kCall && IsFold(term->name, term->arguments.size())) folds.push_back(term);
  for (const auto& argument : term->arguments) FindFolds(argument, folds);
}

TermPtr Replace(const TermPtr& term, const TermPtr& what, const TermPtr& with) {
  if (term == what) return with;
  auto copy = std::make_shared<Term>(*term);
  for (auto& argument : copy->arguments) argument = Replace(argument, what, with);
  return copy;
}

int CountIts(const TermPtr& term) {
  int count = term->kind == Term::Kind::kIt ? 1 : 0;
  for (const auto& argument : term->arguments) count += CountIts(argument);
  return count;
}

std::int64_t ReducedCount(const Kernel& kernel) {
  std::int64_t count = 1;
  for (const int axis : kernel.axes) count *= kernel.space[static_cast<std::size_t>(axis)].extent;
  return count;
}

}  // namespace

bool Checker::Broadcast(const TermPtr& term, Shape& shape, bool& any) {
  if (term->kind == Term::Kind::kName) {
    const auto it = names_.find(term->name);
    if (it == names_.end()) return UnknownName(*term);
    any = true;
    const Shape& other = it->second.shape;
    if (other.size() > shape.size()) shape.insert(shape.begin(), other.size() - shape.size(), 1);
    for (std::size_t d = 0; d < other.size(); ++d) {
      std::int64_t& mine = shape[shape.size() - other.size() + d];
      if (mine == 1) {
        mine = other[d];
      } else if (other[d] != 1 && other[d] != mine) {
        return Fail(
            term->at,
            fmt::format("'{}' of shape {} does not broadcast with {}: make the extents equal or 1, or take a view",
                        term->name, hone::ToString(other), hone::ToString(shape)));
      }
    }
  }
  for (const auto& argument : term->arguments) {
    if (!Broadcast(argument, shape, any)) return false;
  }
  return true;
}

Expr Checker::Convert(const TermPtr& term, const Place& place) {
  if (failed_) return Expr(0.0);
  switch (term->kind) {
    case Term::Kind::kNumber: {
      // A whole number is a real beside reals and a whole number beside whole numbers.
      const double x = term->number;
      const double most = place.nest ? 0x1p53 : 0x1p20;
      const bool whole = x == std::trunc(x) && std::fabs(x) < most && !(x == 0 && std::signbit(x));
      return whole ? Expr(static_cast<std::int64_t>(x)) : Expr(x);
    }
    case Term::Kind::kIt:
      if (place.it) return place.it;
      Fail(term->at, std::string(place.no_it.empty() ? "there is no 'it' here: name the tensor" : place.no_it));
      return Expr(0.0);
    case Term::Kind::kName: return ConvertName(*term, place);
    case Term::Kind::kElement:
      if (place.nest) return ConvertElement(*term, place);
      Fail(term->at,
           fmt::format("'{}[...]' is written in a nest only: elsewhere name the tensor or a view of it", term->name));
      return Expr(0.0);
    case Term::Kind::kFold:
      if (place.nest) return ConvertFold(*term, place);
      Fail(term->at, fmt::format("'{} [...] (...)' is written in a nest only: elsewhere use the reduce family or the "
                                 "lets of a norm",
                                 term->name));
      return Expr(0.0);
    case Term::Kind::kCall: break;
  }
  if (IsFold(term->name, term->arguments.size())) {
    Fail(term->at,
         place.nest
             ? fmt::format("'{}' in a nest folds over indices of its own: write {} [k < 8] (...)", term->name,
                           term->name)
             : fmt::format("'{}' folds over axes: only a let of a norm may hold it, or the reduce family", term->name));
    return Expr(0.0);
  }
  if (term->arguments.empty()) {
    const auto along = std::find(place.places.begin(), place.places.end(), term->name);
    if (along != place.places.end()) return place.kernel->space[At(*(place.dims.end() - (place.places.end() - along)))];
    if (!place.row_sum.empty() && term->name == place.row_sum) return Value(kRowSum, ScalarType::kReal);
  }
  if (!place.rotation.empty() && term->name == place.rotation) return ConvertRotation(*term, place);
  const Function* function = FindFunction(term->name, term->arguments.size());
  if (!function) {
    if (const Function* other = FindFunction(term->name)) {
      Fail(term->at, fmt::format("'{}' takes {} argument{}, not {}: {}", term->name, other->arguments,
                                 other->arguments == 1 ? "" : "s", term->arguments.size(), other->doc));
    } else {
      std::vector<std::string_view> known;
      for (const auto& f : AllFunctions()) known.push_back(f.name);
      const std::string mend = term->arguments.empty() && !place.row_sum.empty()
                                   ? fmt::format(": of a row there is '{}()'", place.row_sum)
                                   : DidYouMean(term->name, known);
      Fail(term->at, fmt::format("unknown function '{}'{}", term->name, mend));
    }
    return Expr(0.0);
  }
  std::vector<Expr> arguments;
  for (const auto& argument : term->arguments) arguments.push_back(Convert(argument, place));
  if (failed_) return Expr(0.0);
  if (function->whole_only) {
    for (const auto& argument : arguments) {
      if (argument->type == ScalarType::kReal) {
        Fail(term->at,
             fmt::format("'{}' wants bools or whole numbers, not reals: compare first, or use bool(x)", term->name));
        return Expr(0.0);
      }
    }
  }
  return function->build(arguments);
}

Expr Checker::ConvertRotation(const Term& term, const Place& place) {
  const auto fail = [&](std::string message) {
    Fail(term.at, std::move(message));
    return Expr(0.0);
  };
  const bool number = term.arguments.size() == 1 && term.arguments[0]->kind == Term::Kind::kNumber;
  const double distance = number ? term.arguments[0]->number : 0;
  const std::int64_t columns = ColumnsOfRow(*place.kernel);
  if (!(distance >= 1 && distance < 1e3) || distance != std::trunc(distance) ||
      !RotatesBy(static_cast<std::int64_t>(distance)))
    return fail(fmt::format(
        "'{0}' takes how far apart the columns of a pair are, a power of two up to 128, or 24, 48 or 96: try "
        "{0}(64)",
        term.name));
  const int apart = static_cast<int>(distance);
  if (columns % (2 * apart) != 0)
    return fail(
        fmt::format("'{0}({1})' rotates pairs in every {2} columns, of which {3} are no multiple: make heads of "
                    "{2} columns batches of B, or write it as a nest",
                    term.name, apart, 2 * apart, columns));
  return Value(RotatedValue(apart), ScalarType::kReal);
}

Expr Checker::ConvertName(const Term& term, const Place& place) {
  if (place.nest) {
    if (const Scope* index = Scope::Find(place.scope, term.name)) return index->index;
    return ConvertElement(term, place);
  }
  for (std::size_t i = 0; i < place.kernel->lets.size(); ++i) {
    if (place.kernel->lets[i].name == term.name) return Value(LetValue(static_cast<int>(i)), let_types_[i]);
  }
  const auto it = names_.find(term.name);
  if (it == names_.end()) {
    UnknownName(term);
    return Expr(0.0);
  }
  if (place.lets_only) {
    Fail(term.at,
         fmt::format("'{}' outside of the fold: there a let may use numbers and earlier lets only", term.name));
    return Expr(0.0);
  }
  const Named& named = it->second;
  if (!StillThere(term, named)) return Expr(0.0);
  Kernel& kernel = *place.kernel;
  KernelOperand operand{
      .buffer = named.buffer, .strides = std::vector<std::int64_t>(kernel.space.size(), 0), .offset = named.offset};
  Shape want;
  for (const int d : place.dims) want.push_back(kernel.space[At(d)].extent);
  if (place.to > 0) want.back() = place.to - place.from;
  if (named.shape.size() > want.size()) {
    Fail(term.at, fmt::format("'{}' of shape {} has more dimensions than {} here: take a view of it", term.name,
                              hone::ToString(named.shape), hone::ToString(want)));
    return Expr(0.0);
  }
  for (std::size_t d = 0; d < named.shape.size(); ++d) {
    const std::size_t aligned = want.size() - named.shape.size() + d;
    if (named.shape[d] == 1) continue;
    if (named.shape[d] != want[aligned]) {
      Fail(term.at,
           fmt::format("'{}' of shape {} does not broadcast to {} here: make the extents equal or 1, or take a view",
                       term.name, hone::ToString(named.shape), hone::ToString(want)));
      return Expr(0.0);
    }
    operand.strides[At(place.dims[aligned])] = named.strides[d];
  }
  if (place.from > 0) operand.offset -= operand.strides[At(place.dims.back())] * place.from;
  std::vector<Expr> indices(kernel.space.begin(), kernel.space.end());
  return Load(AddOperand(kernel, std::move(operand)), std::move(indices),
              ScalarOf(program_.buffers[At(named.buffer)].dtype));
}

Expr Checker::ConvertElement(const Term& term, const Place& place) {
  const auto it = names_.find(term.name);
  if (it == names_.end()) {
    if (Scope::Find(place.scope, term.name)) {
      Fail(term.at, fmt::format("'{}' is an index, a whole number: it has no elements", term.name));
    } else if (buffers_.contains(term.name)) {
      UnknownName(term);
    } else {
      std::vector<std::string_view> known;
      for (const Scope* s = place.scope; s; s = s->outer) known.push_back(s->name);
      for (const auto other : KnownNames()) known.push_back(other);
      Fail(term.at, fmt::format("unknown name '{}'{}", term.name, DidYouMean(term.name, known)));
    }
    return Expr(0.0);
  }
  const Named& named = it->second;
  if (!StillThere(term, named)) return Expr(0.0);
  if (term.arguments.size() != named.shape.size()) {
    const std::size_t rank = named.shape.size();
    Fail(term.at,
         term.kind == Term::Kind::kName
             ? fmt::format("'{}' of shape {} stands in a nest without indices: write {}[{}]", term.name,
                           hone::ToString(named.shape), term.name,
                           rank == 1   ? "i"
                           : rank == 2 ? "i, j"
                                       : "i, j, ...")
             : fmt::format("'{}' of shape {} takes {} ind{}, not {}: give one a dimension", term.name,
                           hone::ToString(named.shape), rank, rank == 1 ? "ex" : "ices", term.arguments.size()));
    return Expr(0.0);
  }
  std::vector<Expr> indices;
  for (std::size_t d = 0; d < term.arguments.size(); ++d) {
    Expr index = Convert(term.arguments[d], place);
    if (failed_) return Expr(0.0);
    if (index->type == ScalarType::kReal) {
      Fail(term.arguments[d]->at,
           fmt::format("index {} of '{}' is a real: indices are whole numbers, use int(...)", d, term.name));
      return Expr(0.0);
    }
    indices.push_back(Cast(std::move(index), ScalarType::kInt));
  }
  KernelOperand operand{
      .buffer = named.buffer, .strides = named.strides, .offset = named.offset, .extents = named.shape};
  return Load(AddOperand(*place.kernel, std::move(operand)), std::move(indices),
              ScalarOf(program_.buffers[At(named.buffer)].dtype));
}

Expr Checker::ConvertFold(const Term& term, const Place& place) {
  static constexpr ReduceOp kFolds[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMax,    ReduceOp::kMin,
                                        ReduceOp::kAny, ReduceOp::kAll,  ReduceOp::kArgMax, ReduceOp::kArgMin};
  std::vector<std::string_view> known;
  for (const auto op : kFolds) known.push_back(hone::Name(op));
  const auto found = std::find(known.begin(), known.end(), term.name);
  if (found == known.end()) {
    Fail(term.at, fmt::format("'{}' is no fold: use {}", term.name, fmt::join(known, ", ")));
    return Expr(0.0);
  }
  const ReduceOp op = kFolds[found - known.begin()];
  Place inner = place;
  std::vector<Scope> scopes(term.over.size());
  std::vector<IndexVar> over;
  for (std::size_t i = 0; i < term.over.size(); ++i) {
    if (!NewScope(term.over[i], term.at, *place.kernel, inner.scope, scopes[i])) return Expr(0.0);
    inner.scope = &scopes[i];
    over.push_back(scopes[i].index);
  }
  Expr body = Convert(term.arguments[0], inner);
  if (failed_) return Expr(0.0);
  return Reduce(op, std::move(over), std::move(body));
}

bool Checker::NewScope(const LoopIndex& loop, Position at, Kernel& kernel, const Scope* outer, Scope& scope) {
  if (Scope::Find(outer, loop.name) || names_.contains(loop.name))
    return Fail(at, fmt::format("index '{}' has the name of something else: choose another", loop.name));
  scope = {.name = loop.name, .index = NewIndex(loop.extent), .outer = outer};
  kernel.index_names[scope.index.id] = loop.name;
  return true;
}

Expr Checker::RealIfOpen(const Expr& expr, const TermPtr& term) {
  return dsl::SaysWhole(term) ? expr : RealIfOpen(expr);
}
Expr Checker::RealIfOpen(const Expr& expr) { return OnlyNumbersAreWhole(expr) ? Cast(expr, ScalarType::kReal) : expr; }

bool Checker::SaysWhole(const Statement& statement) {
  return std::ranges::any_of(statement.operands, dsl::SaysWhole) ||
         std::ranges::any_of(statement.epilogue, dsl::SaysWhole);
}

bool Checker::SaysWhole(const Also& also) { return dsl::SaysWhole(also.value); }

bool Checker::AddLet(Kernel& kernel, const Let& let, const Expr& operand) {
  if (names_.contains(let.name) || buffers_.contains(let.name) ||
      std::any_of(kernel.lets.begin(), kernel.lets.end(),
                  [&](const KernelLet& other) { return other.name == let.name; })) {
    return Fail(let.at, fmt::format("let '{}' has the name of something else: choose another", let.name));
  }
  if (kernel.family->let_dims) {
    Place place{.kernel = &kernel,
                .dims = kernel.family->let_dims(kernel),
                .it = {},
                .no_it = {},
                .places = kernel.family->let_places};
    TermPtr value = let.value;
    if (const std::string_view function = kernel.family->let_function; function.empty()) {
      place.it = Value(kIt, ScalarType::kReal);
    } else if (value->kind == Term::Kind::kCall && value->name == function && value->arguments.size() == 1) {
      value = value->arguments[0];
    } else {
      return Fail(let.at, fmt::format("a let of '{}' is one more {}: write 'let {} = {}(EXPR)'", kernel.family->name,
                                      function, let.name, function));
    }
    const Expr body = RealIfOpen(Convert(value, place), value);
    if (failed_) return false;
    let_types_.push_back(body->type);
    kernel.lets.push_back({.name = let.name, .fold = ReduceOp::kSum, .body = body, .finish = Value(kIt, body->type)});
    return true;
  }
  std::vector<TermPtr> folds;
  FindFolds(let.value, folds);
  if (folds.size() != 1) {
    return Fail(let.at,
                fmt::format("let '{}' holds {} folds: it must hold exactly one of sum, prod, mean, max_over, min_over",
                            let.name, folds.size()));
  }
  KernelLet result{.name = let.name, .fold = ReduceOp::kSum, .body = {}, .finish = {}};
  const std::string& fold = folds[0]->name;
  result.fold = fold == "prod"       ? ReduceOp::kProd
                : fold == "max_over" ? ReduceOp::kMax
                : fold == "min_over" ? ReduceOp::kMin
                                     : ReduceOp::kSum;
  Place place{.kernel = &kernel, .dims = AllDims(kernel), .it = operand, .no_it = {}};
  result.body = RealIfOpen(Convert(folds[0]->arguments[0], place), folds[0]->arguments[0]);
  if (failed_) return false;
  if (result.body->type == ScalarType::kBool) result.body = Cast(result.body, ScalarType::kInt);
  Expr folded = Value(kIt, result.body->type);
  if (fold == "mean") folded = folded / static_cast<double>(ReducedCount(kernel));
  // The term around the fold, in which the folded value is the only `it`.
  Place outside{.kernel = &kernel, .dims = {}, .it = folded, .no_it = {}, .lets_only = true};
  const TermPtr around = Replace(let.value, folds[0], It());
  if (CountIts(around) != 1)
    return Fail(let.at, "'it' outside of the fold: there a let may use numbers and earlier lets only");
  result.finish = RealIfOpen(Convert(around, outside), around);
  if (failed_) return false;
  let_types_.push_back(result.finish->type);
  kernel.lets.push_back(std::move(result));
  return true;
}

}  // namespace hone::dsl
