#include "judge/judge_main.h"

#include <signal.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/json_text.h"
#include "judge/judge_lines.h"

namespace hone {
namespace {

using nlohmann::json;

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

json ErrorLine(const Error& error) { return {{"error", ToRecord(error)}}; }

Result<std::unique_ptr<Judge>> Begin(const json& from) {
  auto opening = HONE_TRY(FromRecord<JudgeOpening>(from, "a judge's opening"));
  Problem problem = HONE_TRY(ParseProblem(opening.problem, "the problem"));
  problem.folder = opening.folder;
  opening.options.stage = [](std::string_view what) { std::cout << json{{"stage", what}}.dump() << std::endl; };
  return Judge::Begin(std::move(problem), std::move(opening.options), &interrupted);
}

Result<json> Serve(const json& from, std::unique_ptr<Judge>& judge) {
  if (from.contains("begin")) {
    judge = HONE_TRY(Begin(from["begin"]));
    return json{{"begun", true}};
  }
  if (from.contains("open")) {
    if (!judge) return Fail(ErrorKind::kUsage, "no problem was begun");
    HONE_TRY(judge->GetReady());
    return json{{"open", ToRecord(JudgeOpened{.no_energy = judge->WhyNoEnergy()})}};
  }
  if (!judge) return Fail(ErrorKind::kUsage, "no problem is open");
  if (from.contains("energy")) {
    const auto question = HONE_TRY(FromRecord<EnergyQuestion>(from["energy"], "a question about energy"));
    return json{{"energy", ToRecord(EnergyAnswer{.of = HONE_TRY(judge->MeasureEnergy(question))})}};
  }
  if (!from.contains("evaluate")) return Fail(ErrorKind::kCorrupt, "the judge was asked nothing that it knows");
  const auto request = HONE_TRY(FromRecord<JudgeRequest>(from["evaluate"], "a judge's request"));
  return json{{"evaluation", ToRecord(HONE_TRY(judge->Evaluate(request)))}};
}

json Answer(const std::string& line, std::unique_ptr<Judge>& judge) {
  try {
    auto answer = Serve(json::parse(line, nullptr, false), judge);
    return answer ? std::move(*answer) : ErrorLine(answer.error());
  } catch (const std::bad_alloc&) {
    return ErrorLine(
        {ErrorKind::kDevice, "the judge ran out of memory: the problem is too large for this machine", {}});
  }
}

}  // namespace

int JudgeMain() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = true; };
  sigaction(SIGUSR1, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN);  // the terminal's Ctrl-C is the orchestrator's business
  std::unique_ptr<Judge> judge;
  std::string line;
  while (std::getline(std::cin, line)) {
    interrupted = false;
    const json answer = Answer(line, judge);
    std::cout << JsonText(answer) << std::endl;
  }
  return 0;
}

}  // namespace hone
