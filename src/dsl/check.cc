// From the language to kernels: names become buffers and strides, terms become Exprs over the iteration space.
#include "base/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "dsl/family.h"
#include "dsl/functions.h"
#include "dsl/kernel.h"

namespace hone::dsl {

std::vector<int> BuffersOf(const Kernel& kernel, const Expr& expr) {
  std::vector<int> buffers;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || node.buffer < 0) return;
    const int buffer = kernel.operands[static_cast<std::size_t>(node.buffer)].buffer;
    if (std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) buffers.push_back(buffer);
  });
  return buffers;
}

std::vector<int> ResultDims(const Kernel& kernel) {
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(kernel.space.size()); ++d) {
    if (kernel.family->keeps_axes || !std::binary_search(kernel.axes.begin(), kernel.axes.end(), d)) dims.push_back(d);
  }
  return dims;
}

std::size_t SequenceEnd(const KernelProgram& program, std::size_t kernel) {
  const auto sequence = [&](std::size_t k) {
    const auto it = program.kernels[k].attributes.find("sequence");
    return it == program.kernels[k].attributes.end() ? -1 : it->second[0];
  };
  std::size_t end = kernel + 1;
  while (sequence(kernel) >= 0 && end < program.kernels.size() && sequence(end) == sequence(kernel)) ++end;
  return end;
}

DType ComputeType(const KernelProgram& program, const Kernel& kernel) {
  bool wide = kernel.target >= 0 && program.buffers[static_cast<std::size_t>(kernel.target)].dtype == DType::kF64;
  for (const auto& operand : kernel.operands)
    wide |= program.buffers[static_cast<std::size_t>(operand.buffer)].dtype == DType::kF64;
  return wide ? DType::kF64 : DType::kF32;
}

ScalarType ScalarOf(DType dtype) {
  return IsFloat(dtype) ? ScalarType::kReal : dtype == DType::kBool ? ScalarType::kBool : ScalarType::kInt;
}

std::int64_t IntSetting(const Kernel& kernel, const std::string& knob) {
  const auto* value = std::get_if<std::int64_t>(&kernel.settings.at(knob).value);
  return value ? *value : 0;
}
std::string WordSetting(const Kernel& kernel, const std::string& knob) {
  const auto* value = std::get_if<std::string>(&kernel.settings.at(knob).value);
  return value ? *value : "";
}
std::vector<std::int64_t> TupleSetting(const Kernel& kernel, const std::string& knob) {
  const auto* value = std::get_if<std::vector<std::int64_t>>(&kernel.settings.at(knob).value);
  return value ? *value : std::vector<std::int64_t>{};
}

std::string ToString(const Setting& setting) {
  if (const auto* whole = std::get_if<std::int64_t>(&setting.value)) return fmt::format("{}", *whole);
  if (const auto* word = std::get_if<std::string>(&setting.value)) return *word;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::int64_t>>(setting.value), "x"));
}

namespace {

std::size_t At(int i) { return static_cast<std::size_t>(i); }

std::string_view RoleName(Role role) {
  return role == Role::kInput ? "input" : role == Role::kParameter ? "param" : "output";
}

// What a name stands for.
struct Named {
  int buffer = -1;
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

class Checker {
 public:
  Checker(const Program& program, const Problem* problem, const Limits& limits)
      : source_(program), problem_(problem), limits_(limits) {}

  std::variant<KernelProgram, Complaint> Run() {
    program_.name = source_.name;
    if (!Declarations()) return complaint_;
    if (!AddViews()) return complaint_;
    for (std::size_t i = 0; i < source_.statements.size();) {
      const std::size_t end = GroupEnd(i);
      const bool added = SequenceOf(source_.statements[i]) < 0 ? AddStatement(source_.statements[i]) : AddGroup(i, end);
      if (!added || !AddViews()) return complaint_;
      i = end;
    }
    for (const auto& view : source_.views) {
      if (!names_.contains(view.name)) {
        Fail(view.at,
             fmt::format("view '{}' is of '{}', which nothing makes{}", view.name, view.base, Known(view.base)));
        return complaint_;
      }
    }
    for (const auto& declaration : source_.declarations) {
      if (declaration.role == Role::kOutput && !written_.contains(declaration.name)) {
        Fail(declaration.at, fmt::format("output '{}' is never written: add a statement '{} = ...'", declaration.name,
                                         declaration.name));
        return complaint_;
      }
    }
    return std::move(program_);
  }

 private:
  bool Fail(Position at, std::string message) {
    if (!failed_) complaint_ = {at, std::move(message)};
    failed_ = true;
    return false;
  }

  std::string Known(const std::string& name) const {
    std::vector<std::string_view> known;
    for (const auto& [other, named] : names_) known.push_back(other);
    return DidYouMean(name, known);
  }

