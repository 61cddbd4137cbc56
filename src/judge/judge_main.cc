#include "judge/judge_main.h"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "judge/judge.h"

namespace hone {
namespace {

using nlohmann::json;

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

json ErrorLine(const Error& error) {
  return {{"error", {{"kind", static_cast<int>(error.kind)}, {"message", error.message}}}};
}

Result<std::unique_ptr<Judge>> Open(const json& from) {
  Problem problem = HONE_TRY(ParseProblem(from.at("problem").get<std::string>(), "the problem"));
  problem.folder = from.at("folder");
  JudgeOptions options;
  options.program = from.at("program");
  options.threads = from.at("threads");
  if (const std::string dice = from.at("dice"); dice.empty()) {
    options.dice.key = SecretRandom::NewKey();
  } else {
    options.dice = HONE_TRY(ParseDice(dice));
  }
  options.sandbox = static_cast<SandboxPolicy>(from.at("sandbox").get<int>());
  options.call_wall = std::chrono::milliseconds(from.at("call_wall_ms").get<std::int64_t>());
  options.form = from.at("form");
  for (const json& one : from.at("outside")) {
    options.outside.push_back({one.at("name"), one.at("mode"), one.at("argv"), one.at("environment"),
                               one.at("directory"), one.at("file"), one.at("device")});
  }
  options.stage = [](std::string_view what) { std::cout << json{{"stage", what}}.dump() << std::endl; };
  return Judge::Open(std::move(problem), std::move(options), &interrupted);
}

Result<JudgeRequest> ReadRequest(const json& from) {
  JudgeRequest request;
  request.form = from.at("form");
  request.library = from.at("library");
  request.time = from.at("time");
  request.timing_budget = std::chrono::milliseconds(from.at("timing_budget_ms").get<std::int64_t>());
  request.confidence = from.at("confidence");
  request.baselines = from.at("baselines").get<std::vector<std::string>>();
  request.fresh_draws = from.at("fresh_draws");
  request.range_full = from.at("range_full");
  request.bound_us = from.at("bound_us");
  request.best_us = from.at("best_us");
  request.earlier_us = from.at("earlier_us").get<std::map<std::string, double>>();
  for (const auto& [name, one] : from.at("known").items()) request.known[name] = HONE_TRY(ParseKnownBaseline(one));
  return request;
}

json Serve(const std::string& line, std::unique_ptr<Judge>& judge) {
  try {
    const json from = json::parse(line);
    if (from.contains("open")) {
      auto opened = Open(from["open"]);
      if (!opened) return ErrorLine(opened.error());
      judge = std::move(*opened);
      return {{"open", true}};
    }
    if (!judge) return ErrorLine({ErrorKind::kUsage, "no problem is open", {}});
    const auto request = ReadRequest(from.at("evaluate"));
    if (!request) return ErrorLine(request.error());
    const auto evaluation = judge->Evaluate(*request);
    if (!evaluation) return ErrorLine(evaluation.error());
    return {{"evaluation", ToJson(*evaluation)}};
  } catch (const json::exception& error) {
    return ErrorLine({ErrorKind::kCorrupt, fmt::format("the judge does not understand: {}", error.what()), {}});
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
    const json answer = Serve(line, judge);
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace hone
