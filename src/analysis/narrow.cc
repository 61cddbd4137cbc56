#include "analysis/narrow.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "analysis/hidden.h"
#include "expr/fold.h"

namespace hone {
namespace {

using Kind = Expr::Kind;

constexpr double kAnything = std::numeric_limits<double>::infinity();
// A factor that so many terms share, as one instruction for products of 8 bits sums at least, is taken out of their
// sum.
constexpr std::size_t kTermsTogether = 16;
constexpr std::int64_t kTermsTried = 4096;

// What is known of a factor.
struct Digits {
  double low = -kAnything, high = kAnything;
  bool whole = false;
  bool real8 = false;   // a real of 8 bits
  bool scaled = false;  // times something, plus something, which can be taken out of the sum
  bool FitsWhole8() const { return whole && ((low >= -128 && high <= 127) || (low >= 0 && high <= 255)); }
  // Those of 8 bits have three bits after the first, or two and a sign with exponents to spare.
  bool FitsReal8() const { return real8 || (whole && low >= -8 && high <= 8); }
};

Digits Between(double low, double high, bool whole) { return {low, high, whole, false, false}; }

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

  Digits Of(const Expr& e) {
    if (--steps_ < 0) return {};
    switch (e->kind) {
      case Kind::kConst: return Between(NumberOf(*e), NumberOf(*e), std::trunc(NumberOf(*e)) == NumberOf(*e));
      case Kind::kIndex: return Between(0, static_cast<double>(e->index.extent) - 1, true);
      case Kind::kLoad: return OfLoad(*e);
      case Kind::kCast: return OfCast(Of(e->operands[0]), e->type);
      case Kind::kUnary: return OfUnary(e->unary, Of(e->operands[0]));
      case Kind::kBinary: return OfBinary(*e);
      case Kind::kSelect: return OfEither(e->operands[1], e->operands[2]);
      default: return {};
    }
  }

 private:
  static constexpr int kStepsBack = 8;

  bool IsSharedByPlaces(const Expr& e) const {
    std::vector<Expr> places;
    PlacesOf(e, places);
    std::erase_if(places, [&](const Expr& place) { return !UsesTerm(place); });
    if (places.empty()) return true;
    if (std::ranges::any_of(over_, [](const IndexVar& var) { return var.extent <= 0; })) return true;
    std::int64_t terms = 1;
    std::map<int, std::int64_t> others;
    for (const IndexVar& var : over_) terms *= var.extent;
    for (const Expr& place : places) {
      Visit(place, [&](const ExprNode& node) {
        if (node.kind == Kind::kIndex) others[node.index.id] = node.index.extent;
      });
    }
    const std::int64_t tried = std::min(terms, kTermsTried);
    std::set<std::vector<double>> different;
    for (std::int64_t term = 0; term < tried; ++term) {
      std::vector<double> at;
      for (const bool last : {false, true}) {
        std::map<int, std::int64_t> indices;
        for (const auto& [id, extent] : others) indices[id] = last ? extent - 1 : 0;
        std::int64_t rest = term;
        for (std::size_t d = over_.size(); d-- > 0;) {
          indices[over_[d].id] = rest % over_[d].extent;
          rest /= over_[d].extent;
        }
        for (const Expr& place : places) {
          const auto value = ValueAt(place, indices);
          if (!value) return false;
          at.push_back(*value);
        }
      }
      different.insert(std::move(at));
      if (different.size() > 1 && different.size() * kTermsTogether > static_cast<std::size_t>(tried)) return false;
    }
    return true;
  }

  bool UsesTerm(const Expr& place) const {
    return std::any_of(over_.begin(), over_.end(), [&](const IndexVar& var) { return UsesIndex(place, var.id); });
  }

  // The index expressions that decide an expression's value.
  static void PlacesOf(const Expr& e, std::vector<Expr>& places) {
    if (e->kind == Kind::kIndex) return places.push_back(e);
    for (const Expr& operand : e->operands) {
      if (e->kind == Kind::kLoad && !HasLoad(operand))
        places.push_back(operand);
      else
        PlacesOf(operand, places);
    }
  }

  Digits OfLoad(const ExprNode& load) {
    const DType dtype = graph_.buffers()[static_cast<std::size_t>(load.buffer)].dtype;
    switch (dtype) {
      case DType::kI8: return Between(-128, 127, true);
      case DType::kU8: return Between(0, 255, true);
      case DType::kBool: return Between(0, 1, true);
      default: break;
    }
    if (IsFloat(dtype) && Bytes(dtype) == 1) return {-kAnything, kAnything, false, true, false};
    const auto element = ElementOf(graph_, load);
    return element ? Of(*element) : Between(-kAnything, kAnything, !IsFloat(dtype));
  }

  static Digits OfCast(Digits x, ScalarType type) {
    if (type == ScalarType::kReal || (x.whole && !x.scaled && type == ScalarType::kInt)) return x;
    if (type == ScalarType::kBool) return Between(0, 1, true);
    if (x.scaled || x.real8) return Between(-kAnything, kAnything, true);
    return Between(std::trunc(x.low), std::trunc(x.high), true);
  }

