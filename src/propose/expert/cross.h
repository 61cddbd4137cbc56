// Two programs crossed: one that takes from each what it computes the same things by.
#pragma once

#include <string>
#include <vector>

#include "dsl/program.h"
#include "propose/random.h"

namespace hone::expert {

struct Crossing {
  dsl::Program program;
  std::string words;  // what is the mate's: "y, z", or of a single statement "y.tile, y.threads"
};

// The parent with some of the mate's settings, the ways of computing among them: of whole statements where several that
// compute the same differ, else of one statement. All of them where there are few, else a few by chance; none where
// less than two things differ, since what had them would be one of the two. Whether such a program is legal, and
// another one than the two and the rest once it has all of its settings, is for the caller to see: of two ways of
// computing a statement the settings of the one say nothing to the other.
std::vector<Crossing> Cross(const dsl::Program& parent, const dsl::Program& mate, Random random);

}  // namespace hone::expert
