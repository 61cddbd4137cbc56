#include "graph/op.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/graph_builder.h"

namespace hone {

ScalarType ScalarTypeOf(DType dtype) {
  if (dtype == DType::kBool) return ScalarType::kBool;
  return IsFloat(dtype) ? ScalarType::kReal : ScalarType::kInt;
}

DType Promote(DType a, DType b) {
  if (a == b) return a;
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  if (IsFloat(a)) {
    if (IsHalf(a) && IsHalf(b)) return DType::kF32;  // neither holds the other
    return std::min(a, b);                           // the enumeration goes from wide to narrow
  }
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if ((a == DType::kU8) != (b == DType::kU8)) {  // the smallest signed type that holds both
    const DType other = a == DType::kU8 ? b : a;
    return other == DType::kI8 ? DType::kI16 : other;
  }
  return std::min(a, b);
}

DType RealType(DType dtype) { return IsFloat(dtype) ? dtype : DType::kF32; }

DType KeptIn(DType dtype) { return IsSmallFloat(dtype) ? DType::kF32 : dtype; }

Expr Held(const Expr& x, DType dtype) {
  const Expr value = Cast(x, ScalarTypeOf(dtype));
  if (value->type != ScalarType::kInt || dtype == DType::kI64) return value;
  const std::int64_t count = std::int64_t{1} << 8 * Bytes(dtype);
  const std::int64_t below = dtype == DType::kU8 ? 0 : count / 2;  // how many of them are negative
  if (value->kind == Expr::Kind::kConst && value->whole >= -below && value->whole < count - below) return value;
  return Apply(BinaryOp::kFloorMod, value + below, count) - below;
}

Expr Held(const Expr& x, DType own, DType dtype) {
  return Promote(own, dtype) == dtype ? Cast(x, ScalarTypeOf(dtype)) : Held(x, dtype);
}

Expr Operand::operator()(std::vector<Expr> indices) const {
  return Load(buffer_, std::move(indices), ScalarTypeOf(dtype_));
}

Expr Operand::Broadcast(Indices indices) const {
  std::vector<Expr> own;
  // An operand with more dimensions is an error that the operator reports; nothing may be read beside `indices` before.
  const auto more = shape_.size() > indices.size() ? shape_.size() - indices.size() : 0;
  const auto skip = indices.size() + more - shape_.size();
  for (std::size_t i = 0; i < shape_.size(); ++i)
    own.push_back(shape_[i] == 1 || i < more ? Expr(0) : indices[skip + i - more]);
  return (*this)(std::move(own));
}

std::vector<Expr> Replaced(Indices at, int dim, Expr index) {
  std::vector<Expr> full(at.begin(), at.end());
  if (!full.empty()) full[static_cast<std::size_t>(dim)] = std::move(index);
  return full;
}

std::vector<Expr> Unflatten(const Expr& flat, const Shape& shape) {
  std::vector<Expr> at(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = at.size(); d-- > 0;) {
    const std::int64_t extent = shape[d];
    const Expr index = Apply(BinaryOp::kFloorDiv, flat, std::max<std::int64_t>(stride, 1));
    at[d] = d == 0 ? index : Apply(BinaryOp::kFloorMod, index, std::max<std::int64_t>(extent, 1));
    if (extent == 1) at[d] = 0;
    stride *= extent;
  }
  return at;
}

Expr Flatten(Indices at, const Shape& shape) {
  Expr flat = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at[d];
  return flat;
}

int OpCall::AddStage(std::string_view hint, Shape shape, DType dtype, const ElementFunction& element, int reshape_of) {
  std::vector<IndexVar> vars;
  std::vector<Expr> indices;
  for (const auto extent : shape) {
    if (extent < 0) Fail(fmt::format("its result would have the shape {}", ToString(shape)));
    vars.push_back(NewIndex(extent));
    indices.emplace_back(vars.back());
  }
  Expr value = failed() ? Expr(0.0) : element(indices);
  const ScalarType type = ScalarTypeOf(dtype);
  if (failed()) value = Expr(0.0);
  return builder_.AddStage(fmt::format("v{}_{}", node_index_, hint), std::move(shape), dtype, node_index_,
                           std::move(vars), Cast(std::move(value), type), failed() ? -1 : reshape_of);
}

Operand OpCall::Reshape(const Operand& x, Shape shape) {
  if (shape == x.shape()) return x;
  if (ElementCount(shape) != ElementCount(x.shape()))
    Fail(fmt::format("{} cannot be seen as {}", ToString(x.shape()), ToString(shape)));
  const auto element = [&](Indices at) { return x(Unflatten(Flatten(at, shape), x.shape())); };
  const int buffer = AddStage("view", shape, x.dtype(), element, x.buffer());
  return Operand(buffer, std::move(shape), x.dtype());
}

Operand OpCall::Let(std::string_view hint, Shape shape, DType dtype, const ElementFunction& element) {
  const int buffer = AddStage(hint, shape, dtype, element);
  return Operand(buffer, std::move(shape), dtype);
}

void OpCall::AllowAnyOfEquals(const Operand& places) { builder_.AllowAnyOfEquals(places.buffer()); }

Operand OpCall::As(const Operand& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return Let("rounded", x.shape(), dtype, [&](Indices at) { return Cast(x(at), ScalarTypeOf(dtype)); });
}

Operand OpCall::Scan(std::string_view hint, Shape shape, DType dtype, int dim, const Expr& initial,
                     const std::function<Expr(Indices, const Expr&)>& element) {
  if (shape.empty()) return Let(hint, shape, dtype, [&](Indices at) { return element(at, initial); });
  Sequence steps(*this, Reversed::no);
  const StepValue value = steps.Value(hint, std::move(shape), dtype, dim);
  steps.Define(value, [&](Indices at) { return element(at, value.Before(at, initial)); });
  return value;
}

Expr StepValue::Before(Indices at, Expr initial) const {
  const auto along = static_cast<std::size_t>(along_);
  std::vector<Expr> before(at.begin(), at.end());
  const Expr& step = at[along];
  before[along] = reversed_ ? step + 1 : step - 1;
  return Select(Equal(step, reversed_ ? shape()[along] - 1 : 0), std::move(initial), (*this)(before));
}

Sequence::Sequence(OpCall& call, Reversed reversed)
    : call_(call), reversed_(reversed == Reversed::yes), number_(call.builder_.NewSequence()) {}

StepValue Sequence::Value(std::string_view hint, Shape shape, DType dtype, int along) {
  const int buffer = call_.builder_.AddStep(fmt::format("v{}_{}", call_.node_index_, hint), shape, dtype,
                                            call_.node_index_, number_, along, reversed_);
  return StepValue(Operand(buffer, std::move(shape), dtype), along, reversed_);
}

void Sequence::Define(const StepValue& value, const ElementFunction& element) {
  const auto& vars = call_.builder_.stage_of(value.buffer()).vars;
  const std::vector<Expr> indices(vars.begin(), vars.end());
  Expr made = call_.failed() ? Expr(0.0) : element(indices);
  if (call_.failed()) made = Expr(0.0);
  call_.builder_.DefineStep(value.buffer(), Cast(std::move(made), ScalarTypeOf(value.dtype())));
}

void OpCall::Output(Shape shape, DType dtype, const ElementFunction& element) {
  results_.push_back(AddStage(fmt::format("out{}", results_.size()), std::move(shape), dtype, element));
}

void OpCall::Output(const Operand& value) { results_.push_back(value.buffer()); }

Shape OpCall::BroadcastShape(const std::vector<Operand>& operands) {
  std::size_t rank = 0;
  for (const auto& operand : operands) rank = std::max(rank, operand.shape().size());
  Shape shape(rank, 1);
  for (const auto& operand : operands) {
    const Shape& other = operand.shape();
    const auto skip = shape.size() - other.size();
    for (std::size_t i = 0; i < other.size(); ++i) {
      auto& extent = shape[skip + i];
      if (extent == 1)
        extent = other[i];
      else if (other[i] != 1 && other[i] != extent)
        Fail(fmt::format("shapes {} and {} do not broadcast", ToString(shape), ToString(other)));
    }
  }
  return shape;
}

void OpCall::Elementwise(DType dtype, std::vector<Operand> operands,
                         const std::function<Expr(std::span<const Expr>)>& element) {
  const Shape shape = BroadcastShape(operands);
  if (failed()) return;
  Output(shape, dtype, [&](Indices at) {
    std::vector<Expr> values;
    for (const auto& operand : operands) values.push_back(operand.Broadcast(at));
    return element(values);
  });
}

void OpCall::Unary(ResultType type, const std::function<Expr(Expr)>& element) {
  const Operand x = Tensor("self");
  if (type == ResultType::kWhole && IsFloat(x.dtype())) return Fail("reals have no bits to flip: cast them first");
  const DType dtype = type == ResultType::kBool   ? DType::kBool
                      : type == ResultType::kReal ? RealType(x.dtype())
                                                  : x.dtype();
  Elementwise(dtype, {x},
              [&](auto v) { return element(type == ResultType::kReal ? Cast(v[0], ScalarType::kReal) : v[0]); });
}

DType OpCall::CommonType(std::initializer_list<std::string_view> names) {
  const auto category = [](DType dtype) { return IsFloat(dtype) ? 2 : dtype == DType::kBool ? 0 : 1; };
  std::optional<DType> with_dims, without_dims, number;
  for (const auto name : names) {
    if (!Has(name)) continue;
    if (IsTensor(name)) {
      const Operand operand = Tensor(name);
      auto& slot = operand.rank() > 0 ? with_dims : without_dims;
      slot = slot ? Promote(*slot, operand.dtype()) : operand.dtype();
    } else {
      const ScalarType written = Scalar(name)->type;
      const DType own = written == ScalarType::kReal   ? DType::kF32
                        : written == ScalarType::kBool ? DType::kBool
                                                       : DType::kI64;
      number = number ? Promote(*number, own) : own;
    }
  }
  DType dtype = with_dims.value_or(without_dims.value_or(number.value_or(DType::kF32)));
  for (const auto& weak : {without_dims, number}) {
    if (weak && category(*weak) > category(dtype)) dtype = *weak;
  }
  return dtype;
}

void OpCall::Binary(ResultType type, const std::function<Expr(Expr, Expr)>& element, std::string_view a,
                    std::string_view b) {
  std::vector<Operand> operands;
  Expr numbers[2];
  const std::string_view names[2] = {a, b};
  for (int i = 0; i < 2; ++i) {
    if (IsTensor(names[i]))
      operands.push_back(Tensor(names[i]));
    else
      numbers[i] = Scalar(names[i]);
  }
  DType dtype = CommonType({a, b});
  if (type == ResultType::kReal) dtype = RealType(dtype);
  if (type == ResultType::kWhole && IsFloat(dtype)) return Fail("reals have no bits to combine: cast them first");
  Elementwise(type == ResultType::kBool ? DType::kBool : dtype, operands, [&](auto v) {
    std::size_t next = 0;
    Expr values[2];
    for (int i = 0; i < 2; ++i) {
      values[i] = numbers[i] ? Held(numbers[i], dtype) : Held(v[next], operands[next].dtype(), dtype);
      if (!numbers[i]) ++next;
    }
    return element(values[0], values[1]);
  });
}

Shape OpCall::ReducedShape(const Shape& shape, const std::vector<int>& dims, bool keep) {
  Shape reduced;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    const bool gone = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (!gone) reduced.push_back(shape[static_cast<std::size_t>(i)]);
    if (gone && keep) reduced.push_back(1);
  }
  return reduced;
}

