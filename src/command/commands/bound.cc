// hone bound: the arithmetic of the speed of light, so that a reader can do it again by hand.
#include "target/bound.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/cost.h"
#include "command/command.h"
#include "command/cost_text.h"
#include "command/evaluation_text.h"
#include "command/graph_of.h"
#include "command/target.h"
#include "problem/import/import.h"

namespace hone::verb_bound {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {{.name = "problem", .help = "problem.json or a .py file", .reads = true}};
constexpr Option kOptions[] = {kTargetOption, kDeviceOption};

std::string SourceOf(const Ceilings& ceilings) {
  switch (ceilings.source) {
    case Ceilings::Source::kNone: return "none";
    case Ceilings::Source::kDatasheet: return "datasheet";
    case Ceilings::Source::kMeasured: return "measured";
  }
  return "none";
}

Json ToDocument(const UsedCeiling& used) {
  if (used.per_second <= 0) return nullptr;
  return {{"per_second", used.per_second}, {"of", used.of}, {"from", used.from}};
}

// One operator alone: what it does, and the least time for that if nothing is kept from or for its neighbours.
struct Row {
  int node = 0;
  std::string op;
  Cost cost;
  AloneTime alone;
  const char* limited_by() const {
    if (!alone.known) return "unknown";
    if (alone.us() <= 0) return "nothing";
    return alone.bytes_us >= alone.flops_us ? "memory" : "arithmetic";
  }
};

std::vector<Row> RowsOf(const Graph& graph, const Bound& bound, const DeviceModel& device) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < graph.problem().nodes.size(); ++i) {
    Row row{static_cast<int>(i), graph.problem().nodes[i].op, NodeCost(graph, static_cast<int>(i)), {}};
    row.alone = TimeAlone(row.cost, bound, device);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json ToDocument(const Bound& bound, const std::vector<Row>& rows, const DeviceModel& device) {
  const BoundTerms& terms = bound.terms;
  Json operators = Json::array();
  double alone_us = 0;
  for (const Row& row : rows) {
    Json one = ToDocument(row.cost);
    one["node"] = row.node;
    one["op"] = row.op;
    one["bytes_us"] = row.alone.bytes_us;
    one["flops_us"] = row.alone.flops_us;
    one["limited_by"] = row.limited_by();
    operators.push_back(std::move(one));
    alone_us += row.alone.us();
  }
  return {{"operators", std::move(operators)},
          {"operators_alone_us", alone_us},
          {"bytes",
           {{"read", terms.cost.bytes_read},
            {"read_again", terms.read_again},
            {"written", terms.cost.bytes_written},
            {"copied", terms.copied_bytes},
            {"only_read", bound.bytes - terms.copied_bytes},
            {"us", bound.bytes_us}}},
          {"flops",
           {{"multiply_adds", terms.cost.multiply_adds},
            {"wholes8", terms.wholes8.flops},
            {"reals8", terms.reals8.flops},
            {"arithmetic", terms.cost.arithmetic},
            {"transcendental", terms.cost.transcendental},
            {"each_transcendental", kTranscendentalFlops},
            {"saved", terms.saved_flops},
            {"counted", bound.flops},
            {"us", bound.flops_us}}},
          {"ceilings",
           {{"source", SourceOf(device.ceilings)},
            {"measured_on", device.ceilings.measured_on},
            {"copying", ToDocument(terms.copy)},
            {"reading", ToDocument(terms.read)},
            {"wholes8", ToDocument(terms.wholes8.at)},
            {"reals8", ToDocument(terms.reals8.at)},
            {"arithmetic", ToDocument(terms.arithmetic)}}},
          {"bound", ToDocument(bound)},
          {"least", {{"us", bound.least_us}, {"bytes", terms.least_bytes}, {"flops", terms.least_flops}}},
          {"not_vouched_for", NotVouchedFor(bound, device)}};
}

std::string Rate(const UsedCeiling& used, std::string_view unit) {
  if (used.per_second <= 0) return fmt::format("a rate that is not known ({})", used.of);
  return fmt::format("{}{}/s ({}: {})", CountText(used.per_second), unit, used.of, used.from);
}

std::string OperatorsText(const std::vector<Row>& rows) {
  std::string text = fmt::format("{:>4}  {:<30} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n", "node", "operator",
                                 "mul-adds", "other", "transc.", "B read", "B written", "alone", "limited by");
  double alone_us = 0;
  for (const Row& row : rows) {
    text += fmt::format("{:>4}  {:<30} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n", row.node, row.op,
                        CountText(row.cost.multiply_adds), CountText(row.cost.arithmetic),
                        CountText(row.cost.transcendental), CountText(row.cost.bytes_read),
                        CountText(row.cost.bytes_written), TimeText(row.alone.us()), row.limited_by());
    alone_us += row.alone.us();
  }
  return text + fmt::format("one kernel each, nothing kept between them: {} at least\n", TimeText(alone_us));
}

std::string Text(const Bound& bound, const std::vector<Row>& rows, const Problem& problem, const DeviceModel& device) {
  const BoundTerms& terms = bound.terms;
  const Ceilings& ceilings = device.ceilings;
  std::string text = fmt::format("{}, contract {}, on {} ({})\n", problem.name, Name(problem.contract),
                                 device.processor, WidthOf(device));
  text += fmt::format("ceilings   {}{}\n\n", SourceOf(ceilings),
                      ceilings.measured_on.empty() ? "" : " on " + ceilings.measured_on);
  text += OperatorsText(rows) + "\n";
  const auto line = [&](std::string_view what, double value, std::string_view unit, const std::string& why) {
    text += fmt::format("{:<22} {:>10}{:<5} {}\n", what, CountText(value), unit, why);
  };
  text += "bytes that have to move, all operators as one\n";
  line("  read", terms.cost.bytes_read, "B", "inputs and parameters, each once");
  if (terms.read_again > 0)
    line("  read again", terms.read_again, "B",
         fmt::format("a sum needs them first, and no more than {}B stay near", CountText(terms.kept_bytes)));
  line("  written", terms.cost.bytes_written, "B", "outputs");
  line("  copied", terms.copied_bytes, "B", "as much is read as written, at " + Rate(terms.copy, "B"));
  line("  only read", bound.bytes - terms.copied_bytes, "B", "at " + Rate(terms.read, "B"));
  text += fmt::format("{:<22} {:>10}\n\n", "  time", TimeText(bound.bytes_us));
  text += "operations\n";
  line("  multiply-adds", terms.cost.multiply_adds, "", "2 FLOP each");
  line("  other arithmetic", terms.cost.arithmetic, "", "1 FLOP each");
  line("  transcendental", terms.cost.transcendental, "", fmt::format("{} FLOP each", kTranscendentalFlops));
  if (terms.saved_flops > 0)
    line("  saved by algebra", terms.saved_flops, "FLOP", "in the cheapest order of summation");
  for (const BoundTerms::Narrow* narrow : {&terms.wholes8, &terms.reals8}) {
    if (narrow->flops > 0) line("  of 8 bits", narrow->flops, "FLOP", "at " + Rate(narrow->at, "FLOP"));
  }
  const double wide = bound.flops - terms.wholes8.flops - terms.reals8.flops;
  line(wide < bound.flops ? "  others" : "  counted", wide, "FLOP", "at " + Rate(terms.arithmetic, "FLOP"));
  text += fmt::format("{:<22} {:>10}\n\n", "  time", TimeText(bound.flops_us));
  if (bound.us > 0) {
    text += fmt::format("bound      {}: {} takes longer\n", TimeText(bound.us), bound.limited_by);
  } else {
    text += "bound      none\n";
  }
  if (bound.least_us > 0) {
    text += fmt::format("refused    below {}: {}B and {}FLOP, which no right implementation needs less of\n",
                        TimeText(bound.least_us), CountText(terms.least_bytes), CountText(terms.least_flops));
  }
  for (const std::string& sentence : NotVouchedFor(bound, device)) text += fmt::format("unsure     {}\n", sentence);
  return text;
}

Result<Answer> RunBound(VerbCall& call) {
  const Graph graph = HONE_TRY(GraphOf(HONE_TRY(Import(call.Text("problem"))), call.Text("problem")));
  const Problem& problem = graph.problem();
  const DeviceModel device = HONE_TRY(KnownDevice(call));
  const Bound bound = SpeedOfLight(graph, device);
  const std::vector<Row> rows = RowsOf(graph, bound, device);
  Json document = ToDocument(bound, rows, device);
  document["name"] = problem.name;
  document["identity"] = Identity(problem);
  document["contract"] = Name(problem.contract);
  document["processor"] = device.processor;
  return Answer(document, Text(bound, rows, problem, device));
}

}  // namespace

