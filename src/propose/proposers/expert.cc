// The built-in expert (expert/): no model, no network, no cost.
#include "propose/expert/expert.h"

#include "propose/proposer.h"

namespace hone {
namespace {

Result<std::unique_ptr<Proposer>> Make(const ProposerSetting& setting) {
  return MakeExpert(setting.graph, setting.machine, setting.learned, setting.saving);
}

}  // namespace

HONE_PROPOSER(expert){
    .name = "expert", .doc = "built in: fuses the graph into kernels and moves their settings", .make = Make};

}  // namespace hone