void OpCall::Reduction(ReduceOp op, DType dtype, const Operand& x, const std::vector<int>& dims, bool keep,
                       const std::function<Expr(Indices)>& body, const std::function<Expr(Expr)>& finish) {
  Output(ReducedShape(x.shape(), dims, keep), dtype, [&](Indices at) {
    std::vector<std::int64_t> extents;
    for (const int dim : dims) extents.push_back(x.dim(dim));
    Expr folded = Fold(op, extents, [&](Indices reduced) {
      std::vector<Expr> full;
      std::size_t next_kept = 0, next_reduced = 0;
      for (int i = 0; i < x.rank(); ++i) {
        const bool gone = std::find(dims.begin(), dims.end(), i) != dims.end();
        if (gone) {
          full.push_back(reduced[next_reduced++]);
          if (keep) ++next_kept;
        } else {
          full.push_back(at[next_kept++]);
        }
      }
      return body(full);
    });
    return finish ? finish(folded) : folded;
  });
}

const Op* FindOp(std::string_view name) {
  if (name.starts_with("aten.")) name.remove_prefix(5);
  name = name.substr(0, name.find('.'));
  const auto ops = AllOps();
  const auto it = std::lower_bound(ops.begin(), ops.end(), name,
                                   [](const Op* op, std::string_view wanted) { return op->name < wanted; });
  return it != ops.end() && (*it)->name == name ? *it : nullptr;
}

}  // namespace hone
