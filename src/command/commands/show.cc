// hone show: what was tried in a run, or all about one attempt.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/date.h"
#include "base/json_text.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/flags.h"
#include "command/gaming.h"
#include "command/ledger_text.h"
#include "command/profile_text.h"
#include "command/run_attempt.h"
#include "command/target.h"
#include "command/wrong_input.h"
#include "diagnose/diagnose.h"
#include "search/record.h"
#include "search/run_ledger.h"
#include "store/store.h"
#include "target/bound.h"

namespace hone::verb_show {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {
    {.name = "run", .help = "a run's id or its first digits, as `hone runs` lists them", .run = true},
    {.name = "attempt", .help = "an attempt's number, or `best`", .presence = Presence::kOptional}};
constexpr Option kOptions[] = {
    {.name = "rounds",
     .type = ValueType::kFlag,
     .help = "what was proposed, as JSON lines that `hone optimize --proposer replay:FILE` reads"},
    kStoreOption};

// Of a row that has ended, "-" for one that was in flight when its run ended.
std::string OutcomeOf(const AttemptRecord& attempt) { return attempt.ended() ? attempt.outcome : "not ended"; }

// "3", or "3 x 7" of a crossing.
std::string FromWords(const AttemptRecord& attempt, std::string_view start, std::string_view before) {
  if (attempt.parent == 0) return std::string(start);
  return fmt::format("{}{}{}", before, attempt.parent, attempt.mate == 0 ? "" : fmt::format(" x {}", attempt.mate));
}

// Settings, budgets, baselines and findings were written by us as JSON; a damaged one is shown as it is.
Json Object(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

Json Figures(const AttemptRecord& attempt) {
  return {{"number", attempt.number},
          {"parent", attempt.parent},
          {"mate", attempt.mate},
          {"round", attempt.round},
          {"outcome", attempt.ended() ? Json(attempt.outcome) : Json(nullptr)},
          {"median_us", attempt.median_us},
          {"cold_us", attempt.cold_us},
          {"speedup", attempt.speedup},
          {"class", Object(attempt.limits)},
          {"findings", Object(attempt.findings)},
          {"predicted_us", attempt.predicted_us},
          {"rule", attempt.rule},
          {"promised", attempt.promised},
          {"brought", attempt.brought ? Json(*attempt.brought) : Json(nullptr)},
          {"origin", attempt.origin},
          {"key", attempt.key},
          {"kind", attempt.kind},
          {"identity", attempt.identity},
          {"started_ms", attempt.started_ms},
          {"ended_ms", attempt.ended_ms}};
}

Json Figures(const ConfirmationRecord& confirmation, const Evaluation& evaluation, const Box<Energy>& energy) {
  return {{"attempt", confirmation.attempt},
          {"outcome", confirmation.outcome},
          {"median_us", confirmation.median_us},
          {"cold_us", confirmation.cold_us},
          {"ranked_us", evaluation.timing ? evaluation.timing->LikelyUs() : 0},
          {"speedup", confirmation.speedup},
          {"ended_ms", confirmation.ended_ms},
          {"energy", energy ? ToJson(*energy) : Json(nullptr)}};
}

// The best time beside the fastest of the run's baselines: the honest speed-up. Null without any.
Json OverBest(const Json& baselines, const RunSummary& summary) {
  Json over;
  double least_us = 0;
  // Without a speed-up of its own the best was measured while others disturbed it.
  if (!baselines.is_object() || summary.best_us <= 0 || summary.best_speedup <= 0) return over;
  for (const auto& [name, time] : baselines.items()) {
    const double us = time.is_number() ? time.get<double>() : 0;
    if (us <= 0 || (least_us > 0 && us >= least_us)) continue;
    least_us = us;
    over = {{"baseline", name}, {"speedup", us / summary.best_us}};
  }
  return over;
}

Result<std::string> HeaderText(Store& store, const RunRecord& run, const RunSummary& summary) {
  const RunSettings settings = HONE_TRY(ParseRunSettings(run.settings));
  std::string state(Name(run.state));
  if (run.state == RunState::kRunning && !HONE_TRY(store.Active(run.id))) state = "killed; the same command goes on";
  if (!run.stop_reason.empty()) state += ": " + run.stop_reason;
  std::string text = fmt::format("run {} of {} on {}, {}\n", run.id, run.problem_name, run.target, state);
  text += fmt::format("{} search with seed {}, proposals by {}; {} attempts, {} accepted\n", settings.search,
                      settings.seed, settings.proposer, summary.attempts, summary.accepted);
  if (settings.tools.kind != Advisers::Kind::kUnnamed) text += fmt::format("findings by: {}\n", settings.tools.Text());
  if (settings.threads > 0) text += fmt::format("threads: {} that kernels may use\n", settings.threads);
  if (!settings.objective.IsTime()) text += fmt::format("objective: {}\n", settings.objective.Text());
  for (const auto& flag : FlagsOfRun(run.flags)) text += fmt::format("flagged: {}\n", flag.value("sentence", ""));
  if (run.best_attempt != 0) {
    text += fmt::format(
        "best: attempt {} at {}, {}{}", run.best_attempt, TimeText(summary.best_us),
        summary.best_speedup > 0 ? SpeedupText(summary.best_speedup) + " over the first baseline" : "no speed-up known",
        summary.confirmed ? ", confirmed on fresh inputs" : "");
    if (run.bound_us > 0 && summary.best_us > 0) {
      text += fmt::format("; the bound is {}, {:.0f} % of the best time", TimeText(run.bound_us),
                          100 * run.bound_us / summary.best_us);
    }
    text += '\n';
  }
  const Json baselines = Object(run.baselines);
  if (baselines.is_object() && !baselines.empty()) {
    text += "baselines:";
    for (const auto& [name, time] : baselines.items()) {
      text += fmt::format(" {} {}", name, time.is_number() ? TimeText(time.get<double>()) : time.dump());
    }
    text += '\n';
    if (const Json over = OverBest(baselines, summary); baselines.size() > 1 && !over.is_null()) {
      text += fmt::format("over the fastest of them, {}: {}\n", over["baseline"].get<std::string>(),
                          SpeedupText(over["speedup"].get<double>()));
    }
  }
  return text;
}

// What the findings of a run's attempts promised and what their moves brought, by rule; that which fired most first.
struct RuleRow {
  std::string rule;
  int fired = 0;  // attempts of which it found something
  Kept kept;
  double best = 0;  // the most that a move of it brought
};

Result<std::vector<RuleRow>> RuleRows(const std::vector<AttemptRecord>& attempts) {
  std::map<std::string, RuleRow> rows;
  for (const AttemptRecord& attempt : attempts) {
    std::set<std::string> fired;
    for (const Finding& finding : HONE_TRY(ReadInsight(attempt)).findings) fired.insert(finding.rule);
    for (const std::string& rule : fired) ++rows[rule].fired;
    if (attempt.rule.empty() || !attempt.brought) continue;
    RuleRow& row = rows[attempt.rule];
    row.kept.Add(attempt.promised, *attempt.brought);
    row.best = std::max(row.best, *attempt.brought);
  }
  std::vector<RuleRow> sorted;
  for (auto& [rule, row] : rows) {
    row.rule = rule;
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RuleRow& a, const RuleRow& b) { return a.fired + a.kept.moved > b.fired + b.kept.moved; });
  return sorted;
}

std::string RuleTable(const std::vector<RuleRow>& rows) {
  if (rows.empty()) return {};
  std::string text =
      fmt::format("\nwhat was found, and what its moves came to:\n{:<22} {:>6} {:>6} {:>9} {:>9} {:>9}\n", "rule",
                  "fired", "moved", "promised", "brought", "at best");
  for (const RuleRow& row : rows) {
    const auto share = [&](double sum) {
      return row.kept.moved > 0 ? fmt::format("{:.1f} %", 100 * sum / static_cast<double>(row.kept.moved)) : "-";
    };
    text += fmt::format("{:<22} {:>6} {:>6} {:>9} {:>9} {:>9}\n", row.rule, row.fired, row.kept.moved,
                        share(row.kept.promised), share(row.kept.brought),
                        row.kept.moved > 0 ? fmt::format("{:.1f} %", 100 * row.best) : "-");
  }
  return text;
}

Json RuleJson(const std::vector<RuleRow>& rows) {
  Json json = Json::array();
  for (const RuleRow& row : rows) {
    json.push_back({{"rule", row.rule},
                    {"fired", row.fired},
                    {"moved", row.kept.moved},
                    {"promised", row.kept.promised},
                    {"brought", row.kept.brought},
                    {"best", row.best},
                    {"factor", row.kept.Factor()}});
  }
  return json;
}

// What limits an attempt and its first finding, in a few words; "-" where nobody looked, or nothing was found.
struct InBrief {
  std::string limit = "-", finding = "-";
};
Result<InBrief> Brief(const AttemptRecord& attempt) {
  const Insight insight = HONE_TRY(ReadInsight(attempt));
  InBrief brief;
  if (const Class* decided = insight.limits.decided()) brief.limit = Name(decided->bottleneck);
  if (insight.findings.empty()) return brief;
  const Finding& first = insight.findings.front();
  brief.finding = fmt::format("{} {:.0f} %", first.rule, 100 * first.lost);
  return brief;
}

// The terms of the run's bound, if this is the machine that it was made on; else what the store has of it, which is not
// what no data spare. Worked out anew only where that or work that algebra saves is asked about.
Bound BoundOf(Store& store, const RunRecord& run, const JudgedAttempt& best) {
  Bound bound;
  bound.us = run.bound_us;
  const bool below = best.number != 0 && best.evaluation->timing && best.evaluation->timing->LikelyUs() < run.bound_us;
  if (!below && FlagNames(FlagsOfRun(run.flags)).find("collapsible") == std::string::npos) return bound;
  const auto device = KnownDevice(run.target == "cuda");
  if (!device || device->id != run.machine) return bound;
  const auto parse = [&](const std::string& text) { return ParseProblem(text, run.problem_name); };
  const auto graph = store.Blob(run.problem_blob).and_then(parse).and_then(Graph::Create);
  return graph ? SpeedOfLight(*graph, *device) : bound;
}

Result<std::vector<Caught>> CaughtIn(Store& store, const RunRecord& run, const std::vector<AttemptRecord>& attempts,
                                     const std::vector<ConfirmationRecord>& confirmations) {
  std::deque<Evaluation> evaluations;
  std::vector<JudgedAttempt> judged;
  JudgedAttempt best;
  const auto add = [&](int number, const std::string& text) -> Result<void> {
    evaluations.push_back(HONE_TRY(ReadEvaluation(text, "")));
    judged.push_back({number, &evaluations.back()});
    if (number == run.best_attempt) best = judged.back();
    return {};
  };
  const auto matters = [&](int number, const std::string& outcome) {
    return number == run.best_attempt || outcome == Name(Outcome::kSuspicious) ||
           outcome == Name(Outcome::kWrongResult);
  };
  for (const AttemptRecord& attempt : attempts) {
    if (attempt.ended() && matters(attempt.number, attempt.outcome)) HONE_TRY(add(attempt.number, attempt.evaluation));
  }
  for (const ConfirmationRecord& again : confirmations) {
    if (matters(again.attempt, again.outcome)) HONE_TRY(add(again.attempt, again.evaluation));
  }
  return CallByName(judged, best, BoundOf(store, run, best), FlagsOfRun(run.flags));
}

Result<Answer> ShowRun(Store& store, const RunRecord& run) {
  const std::vector<AttemptRecord> attempts = HONE_TRY(store.Attempts(run.id));
  const std::vector<ConfirmationRecord> confirmations = HONE_TRY(store.Confirmations(run.id));
  const RunSummary summary = HONE_TRY(store.Summarize(run));
  std::string text = HONE_TRY(HeaderText(store, run, summary));
  text += fmt::format("\n{:>8} {:>6}  {:<16} {:>9} {:>9} {:>9}  {:<8} {:<22} origin\n", "attempt", "from", "outcome",
                      "warm", "cold", "speed-up", "class", "may cost most");
  Json rows = Json::array();
  for (const AttemptRecord& attempt : attempts) {
    rows.push_back(Figures(attempt));
    const InBrief brief = HONE_TRY(Brief(attempt));
    text += fmt::format("{} {:>6} {:>6}  {:<16} {:>9} {:>9} {:>9}  {:<8} {:<22} {}\n",
                        attempt.number == run.best_attempt ? '*' : ' ', attempt.number, FromWords(attempt, "start", ""),
                        OutcomeOf(attempt), TimeText(attempt.median_us), TimeText(attempt.cold_us),
                        SpeedupText(attempt.speedup), brief.limit, brief.finding, attempt.origin);
  }
  Json again = Json::array();
  std::string sensor;
  double joules = 0;
  for (const AttemptRecord& attempt : attempts) {
    if (attempt.ended()) joules += HONE_TRY(ReadEvaluation(attempt.evaluation, "")).how->joules.value_or(0);
  }
  if (!confirmations.empty()) text += "\nmeasured again on fresh inputs:\n";
  for (const ConfirmationRecord& confirmation : confirmations) {
    const Evaluation evaluation = HONE_TRY(ReadConfirmation(store, confirmation));
    const Box<Energy> energy = evaluation.timing ? evaluation.timing->energy : std::nullopt;
    again.push_back(Figures(confirmation, evaluation, energy));
    text += fmt::format("{} {:>6} {:>6}  {:<16} {:>9} {:>9} {:>9}{}\n",
                        confirmation.attempt == run.best_attempt ? '*' : ' ', confirmation.attempt, "",
                        confirmation.outcome, TimeText(confirmation.median_us), TimeText(confirmation.cold_us),
                        SpeedupText(confirmation.speedup), RankedText(evaluation));
    if (energy) text += fmt::format("{:>17}{}\n", "", EnergyWords(*energy));
    if (energy) sensor = energy->sensor;
  }
  if (!sensor.empty()) text += fmt::format("energy by {}\n", sensor);
  if (joules > 0) text += fmt::format("judging and timing the attempts used {}\n", JoulesText(joules));
  const std::vector<RuleRow> rules = HONE_TRY(RuleRows(attempts));
  text += RuleTable(rules);
  const std::vector<LedgerLine> ledger = HONE_TRY(LedgerLines(store, run.id));
  text += LedgerTable(ledger);
  Spending spent;
  Json calls = Json::array();
  for (const LedgerLine& line : ledger) {
    spent.Add(line);
    calls.push_back(ToDocument(line));
  }
  const std::vector<Caught> caught = HONE_TRY(CaughtIn(store, run, attempts, confirmations));
  if (!caught.empty()) text += "\n" + CaughtText(caught, "caught: ");
  const bool active = HONE_TRY(store.Active(run.id));
  return Answer({{"id", run.id},
                 {"problem", run.problem_name},
                 {"problem_identity", run.problem_identity},
                 {"target", run.target},
                 {"machine", run.machine},
                 {"settings", Object(run.settings)},
                 {"budget", Object(run.budget)},
                 {"state", run.state == RunState::kRunning && !active ? "killed" : Name(run.state)},
                 {"stop_reason", run.stop_reason},
                 {"best_attempt", run.best_attempt},
                 {"best_us", summary.best_us},
                 {"speedup", summary.best_speedup},
                 {"confirmed", summary.confirmed},
                 {"bound_us", run.bound_us},
                 {"joules", joules},
                 {"cost",
                  {{"rounds", summary.rounds},
                   {"input_tokens", summary.input_tokens},
                   {"output_tokens", summary.output_tokens},
                   {"dollars", summary.dollars}}},
                 {"spent", ToDocument(spent)},
                 {"calls", std::move(calls)},
                 {"baselines", Object(run.baselines)},
                 {"honest", OverBest(Object(run.baselines), summary)},
                 {"flags", FlagsOfRun(run.flags)},
                 {"caught", ToDocument(caught)},
                 {"created_ms", run.created_ms},
                 {"updated_ms", run.updated_ms},
                 {"attempts", std::move(rows)},
                 {"rules", RuleJson(rules)},
                 {"learned", Object(run.learned)},
                 {"confirmations", std::move(again)}},
                std::move(text));
}

// As proposers/replay.cc reads it.
Result<Answer> ShowRounds(Store& store, const RunRecord& run) {
  std::map<int, std::string> identities;
  for (const AttemptRecord& attempt : HONE_TRY(store.Attempts(run.id))) identities[attempt.number] = attempt.identity;
  std::string lines;
  Json rounds = Json::array();
  for (const RoundRecord& round : HONE_TRY(store.Rounds(run.id))) {
    Json proposals = Json::array();
    for (const Proposal& one : HONE_TRY(ReadProposals(store, round))) {
      proposals.push_back({{"kind", Name(one.candidate.kind)},
                           {"text", one.candidate.text},
                           {"origin", one.origin},
                           {"key", one.key},
                           {"predicted_us", one.predicted_us},
                           {"rule", one.rule},
                           {"promised", one.promised}});
    }
    Json line = {{"problem", run.problem_name}, {"proposals", std::move(proposals)}};
    if (round.parent != 0) line["from"] = identities[round.parent];
    lines += JsonText(line) + '\n';
    line["number"] = round.number;
    line["parent"] = round.parent;
    line["mate"] = round.mate;
    line["turn"] = round.turn;
    line["asked_ms"] = round.asked_ms;
    line["answered_ms"] = round.answered_ms;
    line["input_tokens"] = round.input_tokens;
    line["output_tokens"] = round.output_tokens;
    line["dollars"] = round.dollars;
    rounds.push_back(std::move(line));
  }
  if (rounds.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("run {} has no rounds: it is from before they were kept, or ended before one", run.id));
  }
  return Answer({{"id", run.id}, {"rounds", std::move(rounds)}}, std::move(lines));
}

