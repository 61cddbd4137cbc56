// hone report: a run as one page for a browser, and its attempts and stages as files for other programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command/command.h"
#include "command/run_material.h"
#include "command/wrong_input.h"
#include "report/attempt_row.h"
#include "report/comparison_page.h"
#include "report/stages.h"
#include "report/suite_page.h"

namespace hone::verb_report {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "run",
     .help = "a run's id or its first digits, as `hone runs` lists them, or a file (.json) that `hone compare --json` "
             "or `hone optimize --suite S --json` wrote",
     .run = true}};
constexpr Option kOptions[] = {
    {.name = "output", .letter = 'o', .value = "FILE", .help = "the page: one HTML file that needs no network"},
    {.name = "csv", .value = "FILE", .help = "a line an attempt, for spreadsheets"},
    {.name = "jsonl", .value = "FILE", .help = "a JSON object an attempt, with its findings"},
    {.name = "trace", .value = "FILE", .help = "the stages of all attempts, for Perfetto and Chrome's trace viewer"},
    kStoreOption};

std::string SizeText(std::size_t bytes) { return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3); }

// What another verb wrote with --json: only a suite's document has rows.
Result<Answer> ReportDocument(VerbCall& call, const std::string& file) {
  const std::string text = HONE_TRY(FromInput(ReadFile(file)));
  const auto document = nlohmann::json::parse(text, nullptr, false);
  const bool suite = document.is_object() && document.contains("rows");
  const std::string_view what = suite ? "suite" : "comparison";
  for (const char* option : {"csv", "jsonl", "trace"}) {
    if (call.Has(option))
      return Fail(ErrorKind::kUsage, fmt::format("--{} is of a run, and {} is a {}'s document", option, file, what));
  }
  const std::string path = call.Text("output");
  if (path.empty()) return Fail(ErrorKind::kUsage, "name the page to write with -o FILE.html");
  const std::string page = HONE_TRY(FromInput((suite ? WriteSuitePage : WriteComparisonPage)(text, file, MadeBy())));
  HONE_TRY(WriteFileAtomically(path, page));
  return Answer({{what, file}, {"files", {{{"path", path}, {"bytes", page.size()}}}}},
                fmt::format("{}: the page of {}, {}\n", path, file, SizeText(page.size())));
}

Result<RunRecord> RunToReport(Store& store, const std::string& name) {
  auto run = Named(store.FindRun(name));
  std::error_code ignored;
  if (run || !std::filesystem::is_regular_file(name, ignored)) return run;
  return Fail(ErrorKind::kUsage, fmt::format("{}: a report is of a run's id, or of a .json file that `hone compare "
                                             "--json` or `hone optimize --suite S --json` wrote",
                                             name));
}

Result<Answer> RunIt(VerbCall& call) {
  if (call.Text("run").ends_with(".json")) return ReportDocument(call, call.Text("run"));
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));
  const RunRecord run = HONE_TRY(RunToReport(store, call.Text("run")));
  const RunMaterial material = HONE_TRY(ReadRunMaterial(store, run));
  nlohmann::json files = nlohmann::json::array();
  std::string text;
  const auto write = [&](std::string_view option, const auto& content_of) -> Result<void> {
    const std::string path = call.Text(option);
    if (path.empty()) return {};
    const std::string content = content_of();
    HONE_TRY(WriteFileAtomically(path, content));
    files.push_back({{"path", path}, {"bytes", content.size()}});
    text += fmt::format("{}: {} of run {}, {}\n", path,
                        option == "output"  ? "the page"
                        : option == "trace" ? "the stages"
                                            : "the attempts",
                        run.id, SizeText(content.size()));
    return {};
  };
  HONE_TRY(write("output", [&] { return WritePage(material); }));
  HONE_TRY(write("csv", [&] { return AttemptsCsv(material.attempts, material.evaluations); }));
  HONE_TRY(write("jsonl", [&] { return AttemptsJsonl(material.attempts, material.evaluations); }));
  HONE_TRY(write("trace", [&] { return TraceOf(material); }));
  if (files.empty())
    return Fail(ErrorKind::kUsage, "name the page to write with -o FILE.html, or --csv, --jsonl or --trace");
  return Answer({{"run", run.id}, {"attempts", material.attempts.size()}, {"files", std::move(files)}},
                std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "report",
    .doc = "Write a run, a suite or a comparison as a page, or attempts as CSV, JSON lines or a trace",
    .group = VerbGroup::kRuns,
    .place = 6,
    .help =
        "The page is one file that needs neither a network nor hone: what was found and its proof, how the search\n"
        "came to it, every attempt. What runs hold is shown as text and never executed (docs/report.md).\n"
        "\n"
        "  hone report 3fa2 -o softmax.html\n"
        "  hone report 3fa2 --csv attempts.csv --jsonl attempts.jsonl --trace trace.json\n"
        "  hone compare --suite docs/measured/search greedy mcts --json > c.json\n"
        "  hone report c.json -o c.html\n"
        "  hone optimize --suite examples/problems --json > s.json\n"
        "  hone report s.json -o s.html\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json = "run and attempts (how many), or comparison or suite (the file); files[]: path, bytes",
    .run = RunIt};

}  // namespace hone::verb_report
