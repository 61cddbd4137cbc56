#include "target/cuda/library_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "target/cuda/toolkit.h"

namespace hone::cuda {
namespace {

using Issue = std::optional<StepIssue>;

// What is multiplied can be f64, f32 or 16 bits wide, in arithmetic that goes with it.
Issue CheckTypes(DType dtype, LibraryCompute compute) {
  if (!IsFloat(dtype) || Bytes(dtype) == 1)
    return StepIssue{"", fmt::format("the library multiplies reals of 16 bits or more, not {}", Name(dtype))};
  if ((dtype == DType::kF64) != (compute == LibraryCompute::kF64))
    return StepIssue{
        "", fmt::format("{} goes with \"compute\": \"{}\"", Name(dtype), dtype == DType::kF64 ? "f64" : "f32")};
  if (IsHalf(dtype) && compute != LibraryCompute::kF32)
    return StepIssue{"", fmt::format("products of {} are summed in f32: leave \"compute\" out", Name(dtype))};
  return {};
}

Issue CheckReach(std::string part, const std::string& name, std::int64_t last, const PlanMemory& memory) {
  if (last < memory.elements) return {};
  return StepIssue{std::move(part),
                   fmt::format("it reaches element {} of '{}', which has {}", last, name, memory.elements)};
}

// A vector along the channels or columns, and the workspace.
template <class Step>
Issue CheckRest(const Step& step, std::int64_t bias, DType dtype, const FindMemory& find) {
  if (step.bias) {
    const auto memory = find("/bias", step.bias->name, false);
    if (!memory) return {};
    if (memory->dtype != dtype)
      return StepIssue{
          "/bias", fmt::format("'{}' is {} and what is written {}", step.bias->name, Name(memory->dtype), Name(dtype))};
    if (auto issue = CheckReach("/bias", step.bias->name, step.bias->offset + bias - 1, *memory)) return issue;
  }
  if (!step.workspace.empty() && !find("/workspace", step.workspace, true)) return {};
  return {};
}

}  // namespace

std::optional<StepIssue> CheckStep(const MatmulStep& step, const FindMemory& find) {
  struct Side {
    const char* part;
    const MatrixArgument* matrix;
    std::int64_t rows, columns;
    bool written;
  };
  std::vector<Side> sides = {{"/a", &step.a, step.m, step.k, false},
                             {"/b", &step.b, step.k, step.n, false},
                             {"/d", &step.d, step.m, step.n, true}};
  if (step.c) sides.push_back({"/c", &*step.c, step.m, step.n, false});
  std::vector<DType> types;
  for (const Side& side : sides) {
    const MatrixArgument& matrix = *side.matrix;
    const auto memory = find(side.part, matrix.buffer, side.written);
    if (!memory) return {};
    types.push_back(memory->dtype);
    const auto [down, across] = matrix.strides;
    const bool in_rows = across == 1 && (down >= side.columns || side.rows == 1),
               in_columns = down == 1 && (across >= side.rows || side.columns == 1);
    if (!in_rows && !in_columns) {
      return StepIssue{side.part,
                       fmt::format("strides {} and {} of a {} x {} matrix: one is 1, the other {} or {} at least", down,
                                   across, side.rows, side.columns, side.columns, side.rows)};
    }
    if (!in_rows && (side.matrix == &step.d || (step.c && side.matrix == &*step.c)))
      return StepIssue{side.part, "it lies in columns: write the product of the transposes instead"};
    if (side.written && step.batch > 1 && matrix.batch_stride < side.rows * down)
      return StepIssue{side.part, fmt::format("batches {} elements apart overlap: they are {} elements large",
                                              matrix.batch_stride, side.rows * down)};
    const std::int64_t last =
        matrix.offset + (side.rows - 1) * down + (side.columns - 1) * across + (step.batch - 1) * matrix.batch_stride;
    if (auto issue = CheckReach(side.part, matrix.buffer, last, *memory)) return issue;
  }
  for (const Side& side : {sides[0], sides[1]}) {
    if (side.matrix->buffer == step.d.buffer)
      return StepIssue{side.part, "the product cannot overwrite what it is made of"};
  }
  if (types[0] != types[1])
    return StepIssue{"/b", fmt::format("'{}' is {} and '{}' {}: both have one type", step.a.buffer, Name(types[0]),
                                       step.b.buffer, Name(types[1]))};
  if (auto issue = CheckTypes(types[0], step.compute)) return issue;
  if (types[2] != types[0] && !(IsHalf(types[0]) && types[2] == DType::kF32))
    return StepIssue{"/d", fmt::format("products of {} are not written as {}", Name(types[0]), Name(types[2]))};
  if (step.c && types[3] != types[2])
    return StepIssue{"/c", fmt::format("it is {}, and d {}", Name(types[3]), Name(types[2]))};
  return CheckRest(step, step.n, types[2], find);
}

std::optional<StepIssue> CheckStep(const ConvolutionStep& step, const FindMemory& find) {
  const std::pair<const char*, const StridedArgument*> sides[] = {{"/x", &step.x}, {"/w", &step.w}, {"/y", &step.y}};
  std::vector<DType> types;
  for (const auto& [part, tensor] : sides) {
    const auto memory = find(part, tensor->buffer, tensor == &step.y);
    if (!memory) return {};
    types.push_back(memory->dtype);
    std::int64_t last = tensor->offset;
    for (std::size_t d = 0; d < tensor->shape.size(); ++d) last += (tensor->shape[d] - 1) * tensor->strides[d];
    if (auto issue = CheckReach(part, tensor->buffer, last, *memory)) return issue;
  }
  for (const auto* tensor : {&step.x, &step.w}) {
    if (tensor->buffer == step.y.buffer) return StepIssue{"/y", "the convolution cannot overwrite what it is made of"};
  }
  // Filters lie densely, in one of the two orders; where an extent is 1 its stride says nothing.
  const auto dense = [&](bool last) {
    const std::size_t rank = step.w.shape.size();
    std::vector<std::size_t> order = {0};
    if (!last) order.push_back(1);
    for (std::size_t d = 2; d < rank; ++d) order.push_back(d);
    if (last) order.push_back(1);
    std::int64_t want = 1;
    for (std::size_t i = rank; i-- > 0; want *= step.w.shape[order[i]]) {
      if (step.w.shape[order[i]] > 1 && step.w.strides[order[i]] != want) return false;
    }
    return true;
  };
  if (!dense(false) && !dense(true)) return StepIssue{"/w", "filters lie densely, or with their channels last"};
  if (types[1] != types[0] || types[2] != types[0])
    return StepIssue{"", fmt::format("x, w and y are {}, {} and {}: all have one type", Name(types[0]), Name(types[1]),
                                     Name(types[2]))};
  if (auto issue = CheckTypes(types[0], step.compute)) return issue;
  if (step.compute == LibraryCompute::kF16 || step.compute == LibraryCompute::kBf16)
    return StepIssue{"", "cuDNN makes products of f32 in f32 or tf32"};
  if (step.activation == Activation::kGelu) return StepIssue{"", "cuDNN ends a convolution with relu or none"};
  const bool ends = step.bias || step.activation != Activation::kNone;
  if (step.transposed && ends)
    return StepIssue{"", "a transposed convolution has no bias and no activation: a launch that follows makes them"};
  if (step.activation != Activation::kNone && !step.bias)
    return StepIssue{"", "an activation goes with a bias: one of zeros will do"};
  const Shape &x = step.x.shape, &w = step.w.shape, &y = step.y.shape;
  // A transposed convolution is the way back from y to x.
  const Shape &from = step.transposed ? y : x, &to = step.transposed ? x : y;
  if (x[0] != y[0]) return StepIssue{"/y", fmt::format("{} images of {}", y[0], x[0])};
  if (from[1] != w[1] * step.groups || to[1] != w[0] || w[0] % step.groups != 0) {
    return StepIssue{"/w", fmt::format("{} x {} filters in {} groups do not go from {} to {} channels", w[0], w[1],
                                       step.groups, x[1], y[1])};
  }
  for (std::size_t d = 0; d + 2 < x.size(); ++d) {
    if (step.stride[d] < 1 || step.dilation[d] < 1) return StepIssue{"", "strides and dilations are 1 at least"};
    const std::int64_t room = from[d + 2] + 2 * step.padding[d] - step.dilation[d] * (w[d + 2] - 1) - 1;
    if (room < 0 || room / step.stride[d] + 1 != to[d + 2]) {
      return StepIssue{step.transposed ? "/x" : "/y",
                       fmt::format("extent {} along spatial dimension {}: it would be {}", to[d + 2], d,
                                   room < 0 ? 0 : room / step.stride[d] + 1)};
    }
  }
  return CheckRest(step, y[1], types[2], find);
}

Result<LibraryPaths> FindLibrariesOf(const Plan& plan) {
  LibraryPaths paths;
  for (const auto* steps : {&plan.prepare, &plan.steps}) {
    for (const auto& step : *steps) {
      if (std::holds_alternative<MatmulStep>(step)) paths.cublas_lt = HONE_TRY(FindLibrary(Library::kCublasLt));
      if (std::holds_alternative<ConvolutionStep>(step)) paths.cudnn = HONE_TRY(FindLibrary(Library::kCudnn));
    }
  }
  // cuDNN calls it too.
  if (!paths.cudnn.empty() && paths.cublas_lt.empty()) {
    if (const auto other = FindLibrary(Library::kCublasLt)) paths.cublas_lt = *other;
  }
  return paths;
}

namespace {

Address AddressOf(const LoadedPlan::Binding& memory, std::int64_t offset) {
  return memory.address + static_cast<Address>(offset) * Bytes(memory.dtype);
}

// What both libraries' calls have.
template <class Step, class Call>
void AddCommon(const Step& step, const Libraries::FindAddress& find, Call& call) {
  call.compute = step.compute;
  call.activation = step.activation;
  call.algorithm = step.algorithm;
  if (step.bias) call.bias = AddressOf(find(step.bias->name), step.bias->offset);
  if (step.workspace.empty()) return;
  const auto& workspace = find(step.workspace);
  call.workspace = workspace.address;
  call.workspace_bytes = workspace.bytes;
}

}  // namespace

Try<Libraries::Call> Libraries::Prepare(const MatmulStep& step, const FindAddress& find) {
  if (!cublas_) {
    auto opened = CublasLt::Open(paths_.cublas_lt);
    if (!opened) return tl::unexpected<Failure>(opened.error());
    cublas_ = std::move(*opened);
  }
  const auto at = [&](const MatrixArgument& matrix) {
    const auto& memory = find(matrix.buffer);
    return DeviceMatrix{AddressOf(memory, matrix.offset), memory.dtype, matrix.strides, matrix.batch_stride};
  };
  MatmulCall call{.m = step.m,
                  .n = step.n,
                  .k = step.k,
                  .batch = step.batch,
                  .a = at(step.a),
                  .b = at(step.b),
                  .d = at(step.d),
                  .alpha = step.alpha,
                  .beta = step.beta};
  if (step.c) call.c = at(*step.c);
  AddCommon(step, find, call);
  auto prepared = cublas_->Prepare(call);
  if (!prepared) return tl::unexpected<Failure>(prepared.error());
  return [this, ready = std::move(*prepared)] { return cublas_->Run(context_, *ready); };
}

Try<Libraries::Call> Libraries::Prepare(const ConvolutionStep& step, const FindAddress& find) {
  if (!cudnn_) {
    std::vector<std::string> beside;
    const std::filesystem::path folder = std::filesystem::path(paths_.cublas_lt).parent_path();
    for (const char* name : {"libcublasLt.so.13", "libcublas.so.13", "libnvrtc.so.13", "libcublasLt.so.12",
                             "libcublas.so.12", "libnvrtc.so.12"}) {
      if (!folder.empty()) beside.push_back((folder / name).string());
    }
    auto opened = Cudnn::Open(paths_.cudnn, beside);
    if (!opened) return tl::unexpected<Failure>(opened.error());
    cudnn_ = std::move(*opened);
  }
  const auto at = [&](const StridedArgument& tensor) {
    const auto& memory = find(tensor.buffer);
    return DeviceTensor{AddressOf(memory, tensor.offset), memory.dtype, tensor.shape, tensor.strides};
  };
  ConvolutionCall call{.x = at(step.x),
                       .w = at(step.w),
                       .y = at(step.y),
                       .stride = step.stride,
                       .padding = step.padding,
                       .dilation = step.dilation,
                       .groups = step.groups,
                       .transposed = step.transposed};
  AddCommon(step, find, call);
  auto prepared = cudnn_->Prepare(call);
  if (!prepared) return tl::unexpected<Failure>(prepared.error());
  return [this, ready = std::move(*prepared)] { return cudnn_->Run(context_, *ready); };
}

}  // namespace hone::cuda