Result<int> AttemptNumber(const RunRecord& run, const std::string& words) {
  if (words == "best") {
    if (run.best_attempt != 0) return run.best_attempt;
    return Fail(ErrorKind::kNotFound, fmt::format("run {} has no accepted attempt yet", run.id));
  }
  int number = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), number);
  if (error == std::errc() && end == words.data() + words.size()) return number;
  return Fail(ErrorKind::kUsage, fmt::format("'{}' is no attempt; give a number or `best`", words));
}

std::string InsightText(const Insight& insight) {
  std::string text;
  if (const Class* decided = insight.limits.decided()) {
    text += fmt::format("\n{} class ({:.0f} % sure): {}\n", Name(decided->bottleneck), 100 * decided->confidence,
                        decided->why);
  }
  if (insight.limits.disagree()) {
    const Class& other = *insight.limits.by_analysis;
    text += fmt::format("  analysis alone says {}: {}\n", Name(other.bottleneck), other.why);
  }
  if (!insight.missing.empty()) text += fmt::format("\nnot all was found: {}\n", insight.missing);
  if (!insight.counted.empty()) text += "\n" + DescribeCounted(insight.counted);
  return text + Describe(insight.findings);
}

Result<Answer> ShowAttempt(Store& store, const RunRecord& run, const std::string& words) {
  const int number = HONE_TRY(AttemptNumber(run, words));
  const AttemptRecord record = HONE_TRY(FindAttempt(store, run, number));
  const Attempt attempt = HONE_TRY(ReadAttempt(store, record));
  Json document = Figures(record);
  document["run"] = run.id;
  document["best"] = number == run.best_attempt;
  document["source"] = attempt.proposal.candidate.text;
  std::string text = fmt::format("attempt {} of run {}{}, from {}\n{}\n\n", number, run.id,
                                 number == run.best_attempt ? ", the best" : "",
                                 FromWords(record, "the start", "attempt "), record.origin);
  if (record.ended()) {
    document["evaluation"] = ToJson(attempt.evaluation);
    text += EvaluationForPeople(attempt.evaluation);
    if (record.predicted_us > 0 && record.median_us > 0) {
      text += fmt::format("  {:<12} {}, {:.2f} of the measured time\n", "predicted", TimeText(record.predicted_us),
                          record.predicted_us / record.median_us);
    }
  } else {
    text += "it has not ended: it is being tried, or its run was ended meanwhile and tries it again when it goes on\n";
  }
  text += InsightText(attempt.insight);
  Json again = Json::array();
  for (const ConfirmationRecord& confirmation : HONE_TRY(store.Confirmations(run.id))) {
    if (confirmation.attempt != number) continue;
    const Evaluation evaluation = HONE_TRY(ReadConfirmation(store, confirmation));
    again.push_back(ToJson(evaluation));
    text += fmt::format("\nmeasured again on fresh inputs, {} UTC: {}", UtcTime(confirmation.ended_ms),
                        EvaluationForPeople(evaluation));
  }
  document["confirmations"] = std::move(again);
  // What was asked for it: the question that it is an answer to.
  std::vector<LedgerLine> asked;
  for (const RoundRecord& round : HONE_TRY(store.Rounds(run.id))) {
    if (round.number != record.round) continue;
    for (LedgerLine& line : HONE_TRY(LedgerLines(store, run.id))) {
      if (line.purpose.parent == round.parent && line.purpose.turn == round.turn) asked.push_back(std::move(line));
    }
  }
  document["calls"] = Json::array();
  for (const LedgerLine& line : asked) document["calls"].push_back(ToDocument(line));
  text += LedgerTable(asked);
  text += fmt::format("\nsource ({}):\n{}", record.kind, attempt.proposal.candidate.text);
  if (!text.ends_with('\n')) text += '\n';
  if (const std::string& log = attempt.evaluation.verdict.evidence->log; !log.empty()) text += "\nlog:\n" + log;
  return Answer(document, std::move(text));
}

