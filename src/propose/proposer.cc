#include "propose/proposer.h"

namespace hone {

Result<Chosen<ProposerRow>> ChooseProposer(std::string_view words) { return Choose("proposer", AllProposers(), words); }

}  // namespace hone