  static Digits OfUnary(UnaryOp op, const Digits& x) {
    switch (op) {
      case UnaryOp::kNeg: return {-x.high, -x.low, x.whole, x.real8, x.scaled};
      case UnaryOp::kAbs: {
        if (x.scaled) return {};
        const bool crosses = x.low < 0 && x.high > 0;
        const double a = std::abs(x.low), b = std::abs(x.high);
        return {crosses ? 0 : std::min(a, b), std::max(a, b), x.whole, x.real8, false};
      }
      case UnaryOp::kRound:
      case UnaryOp::kFloor:
      case UnaryOp::kCeil:
      case UnaryOp::kTrunc:
        if (x.scaled || x.real8) return Between(-kAnything, kAnything, true);
        return Between(ValueOf(op, x.low), ValueOf(op, x.high), true);
      case UnaryOp::kSign: return Between(-1, 1, true);
      case UnaryOp::kNot:
      case UnaryOp::kIsNan: return Between(0, 1, true);
      default: return {};
    }
  }

  Digits OfBinary(const ExprNode& e) {
    const Expr &a = e.operands[0], &b = e.operands[1];
    const bool linear = e.binary == BinaryOp::kAdd || e.binary == BinaryOp::kSub || e.binary == BinaryOp::kMul;
    if (linear || e.binary == BinaryOp::kDiv) {
      const bool of_a = IsShared(b), of_b = linear && !of_a && IsShared(a);
      if (of_a || of_b) {
        Digits x = Of(of_a ? a : b);
        x.scaled = true;
        return x;
      }
      if (!linear) return {};
    }
    if (e.binary >= BinaryOp::kLess && e.binary <= BinaryOp::kNotEqual) return Between(0, 1, true);
    const Digits x = Of(a), y = Of(b);
    if (x.scaled || y.scaled) return {};
    const bool whole = x.whole && y.whole;
    switch (e.binary) {
      case BinaryOp::kAdd: return Between(x.low + y.low, x.high + y.high, whole);
      case BinaryOp::kSub: return Between(x.low - y.high, x.high - y.low, whole);
      case BinaryOp::kMul: {
        if (!std::isfinite(x.low + x.high + y.low + y.high)) return Between(-kAnything, kAnything, whole);
        const std::array ends = {x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high};
        return Between(*std::ranges::min_element(ends), *std::ranges::max_element(ends), whole);
      }
      case BinaryOp::kMin: return Between(std::min(x.low, y.low), std::min(x.high, y.high), whole);
      case BinaryOp::kMax: return Between(std::max(x.low, y.low), std::max(x.high, y.high), whole);
      case BinaryOp::kFloorMod:
        if (whole && y.low == y.high && y.low > 0) return Between(0, y.low - 1, true);
        return Between(-kAnything, kAnything, whole);
      case BinaryOp::kFloorDiv:
        if (whole && y.low == y.high && y.low > 0)
          return Between(std::floor(x.low / y.low), std::floor(x.high / y.low), true);
        return Between(-kAnything, kAnything, whole);
      case BinaryOp::kAnd:
        if (e.type == ScalarType::kBool) return Between(0, 1, true);
        if (y.low == y.high && y.low >= 0) return Between(0, y.low, true);
        return Between(-kAnything, kAnything, true);
      case BinaryOp::kOr:
      case BinaryOp::kXor:
        return e.type == ScalarType::kBool ? Between(0, 1, true) : Between(-kAnything, kAnything, true);
      default: return {};
    }
  }

  // What is zero is so in any type.
  Digits OfEither(const Expr& a, const Expr& b) {
    const bool first = ConstantNumber(b) == 0.0, second = ConstantNumber(a) == 0.0;
    Digits x = Of(second ? b : a);
    if (first || second) {
      x.low = std::min(x.low, 0.0);
      x.high = std::max(x.high, 0.0);
      return x;
    }
    const Digits y = Of(b);
    if (x.scaled || y.scaled) return {};
    return {std::min(x.low, y.low), std::max(x.high, y.high), x.whole && y.whole, x.real8 && y.real8, false};
  }

  const Graph& graph_;
  const std::vector<IndexVar>& over_;
  int steps_ = 256;  // a chain of maps from what is stored to a factor has a dozen
};

// Of the factors that differ from term to term.
std::vector<Digits> DigitsOf(const Graph& graph, const ExprNode& sum) {
  std::vector<Digits> digits;
  for (const Expr& factor : FactorsOf(sum.operands[0])) {
    FactorReader one(graph, sum.over);
    if (!one.IsShared(factor)) digits.push_back(one.Of(factor));
  }
  return digits;
}

}  // namespace

std::vector<Expr> FactorsOf(const Expr& product) {
  if (product->kind != Kind::kBinary || product->binary != BinaryOp::kMul) return {product};
  std::vector<Expr> factors = FactorsOf(product->operands[0]);
  for (Expr& factor : FactorsOf(product->operands[1])) factors.push_back(std::move(factor));
  return factors;
}

NarrowProduct NarrowestProduct(const Graph& graph, const ExprNode& sum) {
  const std::vector<Digits> digits = DigitsOf(graph, sum);
  if (digits.empty()) return NarrowProduct::kNone;
  if (std::ranges::all_of(digits, &Digits::FitsWhole8)) return NarrowProduct::kWholes8;
  return std::ranges::all_of(digits, &Digits::FitsReal8) ? NarrowProduct::kReals8 : NarrowProduct::kNone;
}

bool IsOfMoreThanTruths(const Graph& graph, const ExprNode& sum) {
  const std::vector<Digits> digits = DigitsOf(graph, sum);
  return digits.size() > 1 &&
         std::ranges::none_of(digits, [](const Digits& one) { return one.low >= 0 && one.high <= 1; });
}

}  // namespace hone
