// Proposes points of the scripted space: three to start from, the neighbours of an accepted one, farther ones in a
// second turn, and a repair of a refused one. Ranks them by a model that does not know the cliffs, as a real proposer
// does. A knob's moves are by a rule of its name, which promises a tenth of the time each time.
#pragma once

#include "propose/proposer.h"

namespace hone::testing {

class ScriptedProposer final : public Proposer {
 public:
  Result<Round> Propose(const Question& question) override;
};

}  // namespace hone::testing
