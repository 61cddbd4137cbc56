#include "propose/proposer.h"

namespace hone {

Result<Chosen<ProposerRow>> ChooseProposer(std::string_view words) { return Choose("proposer", AllProposers(), words); }

Result<const ProposerRow*> FindProposer(std::string_view words) {
  std::vector<std::string_view> names;
  for (const ProposerRow* row : AllProposers()) names.push_back(row->name);
  return AllProposers()[HONE_TRY(ChooseName("proposer", names, words))];
}

}  // namespace hone
