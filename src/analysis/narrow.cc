#include "analysis/narrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/hidden.h"
#include "analysis/range.h"
#include "expr/fold.h"
#include "expr/index_steps.h"

namespace hone {
namespace {

using Kind = Expr::Kind;
// A factor that so many terms share, as one instruction for products of 8 bits sums at least, is taken out of their
// sum.
constexpr std::size_t kTermsTogether = 16;
constexpr std::int64_t kTermsTried = 4096;
constexpr std::size_t kKept = 1 << 12;  // answers

class FactorReader {
 public:
  FactorReader(const Graph& graph, const std::vector<IndexVar>& over) : graph_(graph), over_(over) {}

  // Whether it is the same number in many terms, whatever that is.
  bool IsShared(const Expr& e) const {
    Expr written = e;
    for (int step = 0; step < kStepsBack; ++step) {
      if (IsSharedByPlaces(written)) return true;
      // What only renames and spreads, as a view does, hides that its elements are few.
      bool more = false;
      written = ReplaceLoads(written, [&](const ExprNode& load) {
        const auto element = ElementOf(graph_, load);
        if (!element || HasReduce(*element)) return Expr();
        more = true;
        return *element;
      });
      if (!more) return false;
    }
    return false;
  }

  // The factor without what can be taken out of the sum: what many terms share, signs, conditions beside zeros. Behind
  // what only converts.
  Expr Core(Expr e) const {
    for (int step = 0; step < kSteps; ++step) {
      const Expr inner = Within(e);
      if (!inner) return e;
      e = inner;
    }
    return e;
  }

 private:
  static constexpr int kStepsBack = 8;

  bool IsSharedByPlaces(const Expr& e) const {
    std::vector<Expr> places;
    std::set<const ExprNode*> looked_at;
    PlacesOf(e, places, looked_at);
    std::erase_if(places, [&](const Expr& place) { return !UsesTerm(place); });
    if (places.empty()) return true;
    if (std::ranges::any_of(over_, [](const IndexVar& var) { return var.extent <= 0; })) return true;
    std::int64_t terms = 1;
    std::map<int, std::size_t> ranks;  // the sum's indices first, then the others
    std::vector<std::int64_t> others;  // their extents
    for (const IndexVar& var : over_) {
      terms *= var.extent;
      ranks.emplace(var.id, ranks.size());
    }
    for (const Expr& place : places) {
      Visit(place, [&](const ExprNode& node) {
        if (node.kind == Kind::kIndex && ranks.emplace(node.index.id, ranks.size()).second)
          others.push_back(node.index.extent);
      });
    }
    IndexSteps steps(ranks);
    std::vector<std::size_t> made;
    for (const Expr& place : places) {
      if (!IsOfIndices(place, ranks)) return false;
      made.push_back(steps.Add(place));
    }
    // Layers ask the same again, each with indices of its own.
    thread_local std::unordered_map<std::string, bool> kept;
    std::string key = steps.Key();
    const auto add = [&](auto number) { fmt::format_to(std::back_inserter(key), "{} ", number); };
    for (const IndexVar& var : over_) add(var.extent);
    for (const std::int64_t extent : others) add(extent);
    for (const std::size_t step : made) add(step);
    if (const auto known = kept.find(key); known != kept.end()) return known->second;
    if (kept.size() >= kKept) kept.clear();
    return kept[key] = AreFew(steps, made, others, std::min(terms, kTermsTried));
  }

  // Whether so many terms have few different numbers in these steps.
  bool AreFew(IndexSteps& steps, const std::vector<std::size_t>& made, const std::vector<std::int64_t>& others,
              std::int64_t tried) const {
    std::set<std::vector<double>> different;
    for (std::int64_t first = 0; first < tried; first += IndexSteps::kBatch) {
      const auto now = static_cast<std::size_t>(std::min<std::int64_t>(tried - first, IndexSteps::kBatch));
      steps.Place(over_, first, now);
      std::vector<std::vector<double>> at(now);  // by term, with the other indices at their first and at their last
      for (const bool last : {false, true}) {
        for (std::size_t i = 0; i < others.size(); ++i)
          steps.place(over_.size() + i).fill(last ? static_cast<double>(others[i] - 1) : 0.0);
        steps.Run();
        for (std::size_t i = 0; i < now; ++i) {
          for (const std::size_t step : made) at[i].push_back(steps.made(step)[i]);
        }
      }
      for (auto& term : at) {
        different.insert(std::move(term));
        if (different.size() > 1 && different.size() * kTermsTogether > static_cast<std::size_t>(tried)) return false;
      }
    }
    return true;
  }