  bool UnknownName(const Term& term) {
    return Fail(term.at, buffers_.contains(term.name)
                             ? fmt::format("output '{}' is read before it is written: move its statement up", term.name)
                             : fmt::format("unknown name '{}'{}", term.name, Known(term.name)));
  }

  bool Declarations() {
    int counts[3] = {};
    for (const auto& declaration : source_.declarations) {
      if (limits_.device == Device::kCpu && (declaration.dtype == DType::kF16 || declaration.dtype == DType::kBF16)) {
        return Fail(declaration.at, fmt::format("'{}' is {}, in which the CPU does not compute: use f32",
                                                declaration.name, hone::Name(declaration.dtype)));
      }
      KernelBuffer buffer{.name = declaration.name, .dtype = declaration.dtype, .shape = declaration.shape};
      buffer.home = declaration.role == Role::kInput       ? KernelBuffer::Home::kInput
                    : declaration.role == Role::kParameter ? KernelBuffer::Home::kParameter
                                                           : KernelBuffer::Home::kOutput;
      buffer.position = counts[static_cast<int>(declaration.role)]++;
      if (!buffers_.emplace(declaration.name, static_cast<int>(program_.buffers.size())).second) {
        return Fail(declaration.at,
                    fmt::format("'{}' is declared twice: give each tensor its own name", declaration.name));
      }
      if (declaration.role != Role::kOutput)
        AddName(declaration.name, static_cast<int>(program_.buffers.size()), declaration.shape);
      program_.buffers.push_back(std::move(buffer));
    }
    return !problem_ || AgreesWithProblem();
  }

  bool AgreesWithProblem() {
    std::vector<std::string_view> known;
    for (const auto& tensor : problem_->tensors) known.push_back(tensor.name);
    std::map<Role, std::vector<const Declaration*>> by_role;
    for (const auto& declaration : source_.declarations) {
      const Tensor* tensor = problem_->Find(declaration.name);
      if (!tensor) {
        return Fail(declaration.at, fmt::format("the problem has no tensor '{}'{}", declaration.name,
                                                DidYouMean(declaration.name, known)));
      }
      if (tensor->role != declaration.role) {
        return Fail(declaration.at, fmt::format("'{}' is declared as {}; in the problem it is {}", declaration.name,
                                                RoleName(declaration.role), RoleName(tensor->role)));
      }
      if (tensor->dtype != declaration.dtype || tensor->shape != declaration.shape) {
        return Fail(declaration.at, fmt::format("'{}' is declared as {}{}; in the problem it is {}{}", declaration.name,
                                                hone::Name(declaration.dtype), hone::ToString(declaration.shape),
                                                hone::Name(tensor->dtype), hone::ToString(tensor->shape)));
      }
      by_role[declaration.role].push_back(&declaration);
    }
    // A module gets the problem's tensors by position: all of them, in the problem's order, whatever the program's.
    std::map<Role, int> position;
    for (const auto& tensor : problem_->tensors) {
      const int here = position[tensor.role]++;
      const auto it = buffers_.find(tensor.name);
      if (it != buffers_.end()) {
        program_.buffers[At(it->second)].position = here;
      } else if (tensor.role == Role::kOutput) {
        return Fail({1, 1}, fmt::format("the problem's output '{}' is not declared: add 'output {}: {}{}'", tensor.name,
                                        tensor.name, hone::Name(tensor.dtype), hone::ToString(tensor.shape)));
      }
    }
    return true;
  }

  void AddName(const std::string& name, int buffer, const Shape& shape) {
    names_[name] = {.buffer = buffer, .shape = shape, .strides = DenseStrides(shape), .offset = 0};
  }

  // Adds the views whose base is known by now.
  bool AddViews() {
    for (const auto& view : source_.views) {
      const auto base = names_.find(view.base);
      if (base == names_.end() || views_.contains(&view)) continue;
      if (names_.contains(view.name) || buffers_.contains(view.name)) {
        return Fail(view.at, fmt::format("'{}' is already the name of something else: choose another", view.name));
      }
      if (view_names_.contains(view.base)) {
        return Fail(view.at, fmt::format("'{}' is itself a view: view '{}' instead, with strides in its elements",
                                         view.base, view_names_.at(view.base)));
      }
      const std::int64_t count = ElementCount(base->second.shape);
      std::int64_t low = view.offset, high = view.offset;
      bool empty = false;
      for (std::size_t d = 0; d < view.shape.size(); ++d) {
        empty |= view.shape[d] == 0;
        const std::int64_t reach = (view.shape[d] - 1) * view.strides[d];
        (reach < 0 ? low : high) += reach;
      }
      if (!empty && (low < 0 || high >= count)) {
        return Fail(view.at, fmt::format("view '{}' reaches element {} of '{}', which has {}: check strides and offset",
                                         view.name, low < 0 ? low : high, view.base, count));
      }
      names_[view.name] = {base->second.buffer, view.shape, view.strides, view.offset};
      view_names_[view.name] = view.base;
      views_.insert(&view);
    }
    return true;
  }

