// Ends that scale and shift by what no input changes, as a batch norm does once it is trained.
#pragma once

#include "dsl/program.h"

namespace hone::expert {

// Writes `(it - mean) * rstd * weight + bias`, where all of these are of parameters alone and of one shape, as `it *
// scale + shift`, of which both are statements of their own before: made once when a plan is prepared. An end reads two
// numbers a channel then, where it read four. Products and convolutions whose results have 16 bits: what is rounded
// otherwise on the way is less than those lose.
void ScaleEnds(dsl::Program& program);

}  // namespace hone::expert
