#include "problem/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "problem/left_out.h"

namespace hone {
namespace {

constexpr std::string_view kPrecisions[] = {"torch", "fp64", "fp32", "tf32", "bf16", "fp16"};

}  // namespace

std::int64_t ElementCount(const Shape& shape) {
  std::int64_t count = 1;
  for (const auto extent : shape) count *= extent;
  return count;
}

std::vector<std::int64_t> DenseStrides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0; step *= shape[d]) strides[d] = step;
  return strides;
}

std::string ToString(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool TorchMultipliesInTf32(const Node& node) {
  constexpr std::string_view kByCudnn[] = {"convolution", "lstm", "gru", "rnn_tanh", "rnn_relu"};
  return std::any_of(std::begin(kByCudnn), std::end(kByCudnn),
                     [&](std::string_view op) { return node.op.find(op) != std::string::npos; });
}

std::string_view Name(Precision precision) { return kPrecisions[static_cast<std::size_t>(precision)]; }

std::optional<Precision> ParsePrecision(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kPrecisions); ++i) {
    if (kPrecisions[i] == name) return static_cast<Precision>(i);
  }
  return std::nullopt;
}

std::vector<const Tensor*> Problem::Inputs() const {
  std::vector<const Tensor*> found;
  for (const auto& tensor : tensors) {
    if (tensor.role != Role::kOutput) found.push_back(&tensor);
  }
  return found;
}

std::vector<const Tensor*> Problem::Outputs() const {
  std::vector<const Tensor*> found;
  for (const auto& tensor : tensors) {
    if (tensor.role == Role::kOutput) found.push_back(&tensor);
  }
  return found;
}

const Tensor* Problem::Find(std::string_view wanted) const {
  for (const auto& tensor : tensors) {
    if (tensor.name == wanted) return &tensor;
  }
  return nullptr;
}

const Tensor* Problem::UpdateOf(std::string_view input) const {
  for (const auto& tensor : tensors) {
    if (tensor.role == Role::kOutput && tensor.updates == input) return &tensor;
  }
  return nullptr;
}

std::string WritesLeftOut(const Problem& problem) {
  const auto found = problem.provenance.find("note writes");
  if (found == problem.provenance.end()) return "";
  std::string line = found->second;
  std::replace(line.begin(), line.end(), '\n', ' ');  // it goes into comments, and a problem.json may say anything
  return line;
}

}  // namespace hone
