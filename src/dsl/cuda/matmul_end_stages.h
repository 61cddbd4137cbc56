// Tiles of 16-bit results as the copy engine sees them on their way out, and what comes as they leave: operands of the
// chain that lie as the target does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "dsl/cuda/conv_phases.h"
#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/tensor_settings.h"
#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// The target as StoreBox writes it, in boxes of 64 rows x 64 columns; and a box's first column and its batch there,
// where rows that lie apart are batches.
TensorMapArgument TargetMap(const KernelProgram& program, const Kernel& kernel, const MatmulText& text);
struct BoxPlace {
  std::string column, batch;
};
BoxPlace PlaceOfBox(const MatmulText& text, const std::string& box);

// Operands of the chain that lie as the target does: behind the stages of a tile's K the copy engine fills some with
// boxes of them. Threads would ask for them too late, and 16 bytes of a row at a time: 200704 x 256 x 64 takes 66 us so
// and took 96 (docs/measured/cuda_layers.md).
struct EndStages {
  std::vector<int> operands;
  std::int64_t boxes = 0;   // of each, side by side, that a stage has
  std::int64_t stages = 0;  // of a tile
};
EndStages EndStagesOf(const Kernel& kernel, const MatmulShape& shape, const TensorSettings& settings,
                      const ConvPhase* apart);
// Such an operand, by the name of its map; and lines that bring a tile's boxes.
std::string EndMapName(int operand);
TensorMapArgument EndMap(const KernelProgram& program, const Kernel& kernel, const MatmulText& text,
                         const TensorSettings& settings, int operand);
void EmitEndCopies(const EndStages& end, const MatmulText& text, DeviceWriter& out, const TensorSettings& settings);

// Lines of the ring: a consumer has read the stage `which`, if the condition, which ends with " && ", holds; and on to
// the next.
void ReleaseStage(DeviceWriter& out, const TensorSettings& settings, const std::string& condition,
                  const std::string& which);
void NextStage(DeviceWriter& out);

}  // namespace hone::dsl