  // --- Expressions.

  struct Scope;
  // Where a name may stand, and how its dimensions lie on the iteration space.
  struct Place {
    Kernel* kernel = nullptr;
    std::vector<int> dims;         // of the space, to whose end a name's dimensions are aligned
    Expr it;                       // what `it` is here, if anything
    std::string_view no_it;        // why there is no `it` here
    bool lets_only = false;        // outside of a let's fold: no tensors
    bool nest = false;             // names are indices, scalars and elements
    const Scope* scope = nullptr;  // in a nest: the indices in sight
  };
  struct Scope {
    std::string name;
    IndexVar index;
    const Scope* outer = nullptr;
    static const Scope* Find(const Scope* from, std::string_view name) {
      while (from && from->name != name) from = from->outer;
      return from;
    }
  };

  // The shape to which all tensors in the term broadcast, starting from `shape`.
  bool Broadcast(const TermPtr& term, Shape& shape, bool& any) {
    if (term->kind == Term::Kind::kName) {
      const auto it = names_.find(term->name);
      if (it == names_.end()) return term->name == "it" || UnknownName(*term);
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

  Expr Convert(const TermPtr& term, const Place& place) {
    if (failed_) return Expr(0.0);
    switch (term->kind) {
      case Term::Kind::kNumber: {
        // A whole number is a real beside reals and a whole number beside whole numbers.
        const double x = term->number;
        const double most = place.nest ? 0x1p53 : 0x1p20;
        const bool whole = x == std::trunc(x) && std::fabs(x) < most && !(x == 0 && std::signbit(x));
        return whole ? Expr(static_cast<std::int64_t>(x)) : Expr(x);
      }
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
      Fail(term->at, place.nest
                         ? fmt::format("'{}' in a nest folds over indices of its own: write {} [k < 8] (...)",
                                       term->name, term->name)
                         : fmt::format("'{}' folds over axes: only a let of a norm may hold it, or the reduce family",
                                       term->name));
      return Expr(0.0);
    }
    const Function* function = FindFunction(term->name, term->arguments.size());
    if (!function) {
      if (const Function* other = FindFunction(term->name)) {
        Fail(term->at, fmt::format("'{}' takes {} argument{}, not {}: {}", term->name, other->arguments,
                                   other->arguments == 1 ? "" : "s", term->arguments.size(), other->doc));
      } else {
        std::vector<std::string_view> known;
        for (const auto& f : AllFunctions()) known.push_back(f.name);
        Fail(term->at, fmt::format("unknown function '{}'{}", term->name, DidYouMean(term->name, known)));
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

  Expr ConvertName(const Term& term, const Place& place) {
    if (term.name == "it") {
      if (place.it) return place.it;
      Fail(term.at, std::string(place.no_it.empty() ? "there is no 'it' here: name the tensor" : place.no_it));
      return Expr(0.0);
    }
    if (place.nest) {
      if (const Scope* index = Scope::Find(place.scope, term.name)) return index->index;
      return ConvertElement(term, place);
    }
    for (std::size_t i = 0; i < place.kernel->lets.size(); ++i) {
      if (place.kernel->lets[i].name == term.name) return Load(kLetOperand - static_cast<int>(i), {}, let_types_[i]);
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
    Kernel& kernel = *place.kernel;
    KernelOperand operand{
        .buffer = named.buffer, .strides = std::vector<std::int64_t>(kernel.space.size(), 0), .offset = named.offset};
    Shape want;
    for (const int d : place.dims) want.push_back(kernel.space[At(d)].extent);
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
    std::vector<Expr> indices(kernel.space.begin(), kernel.space.end());
    return Load(AddOperand(kernel, std::move(operand)), std::move(indices),
                ScalarOf(program_.buffers[At(named.buffer)].dtype));
  }

  // The operand's number in the kernel: each is held once.
  static int AddOperand(Kernel& kernel, KernelOperand operand) {
    for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
      const KernelOperand& other = kernel.operands[i];
      if (other.buffer == operand.buffer && other.strides == operand.strides && other.offset == operand.offset &&
          other.extents == operand.extents)
        return static_cast<int>(i);
    }
    kernel.operands.push_back(std::move(operand));
    return static_cast<int>(kernel.operands.size()) - 1;
  }

  // --- Expressions of a nest.

  // x[i, j + 1], or a scalar by its name alone.
  Expr ConvertElement(const Term& term, const Place& place) {
    const auto it = names_.find(term.name);
    if (it == names_.end()) {
      if (Scope::Find(place.scope, term.name)) {
        Fail(term.at, fmt::format("'{}' is an index, a whole number: it has no elements", term.name));
      } else if (buffers_.contains(term.name)) {
        UnknownName(term);
      } else {
        std::vector<std::string_view> known;
        for (const Scope* s = place.scope; s; s = s->outer) known.push_back(s->name);
        for (const auto& [other, named] : names_) known.push_back(other);
        Fail(term.at, fmt::format("unknown name '{}'{}", term.name, DidYouMean(term.name, known)));
      }
      return Expr(0.0);
    }
    const Named& named = it->second;
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

  // sum [k < 64] (...)
  Expr ConvertFold(const Term& term, const Place& place) {
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

  bool NewScope(const LoopIndex& loop, Position at, Kernel& kernel, const Scope* outer, Scope& scope) {
    if (Scope::Find(outer, loop.name) || names_.contains(loop.name))
      return Fail(at, fmt::format("index '{}' has the name of something else: choose another", loop.name));
    scope = {.name = loop.name, .index = NewIndex(loop.extent), .outer = outer};
    kernel.index_names[scope.index.id] = loop.name;
    return true;
  }

  // Whole only for want of anything but numbers in it: select(x > 0, 1, 0).
  static bool OnlyNumbersAreWhole(const Expr& expr) {
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
  static Expr RealIfOpen(const Expr& expr) { return OnlyNumbersAreWhole(expr) ? Cast(expr, ScalarType::kReal) : expr; }

  // --- Statements.

  static bool IsFold(const std::string& name, std::size_t arguments) {
    return arguments == 1 &&
           (name == "sum" || name == "prod" || name == "mean" || name == "max_over" || name == "min_over");
  }

  // The folds in a term; a fold inside of a fold counts too.
  static void FindFolds(const TermPtr& term, std::vector<TermPtr>& folds) {
    if (term->kind == Term::Kind::kCall && IsFold(term->name, term->arguments.size())) folds.push_back(term);
    for (const auto& argument : term->arguments) FindFolds(argument, folds);
  }

  static TermPtr Replace(const TermPtr& term, const TermPtr& what, const TermPtr& with) {
    if (term == what) return with;
    auto copy = std::make_shared<Term>(*term);
    for (auto& argument : copy->arguments) argument = Replace(argument, what, with);
    return copy;
  }

  bool AddLet(Kernel& kernel, const Let& let, const Expr& operand) {
    if (names_.contains(let.name) || buffers_.contains(let.name) ||
        std::any_of(kernel.lets.begin(), kernel.lets.end(),
                    [&](const KernelLet& other) { return other.name == let.name; })) {
      return Fail(let.at, fmt::format("let '{}' has the name of something else: choose another", let.name));
    }
    if (kernel.family->let_dims) {
      const Place place{.kernel = &kernel,
                        .dims = kernel.family->let_dims(kernel),
                        .it = Load(kItOperand, {}, ScalarType::kReal),
                        .no_it = {}};
      const Expr body = RealIfOpen(Convert(let.value, place));
      if (failed_) return false;
      let_types_.push_back(body->type);
      kernel.lets.push_back(
          {.name = let.name, .fold = ReduceOp::kSum, .body = body, .finish = Load(kItOperand, {}, body->type)});
      return true;
    }
    std::vector<TermPtr> folds;
    FindFolds(let.value, folds);
    if (folds.size() != 1) {
      return Fail(
          let.at,
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
    result.body = RealIfOpen(Convert(folds[0]->arguments[0], place));
    if (failed_) return false;
    if (result.body->type == ScalarType::kBool) result.body = Cast(result.body, ScalarType::kInt);
    Expr folded = Load(kItOperand, {}, result.body->type);
    if (fold == "mean") folded = folded / static_cast<double>(ReducedCount(kernel));
    // The term around the fold, in which the folded value is the only `it`.
    Place outside{.kernel = &kernel, .dims = {}, .it = folded, .no_it = {}, .lets_only = true};
    const TermPtr hole = hone::dsl::Name("it");
    std::vector<TermPtr> own_its;
    const TermPtr around = Replace(let.value, folds[0], hole);
    FindNames(around, "it", own_its);
    if (own_its.size() != 1)
      return Fail(let.at, "'it' outside of the fold: there a let may use numbers and earlier lets only");
    result.finish = RealIfOpen(Convert(around, outside));
    if (failed_) return false;
    let_types_.push_back(result.finish->type);
    kernel.lets.push_back(std::move(result));
    return true;
  }

  static void FindNames(const TermPtr& term, std::string_view name, std::vector<TermPtr>& found) {
    if (term->kind == Term::Kind::kName && term->name == name) found.push_back(term);
    for (const auto& argument : term->arguments) FindNames(argument, name, found);
  }

  static std::vector<int> AllDims(const Kernel& kernel) {
    std::vector<int> dims;
    for (std::size_t d = 0; d < kernel.space.size(); ++d) dims.push_back(static_cast<int>(d));
    return dims;
  }
  static std::int64_t ReducedCount(const Kernel& kernel) {
    std::int64_t count = 1;
    for (const int axis : kernel.axes) count *= kernel.space[At(axis)].extent;
    return count;
  }

  // A statement's sequence, -1 if it is in none.
  static std::int64_t SequenceOf(const Statement& statement) {
    const auto it = statement.attributes.find("sequence");
    return statement.family != "nest" || it == statement.attributes.end() || it->second.size() != 1 ? -1
                                                                                                    : it->second[0];
  }
  std::size_t GroupEnd(std::size_t first) const {
    const std::int64_t sequence = SequenceOf(source_.statements[first]);
    std::size_t end = first + 1;
    while (sequence >= 0 && end < source_.statements.size() && SequenceOf(source_.statements[end]) == sequence) ++end;
    return end;
  }

  // Nests that run in lockstep. Each may read all of them, so that they are made known first, of the narrowest type;
  // what they compute then says their types, from which follows what they compute: a few rounds settle it.
  bool AddGroup(std::size_t first, std::size_t end) {
    struct Member {
      int buffer;
      bool output;
    };
    std::vector<Member> members;
    for (std::size_t i = first; i < end; ++i) {
      const Statement& statement = source_.statements[i];
      if (!MayWrite(statement)) return false;
      const auto target = buffers_.find(statement.target);
      const bool output = target != buffers_.end();
      if (statement.has_target_shape)
        return Fail(statement.at, "a nest of a sequence keeps its shape: remove the annotation");
      Shape shape;
      for (const auto& loop : statement.loops) shape.push_back(loop.extent);
      const int buffer = output ? target->second : NewIntermediate(statement.target, DType::kBool, shape);
      members.push_back({buffer, output});
      written_.insert(statement.target);
      AddName(statement.target, buffer, shape);
    }
    for (const auto& earlier : program_.kernels) {
      const auto it = earlier.attributes.find("sequence");
      if (it != earlier.attributes.end() && it->second[0] == SequenceOf(source_.statements[first])) {
        return Fail(source_.statements[first].at,
                    fmt::format("sequence {} has ended: its statements stand one after another", it->second[0]));
      }
    }
    const std::size_t before = program_.kernels.size();
    bool settled = false;
    for (int round = 0; !settled; ++round) {
      HONE_CHECK(round < 16, "the types of a sequence do not settle");
      settled = true;
      program_.kernels.resize(before);
      for (std::size_t i = first; i < end; ++i) {
        const Member& member = members[i - first];
        Kernel kernel;
        if (!MakeKernel(source_.statements[i], member.buffer, kernel)) return false;
        if (!member.output) {
          DType& dtype = program_.buffers[At(member.buffer)].dtype;
          kernel.target = -1;
          const DType now = TypeOfResult(kernel);
          settled &= now == dtype;
          dtype = now;
          kernel.target = member.buffer;
        }
        program_.kernels.push_back(std::move(kernel));
      }
    }
    for (std::size_t i = before; i < program_.kernels.size(); ++i) {
      if (!InStep(before, i)) return false;
    }
    return true;
  }

  // Whether a nest of a sequence (kernels from `first` on) reads of it only what has been made by then.
  bool InStep(std::size_t first, std::size_t which) {
    const Kernel& kernel = program_.kernels[which];
    const auto attribute = [](const Kernel& k, const std::string& name) { return k.attributes.at(name)[0]; };
    const Kernel& leader = program_.kernels[first];
    const IndexVar& step = kernel.space[At(static_cast<int>(attribute(kernel, "along")))];
    const IndexVar& leading = leader.space[At(static_cast<int>(attribute(leader, "along")))];
    const bool reversed = attribute(kernel, "reversed") != 0;
    if (step.extent != leading.extent) {
      return Fail(kernel.at, fmt::format("this nest has {} steps, the first of its sequence {}: they run in lockstep",
                                         step.extent, leading.extent));
    }
    if (reversed != (attribute(leader, "reversed") != 0))
      return Fail(kernel.at, "all nests of a sequence run in one direction: make 'reversed' agree");
    bool in_step = true;
    Visit(kernel.epilogue, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || node.buffer < 0 || !in_step) return;
      const KernelOperand& operand = kernel.operands[At(node.buffer)];
      for (std::size_t m = first; m < program_.kernels.size(); ++m) {
        const Kernel& member = program_.kernels[m];
        if (member.target != operand.buffer) continue;
        const Expr& at = node.operands[At(static_cast<int>(attribute(member, "along")))];
        const Expr earlier = Apply(BinaryOp::kSub, Expr(step), Expr(1)), later = Expr(step) + Expr(1);
        const Expr negative = Expr(step) + Expr(-1), minus = Apply(BinaryOp::kSub, Expr(step), Expr(-1));
        const bool now = SameExpr(at, Expr(step));
        const bool previous =
            reversed ? SameExpr(at, later) || SameExpr(at, minus) : SameExpr(at, earlier) || SameExpr(at, negative);
        if (previous || (now && m < which)) continue;
        in_step = false;
        const std::string index = kernel.index_names.at(step.id);
        Fail(kernel.at,
             fmt::format("'{}' is read at a step at which it is not made yet: dimension {} is indexed by "
                         "{} {} 1{}",
                         program_.buffers[At(operand.buffer)].name, attribute(member, "along"), index,
                         reversed ? "+" : "-", m < which ? fmt::format(", or by {}", index) : std::string()));
      }
    });
    return in_step;
  }

  bool MayWrite(const Statement& statement) {
    if (written_.contains(statement.target)) {
      return Fail(statement.at,
                  fmt::format("'{}' is written twice: give the second value its own name", statement.target));
    }
    if (names_.contains(statement.target)) {
      return Fail(statement.at,
                  fmt::format("'{}' cannot be written: it is not an output; choose another name", statement.target));
    }
    return true;
  }

  bool AddStatement(const Statement& statement) {
    if (!MayWrite(statement)) return false;
    const auto target = buffers_.find(statement.target);
    Kernel kernel;
    if (!MakeKernel(statement, target == buffers_.end() ? -1 : target->second, kernel)) return false;
    written_.insert(statement.target);
    AddName(statement.target, kernel.target, program_.buffers[At(kernel.target)].shape);
    program_.kernels.push_back(std::move(kernel));
    return true;
  }

  // `target` is the buffer that is written, -1 if there is none yet.
  bool MakeKernel(const Statement& statement, int target, Kernel& kernel) {
    const Family* family = FindFamily(statement.family);
    if (!family) {
      std::vector<std::string_view> known;
      for (const Family* other : AllFamilies()) known.push_back(other->name);
      return Fail(statement.at,
                  fmt::format("unknown family '{}'{}", statement.family, DidYouMean(statement.family, known)));
    }
    kernel.family = family;
    kernel.variant = statement.variant;
    kernel.at = statement.at;
    let_types_.clear();
    {
      Program only;
      only.statements.push_back(statement);
      kernel.text = Print(only);
      kernel.text = kernel.text.substr(kernel.text.find('\n') + 1);
      kernel.text.pop_back();
    }
    if (!family->variants.empty() &&
        std::find(family->variants.begin(), family->variants.end(), kernel.variant) == family->variants.end()) {
      const std::vector<std::string_view> named(family->variants.begin(), family->variants.end());
      return Fail(statement.at, kernel.variant.empty()
                                    ? fmt::format("'{}' needs a variant: {}", family->name, fmt::join(named, ", "))
                                    : fmt::format("'{}' has no variant '{}'{}: use {}", family->name, kernel.variant,
                                                  DidYouMean(kernel.variant, named), VariantList(named)));
    }
    if (family->variants.empty() && !kernel.variant.empty()) {
      return Fail(statement.at, fmt::format("'{}' has no variants: remove '{}'", family->name, kernel.variant));
    }
    if (static_cast<int>(statement.operands.size()) != family->operands) {
      return Fail(statement.at,
                  fmt::format("'{}' takes {} operand{}, not {}: {}", family->name, family->operands,
                              family->operands == 1 ? "" : "s", statement.operands.size(), family->grammar));
    }
    if (family->takes_axes && statement.axes.empty()) {
      return Fail(statement.at, fmt::format("'{}' needs axes: write 'over [...]' after the operands", family->name));
    }
    if (!family->takes_axes && !statement.axes.empty()) {
      return Fail(statement.at, fmt::format("'{}' takes no axes: remove 'over [...]'", family->name));
    }
    if (!family->takes_lets && !statement.lets.empty()) {
      return Fail(statement.lets[0].at, fmt::format("'{}' takes no lets: use the norm family", family->name));
    }
    if (!statement.loops.empty() && !family->takes_indices)
      return Fail(statement.at, fmt::format("'{}' takes no indices: only a nest does", family->name));
    for (const auto& [name, value] : statement.attributes) {
      std::vector<std::string_view> known;
      for (const auto& attribute : family->attributes) known.push_back(attribute.name);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return Fail(statement.at,
                  fmt::format("'{}' has no attribute '{}'{}", family->name, name,
                              known.empty()                     ? std::string(": remove it")
                              : DidYouMean(name, known).empty() ? fmt::format(": it has {}", fmt::join(known, ", "))
                                                                : DidYouMean(name, known)));
    }
    kernel.attributes = statement.attributes;
    if (!Space(statement, kernel)) return false;
    if (!Expressions(statement, kernel)) return false;
    if (!Target(statement, kernel, target)) return false;
    if (family->check) {
      if (auto why = family->check(program_, kernel)) return Fail(statement.at, *why);
    }
    return Settings(statement, kernel);
  }

  static std::string VariantList(const std::vector<std::string_view>& variants) {
    std::string list;
    for (const auto variant : variants)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", variant.empty() ? "none" : variant);
    return list;
  }

  // Iteration space and axes.
  bool Space(const Statement& statement, Kernel& kernel) {
    std::vector<Shape> shapes;
    operand_dims_.clear();
    if (kernel.family->takes_indices) {
      scopes_.assign(statement.loops.size(), {});
      for (std::size_t i = 0; i < statement.loops.size(); ++i) {
        const Scope* outer = i == 0 ? nullptr : &scopes_[i - 1];
        if (!NewScope(statement.loops[i], statement.at, kernel, outer, scopes_[i])) return false;
        kernel.space.push_back(scopes_[i].index);
      }
      operand_dims_.resize(statement.operands.size());
      if (auto why = kernel.family->shape(kernel, {}, operand_dims_)) return Fail(statement.at, *why);
      return true;
    }
    for (const auto& operand : statement.operands) {
      Shape shape;
      bool any = false;
      if (!Broadcast(operand, shape, any)) return false;
      if (!kernel.family->takes_axes && !kernel.family->shape) {  // map: everything named takes part
        for (const auto& link : statement.epilogue) {
          if (!Broadcast(link, shape, any)) return false;
        }
      }
      if (!any) {
        // Nothing but numbers: the target says how many.
        const auto target = buffers_.find(statement.target);
        if (statement.has_target_shape) {
          shape = statement.target_shape;
        } else if (target != buffers_.end()) {
          shape = program_.buffers[At(target->second)].shape;
        } else {
          return Fail(statement.at, fmt::format("the shape of '{}' is not known: write '{}: [...] = ...'",
                                                statement.target, statement.target));
        }
      }
      shapes.push_back(std::move(shape));
    }
    if (kernel.family->shape) {
      kernel.axes = statement.axes;
      if (auto why = kernel.family->shape(kernel, shapes, operand_dims_)) return Fail(statement.at, *why);
      return true;
    }
    for (const auto extent : shapes[0]) kernel.space.push_back(NewIndex(extent));
    operand_dims_.push_back(AllDims(kernel));
    for (const int axis : statement.axes) {
      if (axis >= static_cast<int>(kernel.space.size())) {
        return Fail(statement.at,
                    fmt::format("axis {} is out of range: the operand's shape is {}", axis, hone::ToString(shapes[0])));
      }
    }
    kernel.axes = statement.axes;
    return true;
  }

  bool Expressions(const Statement& statement, Kernel& kernel) {
    const bool nest = kernel.family->takes_indices;
    const Scope* scope = nest && !scopes_.empty() ? &scopes_.back() : nullptr;
    // `it` is the operand
    const bool is_element = statement.family == "map" || statement.family == "norm" || nest;
    for (std::size_t i = 0; i < statement.operands.size(); ++i) {
      const Place place{.kernel = &kernel,
                        .dims = operand_dims_[i],
                        .it = {},
                        .no_it = "there is no 'it' among the operands: name a tensor",
                        .nest = nest,
                        .scope = scope};
      kernel.inputs.push_back(RealIfOpen(Convert(statement.operands[i], place)));
      if (failed_) return false;
    }
    for (const auto& let : statement.lets) {
      if (!AddLet(kernel, let, kernel.inputs[0])) return false;
    }
    ScalarType type = kernel.inputs[0]->type;
    if (kernel.family->type) type = kernel.family->type(kernel);
    Expr it = is_element ? kernel.inputs[0] : Load(kItOperand, {}, type);
    const std::vector<int> dims = ResultDims(kernel);
    for (const int d : dims) kernel.result.push_back(kernel.space[At(d)].extent);
    for (const auto& link : statement.epilogue) {
      it = Convert(link, {.kernel = &kernel, .dims = dims, .it = it, .no_it = {}, .nest = nest, .scope = scope});
      if (failed_) return false;
    }
    kernel.epilogue = it;
    return true;
  }

  // The buffer that is written: a declared output or a new intermediate.
  bool Target(const Statement& statement, Kernel& kernel, int output) {
    const Shape& shape = statement.has_target_shape ? statement.target_shape : kernel.result;
    if (ElementCount(shape) != ElementCount(kernel.result)) {
      return Fail(statement.at,
                  fmt::format("'{}' cannot be stored as {}: its shape is {}, the counts of elements differ",
                              statement.target, hone::ToString(shape), hone::ToString(kernel.result)));
    }
    const bool inner = output < 0 || program_.buffers[At(output)].home == KernelBuffer::Home::kIntermediate;
    if (inner || IsFloat(program_.buffers[At(output)].dtype)) kernel.epilogue = RealIfOpen(kernel.epilogue);
    const ScalarType type = kernel.epilogue->type;
    if (output >= 0 && inner) {
      kernel.target = output;  // of a sequence, whose types are being settled
      return true;
    }
    if (output >= 0) {
      const KernelBuffer& buffer = program_.buffers[At(output)];
      if (buffer.shape != shape) {
        return Fail(statement.at,
                    fmt::format("output '{}' is {}, the statement makes {}{}", buffer.name,
                                hone::ToString(buffer.shape), hone::ToString(shape),
                                ElementCount(buffer.shape) == ElementCount(shape)
                                    ? fmt::format(": write '{}: {} = ...'", buffer.name, hone::ToString(buffer.shape))
                                    : std::string(": check axes and operands")));
      }
      if (type == ScalarType::kReal && !IsFloat(buffer.dtype)) {
        return Fail(statement.at,
                    fmt::format("output '{}' is {}, the statement makes reals: end the chain with '-> int(it)' or "
                                "'-> bool(it)'",
                                buffer.name, hone::Name(buffer.dtype)));
      }
      kernel.target = output;
      return true;
    }
    kernel.target = NewIntermediate(statement.target, TypeOfResult(kernel), shape);
    return true;
  }

  // What an intermediate is stored as.
  DType TypeOfResult(const Kernel& kernel) const {
    const ScalarType type = kernel.epilogue->type;
    return type == ScalarType::kReal  ? ComputeType(program_, kernel)
           : type == ScalarType::kInt ? DType::kI64
                                      : DType::kBool;
  }

  int NewIntermediate(const std::string& name, DType dtype, const Shape& shape) {
    const int buffer = static_cast<int>(program_.buffers.size());
    buffers_[name] = buffer;
    program_.buffers.push_back({.name = name,
                                .dtype = dtype,
                                .shape = shape,
                                .home = KernelBuffer::Home::kIntermediate,
                                .position = intermediates_++});
    return buffer;
  }

  bool Settings(const Statement& statement, Kernel& kernel) {
    if (!kernel.family->Runs(limits_.device)) {
      return Fail(statement.at,
                  fmt::format("'{}' does not run on a CUDA device yet: write it as a nest", kernel.family->name));
    }
    kernel.compute = ComputeType(program_, kernel);
    for (const auto& operand : kernel.operands)
      kernel.operand_types.push_back(program_.buffers[At(operand.buffer)].dtype);
    const auto knobs = kernel.family->KnobsFor(limits_.device);
    std::vector<std::string_view> known;
    for (const auto& knob : knobs) known.push_back(knob.name);
    for (const auto& [name, setting] : statement.settings) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return Fail(setting.at,
                    fmt::format("'{}' has no knob '{}'{}{}", kernel.family->name, name,
                                limits_.device == Device::kCuda ? " on CUDA" : "",
                                DidYouMean(name, known).empty() ? fmt::format(": it has {}", fmt::join(known, ", "))
                                                                : DidYouMean(name, known)));
      }
      kernel.settings[name] = setting;
    }
    for (const auto& knob : knobs) {
      const std::string name(knob.name);
      const auto given = statement.settings.find(name);
      if (given == statement.settings.end()) {
        const auto values = knob.values(kernel, limits_);
        HONE_CHECK(!values.empty(), "a knob without values");
        kernel.settings[name] = values[0];
      }
    }
    for (const auto& knob : knobs) {
      const Setting& setting = kernel.settings.at(std::string(knob.name));
      if (auto why = knob.check(kernel, setting)) {
        return Fail(setting.at.line ? setting.at : statement.at,
                    fmt::format("'{}' {}: {}", knob.name, ToString(setting), *why));
      }
    }
    return true;
  }

  const Program& source_;
  const Problem* problem_;
  const Limits& limits_;
  KernelProgram program_;
  std::map<std::string, int> buffers_;             // tensors and values that have a buffer, written or not
  std::map<std::string, Named> names_;             // what may be read by now
  std::map<std::string, std::string> view_names_;  // view -> base
  std::set<const View*> views_;
  std::set<std::string> written_;
  int intermediates_ = 0;
  std::vector<ScalarType> let_types_;           // of the current statement
  std::vector<std::vector<int>> operand_dims_;  // likewise
  std::vector<Scope> scopes_;                   // likewise: the indices of a nest
  bool failed_ = false;
  Complaint complaint_;
};

}  // namespace

const Family* FindFamily(std::string_view name) {
  for (const Family* family : AllFamilies()) {
    if (family->name == name) return family;
  }
  return nullptr;
}

std::variant<KernelProgram, Complaint> Check(const Program& program, const Problem* problem, const Limits& limits) {
  return Checker(program, problem, limits).Run();
}

}  // namespace hone::dsl
