// More bytes cross the device's memory than the step's tensors have.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_extra_traffic {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory};
constexpr std::string_view kNeeds[] = {"traffic_ratio", "dram_read_bytes", "dram_write_bytes", "step_bytes"};

constexpr RuleMove kMoves[] = {{"keep", "yes"}, {"lanes", "more"}, {"tile", "more"}};
constexpr std::string_view kFamilies[] = {"attention", "matmul", "norm", "reduce", "softmax"};

std::optional<Found> Check(const Facts& facts) {
  return Found{
      .lost = 1 - 1 / facts["traffic_ratio"],
      .evidence = fmt::format("{:.3g} MB are read and {:.3g} MB written, {:.2f} times the {:.3g} MB of its tensors",
                              facts["dram_read_bytes"] / 1e6, facts["dram_write_bytes"] / 1e6, facts["traffic_ratio"],
                              facts["step_bytes"] / 1e6),
      .advice =
          "Use what was read while it is near: keep the row in registers or shared memory, or let blocks that share "
          "operands run side by side, so that L2 has them."};
}

constexpr ExampleFact kTwice[] = {
    {"traffic_ratio", 1.9}, {"dram_read_bytes", 380e6}, {"dram_write_bytes", 100e6}, {"step_bytes", 252e6}};
constexpr ExampleFact kOnce[] = {
    {"traffic_ratio", 1.02}, {"dram_read_bytes", 130e6}, {"dram_write_bytes", 130e6}, {"step_bytes", 255e6}};
constexpr Example kFires[] = {{"a softmax that reads its rows three times", kTwice}};
constexpr Example kSilent[] = {{"rows in registers", kOnce}};

}  // namespace

HONE_ROW(Rule){
    .name = "extra_traffic",
    .title = "data that crosses memory more than once",
    .scope = Scope::kLaunch,
    .classes = kClasses,
    .needs = kNeeds,
    .threshold = {"traffic_ratio", Threshold::Side::kAbove, 1.2, "a fifth beyond what has to move; not measured"},
    .moves = kMoves,
    .families = kFamilies,
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_extra_traffic
