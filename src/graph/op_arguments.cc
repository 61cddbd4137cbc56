// How an operator reads the arguments of its call.
#include <fmt/format.h>

#include <algorithm>

#include "graph/graph_builder.h"
#include "graph/op.h"

namespace hone {

const Argument* OpCall::Find(std::string_view name) const {
  asked_.emplace(name);
  const auto it = node_.arguments.find(std::string(name));
  if (it == node_.arguments.end() || std::holds_alternative<std::monostate>(it->second.value)) return nullptr;
  return &it->second;
}

bool OpCall::Has(std::string_view name) const { return Find(name) != nullptr; }

bool OpCall::IsTensor(std::string_view name) const {
  const Argument* argument = Find(name);
  return argument && std::holds_alternative<TensorName>(argument->value);
}

void OpCall::Ignore(std::initializer_list<std::string_view> names) { asked_.insert(names.begin(), names.end()); }

std::string_view OpCall::overload() const {
  std::string_view name = node_.op;
  if (name.starts_with("aten.")) name.remove_prefix(5);
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(dot + 1);
}

void OpCall::Fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

std::optional<Operand> OpCall::MaybeTensor(std::string_view name) {
  if (!Has(name)) return std::nullopt;
  return Tensor(name);
}

Operand OpCall::Tensor(std::string_view name) {
  const Argument* argument = Find(name);
  if (!argument) {
    Fail(fmt::format("argument '{}' is missing", name));
    return {};
  }
  const auto* tensor = std::get_if<TensorName>(&argument->value);
  if (!tensor) {
    Fail(fmt::format("argument '{}' has to be a tensor, written \"%name\"", name));
    return {};
  }
  const int value = builder_.Value(tensor->name);
  if (value < 0) {
    Fail(fmt::format("argument '{}': no earlier node makes '{}'", name, tensor->name));
    return {};
  }
  const Buffer& buffer = builder_.buffer(value);
  return Operand(value, buffer.shape, buffer.dtype);
}

std::vector<Operand> OpCall::Tensors(std::string_view name) {
  std::vector<Operand> operands;
  const Argument* argument = Find(name);
  const auto* list = argument ? std::get_if<ArgumentList>(&argument->value) : nullptr;
  if (!list) {
    Fail(fmt::format("argument '{}' has to be a list of tensors", name));
    return operands;
  }
  for (const auto& item : *list) {
    const auto* tensor = std::get_if<TensorName>(&item.value);
    const int value = tensor ? builder_.Value(tensor->name) : -1;
    if (value < 0) {
      Fail(fmt::format("argument '{}': {}", name,
                       tensor ? "no earlier node makes '" + tensor->name + "'" : "every item has to be a tensor"));
      return operands;
    }
    operands.emplace_back(value, builder_.buffer(value).shape, builder_.buffer(value).dtype);
  }
  return operands;
}

std::vector<std::optional<Operand>> OpCall::MaybeTensors(std::string_view name) {
  std::vector<std::optional<Operand>> operands;
  const Argument* argument = Find(name);
  const auto* list = argument ? std::get_if<ArgumentList>(&argument->value) : nullptr;
  if (!list) Fail(fmt::format("argument '{}' has to be a list of tensors", name));
  for (const auto& item : list ? *list : ArgumentList{}) {
    operands.emplace_back();
    if (std::holds_alternative<std::monostate>(item.value)) continue;
    const auto* tensor = std::get_if<TensorName>(&item.value);
    const int value = tensor ? builder_.Value(tensor->name) : -1;
    if (value < 0) {
      Fail(fmt::format("argument '{}' has an item that is no tensor made before", name));
      return operands;
    }
    operands.back() = Operand(value, builder_.buffer(value).shape, builder_.buffer(value).dtype);
  }
  return operands;
}

std::int64_t OpCall::Int(std::string_view name, std::optional<std::int64_t> otherwise) {
  const Argument* argument = Find(name);
  if (argument) {
    if (const auto* whole = std::get_if<std::int64_t>(&argument->value)) return *whole;
    if (const auto* truth = std::get_if<bool>(&argument->value)) return *truth ? 1 : 0;
    Fail(fmt::format("argument '{}' has to be a whole number", name));
  } else if (!otherwise) {
    Fail(fmt::format("argument '{}' is missing", name));
  }
  return otherwise.value_or(0);
}

double OpCall::Real(std::string_view name, std::optional<double> otherwise) {
  const Argument* argument = Find(name);
  if (argument) {
    if (const auto* real = std::get_if<double>(&argument->value)) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&argument->value)) return static_cast<double>(*whole);
    if (const auto* truth = std::get_if<bool>(&argument->value)) return *truth ? 1 : 0;
    Fail(fmt::format("argument '{}' has to be a number", name));
  } else if (!otherwise) {
    Fail(fmt::format("argument '{}' is missing", name));
  }
  return otherwise.value_or(0);
}

