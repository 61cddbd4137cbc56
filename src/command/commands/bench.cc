// hone bench: every search strategy on a made-up space whose answer is known, and the signature of their decisions.
#include "search/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/evaluation_text.h"
#include "search/search.h"

namespace hone::verb_bench {
namespace {

constexpr Option kOptions[] = {
    {.name = "budget",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "attempts of each search",
     .otherwise = "60",
     .at_least = 1},
    {.name = "seeds",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "use the seeds 1 to N",
     .otherwise = "3",
     .at_least = 1},
    {.name = "tree",
     .value = "NAME",
     .help = "instead, how long the steps of this strategy take in a large tree",
     .choices = ChoicesOf<AllStrategies>},
    {.name = "resume",
     .value = "NAME",
     .help = "instead, how long a run of --nodes attempts by this strategy takes to be taken up again",
     .choices = ChoicesOf<AllStrategies>},
    {.name = "nodes",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "of --tree and --resume: attempts",
     .otherwise = "100000",
     .at_least = 10},
};

Result<Answer> Tree(VerbCall& call) {
  const auto nodes = static_cast<int>(std::min<std::int64_t>(call.Int("nodes"), 100'000'000));
  const TreeBench bench = HONE_TRY(RunTreeBench(call.Text("tree"), nodes));
  return Answer({{"nodes", nodes},
                 {"select_us", bench.select_us},
                 {"back_up_us", bench.back_up_us},
                 {"node_bytes", bench.node_bytes}},
                fmt::format("{} in a tree of {} attempts: {:.1f} us to select, {:.1f} us to back up, {:.0f} bytes a "
                            "node\n",
                            call.Text("tree"), nodes, bench.select_us, bench.back_up_us, bench.node_bytes));
}

Result<Answer> Resume(VerbCall& call) {
  const auto nodes = static_cast<int>(std::min<std::int64_t>(call.Int("nodes"), 100'000'000));
  const ResumeBench bench = HONE_TRY(RunResumeBench(call.Text("resume"), nodes));
  return Answer(
      {{"nodes", nodes},
       {"made_s", bench.made_s},
       {"resumed_s", bench.resumed_s},
       {"resumed_cpu_s", bench.resumed_cpu_s},
       {"journal_bytes", bench.journal_bytes}},
      fmt::format("a run of {} attempts by {}: made in {:.1f} s, taken up again in {:.2f} s ({:.2f} s of "
                  "processors), its journal {:.0f} bytes an attempt\n",
                  nodes, call.Text("resume"), bench.made_s, bench.resumed_s, bench.resumed_cpu_s, bench.journal_bytes));
}

Result<Answer> RunIt(VerbCall& call) {
  if (call.Has("resume")) return Resume(call);
  if (call.Has("tree")) return Tree(call);
  BenchSettings settings{.attempts = static_cast<int>(call.Int("budget")), .seeds = {}};
  for (std::int64_t seed = 1; seed <= call.Int("seeds"); ++seed)
    settings.seeds.push_back(static_cast<std::uint64_t>(seed));
  const Bench bench = HONE_TRY(RunBench(settings));
  nlohmann::json rows = nlohmann::json::array();
  std::string text = "strategy  seed  attempts  accepted  best      over optimum  per attempt  signature\n";
  for (const BenchRow& row : bench.rows) {
    rows.push_back({{"strategy", row.strategy},
                    {"seed", row.seed},
                    {"attempts", row.attempts},
                    {"accepted", row.accepted},
                    {"best_us", row.best_us},
                    {"over_optimum", row.over_optimum},
                    {"per_attempt_us", row.evaluate_us},
                    {"signature", row.signature}});
    text += fmt::format("{:<8} {:>5} {:>9} {:>9}  {:<9} {:<13} {:<12} {}\n", row.strategy, row.seed, row.attempts,
                        row.accepted, TimeText(row.best_us), SpeedupText(row.over_optimum), TimeText(row.evaluate_us),
                        row.signature);
  }
  text += fmt::format("Bench: {}\n", bench.signature);
  return Answer({{"signature", bench.signature}, {"searches", std::move(rows)}}, std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "bench",
    .doc = "Run the search strategies on a scripted space and print the signature of their decisions",
    .group = VerbGroup::kMachine,
    .place = 3,
    .help =
        "No kernel is built and no clock is read for a decision: times are scripted, with noise, cliffs and wrong\n"
        "results. The signature is the same on every machine; it changes when the search decides differently.",
    .options = kOptions,
    .json =
        "signature; searches[]: strategy, seed, attempts, accepted, best_us (us), over_optimum (1 = found the "
        "fastest), "
        "per_attempt_us (us), signature; with --tree: nodes, select_us, back_up_us, node_bytes; with --resume: nodes, "
        "made_s, resumed_s, resumed_cpu_s (s), journal_bytes",
    .run = RunIt,
};

}  // namespace hone::verb_bench
