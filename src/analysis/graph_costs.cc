#include "analysis/graph_costs.h"

#include <future>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "analysis/collapse.h"
#include "analysis/zero_terms.h"
#include "graph/trimmed.h"
#include "problem/problem.h"

namespace hone {
namespace {

constexpr std::size_t kKeptProblems = 16;

GraphCosts FindOut(const Graph& whole) {
  const auto without = WithoutZeroTerms(whole);
  const auto trimmed = Trimmed(without ? *without : whole);
  const Graph& graph = trimmed ? *trimmed : without ? *without : whole;
  const auto aside = [&](auto find) { return std::async(std::launch::async, find); };
  auto written = aside([&] { return GraphCost(graph, Which::kWritten); });
  auto sure = aside([&] { return GraphCost(graph, Which::kSure); });
  auto least = aside([&] { return GraphCost(graph, Which::kLeast); });
  const double saved = SavedFlops(graph);
  return {.written = written.get(), .sure = sure.get(), .least = least.get(), .saved_flops = saved};
}

}  // namespace

GraphCosts CostsOf(const Graph& graph) {
  static std::mutex mutex;
  static std::list<std::pair<std::string, std::shared_future<GraphCosts>>> kept;  // the last one first
  const std::string identity = Identity(graph.problem());
  std::promise<GraphCosts> found;
  std::shared_future<GraphCosts> known;
  {
    const std::lock_guard lock(mutex);
    for (const auto& [of, costs] : kept) {
      if (of == identity) known = costs;
    }
    if (!known.valid()) {
      kept.emplace_front(identity, found.get_future().share());
      if (kept.size() > kKeptProblems) kept.pop_back();
    }
  }
  if (known.valid()) return known.get();
  const GraphCosts costs = FindOut(graph);
  found.set_value(costs);
  return costs;
}

}  // namespace hone
