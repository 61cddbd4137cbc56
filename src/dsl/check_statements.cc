// From statements to kernels.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "dsl/checker.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

std::string VariantList(const std::vector<std::string_view>& variants) {
  std::string list;
  for (const auto variant : variants)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", variant.empty() ? "none" : variant);
  return list;
}

}  // namespace

bool Checker::MayWrite(const std::string& target, Position at) {
  if (written_.contains(target))
    return Fail(at, fmt::format("'{}' is written twice: give the second value its own name", target));
  if (names_.contains(target))
    return Fail(at, fmt::format("'{}' cannot be written: it is not an output; choose another name", target));
  return true;
}

bool Checker::AddStatement(const Statement& statement) {
  if (!MayWrite(statement.target, statement.at)) return false;
  const auto target = buffers_.find(statement.target);
  Kernel kernel;
  if (!MakeKernel(statement, target == buffers_.end() ? -1 : target->second, kernel)) return false;
  written_.insert(statement.target);
  NoteWritten(kernel);
  program_.kernels.push_back(std::move(kernel));
  return true;
}

void Checker::NoteWritten(const Kernel& kernel) {
  for (const int made : TargetsOf(kernel)) {
    const KernelBuffer& buffer = program_.buffers[At(made)];
    AddName(buffer.name, made, buffer.shape);
    if (buffer.updates >= 0) overwritten_[buffer.updates] = made;
  }
}

