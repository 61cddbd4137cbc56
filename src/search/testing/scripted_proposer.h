// Proposes points of the scripted space: three to start from, the neighbours of an accepted one, farther ones in a
// second round, and a repair of a refused one. Ranks them by a model that does not know the cliffs, as a real proposer
// does.
#pragma once

#include "propose/proposer.h"

namespace hone::testing {

class ScriptedProposer final : public Proposer {
 public:
  std::string_view name() const override { return "scripted"; }
  Result<std::vector<Proposal>> Start(Random& random) override;
  Result<std::vector<Proposal>> Next(const Attempt& from, int round, Random& random) override;
  void Observe(const Attempt& attempt) override;

  int observed = 0;      // attempts that ended
  bool in_order = true;  // their numbers were 1, 2, ...
};

}  // namespace hone::testing
