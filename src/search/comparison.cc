#include "search/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/check.h"
#include "propose/joint.h"
#include "search/search.h"
#include "search/stop_replay.h"

namespace hone {
namespace {

// After attempt n, 1 for the first.
double QualityAfter(const Trace& trace, std::size_t n, double best_us) {
  if (trace.points.empty()) return kNothing;
  const double us = trace.points[std::min(n, trace.points.size()) - 1].best_us;
  return us > 0 ? std::max(kNothing, best_us / us) : kNothing;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

// One search, in logarithms.
struct Course {
  std::vector<double> curve;
  double end = 0, anytime = 0;
  std::optional<double> to_95_attempts, to_95_seconds;
};

Course CourseOf(const Trace& trace, double best_us, std::size_t attempts) {
  Course course;
  for (std::size_t n = 1; n <= attempts; ++n) {
    const double quality = QualityAfter(trace, n, best_us);
    course.curve.push_back(std::log(quality));
    course.anytime += course.curve.back() / static_cast<double>(attempts);
    if (quality < kEnough || course.to_95_attempts || n > trace.points.size()) continue;
    course.to_95_attempts = static_cast<double>(n);
    course.to_95_seconds = trace.points[n - 1].seconds;
  }
  course.end = course.curve.back();
  return course;
}

// The median where it is one of those that came there; never = infinitely many.
double MedianOr0(const std::vector<std::optional<double>>& values) {
  std::vector<double> numbers;
  for (const auto& one : values) numbers.push_back(one.value_or(HUGE_VAL));
  const double median = Median(std::move(numbers));
  return std::isfinite(median) ? median : 0;
}

}  // namespace

Result<Arm> ParseArm(const std::string& words, const Budget& budget) {
  const auto usage = [&](const std::string& what) {
    return Fail(ErrorKind::kUsage, fmt::format("arm '{}': {}", words, what));
  };
  Arm arm{.words = words, .search = {}, .budget = budget};
  std::istringstream stream(words);
  std::string word;
  if (!(stream >> word) || word.starts_with("-"))
    return usage("it begins with a search strategy, as in 'mcts:memory=0 --budget 20'");
  auto chosen = ChooseStrategy(word);
  if (!chosen) return Rethrow(std::move(chosen).error(), fmt::format("arm '{}': ", words));
  arm.search = chosen->Identity();
  std::string limits;
  while (stream >> word) {
    if (word != "--memory" && word != "--tools" && word != "--proposer") {
      limits += word + ' ';
      continue;
    }
    std::string value;
    if (!(stream >> value)) return usage(word + " needs a value");
    if (word == "--memory") {
      arm.memory = value == "off" ? "" : std::move(value);
    } else if (word == "--tools") {
      auto tools = Advisers::Parse(value);
      if (!tools) return Rethrow(std::move(tools).error(), fmt::format("arm '{}': --tools: ", words));
      arm.tools = std::move(*tools);
    } else {
      auto proposers = ChosenProposers::Parse(value);
      if (!proposers) return Rethrow(std::move(proposers).error(), fmt::format("arm '{}': ", words));
      arm.proposer = std::move(value);
    }
  }
  arm.budget = HONE_TRY(ParseBudget(fmt::format("arm '{}'", words), limits, budget,
                                    ", --memory on|off|FILE, --tools WHO, --proposer NAME"));
  if (arm.budget.joules > 0) return usage("nobody counts the energy of arms");
  if (arm.budget.attempts > budget.attempts)
    return usage(fmt::format("--budget is 1 to {}, the budget of all", budget.attempts));
  return arm;
}

Compared CompareArms(const std::vector<ProblemTraces>& problems, int attempts) {
  HONE_CHECK(!problems.empty() && attempts > 0, "a comparison of nothing");
  const std::size_t arms = problems.front().traces.size(), length = static_cast<std::size_t>(attempts);
  Compared compared;
  std::vector<std::vector<double>> ends(arms), anytimes(arms);  // by arm and problem, logarithms
  for (std::size_t arm = 0; arm < arms; ++arm) {
    ArmFigures& figures = compared.arms.emplace_back();
    std::vector<double> curve(length, 0);
    std::vector<std::optional<double>> to_95_attempts, to_95_seconds;
    for (const ProblemTraces& problem : problems) {
      const std::vector<Trace>& seeds = problem.traces[arm];
      const double share = 1 / static_cast<double>(seeds.size());
      double end = 0, anytime = 0;
      for (const Trace& trace : seeds) {
        const Course course = CourseOf(trace, problem.best_us, length);
        for (std::size_t n = 0; n < length; ++n)
          curve[n] += course.curve[n] * share / static_cast<double>(problems.size());
        end += course.end * share;
        anytime += course.anytime * share;
        to_95_attempts.push_back(course.to_95_attempts);
        to_95_seconds.push_back(course.to_95_seconds);
        figures.attempts += static_cast<double>(trace.points.size());
        figures.seconds += trace.points.empty() ? 0 : trace.points.back().seconds;
        figures.tokens += static_cast<double>(trace.tokens);
        figures.dollars += trace.dollars;
      }
      ends[arm].push_back(end);
      anytimes[arm].push_back(anytime);
      figures.by_problem.push_back(std::exp(end));
    }
    const auto searches = static_cast<double>(to_95_attempts.size());
    figures.attempts /= searches;
    figures.seconds /= searches;
    figures.tokens /= searches;
    figures.dollars /= searches;
    figures.reached = static_cast<double>(std::count_if(to_95_attempts.begin(), to_95_attempts.end(),
                                                        [](const auto& one) { return one.has_value(); })) /
                      searches;
    figures.to_95_attempts = MedianOr0(to_95_attempts);
    figures.to_95_seconds = MedianOr0(to_95_seconds);
    for (const double log : curve) figures.curve.push_back(std::exp(log));
    figures.quality = figures.curve.back();
    double anytime = 0;
    for (const double one : anytimes[arm]) anytime += one / static_cast<double>(problems.size());
    figures.anytime = std::exp(anytime);
    if (arm == 0) continue;
    const auto pairs = [&](const std::vector<std::vector<double>>& values) {
      std::vector<double> differences;
      for (std::size_t i = 0; i < problems.size(); ++i) differences.push_back(values[arm][i] - values[0][i]);
      return DescribePairs(differences, kNoWin);
    };
    compared.against.push_back({.quality = pairs(ends), .anytime = pairs(anytimes)});
  }
  return compared;
}

}  // namespace hone
