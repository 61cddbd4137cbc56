#include "dsl/cuda/matmul_library.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "dsl/cuda/library.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kWorkspaceBytes = 32 << 20;  // what PyTorch gives it on such a device

// How an operand of the statement lies as a matrix along two dimensions; nothing if the library cannot read it so.
std::optional<MatrixArgument> MatrixOf(const KernelProgram* program, const Kernel& kernel, const MatmulShape& shape,
                                       int operand, const LoopDim& rows, const LoopDim& columns) {
  const auto o = static_cast<std::size_t>(operand);
  std::int64_t down = rows.strides[o], across = columns.strides[o];
  // Where nothing varies any stride will do.
  if (columns.extent == 1) across = down == 1 && rows.extent > 1 ? rows.extent : 1;
  if (rows.extent == 1) down = across == 1 ? columns.extent : 1;
  const bool in_rows = across == 1 && down >= columns.extent, in_columns = down == 1 && across >= rows.extent;
  if (!in_rows && !in_columns) return std::nullopt;
  MatrixArgument matrix{.offset = kernel.operands[o].offset, .strides = {down, across}};
  if (!shape.batch.empty()) matrix.batch_stride = shape.batch[0].strides[o];
  if (program != nullptr) {
    matrix.buffer = program->buffers[static_cast<std::size_t>(kernel.operands[o].buffer)].name;
  }
  return matrix;
}

bool Multiplies(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  if (!kernel.lets.empty() || HasChoice(kernel)) return false;
  const int a = OperandOf(kernel.inputs[0]), b = OperandOf(kernel.inputs[1]);
  if (a < 0 || b < 0 || shape.batch.size() > 1 || ElementCount(kernel.result) == 0 || shape.k.extent == 0) return false;
  const DType type = kernel.operand_types[static_cast<std::size_t>(a)];
  if (type != kernel.operand_types[static_cast<std::size_t>(b)] || !IsFloat(type) || Bytes(type) == 1) return false;
  if ((type == DType::kF64) != (kernel.compute == DType::kF64)) return false;
  return MatrixOf(nullptr, kernel, shape, a, shape.m, shape.k) && MatrixOf(nullptr, kernel, shape, b, shape.k, shape.n);
}

}  // namespace

std::optional<std::string> WhyNoLibraryMultiplies(const Kernel& kernel) {
  if (Multiplies(kernel)) return std::nullopt;
  return "cuBLASLt reads both operands where they lie, as matrices in one batch dimension at most";
}

std::vector<Setting> MatmulAlgorithmValues(const Kernel&) { return {Whole(0), Whole(1), Whole(2), Whole(3)}; }
std::optional<std::string> CheckMatmulAlgorithm(const Kernel&, const Setting& value) {
  return CheckRange(value, 0, 255);
}

void EmitMatmulLibrary(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, bool tf32) {
  const MatmulShape shape(kernel);
  const int a = OperandOf(kernel.inputs[0]), b = OperandOf(kernel.inputs[1]);
  const KernelBuffer& target = program.buffers[static_cast<std::size_t>(kernel.target)];
  const auto same_type = [&](int operand) {
    return kernel.operand_types[static_cast<std::size_t>(operand)] == target.dtype;
  };
  const auto added = [&](int operand) -> std::optional<MatrixArgument> {
    const auto matrix = MatrixOf(&program, kernel, shape, operand, shape.m, shape.n);
    const bool in_rows = matrix && matrix->strides[1] == 1 && matrix->strides[0] >= shape.n.extent;
    const auto o = static_cast<std::size_t>(operand);
    const bool whole =
        (shape.m.extent == 1 || shape.m.strides[o] != 0) && (shape.batch.empty() || matrix->batch_stride != 0);
    return in_rows && whole && same_type(operand) ? matrix : std::nullopt;
  };
  const auto end = EndOf(
      kernel,
      [&](int operand) {
        const auto o = static_cast<std::size_t>(operand);
        return same_type(operand) && shape.n.strides[o] == 1 && shape.m.strides[o] == 0 &&
               (shape.batch.empty() || shape.batch[0].strides[o] == 0);
      },
      [&](int operand) { return added(operand).has_value(); });
  MatmulStep step{.m = shape.m.extent, .n = shape.n.extent, .k = shape.k.extent};
  if (!shape.batch.empty()) step.batch = shape.batch[0].extent;
  const auto a_matrix = MatrixOf(&program, kernel, shape, a, shape.m, shape.k),
             b_matrix = MatrixOf(&program, kernel, shape, b, shape.k, shape.n);
  HONE_CHECK(a_matrix && b_matrix, "the checker lets no other product come here");
  step.a = *a_matrix;
  step.b = *b_matrix;
  step.d = {.buffer = target.name, .strides = {shape.m.target_stride, 1}};
  if (!shape.batch.empty()) step.d.batch_stride = shape.batch[0].target_stride;
  const DType type = kernel.operand_types[static_cast<std::size_t>(a)];
  step.compute = type == DType::kF64           ? LibraryCompute::kF64
                 : type == DType::kF32 && tf32 ? LibraryCompute::kTf32
                                               : LibraryCompute::kF32;
  if (end && end->bias >= 0) {
    const KernelOperand& bias = kernel.operands[static_cast<std::size_t>(end->bias)];
    step.bias = BufferArgument{program.buffers[static_cast<std::size_t>(bias.buffer)].name, bias.offset};
  }
  if (end && end->added >= 0) {
    step.c = added(end->added);
    step.beta = 1;
  }
  if (end && end->relu) step.activation = Activation::kRelu;
  step.algorithm = static_cast<int>(IntSetting(kernel, "algorithm"));
  step.workspace = out.Workspace(kWorkspaceBytes);
  out.Call(std::move(step));
  if (!end) EmitEnd(program, kernel, out);
}

}  // namespace hone::dsl