Result<Answer> RunIt(VerbCall& call) {
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));
  const RunRecord run = HONE_TRY(Named(store.FindRun(call.Text("run"))));
  const std::string attempt = call.Text("attempt");
  if (call.Flag("rounds")) {
    if (attempt.empty()) return ShowRounds(store, run);
    return Fail(ErrorKind::kUsage, "--rounds is of a run, not of an attempt");
  }
  return attempt.empty() ? ShowRun(store, run) : ShowAttempt(store, run, attempt);
}

}  // namespace

HONE_ROW(Verb){
    .name = "show",
    .doc = "Show what was tried in a run, or all about one attempt",
    .group = VerbGroup::kRuns,
    .place = 3,
    .help =
        "  hone show 3fa2          the attempts of the run whose id begins so; * marks the best\n"
        "  hone show 3fa2 best     its best attempt: verdict, timing, what limits it, and source\n"
        "  hone show 3fa2 7        attempt 7, with the evidence if it was refused\n"
        "  hone show 3fa2 --rounds > rounds.jsonl; hone optimize model.py --proposer replay:rounds.jsonl",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "of a run: id, problem, problem_identity, target, machine, settings, budget, state, stop_reason, "
        "best_attempt, best_us, speedup, confirmed, bound_us, joules (that judging and timing attempts used; 0 = "
        "nobody counted), cost (rounds, input_tokens, output_tokens, dollars), spent (calls, input_tokens, "
        "cached_tokens, output_tokens, estimated_tokens: of calls of which nobody said, dollars, unpriced: calls, "
        "seconds), calls[] (of language models: docs/models.md), baselines, honest (baseline and speedup over the "
        "fastest of them), flags[] (as of `hone graph`), caught[] (name, sentence: docs/evaluation.md), created_ms, "
        "updated_ms, attempts[], rules[] (rule, fired: attempts, moved: attempts, promised and brought: sums of "
        "shares of the time before, best, factor that scales later promises), learned (what was known of rules when "
        "it began), confirmations[] (attempt, outcome, median_us, cold_us, ranked_us (the fastest "
        "tenth where it was disturbed), speedup, ended_ms, energy: as in docs/energy.md, null where it was not "
        "measured); of an attempt: number, parent, mate (that this was crossed "
        "with; 0 = none), round (that proposed it; 0 = not known), outcome, median_us (warm), cold_us, speedup, class "
        "(by_analysis and by_counters: class, confidence, why; missing: why nothing was found), findings[] (as of "
        "`hone diagnose`), predicted_us, rule (whose finding it acts on), promised and brought (shares of the time "
        "before), origin, key, kind, identity, started_ms, ended_ms, run, best, calls[] (that brought it), source, "
        "evaluation (as of `hone evaluate --json`), confirmations[]; with --rounds: id, rounds[]: number, from "
        "(identity; none at the start), parent, mate, turn, proposals[] (kind, text, origin, key, predicted_us, rule, "
        "promised), asked_ms, answered_ms and the cost",
    .run = RunIt,
    .only_reads = true,
};

}  // namespace hone::verb_show
