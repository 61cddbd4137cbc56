#include "propose/expert/expert.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dsl/family.h"
#include "dsl/program.h"
#include "graph/loop_nest.h"
#include "propose/expert/cost.h"
#include "propose/expert/pieces.h"
#include "propose/expert/writer.h"
#include "propose/limits.h"

namespace hone {
namespace {

using expert::Fusion;

// The ways to cut a graph, most fused first.
struct Cut {
  Fusion fusion;
  std::string_view words;
};
constexpr Cut kCuts[] = {
    {{.maps = true, .epilogues = true, .norms = true}, "everything fused"},
    {{.maps = true, .epilogues = true, .norms = false}, "statistics apart from what reads them"},
    {{.maps = true, .epilogues = false, .norms = true}, "epilogues apart"},
    {{.maps = false, .epilogues = false, .norms = false}, "one kernel a step"},
};

class Expert : public Proposer {
 public:
  Expert(Graph graph, Machine machine) : graph_(std::move(graph)), machine_(std::move(machine)) {
    limits_ = LimitsOf(machine_);
  }

  std::string_view name() const override { return "expert"; }

  Result<std::vector<Proposal>> Start(Random&) override {
    std::vector<Proposal> proposals;
    std::set<std::string> seen;
    if (const auto pieces = expert::PiecesOf(graph_)) {
      for (const auto& cut : kCuts) {
        const auto program = expert::WriteProgram(graph_, expert::Fuse(graph_, *pieces, cut.fusion));
        if (!program) continue;
        auto proposal = Propose(*program);
        if (!proposal || !seen.insert(proposal->candidate.text).second) continue;
        proposal->origin = fmt::format("expert: {}", cut.words);
        proposal->key = fmt::format("cut {}", proposals.size());
        proposals.push_back(std::move(*proposal));
      }
    }
    std::stable_sort(proposals.begin(), proposals.end(),
                     [](const Proposal& a, const Proposal& b) { return a.predicted_us < b.predicted_us; });
    // What works for every graph that hone can define, should the language not say it.
    Proposal nest;
    nest.candidate = {CandidateKind::kModule, NaiveModule(graph_)};
    nest.origin = "expert: the definitions' loop nests";
    nest.key = "loop nest";
    if (proposals.empty()) proposals.push_back(std::move(nest));
    return proposals;
  }

  // Every single change of a setting. The kernel that takes longest comes first, its first alternatives before its
  // last.
  Result<std::vector<Proposal>> Next(const Attempt& from, int round, Random&) override {
    std::vector<Proposal> proposals;
    if (round > 0 || !from.accepted() || from.proposal.candidate.kind != CandidateKind::kProgram) return proposals;
    const auto parsed = dsl::Parse(from.proposal.candidate.text);
    const auto* program = std::get_if<dsl::Program>(&parsed);
    if (!program) return proposals;
    const auto checked = dsl::Check(*program, &graph_.problem(), limits_);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
    if (!kernels) return proposals;
    const auto times = expert::PredictKernels(*kernels, machine_);
    double total = 0;
    for (const double time : times) total += time;
    for (std::size_t k = 0; k < kernels->kernels.size(); ++k) {
      const dsl::Kernel& kernel = kernels->kernels[k];
      for (std::size_t n = 0; n < kernel.family->knobs.size(); ++n) {
        const dsl::Knob& knob = kernel.family->knobs[n];
        const std::string knob_name(knob.name);
        const auto values = knob.values(kernel, limits_);
        for (std::size_t v = 0; v < values.size(); ++v) {
          const auto current = kernel.settings.find(knob_name);
          if (current != kernel.settings.end() && current->second == values[v]) continue;
          if (knob.check && knob.check(kernel, values[v])) continue;
          dsl::Program changed = *program;
          changed.statements[k].settings[knob_name] = values[v];
          auto proposal = Propose(changed);
          if (!proposal) continue;
          const std::string before = current == kernel.settings.end() ? "unset" : dsl::ToString(current->second);
          proposal->origin = fmt::format("expert: {}: {} {} -> {}", changed.statements[k].target, knob.name, before,
                                         dsl::ToString(values[v]));
          proposal->key = fmt::format("{}.{}={}", changed.statements[k].target, knob.name, dsl::ToString(values[v]));
          // A setting is worth at most a fraction of its kernel's share; earlier knobs and values matter more. Fewer
          // threads help only kernels that are shorter than their start, so they come last.
          const double share = total > 0 ? times[k] / total : 1;
          const bool fewer = knob.name == "threads" && times[k] > 20 * machine_.fork_join_us;
          const double order = (fewer ? 0.01 : 1.0) / static_cast<double>(1 + n) / static_cast<double>(1 + v);
          proposal->predicted_us = from.time_us() * (1 - 0.3 * share * order);
          proposals.push_back(std::move(*proposal));
        }
      }
    }
    std::stable_sort(proposals.begin(), proposals.end(),
                     [](const Proposal& a, const Proposal& b) { return a.predicted_us < b.predicted_us; });
    return proposals;
  }

 private:
  // The program with every setting written out, so that the text says all; nothing if the checker refuses it.
  std::optional<Proposal> Propose(dsl::Program program) const {
    const auto checked = dsl::Check(program, &graph_.problem(), limits_);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
    if (!kernels) return std::nullopt;
    for (std::size_t k = 0; k < kernels->kernels.size(); ++k)
      program.statements[k].settings = kernels->kernels[k].settings;
    Proposal proposal;
    proposal.candidate = {CandidateKind::kProgram, dsl::Print(program)};
    proposal.predicted_us = expert::Predict(*kernels, machine_);
    return proposal;
  }

  Graph graph_;
  Machine machine_;
  dsl::Limits limits_;
};

}  // namespace

std::unique_ptr<Proposer> MakeExpert(Graph graph, Machine machine) {
  return std::make_unique<Expert>(std::move(graph), std::move(machine));
}

}  // namespace hone