Expr OpCall::Scalar(std::string_view name, std::optional<double> otherwise) {
  const Argument* argument = Find(name);
  if (argument) {
    if (const auto* whole = std::get_if<std::int64_t>(&argument->value)) return *whole;
    if (const auto* truth = std::get_if<bool>(&argument->value)) return Expr::Bool(*truth);
  }
  return Real(name, otherwise);
}

bool OpCall::Bool(std::string_view name, std::optional<bool> otherwise) {
  const Argument* argument = Find(name);
  if (argument) {
    if (const auto* truth = std::get_if<bool>(&argument->value)) return *truth;
    if (const auto* whole = std::get_if<std::int64_t>(&argument->value)) return *whole != 0;
    Fail(fmt::format("argument '{}' has to be true or false", name));
  } else if (!otherwise) {
    Fail(fmt::format("argument '{}' is missing", name));
  }
  return otherwise.value_or(false);
}

std::string OpCall::String(std::string_view name, std::optional<std::string> otherwise) {
  const Argument* argument = Find(name);
  if (argument) {
    if (const auto* text = std::get_if<std::string>(&argument->value)) return *text;
    Fail(fmt::format("argument '{}' has to be a string", name));
  } else if (!otherwise) {
    Fail(fmt::format("argument '{}' is missing", name));
  }
  return otherwise.value_or("");
}

std::vector<std::int64_t> OpCall::Ints(std::string_view name, std::optional<std::vector<std::int64_t>> otherwise) {
  const Argument* argument = Find(name);
  if (!argument) {
    if (!otherwise) Fail(fmt::format("argument '{}' is missing", name));
    return otherwise.value_or(std::vector<std::int64_t>{});
  }
  if (const auto* whole = std::get_if<std::int64_t>(&argument->value)) return {*whole};
  std::vector<std::int64_t> values;
  const auto* list = std::get_if<ArgumentList>(&argument->value);
  if (!list) Fail(fmt::format("argument '{}' has to be a list of whole numbers", name));
  for (const auto& item : list ? *list : ArgumentList{}) {
    if (const auto* whole = std::get_if<std::int64_t>(&item.value)) {
      values.push_back(*whole);
    } else {
      Fail(fmt::format("argument '{}' has to be a list of whole numbers", name));
    }
  }
  return values;
}

std::vector<double> OpCall::Reals(std::string_view name) {
  std::vector<double> values;
  const Argument* argument = Find(name);
  const auto* list = argument ? std::get_if<ArgumentList>(&argument->value) : nullptr;
  if (!list) Fail(fmt::format("argument '{}' has to be a list of numbers", name));
  for (const auto& item : list ? *list : ArgumentList{}) {
    if (const auto* real = std::get_if<double>(&item.value))
      values.push_back(*real);
    else if (const auto* whole = std::get_if<std::int64_t>(&item.value))
      values.push_back(static_cast<double>(*whole));
    else
      Fail(fmt::format("argument '{}' has to be a list of numbers", name));
  }
  return values;
}

DType OpCall::Type(std::string_view name, DType otherwise) {
  if (!Has(name)) return otherwise;
  const auto dtype = ParseDType(String(name));
  if (!dtype) Fail(fmt::format("argument '{}' has to be an element type such as \"f32\"", name));
  return dtype.value_or(otherwise);
}

int OpCall::WrapDim(std::int64_t dim, int rank) {
  const std::int64_t reach = std::max(rank, 1);
  if (dim < -reach || dim >= reach) {
    Fail(fmt::format("dimension {} is out of range for {} dimensions", dim, rank));
    return 0;
  }
  return static_cast<int>(dim < 0 ? dim + reach : dim);
}

int OpCall::Dim(std::string_view name, int rank, std::optional<std::int64_t> otherwise) {
  return WrapDim(Int(name, otherwise), rank);
}

std::vector<int> OpCall::Dims(std::string_view name, int rank) {
  std::vector<int> dims;
  for (const auto dim : Ints(name, std::vector<std::int64_t>{})) dims.push_back(WrapDim(dim, rank));
  if (dims.empty()) {
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  }
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end())
    Fail(fmt::format("argument '{}' names a dimension twice", name));
  std::erase_if(dims, [&](int dim) { return dim >= rank; });  // dimension 0 of a scalar
  return dims;
}

}  // namespace hone
