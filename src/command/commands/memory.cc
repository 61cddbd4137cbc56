// hone memory: what earlier runs found out and later ones may begin with.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "store/store.h"

namespace hone::verb_memory {
namespace {

using Json = nlohmann::json;

constexpr Option kOptions[] = {
    {.name = "problem", .value = "TEXT", .help = "only what was found out about problems whose name holds this"},
    {.name = "machine", .value = "ID", .help = "only what holds on this machine; the first digits of its id will do"},
    kStoreOption};

Json Object(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

// The statement alone: "n0 = reduce max(n1) over [1]".
std::string StatementOf(const std::string& piece) {
  const std::size_t at = piece.find("\nn0");
  return at == std::string::npos ? piece : piece.substr(at + 1, piece.find('\n', at + 1) - at - 1);
}

std::string Settings(const std::string& settings) {
  std::string text;
  const Json object = Object(settings);
  for (const auto& [knob, value] : object.items())
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", knob, value.is_string() ? value.get<std::string>() : "?");
  return text;
}

Result<std::vector<ProvenRecord>> Wanted(VerbCall& call, Store& store) {
  std::vector<ProvenRecord> pieces = HONE_TRY(store.AllProven());
  const std::string problem = call.Text("problem"), machine = call.Text("machine");
  std::erase_if(pieces, [&](const ProvenRecord& one) {
    return one.problem_name.find(problem) == std::string::npos || !one.machine.starts_with(machine);
  });
  return pieces;
}

Result<Answer> RunIt(VerbCall& call) {
  const std::string path = StorePath(call);
  std::error_code ignored;
  std::vector<ProvenRecord> pieces;
  if (call.Has("store") || std::filesystem::exists(path, ignored)) {
    Store store = HONE_TRY(Store::OpenExisting(path));
    pieces = HONE_TRY(Wanted(call, store));
  }
  Json rows = Json::array();
  std::string text = fmt::format("{} piece{} that won, in {}\n", pieces.size(), pieces.size() == 1 ? "" : "s", path);
  for (const ProvenRecord& one : pieces) {
    rows.push_back({{"piece", one.piece},
                    {"text", one.text},
                    {"settings", Object(one.settings)},
                    {"target", one.target},
                    {"machine", one.machine},
                    {"run", one.run},
                    {"problem", one.problem_name},
                    {"share", one.share},
                    {"gain", one.gain},
                    {"speedup", one.speedup},
                    {"version", one.version},
                    {"at_ms", one.at_ms}});
    text +=
        fmt::format("\n{}\n  with     {}\n  won in   {}, {}: {:.0f} % of its time, {:.2f}x its start; {}, {} on {}\n",
                    StatementOf(one.text), Settings(one.settings), one.run, one.problem_name, 100 * one.share, one.gain,
                    UtcTime(one.at_ms).substr(0, 10), one.target, one.machine);
  }
  if (pieces.empty()) text += "`hone optimize` keeps the pieces of what it confirms\n";
  return Answer({{"store", path}, {"proven", std::move(rows)}}, std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "memory",
    .doc = "Show what earlier runs found out, which later ones may begin with",
    .group = VerbGroup::kRuns,
    .place = 8,
    .help =
        "Each winner that was confirmed leaves the pieces of its program: what each computes, on which device, with "
        "which settings. `hone optimize --memory on` begins with the settings that won for equal pieces of other "
        "problems (docs/memory.md).\n"
        "\n"
        "  hone memory\n"
        "  hone memory --problem softmax\n",
    .options = kOptions,
    .json =
        "store; proven[], newest first: piece (its key), text (as a program of its own), settings, target, machine, "
        "run and problem (whose it was), share (of the program's time, predicted, 0 to 1), gain (how many times as "
        "fast the program was as its start), speedup (over the run's first baseline; 0 = not known), version (of "
        "hone), at_ms",
    .run = RunIt,
    .only_reads = true,
};

}  // namespace hone::verb_memory
