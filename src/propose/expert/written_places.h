// Places that indices say through other values: x[places] where `places` is made of indices alone, as an order of
// columns and the number of each row's group are. Private to the expert.
#pragma once

#include "graph/graph.h"
#include "propose/expert/memory.h"
#include "propose/expert/normalise.h"

namespace hone::expert {

// The stage's value, normalised, with such places written out where all of them are sums of indices then; else as it
// stands.
Normal WithPlacesWritten(const Memory& memory, const Stage& stage);

}  // namespace hone::expert