bool Checker::MakeKernel(const Statement& statement, int target, Kernel& kernel) {
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
  kernel.device = device_;
  let_types_.clear();
  kernel.text = TextOf(statement);
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
  const int operands = static_cast<int>(statement.operands.size());
  if (operands < family->operands || operands > family->operands + family->further_operands) {
    return Fail(statement.at, fmt::format("'{}' takes {}{} operand{}, not {}: {}", family->name, family->operands,
                                          family->further_operands == 0
                                              ? ""
                                              : fmt::format(" to {}", family->operands + family->further_operands),
                                          family->operands == 1 ? "" : "s", operands, family->grammar));
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
  if (!family->takes_also && !statement.also.empty())
    return Fail(statement.also[0].at, fmt::format("'{}' has one result: make '{}' by a statement of its own",
                                                  family->name, statement.also[0].target));
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
  if (!Expressions(statement, IsWhole(statement.target_type, target), kernel)) return false;
  kernel.target = Target(AimOf(statement, kernel, target), kernel.result, kernel, kernel.epilogue);
  if (failed_ || !AddAlso(statement, kernel)) return false;
  if (family->check) {
    if (auto why = family->check(program_, kernel)) return Fail(statement.at, *why);
  }
  if (!MayUpdate(statement, kernel)) return false;
  return Settings(statement, kernel);
}

bool Checker::Space(const Statement& statement, Kernel& kernel) {
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
      for (const auto& one : statement.also) {
        if (!Broadcast(one.value, shape, any)) return false;
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

bool Checker::Expressions(const Statement& statement, bool whole, Kernel& kernel) {
  const bool nest = kernel.family->takes_indices;
  const Scope* scope = nest && !scopes_.empty() ? &scopes_.back() : nullptr;
  // `it` is the operand
  const bool is_element = statement.family == "map" || statement.family == "norm" || nest;
  const std::int64_t parted = kernel.first_part;
  const std::size_t seconds = parted > 0 ? 2 : 0, own = statement.operands.size() - seconds;
  for (std::size_t i = 0; i < statement.operands.size(); ++i) {
    Place place{.kernel = &kernel,
                .dims = operand_dims_[i],
                .it = {},
                .no_it = "there is no 'it' among the operands: name a tensor",
                .nest = nest,
                .scope = scope};
    if (parted > 0 && (i < seconds || i >= own)) {
      place.from = i < own ? 0 : parted;
      place.to = i < own ? parted : kernel.space[At(place.dims.back())].extent;
    }
    const Expr operand = Convert(statement.operands[i], place);
    kernel.inputs.push_back(whole ? operand : RealIfOpen(operand, statement.operands[i]));
    if (failed_) return false;
  }
  for (std::size_t i = 0; i < seconds; ++i)
    kernel.inputs[i] =
        Select(Less(kernel.space[At(operand_dims_[i].back())], parted), kernel.inputs[i], kernel.inputs[own + i]);
  kernel.inputs.resize(own);
  for (const auto& let : statement.lets) {
    if (!AddLet(kernel, let, kernel.inputs[0])) return false;
  }
  ScalarType type = kernel.inputs[0]->type;
  if (kernel.family->type) type = kernel.family->type(kernel);
  Expr it = is_element ? kernel.inputs[0] : Value(kIt, type);
  // What is made beside sees the operand: that of a norm, or, where another element stands at each place, that one.
  const Expr first = is_element ? it : Value(kIt, kernel.inputs[0]->type);
  const std::vector<int> dims = ResultDims(kernel);
  for (const int d : dims) kernel.result.push_back(kernel.space[At(d)].extent);
  const std::string_view row_sum = kernel.family->row_sum ? kernel.family->row_sum(kernel) : std::string_view();
  for (const auto& link : statement.epilogue) {
    it = Convert(link, {.kernel = &kernel,
                        .dims = dims,
                        .it = it,
                        .no_it = {},
                        .row_sum = row_sum,
                        .rotation = kernel.family->rotation,
                        .nest = nest,
                        .scope = scope});
    if (failed_) return false;
  }
  kernel.epilogue = it;
  for (const auto& one : statement.also) {
    kernel.also.push_back(
        {.value = Convert(one.value,
                          {.kernel = &kernel, .dims = dims, .it = first, .no_it = {}, .nest = nest, .scope = scope})});
    if (failed_) return false;
  }
  return true;
}

// Of a norm: the extents along which its lets differ, and whether a value does along no others.
Shape Checker::RowsOf(const Kernel& kernel) {
  Shape rows;
  for (const int d : AllDims(kernel)) {
    if (std::find(kernel.axes.begin(), kernel.axes.end(), d) == kernel.axes.end())
      rows.push_back(kernel.space[At(d)].extent);
  }
  return rows;
}
bool Checker::IsOfRow(const Kernel& kernel, const Expr& value) {
  bool same = true;
  Visit(value, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    for (const int axis : kernel.axes) same &= kernel.operands[At(node.buffer)].strides[At(axis)] == 0;
  });
  return same;
}

bool Checker::AddAlso(const Statement& statement, Kernel& kernel) {
  std::set<std::string> made = {statement.target};
  for (std::size_t i = 0; i < statement.also.size(); ++i) {
    const Also& one = statement.also[i];
    if (!made.insert(one.target).second)
      return Fail(one.at, fmt::format("'{}' is written twice: give the second value its own name", one.target));
    if (!MayWrite(one.target, one.at)) return false;
    const auto known = buffers_.find(one.target);
    KernelAlso& also = kernel.also[i];
    const Shape rows = RowsOf(kernel);
    also.of_row = kernel.family->keeps_axes && one.has_target_shape &&
                  ElementCount(one.target_shape) == ElementCount(rows) &&
                  ElementCount(rows) != ElementCount(kernel.result);
    if (also.of_row && !IsOfRow(kernel, also.value))
      return Fail(one.at,
                  fmt::format("'{}' is one a row, of [{}]: it is made of lets and of what is the same along {}",
                              one.target, fmt::join(rows, ", "), kernel.axes.size() == 1 ? "the axis" : "the axes"));
    also.target = Target(AimOf(one, kernel, known == buffers_.end() ? -1 : known->second),
                         also.of_row ? rows : kernel.result, kernel, also.value);
    if (failed_) return false;
    written_.insert(one.target);
  }
  return true;
}

int Checker::Target(const Aim& aim, const Shape& made, const Kernel& kernel, Expr& value) {
  const auto fail = [&](std::string message) { return Fail(aim.at, std::move(message)) ? 0 : -1; };
  const Shape& shape = aim.shape;
  if (ElementCount(shape) != ElementCount(made)) {
    return fail(fmt::format("'{}' cannot be stored as {}: its shape is {}, the counts of elements differ", aim.name,
                            hone::ToString(shape), hone::ToString(made)));
  }
  const bool inner = aim.output < 0 || program_.buffers[At(aim.output)].home == KernelBuffer::Home::kIntermediate;
  if (!aim.says_whole && !IsWhole(aim.type, aim.output)) value = RealIfOpen(value);
  const ScalarType type = value->type;
  if (aim.output >= 0 && inner) return aim.output;  // of a sequence, whose types are being settled
  if (aim.output >= 0) {
    const KernelBuffer& buffer = program_.buffers[At(aim.output)];
    if (aim.type && *aim.type != buffer.dtype) {
      return fail(fmt::format("output '{}' is {}: its statement cannot make it {}", buffer.name,
                              hone::Name(buffer.dtype), hone::Name(*aim.type)));
    }
    if (buffer.shape != shape) {
      return fail(fmt::format("output '{}' is {}, the statement makes {}{}", buffer.name, hone::ToString(buffer.shape),
                              hone::ToString(shape),
                              ElementCount(buffer.shape) == ElementCount(shape)
                                  ? fmt::format(": write '{}: {} = ...'", buffer.name, hone::ToString(buffer.shape))
                                  : std::string(": check axes and operands")));
    }
    if (type == ScalarType::kReal && !IsFloat(buffer.dtype)) {
      return fail(
          fmt::format("output '{}' is {}, the statement makes reals: end the chain with '-> int(it)' or "
                      "'-> bool(it)'",
                      buffer.name, hone::Name(buffer.dtype)));
    }
    return aim.output;
  }
  const DType own = TypeOfValue(kernel, value), stored = aim.type.value_or(own);
  if (IsFloat(own) != IsFloat(stored) || (own == DType::kBool && stored != own)) {
    return fail(
        fmt::format("the statement makes {}, which '{}' cannot hold as {}: convert it at the end of the chain, "
                    "such as '-> int(it)'",
                    hone::Name(own), aim.name, hone::Name(stored)));
  }
  return NewIntermediate(aim.name, stored, shape);
}

bool Checker::IsWhole(const std::optional<DType>& type, int output) const {
  if (type) return !IsFloat(*type);
  if (output < 0) return false;
  const KernelBuffer& buffer = program_.buffers[At(output)];
  return buffer.home != KernelBuffer::Home::kIntermediate && !IsFloat(buffer.dtype);
}

DType Checker::TypeOfValue(const Kernel& kernel, const Expr& value) const {
  return value->type == ScalarType::kReal  ? ComputeType(program_, kernel)
         : value->type == ScalarType::kInt ? DType::kI64
                                           : DType::kBool;
}

int Checker::NewIntermediate(const std::string& name, DType dtype, const Shape& shape) {
  const int buffer = static_cast<int>(program_.buffers.size());
  buffers_[name] = buffer;
  program_.buffers.push_back({.name = name,
                              .dtype = dtype,
                              .shape = shape,
                              .home = KernelBuffer::Home::kIntermediate,
                              .position = intermediates_++});
  return buffer;
}

std::string Checker::TextOf(const Statement& statement) {
  Program only;
  only.statements.push_back(statement);
  std::string text = Print(only);
  text.pop_back();
  return text.substr(text.find('\n') + 1);
}

bool Checker::Settings(const Statement& statement, Kernel& kernel) {
  if (WaysOf(*kernel.family, device_->kind).empty()) {
    return Fail(statement.at,
                fmt::format("'{}' does not run on a CUDA device yet: write it as a nest", kernel.family->name));
  }
  kernel.compute = ComputeType(program_, kernel);
  for (const auto& operand : kernel.operands) {
    const KernelBuffer& buffer = program_.buffers[At(operand.buffer)];
    kernel.operand_types.push_back(buffer.dtype);
    kernel.operand_is_parameter.push_back(buffer.home == KernelBuffer::Home::kParameter);
  }
  kernel.target_type = program_.buffers[At(kernel.target)].dtype;
  for (auto& one : kernel.also) one.target_type = program_.buffers[At(one.target)].dtype;
  if (!KnowsSettings(statement, *kernel.family)) return false;
  const std::string choice(ChoiceOf(*kernel.family, device_->kind));
  const auto chosen = statement.settings.find(choice);
  // Whether a way can, and is worth it, may depend on what else is set: products of f32 in TF32, say.
  kernel.settings.insert(statement.settings.begin(), statement.settings.end());
  if (auto why = ChooseWay(kernel)) {
    const bool says = chosen != statement.settings.end() && chosen->second.at.line != 0;
    return Fail(says ? chosen->second.at : statement.at, std::move(*why));
  }
  std::erase_if(kernel.settings, [&](const auto& setting) {
    const auto is_it = [&](const Knob& knob) { return knob.name == setting.first; };
    return setting.first != choice && std::ranges::none_of(kernel.way->knobs, is_it);
  });
  FillSettings(kernel);
  for (const Knob& knob : kernel.way->knobs) {
    const auto found = kernel.settings.find(std::string(knob.name));
    if (found == kernel.settings.end()) continue;
    const Setting& setting = found->second;
    if (auto why = knob.check(kernel, setting)) {
      return Fail(setting.at.line ? setting.at : statement.at,
                  fmt::format("'{}' {}: {}", knob.name, ToString(setting), *why));
    }
  }
  return true;
}

bool Checker::KnowsSettings(const Statement& statement, const Family& family) {
  std::vector<std::string_view> known;
  const auto add = [&](std::string_view name) {
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  };
  if (const auto choice = ChoiceOf(family, device_->kind); !choice.empty()) add(choice);
  for (const Way* way : WaysOf(family, device_->kind)) {
    for (const Knob& knob : way->knobs) add(knob.name);
  }
  for (const auto& [name, setting] : statement.settings) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Fail(setting.at,
                fmt::format("'{}' has no knob '{}'{}{}", family.name, name,
                            device_->kind == DeviceKind::kCuda ? " on CUDA" : "",
                            DidYouMean(name, known).empty() ? fmt::format(": it has {}", fmt::join(known, ", "))
                                                            : DidYouMean(name, known)));
  }
  return true;
}

}  // namespace hone::dsl
