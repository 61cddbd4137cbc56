// hone propose: what a proposer would begin with, without running any of it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command/code_index_option.h"
#include "command/command.h"
#include "command/graph_of.h"
#include "command/pending.h"
#include "command/target.h"
#include "graph/graph.h"
#include "problem/import/import.h"
#include "propose/joint.h"
#include "propose/proposer.h"

namespace hone::verb_propose {
namespace {

constexpr Positional kPositionals[] = {{.name = "problem",
                                        .help = "a KernelBench-style .py file, or problem.json; with -n a run",
                                        .reads = true,
                                        .run_with = "number"}};
constexpr Option kOptions[] = {
    kTargetOption,
    kDeviceOption,
    {.name = "proposer",
     .value = "NAME",
     .help = "who says what can be tried",
     .otherwise = "expert",
     .choices = ChoicesOf<AllProposers>},
    kModelsOption,
    {.name = "number",
     .letter = 'n',
     .type = ValueType::kInteger,
     .value = "N",
     .help = "of a run: ask its proposer for so many more, in whole answers, and keep them; nothing is tried",
     .at_least = 1},
    {.name = "all", .type = ValueType::kFlag, .help = "every way to cut the problem into kernels, not only the first"},
    {.name = "python", .value = "PATH", .help = "interpreter with PyTorch, for .py problems"},
    kIndexOption,
    kStoreOption,
};

Result<Answer> RunIt(VerbCall& call) {
  if (call.Has("number")) return ProposeMore(call);
  ImportOptions import;
  import.python = call.Text("python");
  const auto chosen = HONE_TRY(ChosenProposers::Parse(call.Text("proposer")));
  Problem problem = HONE_TRY(Import(call.Text("problem"), import));
  const Graph graph = HONE_TRY(GraphOf(std::move(problem), call.Text("problem")));
  const DeviceModel machine = HONE_TRY(KnownDevice(call));
  const auto proposer = HONE_TRY(chosen.Make(
      {.graph = graph, .machine = machine, .models = call.Text("models"), .index = HONE_TRY(IndexFor(call, chosen))}));
  auto round = HONE_TRY(proposer->Propose({}));
  auto& proposals = round.proposals;
  if (proposals.empty()) {
    call.Note(fmt::format("{} knows no program for this problem on {}", chosen.Identity(), machine.processor));
    for (std::string& note : round.notes) call.Note(std::move(note));
    return Answer(nlohmann::json::array(), "", ExitCode::kNo);
  }
  if (!call.Flag("all") && proposals.size() > 1) proposals.resize(1);
  nlohmann::json document = nlohmann::json::array();
  std::string text;
  for (const auto& proposal : proposals) {
    document.push_back({{"kind", Name(proposal.candidate.kind)},
                        {"origin", proposal.origin},
                        {"predicted_us", proposal.predicted_us},
                        {"text", proposal.candidate.text}});
    const std::string head =
        fmt::format("{}{}", proposal.origin,
                    proposal.predicted_us > 0 ? fmt::format(", predicted {:.3g} us", proposal.predicted_us) : "");
    text += fmt::format("{}{} {}\n{}", text.empty() ? "" : "\n",
                        proposal.candidate.kind == CandidateKind::kProgram ? "#" : "//", head, proposal.candidate.text);
  }
  return Answer(document, text);
}

}  // namespace

HONE_ROW(Verb){
    .name = "propose",
    .doc = "Show what the built-in expert, or another proposer, would try first",
    .group = VerbGroup::kProblems,
    .place = 4,
    .help =
        "Prints programs in the kernel language (docs/language.md), the expert's with settings filled in for\n"
        "this machine. `hone evaluate PROBLEM PROGRAM.hk` runs one.\n"
        "With -n it asks the proposer of a run for more, which wait in the store for `hone evaluate RUN --pending` on\n"
        "the run's machine (docs/machines.md); --device stands in for that machine where this is another.\n"
        "\n"
        "  hone propose model.py > first.hk\n"
        "  hone propose 3fa21c -n 8\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "a list of proposals: kind (program or module), origin, predicted_us (0 = not known), text; with -n: run, "
        "proposed (so many more), pending (that wait in all)",
    .no = "nothing is proposed; with -n: nothing waits to be tried",
    .run = RunIt};

}  // namespace hone::verb_propose
