#include "dsl/cuda/library.h"

#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "dsl/cuda/map.h"
#include "dsl/family.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

// Adds up what a sum adds; false where something else stands.
bool Terms(const Expr& expr, bool& it, std::vector<int>& operands) {
  if (expr->kind == Expr::Kind::kBinary && expr->binary == BinaryOp::kAdd)
    return Terms(expr->operands[0], it, operands) && Terms(expr->operands[1], it, operands);
  if (expr->type != ScalarType::kReal) return false;
  if (IsValue(expr, kIt)) {
    const bool first = !it;
    it = true;
    return first;
  }
  if (expr->kind != Expr::Kind::kLoad) return false;
  operands.push_back(expr->buffer);
  return true;
}

bool IsZero(const Expr& expr) { return expr->kind == Expr::Kind::kConst && expr->real == 0 && expr->whole == 0; }

}  // namespace

std::optional<LibraryEnd> EndOf(const Kernel& kernel, const std::function<bool(int operand)>& is_bias,
                                const std::function<bool(int operand)>& is_added) {
  LibraryEnd end;
  Expr sum = kernel.epilogue;
  if (sum->kind == Expr::Kind::kBinary && sum->binary == BinaryOp::kMax) {
    for (const std::size_t side : {0u, 1u}) {
      if (end.relu || !IsZero(sum->operands[side])) continue;
      end.relu = true;
      sum = sum->operands[1 - side];
    }
    if (!end.relu) return std::nullopt;
  }
  bool it = false;
  std::vector<int> operands;
  if (!Terms(sum, it, operands) || !it) return std::nullopt;
  for (const int operand : operands) {
    if (end.bias < 0 && is_bias(operand)) {
      end.bias = operand;
    } else if (end.added < 0 && is_added(operand)) {
      end.added = operand;
    } else {
      return std::nullopt;
    }
  }
  return end;
}

bool IsPlainEnd(const Kernel& kernel) { return IsValue(kernel.epilogue, kIt); }

Kernel MapBeside(const Kernel& kernel, std::vector<IndexVar> space, int target) {
  Kernel map;
  map.family = FindFamily("map");
  map.device = kernel.device;
  map.space = std::move(space);
  for (const auto& index : map.space) map.result.push_back(index.extent);
  map.target = target;
  map.compute = kernel.compute;
  map.text = kernel.text;
  return map;
}

void SettleMap(Kernel& map) {
  HONE_CHECK(!ChooseWay(map), "a map runs on every device");
  FillSettings(map);
}

Kernel EndMap(const Kernel& kernel, const std::vector<int>& dims, KernelOperand made, DType made_type) {
  std::vector<IndexVar> space;
  for (const int d : dims) space.push_back(kernel.space[static_cast<std::size_t>(d)]);
  const std::vector<Expr> place(space.begin(), space.end());
  Kernel map = MapBeside(kernel, std::move(space), kernel.target);
  map.operands = kernel.operands;
  map.operand_types = kernel.operand_types;
  // What is not read shall not keep dimensions apart.
  for (auto& operand : map.operands) operand.strides.assign(dims.size(), 0);
  for (const int o : OperandsOf({kernel.epilogue})) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      map.operands[static_cast<std::size_t>(o)].strides[d] =
          kernel.operands[static_cast<std::size_t>(o)].strides[static_cast<std::size_t>(dims[d])];
    }
  }
  // What was made is one more operand.
  const Expr it = Load(static_cast<int>(map.operands.size()), place, ScalarType::kReal);
  map.operands.push_back(std::move(made));
  map.operand_types.push_back(made_type);
  map.epilogue =
      ReplaceLoads(kernel.epilogue, [&](const ExprNode& load) { return Load(load.buffer, place, load.type); });
  map.epilogue = ReplaceValue(map.epilogue, kIt, it);
  SettleMap(map);
  return map;
}

void EmitEnd(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  const std::vector<int> dims = ResultDims(kernel);
  Shape extents;
  for (const int d : dims) extents.push_back(kernel.space[static_cast<std::size_t>(d)].extent);
  const DType dtype = program.buffers[static_cast<std::size_t>(kernel.target)].dtype;
  EmitMapCuda(program, EndMap(kernel, dims, {.buffer = kernel.target, .strides = DenseStrides(extents)}, dtype), out);
}

}  // namespace hone::dsl
