// Numbers as a quantized tensor would hold them, and whether it can.
#pragma once

#include "graph/op.h"

namespace hone {

// Two outputs: self rounded to the steps of `scale` from `zero_point` on, within quant_min and quant_max; and where it
// was within them. `scale` and `zero_point` are of an element's place; where `enabled` is a tensor and 0, self stays.
void DefineFakeQuantize(OpCall& call, const ElementFunction& scale, const ElementFunction& zero_point,
                        const std::optional<Operand>& enabled = {});

}  // namespace hone
