#include "dsl/cuda/matmul_end_stages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"

namespace hone::dsl {
namespace {

// Whether the copy engine can bring boxes of the operand as it writes those of the target.
bool LiesAsTarget(const Kernel& kernel, const MatmulShape& shape, int operand) {
  const auto o = static_cast<std::size_t>(operand);
  const std::vector<std::int64_t>& strides = shape.strides[o];
  if (!IsHalf(kernel.operand_types[o]) || kernel.operands[o].offset % 8 != 0 || shape.n.strides[o] != 1) return false;
  const std::size_t last = strides.size() - 1;  // K, along which it does not vary
  if (shape.batch.empty() && shape.heads.empty()) return strides[last - 2] > 0 && strides[last - 2] % 8 == 0;
  for (std::size_t d = 0; d < last; ++d) {
    if (strides[d] != shape.target[d]) return false;
  }
  return true;
}

}  // namespace

TensorMapArgument TargetMap(const KernelProgram& program, const Kernel& kernel, const MatmulText& text) {
  const std::int64_t m = text.shape.m.extent, n = text.shape.row;
  return {.buffer = program.buffers[static_cast<std::size_t>(kernel.target)].name,
          .offset = 0,
          .shape = {text.ResultBatches() * (text.shape.n.extent / n), m, n},
          .strides = {m * n, n, 1},
          .box = {1, 64, kEndBoxColumns},
          .swizzle = 128};
}

BoxPlace PlaceOfBox(const MatmulText& text, const std::string& box) {
  const std::int64_t n = text.shape.n.extent, row = text.shape.row;
  const std::string column = fmt::format("n0 + {} * {}", box, kEndBoxColumns),
                    batch = text.ResultBatches() == 1 ? "0" : "batch";
  if (row == n) return {column, batch};
  return {Remainder(column, row), fmt::format("{} * {} + {}", batch, n / row, Quotient(column, row))};
}

EndStages EndStagesOf(const Kernel& kernel, const MatmulShape& shape, const TensorSettings& settings,
                      const ConvPhase* apart) {
  EndStages end;
  if (settings.end != TensorEnd::kTiles || apart) return end;
  for (const int operand : OperandsOf({kernel.epilogue})) {
    if (LiesAsTarget(kernel, shape, operand)) end.operands.push_back(operand);
  }
  if (end.operands.empty()) return end;
  const std::int64_t boxes = settings.tile_n / kEndBoxColumns,
                     box_bytes = static_cast<std::int64_t>(end.operands.size()) * settings.tile_m * kEndRowBytes;
  end.boxes = std::min(TensorStageBytes(settings) / box_bytes, boxes);
  if (end.boxes == 0) return {};
  end.stages = CeilDiv(boxes, end.boxes);
  end.boxes = CeilDiv(boxes, end.stages);
  // A consumer gives up its turn when all of them are full, and has one of K then.
  if (settings.turns && end.stages >= settings.stages) return {};
  return end;
}

std::string EndMapName(int operand) { return fmt::format("beside_{}_map", operand); }

TensorMapArgument EndMap(const KernelProgram& program, const Kernel& kernel, const MatmulText& text,
                         const TensorSettings& settings, int operand) {
  const TensorMapArgument target = TargetMap(program, kernel, text);
  const auto o = static_cast<std::size_t>(operand);
  const bool one = text.shape.batch.empty() && text.shape.heads.empty();
  const std::int64_t line = one ? text.shape.m.strides[o] : target.strides[1],
                     batch = one ? text.shape.m.extent * line : target.strides[0];
  return {.buffer = program.buffers[static_cast<std::size_t>(kernel.operands[o].buffer)].name,
          .offset = kernel.operands[o].offset,
          .shape = {1, target.shape[0], target.shape[1], target.shape[2]},
          .strides = {batch, batch, line, 1},
          .box = {1, 1, settings.tile_m, kEndBoxColumns},
          .swizzle = 128};
}

void EmitEndCopies(const EndStages& end, const MatmulText& text, DeviceWriter& out, const TensorSettings& settings) {
  if (end.stages == 0) return;
  const std::int64_t boxes = settings.tile_n / kEndBoxColumns, box_bytes = settings.tile_m * kEndRowBytes,
                     operands = static_cast<std::int64_t>(end.operands.size());
  out.Open(fmt::format("for (int first = 0; first < {}; first += {})", boxes, end.boxes));
  out.Line("const unsigned barrier = SharedAddress(&full[stage]), to = stages + stage * kStageBytes;");
  out.Line(boxes % end.boxes == 0 ? fmt::format("const int boxes = {};", end.boxes)
                                  : fmt::format("const int boxes = min({}, {} - first);", end.boxes, boxes));
  out.Line("WaitFor(SharedAddress(&empty[stage]), phase);");
  out.Line(fmt::format("ExpectBytes(barrier, boxes * {});", operands * box_bytes));
  out.Open("for (int i = 0; i < boxes; ++i)");
  const auto [column, batch] = PlaceOfBox(text, "(first + i)");
  for (std::int64_t j = 0; j < operands; ++j)
    out.Line(fmt::format("CopyBox(to + i * {} + {}, &{}, {}, m0, {}, 0, barrier);", operands * box_bytes, j * box_bytes,
                         EndMapName(end.operands[static_cast<std::size_t>(j)]), column, batch));
  out.Close();
  NextStage(out);
  out.Close();
}

void ReleaseStage(DeviceWriter& out, const TensorSettings& settings, const std::string& condition,
                  const std::string& which) {
  if (settings.cluster > 1) {
    out.Line(fmt::format("if ({}thread < {}) ArriveAt(SharedAddress(&empty[{}]), thread);", condition, settings.cluster,
                         which));
  } else {
    out.Line(fmt::format("if ({}thread == 0) Arrive(SharedAddress(&empty[{}]));", condition, which));
  }
}
void NextStage(DeviceWriter& out) {
  out.Open("if (++stage == kStages)");
  out.Line("stage = 0;");
  out.Line("phase ^= 1;");
  out.Close();
}

}  // namespace hone::dsl
