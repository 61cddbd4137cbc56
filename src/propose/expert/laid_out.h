// Where elements lie that products read beside their operands: biases and masks of scores, and what ends are made of;
// and where their factors lie.
#pragma once

#include "dsl/program.h"
#include "target/device_model.h"

namespace hone::expert {

// Has what the scores of attention and the ends of products read lie in their order, so that neighbouring keys or
// columns are side by side: a nest or a map makes it in another order then, and others read it by other views; where
// those would lose more by that, or it is a tensor, it is copied. Nothing is done that costs more than it brings.
// Factors that are the same in each run, and lie across in both their dimensions, are copied.
void LayOutForReaders(dsl::Program& program, const DeviceModel& device);

}  // namespace hone::expert
