// Ends and maps that scale and shift by what no input changes, as a batch norm does once it is trained.
#pragma once

#include "dsl/program.h"

namespace hone::expert {

// Writes `(it - mean) * rstd * weight + bias`, where all but `it`, which may be anything, are of parameters alone and
// of one shape, as `it * scale + shift`, of which both are statements of their own before: made once when a plan is
// prepared. Two numbers a channel are read then, where four were. Products, convolutions and maps whose results have 16
// bits: what is rounded otherwise on the way is less than those lose.
void ScaleEnds(dsl::Program& program);

}  // namespace hone::expert
