// Proposers that share a run: those that answer at once, and at most one that thinks (Pace). What costs nothing comes
// first, but where the run is far from the bound, which is where moves of settings do not lead:
//
//   attempt near its bound, or of unknown bound    the prompt ones, until they have nothing more; then the slow one
//   attempt that takes kFar times its bound        the slow one once; then as above
//   refused attempt                                who wrote it may repair it
//
// Whose a proposal is stands in its origin. What is asked follows from the question alone, so a run that goes on asks
// as it would have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "propose/proposer.h"

namespace hone {

// Our choice: no run with a model stands behind it yet.
inline constexpr double kFar = 2;

struct Member {
  std::string name;  // its row's; the origins of what it writes begin with it
  std::unique_ptr<Proposer> proposer;
};

// At most one of them may be a slow one.
std::unique_ptr<Proposer> Join(std::vector<Member> members, double bound_us);

// Who is asked in a run: one proposer or several, "expert,team:strong,coder=cheap". A word behind a comma begins the
// next one where it is a proposer's name, or where the one before took no parameters.
class ChosenProposers {
 public:
  // Fails as ChooseProposer does, and with kUsage when two of them think: each would wait for the other's answers.
  static Result<ChosenProposers> Parse(std::string_view words);

  std::string Identity() const;                 // of each, joined by commas
  Pace pace() const;                            // as what Make gives will say of itself
  bool Take(std::string_view parameter) const;  // whether one of them does
  // `setting` but for its parameters, which are those that were parsed. Fails as the rows' functions do.
  Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) const;

 private:
  std::vector<Chosen<ProposerRow>> chosen_;
};

// Of those of a run, say, whose files and folders need not be here. Fails as ChooseProposer does for a name.
Result<Pace> PaceOfProposers(std::string_view words);

}  // namespace hone
