#include "analysis/linear_map.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "expr/index_steps.h"

namespace hone {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr std::int64_t kPlacesAtMost = 1 << 14;  // that are tried for one element
constexpr int kSamples = 8;                      // of elements: neighbours in up to three dimensions

bool IsParameter(const Graph& graph, int buffer) {
  const Buffer& made = graph.buffers()[static_cast<std::size_t>(buffer)];
  return made.stage < 0 && made.tensor >= 0 &&
         graph.problem().tensors[static_cast<std::size_t>(made.tensor)].role == Role::kParameter;
}

// One term: its element of data, where it is, and what says whether it counts.
struct Product {
  Expr data;
  std::vector<Expr> conditions;
};

std::optional<Product> Split(const Graph& graph, const Term& term) {
  Product product;
  for (const auto& factor : term.factors) {
    if (IsTruth(factor) && !HasLoad(factor)) {
      if (NumberOf(*factor->operands[1]) != 1 || NumberOf(*factor->operands[2]) != 0) return std::nullopt;
      product.conditions.push_back(factor->operands[0]);
    } else if (factor->kind != Expr::Kind::kLoad) {
      return std::nullopt;
    } else if (!IsParameter(graph, factor->buffer)) {
      if (product.data) return std::nullopt;
      product.data = factor;
    }
  }
  if (!product.data) return std::nullopt;
  return product;
}

// How many elements of data a result depends on through a term, by one result.
class Reach {
 public:
  Reach(const Term& term, const Product& product) : conditions_(product.conditions) {
    std::vector<Expr> places(product.data->operands.begin(), product.data->operands.end());
    for (const auto& var : term.over) {
      const auto uses = [&](const Expr& e) { return UsesIndex(e, var.id); };
      const auto in_places = std::count_if(places.begin(), places.end(), uses);
      const bool in_conditions = std::any_of(conditions_.begin(), conditions_.end(), uses);
      const bool plain = std::any_of(places.begin(), places.end(), [&](const Expr& e) {
        return e->kind == Expr::Kind::kIndex && e->index.id == var.id;
      });
      if (in_places == 1 && plain && !in_conditions) {
        alone_ *= static_cast<double>(var.extent);  // each of its values is another element
      } else if (in_places > 0 || in_conditions) {
        tried_.push_back(var);
        count_ *= var.extent;
        if (count_ > kPlacesAtMost) return;
      }
    }
    places_ = std::move(places);
  }

  bool countable() const { return count_ <= kPlacesAtMost; }

  // `indices`: of the result, and any for those of the sum.
  std::optional<double> From(const std::map<int, std::int64_t>& indices) const {
    std::map<int, std::size_t> ranks;
    for (const auto& [id, at] : indices) ranks.emplace(id, ranks.size());
    IndexSteps steps(ranks);
    std::vector<std::size_t> conditions, places;
    for (const auto& condition : conditions_) {
      if (!IsOfIndices(condition, ranks)) return std::nullopt;
      conditions.push_back(steps.Add(condition));
    }
    for (const auto& place : places_) {
      if (IsOfIndices(place, ranks)) places.push_back(steps.Add(place));
    }
    for (const auto& [id, at] : indices) steps.place(ranks.at(id)).fill(static_cast<double>(at));
    std::set<std::vector<double>> seen;
    for (std::int64_t first = 0; first < count_; first += IndexSteps::kBatch) {
      const auto now = static_cast<std::size_t>(std::min<std::int64_t>(count_ - first, IndexSteps::kBatch));
      steps.Place(tried_, first, now);
      steps.Run();
      for (std::size_t i = 0; i < now; ++i) {
        if (!std::ranges::all_of(conditions, [&](std::size_t c) { return steps.made(c)[i] != 0; })) continue;
        std::vector<double> place;
        for (const std::size_t p : places) place.push_back(steps.made(p)[i]);
        seen.insert(std::move(place));
      }
    }
    return alone_ * static_cast<double>(seen.size());
  }

 private:
  std::vector<Expr> conditions_, places_;
  std::vector<IndexVar> tried_;
  std::int64_t count_ = 1;
  double alone_ = 1;
};

double TermFlops(const Graph& graph, const Term& term, const std::vector<IndexVar>& outer) {
  const auto product = Split(graph, term);
  if (!product || term.over.empty()) return kNone;
  const Reach reach(term, *product);
  if (!reach.countable()) return kNone;
  double most = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::map<int, std::int64_t> indices;
    int dimension = 0;
    for (auto var = outer.rbegin(); var != outer.rend(); ++var, ++dimension) {
      const std::int64_t next = dimension < 3 ? sample >> dimension & 1 : 0;
      indices[var->id] = std::min(var->extent / 2 + next, var->extent - 1);
    }
    // The indices of `over` that are each an element of their own are not looked at: any value will do.
    for (const auto& var : term.over) indices[var.id] = 0;
    const auto elements = reach.From(indices);
    if (!elements) return kNone;
    most = std::max(most, *elements);
  }
  double results = 1, parameters = 1;
  for (const auto& var : outer) {
    results *= static_cast<double>(var.extent);
    const bool weighs = std::any_of(term.factors.begin(), term.factors.end(), [&](const Expr& factor) {
      return factor->kind == Expr::Kind::kLoad && &*factor != &*product->data && UsesIndex(factor, var.id);
    });
    if (weighs) parameters *= static_cast<double>(var.extent);
  }
  for (const auto& var : term.over) parameters *= static_cast<double>(var.extent);
  return 2 * most * results + 2 * parameters;
}

}  // namespace

double LinearMapFlops(const Graph& graph, const Polynomial& sum, const std::vector<IndexVar>& outer) {
  double results = 1, flops = 0;
  for (const auto& var : outer) results *= static_cast<double>(var.extent);
  for (const auto& term : sum) {
    const bool plain = std::all_of(term.factors.begin(), term.factors.end(),
                                   [](const Expr& factor) { return factor->kind == Expr::Kind::kLoad; });
    // Where nothing is summed there is a product for each result.
    flops += term.over.empty() && plain ? 2 * results : TermFlops(graph, term, outer);
  }
  return flops;
}

}  // namespace hone
