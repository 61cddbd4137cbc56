#include "report/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr int kProposer = 1, kConfirming = 2, kFirstLane = 10;  // threads of a trace

}  // namespace

std::vector<StageSpans> SpansOf(std::span<const AttemptRecord> attempts, std::span<const Evaluation> evaluations) {
  std::vector<StageSpans> spans;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (!attempts[i].ended()) continue;
    const StageTimes& stages = evaluations[i].how->stages;
    const auto begin = static_cast<double>(attempts[i].started_ms);
    const double end = std::max(begin, static_cast<double>(attempts[i].ended_ms));
    StageSpans& one = spans.emplace_back(StageSpans{.attempt = attempts[i].number, .begin_ms = begin, .end_ms = end});
    double so_far = begin;
    const auto next = [&](std::int64_t begun_ms, double took_ms) {
      one.laid = one.laid || (begun_ms == 0 && took_ms > 0);
      const double from = begun_ms == 0 ? so_far : std::clamp(static_cast<double>(begun_ms), so_far, end);
      so_far = std::min(end, from + std::max(0.0, took_ms));
      return Span{from, so_far};
    };
    one.compile = next(stages.compile_begun_ms, stages.compile_ms);
    one.check = next(stages.check_begun_ms, stages.check_ms);
    one.time = next(stages.timing_begun_ms, stages.timing_ms);
  }
  std::vector<StageSpans*> by_begin;
  for (StageSpans& one : spans) by_begin.push_back(&one);
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [](const StageSpans* a, const StageSpans* b) { return a->begin_ms < b->begin_ms; });
  std::vector<double> free_from;  // by lane
  for (StageSpans* one : by_begin) {
    const auto lane = std::find_if(free_from.begin(), free_from.end(), [&](double ms) { return ms <= one->begin_ms; });
    one->lane = static_cast<int>(lane - free_from.begin());
    if (lane == free_from.end()) {
      free_from.push_back(one->end_ms);
    } else {
      *lane = one->end_ms;
    }
  }
  return spans;
}

std::string TraceOf(const RunMaterial& material) {
  Json events = Json::array();
  const auto name = [&](std::string_view what, int thread, const std::string& words) {
    Json event = {{"ph", "M"}, {"pid", 1}, {"name", what}, {"args", {{"name", words}}}};
    if (thread > 0) event["tid"] = thread;
    events.push_back(std::move(event));
  };
  const auto origin = static_cast<double>(material.run.created_ms);
  const auto span = [&](const std::string& words, int thread, double begin_ms, double end_ms, Json facts) {
    if (end_ms <= begin_ms) return;
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", thread},
                      {"name", words},
                      {"ts", (begin_ms - origin) * 1000},
                      {"dur", (end_ms - begin_ms) * 1000},
                      {"args", std::move(facts)}});
  };
  name("process_name", 0, fmt::format("run {} of {}", material.run.id, material.run.problem_name));
  name("thread_name", kProposer, "proposer");
  name("thread_name", kConfirming, "confirming");
  int lanes = 0;
  for (const StageSpans& one : SpansOf(material.attempts, material.evaluations)) {
    for (; lanes <= one.lane; ++lanes) name("thread_name", kFirstLane + lanes, fmt::format("lane {}", lanes + 1));
    const AttemptRecord& attempt = material.attempts[static_cast<std::size_t>(one.attempt) - 1];
    const int thread = kFirstLane + one.lane;
    span(fmt::format("attempt {}", one.attempt), thread, one.begin_ms, one.end_ms,
         {{"outcome", attempt.outcome}, {"median_us", attempt.median_us}, {"origin", attempt.origin}});
    span("compile", thread, one.compile.begin_ms, one.compile.end_ms, Json::object());
    span("check", thread, one.check.begin_ms, one.check.end_ms, Json::object());
    span("time", thread, one.time.begin_ms, one.time.end_ms, Json::object());
  }
  for (const RoundRecord& round : material.rounds) {
    span(fmt::format("round {}", round.number), kProposer, static_cast<double>(round.asked_ms),
         static_cast<double>(round.answered_ms),
         {{"parent", round.parent}, {"input_tokens", round.input_tokens}, {"output_tokens", round.output_tokens}});
  }
  for (std::size_t i = 0; i < material.confirmations.size(); ++i) {
    const ConfirmationRecord& one = material.confirmations[i];
    const auto end = static_cast<double>(one.ended_ms);
    span(fmt::format("confirm {}", one.attempt), kConfirming, end - material.confirming_ms[i], end,
         {{"outcome", one.outcome}, {"median_us", one.median_us}});
  }
  return JsonText(Json({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}));
}

}  // namespace hone
