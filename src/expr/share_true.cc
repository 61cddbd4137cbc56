// At how many places conditions hold: they are tried out. A network's layers ask the same of themselves again and
// again, each with indices of its own, and so does all that weighs their work: answers are kept by what is asked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>

#include "expr/fold.h"
#include "expr/index_steps.h"

namespace hone {
namespace {

constexpr double kTried = 1 << 17;      // places at most: hundredths of a second
constexpr double kDeviations = 5;       // of a share that is told from a sample
constexpr std::size_t kKept = 1 << 12;  // answers

// Conditions that share indices: their truth is tried out together.
struct Together {
  std::vector<Expr> conditions;
  std::map<int, std::int64_t> extents;  // by the index's id
};

std::map<int, std::size_t> RanksOf(const Together& together) {
  std::map<int, std::size_t> ranks;
  for (const auto& [id, extent] : together.extents) ranks.emplace(id, ranks.size());
  return ranks;
}

class Trial {
 public:
  explicit Trial(const Together& together) : steps_(RanksOf(together)) {
    for (const auto& [id, extent] : together.extents) extents_.push_back(extent);
    for (const Expr& condition : together.conditions) conditions_.push_back(steps_.Add(condition));
  }

  // The same for all conditions that are the same but for the numbers of their indices, in the order of those.
  std::string Key() const {
    std::string key = steps_.Key();
    const auto add = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
    for (const std::int64_t extent : extents_) add(extent);
    for (const std::size_t condition : conditions_) add(condition);
    return key;
  }

  double ShareTrue() {
    double holds = 0;
    const Tried tried = Try([&](const auto&) { holds += 1; });
    if (tried.places < 1) return 1;
    const double share = holds / tried.places;
    return tried.all ? share : std::max(0.0, share - kDeviations * std::sqrt(share * (1 - share) / tried.places));
  }

  // Of the values of an index, by its rank among the ids.
  double ShareReached(std::size_t rank) {
    std::vector<bool> reached(static_cast<std::size_t>(extents_[rank]), false);
    Try([&](const std::vector<double>& at) { reached[static_cast<std::size_t>(at[rank])] = true; });
    return static_cast<double>(std::ranges::count(reached, true)) / static_cast<double>(reached.size());
  }

 private:
  struct Tried {
    double places = 0;
    bool all = false;  // or a sample
  };

  // Calls meet(place) for those of the places tried at which all conditions hold.
  template <class Meet>
  Tried Try(const Meet& meet) {
    double places = 1;
    for (const std::int64_t extent : extents_) places *= static_cast<double>(extent);
    if (places < 1) return {0, true};
    if (places > kTried) {
      std::mt19937_64 draw(1);
      TryPlaces(
          static_cast<std::size_t>(kTried),
          [&](std::vector<std::int64_t>& at) {
            for (std::size_t d = 0; d < at.size(); ++d)
              at[d] = static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(extents_[d]));
          },
          meet);
      return {kTried, false};
    }
    bool first = true;
    TryPlaces(
        static_cast<std::size_t>(places),
        [&](std::vector<std::int64_t>& at) {
          for (std::size_t d = 0; !std::exchange(first, false) && d < at.size(); ++d) {
            if (++at[d] < extents_[d]) break;
            at[d] = 0;
          }
        },
        meet);
    return {places, true};
  }

  // Of so many places; `next` goes on to the next one.
  template <class Next, class Meet>
  void TryPlaces(std::size_t count, const Next& next, const Meet& meet) {
    std::vector<std::int64_t> at(extents_.size(), 0);
    std::vector<double> place(at.size());
    for (std::size_t done = 0; done < count; done += IndexSteps::kBatch) {
      const std::size_t now = std::min(IndexSteps::kBatch, count - done);
      for (std::size_t i = 0; i < now; ++i) {
        next(at);
        for (std::size_t d = 0; d < at.size(); ++d) steps_.place(d)[i] = static_cast<double>(at[d]);
      }
      steps_.Run();
      for (std::size_t i = 0; i < now; ++i) {
        if (!std::ranges::all_of(conditions_, [&](std::size_t s) { return steps_.made(s)[i] != 0; })) continue;
        for (std::size_t d = 0; d < at.size(); ++d) place[d] = steps_.place(d)[i];
        meet(place);
      }
    }
  }

  std::vector<std::int64_t> extents_;  // of the indices, by their ids
  IndexSteps steps_;
  std::vector<std::size_t> conditions_;  // the steps that make them
};

// `index`: whose values are asked for, by its id; none for places.
double ShareOf(const Together& together, std::optional<int> index) {
  thread_local std::unordered_map<std::string, double> kept;
  Trial trial(together);
  const auto rank = index ? std::distance(together.extents.begin(), together.extents.find(*index)) : -1;
  const std::string key = fmt::format("{} ", rank) + trial.Key();
  if (const auto known = kept.find(key); known != kept.end()) return known->second;
  if (kept.size() >= kKept) kept.clear();
  return kept[key] = index ? trial.ShareReached(static_cast<std::size_t>(rank)) : trial.ShareTrue();
}

std::vector<Together> GroupsOf(const std::vector<Expr>& conditions) {
  std::vector<Together> groups;
  for (const auto& condition : conditions) {
    for (const auto& one : Conjuncts(condition)) {
      Together group{{one}, {}};
      Visit(one, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kIndex) group.extents[node.index.id] = node.index.extent;
      });
      if (!IsOfIndices(one, RanksOf(group))) continue;
      const auto shares = [&](const Together& other) {
        return std::any_of(other.extents.begin(), other.extents.end(),
                           [&](const auto& index) { return group.extents.count(index.first) > 0; });
      };
      const auto apart =
          std::stable_partition(groups.begin(), groups.end(), [&](const Together& g) { return !shares(g); });
      for (auto it = apart; it != groups.end(); ++it) {
        group.conditions.insert(group.conditions.end(), it->conditions.begin(), it->conditions.end());
        group.extents.insert(it->extents.begin(), it->extents.end());
      }
      groups.erase(apart, groups.end());
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace

double ShareTrue(const std::vector<Expr>& conditions) {
  double share = 1;
  for (const auto& group : GroupsOf(conditions)) share *= ShareOf(group, std::nullopt);
  return share;
}

double ShareReached(const std::vector<Expr>& conditions, const IndexVar& index) {
  double share = 1;
  for (const auto& group : GroupsOf(conditions)) {
    if (group.extents.count(index.id))
      share *= ShareOf(group, index.id);
    else if (ShareOf(group, std::nullopt) <= 0)
      share = 0;
  }
  return share;
}

}  // namespace hone
