// The built-in expert (expert/): no model, no network, no cost.
#include "propose/expert/expert.h"

#include "propose/proposer.h"

namespace hone::proposer_expert {
namespace {

Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) {
  return MakeExpert(setting.graph, setting.machine, setting.learned, setting.saving, setting.recalled);
}

}  // namespace

HONE_ROW(ProposerRow){
    .name = "expert", .doc = "built in: fuses the graph into kernels and moves their settings", .make = Make};

}  // namespace hone::proposer_expert
