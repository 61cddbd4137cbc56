// hone graph: what a problem computes, operator by operator, what that costs, and how fast it could be here.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/cost.h"
#include "command/command.h"
#include "command/cost_text.h"
#include "command/flags.h"
#include "command/graph_of.h"
#include "command/target.h"
#include "graph/op.h"
#include "problem/import/import.h"
#include "target/bound.h"

namespace hone::verb_graph {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "problem", .help = "problem.json or a .py file", .presence = Presence::kOptional, .reads = true}};
constexpr Option kOptions[] = {
    {.name = "ops",
     .type = ValueType::kFlag,
     .help = "list the operators that hone knows, and what an element of each is"},
    kTargetOption,
    kDeviceOption,
};

Answer ListOps() {
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  for (const Op* op : AllOps()) {
    rows.push_back({{"name", op->name}, {"doc", op->doc}});
    text += fmt::format("{:<20} {}\n", op->name, op->doc);
  }
  return Answer({{"ops", std::move(rows)}}, std::move(text));
}

Result<Answer> RunGraph(VerbCall& call) {
  if (call.Flag("ops")) return ListOps();
  const std::string path = call.Text("problem");
  if (path.empty())
    return Fail(ErrorKind::kUsage, "hone graph needs a problem (a problem.json or a .py file), or --ops");
  Problem imported = HONE_TRY(Import(path));
  const Graph graph = HONE_TRY(GraphOf(std::move(imported), path));
  const Problem& problem = graph.problem();

  std::string text = fmt::format("{}, contract {}\n\n", problem.name, Name(problem.contract));
  for (const auto& tensor : problem.tensors) {
    const char* role = tensor.role == Role::kInput ? "input" : tensor.role == Role::kParameter ? "parameter" : "output";
    text += fmt::format("{:<10} {:<24} {} {}\n", role, tensor.name, Name(tensor.dtype), ToString(tensor.shape));
  }
  text +=
      fmt::format("\n{:>4}  {:<30} {:<24} {:>8} {:>10}  {}\n", "node", "operator", "result", "FLOP", "bytes", "value");
  nlohmann::json nodes = nlohmann::json::array();
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const Node& node = problem.nodes[i];
    const Cost cost = NodeCost(graph, static_cast<int>(i));
    nlohmann::json results = nlohmann::json::array();
    bool first = true;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].empty()) continue;
      const Buffer& buffer = graph.buffers()[static_cast<std::size_t>(graph.node_outputs()[i][o])];
      const std::string type = fmt::format("{} {}", Name(buffer.dtype), ToString(buffer.shape));
      if (first) {
        text += fmt::format("{:>4}  {:<30} {:<24} {:>8} {:>10}  {}\n", i, node.op, type, CountText(cost.flops()),
                            CountText(cost.bytes()), node.outputs[o]);
      } else {
        text += fmt::format("{:>4}  {:<30} {:<24} {:>8} {:>10}  {}\n", "", "", type, "", "", node.outputs[o]);
      }
      first = false;
      results.push_back({{"name", node.outputs[o]}, {"dtype", Name(buffer.dtype)}, {"shape", buffer.shape}});
    }
    nlohmann::json row = ToDocument(cost);
    row["op"] = node.op;
    row["results"] = std::move(results);
    nodes.push_back(std::move(row));
  }

  const Cost total = GraphCost(graph);
  text += fmt::format(
      "\ntotal  {} FLOP ({} multiply-adds, {} other, {} transcendental), {} bytes read, {} bytes written at least\n",
      CountText(total.flops()), CountText(total.multiply_adds), CountText(total.arithmetic),
      CountText(total.transcendental), CountText(total.bytes_read), CountText(total.bytes_written));
  nlohmann::json document = {{"name", problem.name},
                             {"identity", Identity(problem)},
                             {"contract", Name(problem.contract)},
                             {"nodes", std::move(nodes)},
                             {"total", ToDocument(total)}};
  const DeviceModel device = HONE_TRY(KnownDevice(call));
  const Bound bound = SpeedOfLight(graph, device);
  document["bound"] = ToDocument(bound);
  if (bound.us > 0) {
    const std::string of = bound.datasheet ? fmt::format(" of {} by its datasheet", device.processor) : "";
    text += fmt::format("bound  {:.4g} us{}, limited by {}. {}\n", bound.us, of, bound.limited_by, bound.why);
  } else {
    text += fmt::format("bound  {}\n", bound.why.empty() ? "nothing to do" : bound.why);
  }
  const std::vector<Flag> flags = Analyze(graph);
  document["flags"] = ToDocument(flags);
  for (const Flag& flag : flags) text += fmt::format("flag   {}\n", Sentence(flag));
  return Answer(document, std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "graph",
    .doc = "Show what a problem computes, what that costs and how fast it could be on this machine",
    .group = VerbGroup::kProblems,
    .place = 2,
    .help =
        "FLOP and bytes of a node are those of it alone: what it reads once and what it writes. The total counts what "
        "the outputs\n"
        "need: inputs and parameters read once, outputs written once. The bound is the time that this takes at the "
        "ceilings that\n"
        "`hone calibrate` measured, in the cheapest order of summation that was found; where no ceiling was measured "
        "for "
        "what the contract allows there is no bound. Flags say what is degenerate: outputs that are zero, constant or "
        "blind to inputs "
        "(nearly: to within what comparisons let pass), and work that algebra saves.",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "name, identity, contract, nodes[]: op, results[] (name, dtype, shape), flops (multiply-adds count 2), "
        "multiply_adds,\n"
        "wholes8 and reals8 (of these, products of whole numbers and of reals of 8 bits), arithmetic, transcendental,\n"
        "bytes_read, bytes_written; total: the same; bound (null where there is none, as "
        "without calibration): us, sure_us (without what data may spare), least_us (who is faster is refused), bytes,\n"
        "flops, bytes_us, flops_us, limited_by, ceilings (measured or datasheet), why; flags[]: kind, sentence, "
        "reason, and "
        "what the kind has (output, inputs, "
        "value, within, "
        "flops_written, flops_needed). With --ops: ops[]: name, doc",
    .run = RunGraph,
    .only_reads = true,
};

}  // namespace hone::verb_graph