HONE_ROW(Verb){
    .name = "bound",
    .doc = "Show the arithmetic of a problem's speed of light: bytes, operations, ceilings, and what binds",
    .group = VerbGroup::kProblems,
    .place = 3,
    .help =
        "What has to move and what has to be computed, each over the ceiling of the device for it; the longer of the "
        "two times is the bound. An operator's own line is its time if it were a kernel alone, which keeps nothing of "
        "its neighbours: the difference is what fusing can save. What the bound does not vouch for is said.\n"
        "\n"
        "  hone bound model.py\n"
        "  hone bound p.json --device h200\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "name, identity, contract, processor, operators[]: node, op, flops, multiply_adds, "
        "wholes8 and reals8 (of these, products of whole numbers and of reals of 8 bits), arithmetic, transcendental, "
        "bytes_read, bytes_written, bytes_us, flops_us, limited_by (memory, arithmetic, unknown, nothing); "
        "operators_alone_us; "
        "bytes: read, read_again, written, copied, only_read (bytes), us; flops: multiply_adds, "
        "wholes8 and reals8 (FLOP that units for these make), arithmetic, transcendental, each_transcendental, saved, "
        "counted, us; ceilings: source (measured, datasheet, none), "
        "measured_on, copying, reading, wholes8, reals8, arithmetic (each null where it is not known): per_second, of, "
        "from; bound: as of `hone graph`, null where there is none; least: us (who is faster is refused), bytes, "
        "flops; "
        "not_vouched_for[]",
    .run = RunBound,
};

}  // namespace hone::verb_bound