  bool UsesTerm(const Expr& place) const {
    return std::any_of(over_.begin(), over_.end(), [&](const IndexVar& var) { return UsesIndex(place, var.id); });
  }

  // The index expressions that decide an expression's value.
  static void PlacesOf(const Expr& e, std::vector<Expr>& places, std::set<const ExprNode*>& looked_at) {
    if (!looked_at.insert(e.get()).second) return;
    if (e->kind == Kind::kIndex) return places.push_back(e);
    for (const Expr& operand : e->operands) {
      if (e->kind != Kind::kLoad || HasLoad(operand))
        PlacesOf(operand, places, looked_at);
      else if (looked_at.insert(operand.get()).second)
        places.push_back(operand);
    }
  }

  // What is left when something is taken from outside; nothing where nothing can be.
  Expr Within(const Expr& e) const {
    switch (e->kind) {
      case Kind::kLoad: {
        const DType type = graph_.buffers()[static_cast<std::size_t>(e->buffer)].dtype;
        return Bytes(type) == 1 ? Expr() : ElementOf(graph_, *e).value_or(Expr());
      }
      case Kind::kCast: return e->type == ScalarType::kReal ? e->operands[0] : Expr();
      case Kind::kUnary: return e->unary == UnaryOp::kNeg ? e->operands[0] : Expr();
      case Kind::kSelect:
        if (ConstantNumber(e->operands[2]) == 0.0) return e->operands[1];
        return ConstantNumber(e->operands[1]) == 0.0 ? e->operands[2] : Expr();
      case Kind::kBinary: {
        const bool linear = e->binary == BinaryOp::kAdd || e->binary == BinaryOp::kSub || e->binary == BinaryOp::kMul;
        if (!linear && e->binary != BinaryOp::kDiv) return {};
        if (IsShared(e->operands[1])) return e->operands[0];
        return linear && IsShared(e->operands[0]) ? e->operands[1] : Expr();
      }
      default: return {};
    }
  }

  const Graph& graph_;
  const std::vector<IndexVar>& over_;
  static constexpr int kSteps = 256;  // a chain of maps from what is stored to a factor has a dozen
};

// Those that differ from term to term, as the kernels may have them.
std::vector<Expr> CoresOf(const Graph& graph, const ExprNode& sum) {
  std::vector<Expr> cores;
  const FactorReader reader(graph, sum.over);
  for (const Expr& factor : FactorsOf(sum.operands[0])) {
    if (!reader.IsShared(factor)) cores.push_back(reader.Core(factor));
  }
  return cores;
}

bool FitsWhole8(const Range& range) { return range.whole && (range.within(-128, 127) || range.within(0, 255)); }

// Of 8 bits, or of so few that those have them: three after the first, or two and a sign with exponents to spare.
bool FitsReal8(const Graph& graph, const Expr& e, const Range& range) {
  if (range.whole && range.within(-8, 8)) return true;
  if (IsUnary(e, UnaryOp::kAbs)) return FitsReal8(graph, e->operands[0], range);
  if (e->kind != Kind::kLoad) return false;
  const DType type = graph.buffers()[static_cast<std::size_t>(e->buffer)].dtype;
  return IsFloat(type) && Bytes(type) == 1;
}

}  // namespace

std::vector<Expr> FactorsOf(const Expr& product) {
  if (product->kind != Kind::kBinary || product->binary != BinaryOp::kMul) return {product};
  std::vector<Expr> factors = FactorsOf(product->operands[0]);
  for (Expr& factor : FactorsOf(product->operands[1])) factors.push_back(std::move(factor));
  return factors;
}

NarrowProduct NarrowestProduct(const Graph& graph, const ExprNode& sum) {
  const std::vector<Expr> cores = CoresOf(graph, sum);
  if (cores.empty()) return NarrowProduct::kNone;
  DefinedRanges ranges(graph);
  if (std::ranges::all_of(cores, [&](const Expr& core) { return FitsWhole8(ranges.Of(core)); }))
    return NarrowProduct::kWholes8;
  const auto fits = [&](const Expr& core) { return FitsReal8(graph, core, ranges.Of(core)); };
  return std::ranges::all_of(cores, fits) ? NarrowProduct::kReals8 : NarrowProduct::kNone;
}

bool IsOfMoreThanTruths(const Graph& graph, const ExprNode& sum) {
  const std::vector<Expr> cores = CoresOf(graph, sum);
  DefinedRanges ranges(graph);
  return cores.size() > 1 &&
         std::ranges::none_of(cores, [&](const Expr& core) { return ranges.Of(core).within(0, 1); });
}

}  // namespace hone
