// Copies of what a device's kernels of attention read in rows, and lies across them or is of other types.
#pragma once

#include <vector>

#include "dsl/program.h"
#include "propose/expert/names.h"

namespace hone::expert {

// Has attention read copies where it reads views whose rows do not lie side by side, at multiples of 16 bytes, where
// queries, keys and values are of different types, of the least that holds them all, and of expressions over keys and
// values; gives the statements that copy, to stand before it. Views that are alike and lie equally far apart in one
// tensor, as queries, keys and values of one product do, are one copy.
std::vector<dsl::Statement> CopyRows(Names& names, dsl::Statement& attention);

}  // namespace hone::expert
