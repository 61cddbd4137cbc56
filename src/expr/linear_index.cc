#include "expr/linear_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::pair<double, double> RangeOf(const LinearIndex& sum) {
  double low = static_cast<double>(sum.constant), high = low;
  for (const auto& [atom, coefficient] : sum.atoms) {
    const auto [a, b] = IndexRange(atom);
    const auto c = static_cast<double>(coefficient);
    low += c > 0 ? c * a : c * b;
    high += c > 0 ? c * b : c * a;
  }
  return {low, high};
}

void AddTo(LinearIndex& sum, const LinearIndex& more, std::int64_t times) {
  sum.constant += more.constant * times;
  for (const auto& [atom, coefficient] : more.atoms) {
    const auto same = std::find_if(sum.atoms.begin(), sum.atoms.end(),
                                   [&wanted = atom](const auto& other) { return SameExpr(other.first, wanted); });
    if (same == sum.atoms.end()) {
      sum.atoms.emplace_back(atom, coefficient * times);
    } else {
      same->second += coefficient * times;
    }
  }
  std::erase_if(sum.atoms, [](const auto& part) { return part.second == 0; });
}

Expr FromLinear(LinearIndex sum) {
  // A place that does not hang on names as far as can be: two sums that differ in their indices only look alike.
  std::stable_sort(sum.atoms.begin(), sum.atoms.end(), [](const auto& a, const auto& b) {
    if (a.second != b.second) return a.second > b.second;
    const bool a_index = a.first->kind == Expr::Kind::kIndex, b_index = b.first->kind == Expr::Kind::kIndex;
    if (a_index != b_index) return a_index;
    if (!a_index) return false;
    if (a.first->index.extent != b.first->index.extent) return a.first->index.extent > b.first->index.extent;
    return a.first->index.id < b.first->index.id;
  });
  Expr result;
  for (const auto& [atom, coefficient] : sum.atoms) {
    const Expr part = coefficient == 1 ? atom : atom * coefficient;
    result = result ? result + part : part;
  }
  if (!result) return sum.constant;
  return sum.constant == 0 ? result : result + sum.constant;
}

namespace {

// The part of `sum` whose coefficients `divisor` divides, and the rest.
std::pair<LinearIndex, LinearIndex> Split(const LinearIndex& sum, std::int64_t divisor) {
  LinearIndex whole, rest;
  const std::int64_t below = ((sum.constant % divisor) + divisor) % divisor;
  whole.constant = sum.constant - below;
  rest.constant = below;
  for (const auto& part : sum.atoms) (part.second % divisor == 0 ? whole : rest).atoms.push_back(part);
  return {whole, rest};
}

LinearIndex Over(LinearIndex sum, std::int64_t divisor) {
  sum.constant /= divisor;
  for (auto& part : sum.atoms) part.second /= divisor;
  return sum;
}

bool Within(const LinearIndex& sum, std::int64_t end) {
  const auto [low, high] = RangeOf(sum);
  return low >= 0 && high < static_cast<double>(end);
}

// Divisors by which the whole part and the divisor can both be divided, largest first.
std::vector<std::int64_t> CommonDivisors(const LinearIndex& sum, std::int64_t divisor) {
  std::vector<std::int64_t> found;
  for (const auto& part : sum.atoms) {
    const std::int64_t g = std::gcd(part.second, divisor);
    if (g > 1 && g < divisor) found.push_back(g);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

LinearIndex Atom(Expr e) { return {0, {{std::move(e), 1}}}; }

LinearIndex DivideLinear(const LinearIndex& sum, std::int64_t divisor) {
  const auto [whole, rest] = Split(sum, divisor);
  if (Within(rest, divisor)) return Over(whole, divisor);
  for (const std::int64_t g : CommonDivisors(rest, divisor)) {
    const auto [coarse, fine] = Split(rest, g);
    if (!Within(fine, g)) continue;
    LinearIndex result = Over(whole, divisor);
    AddTo(result, DivideLinear(Over(coarse, g), divisor / g), 1);
    return result;
  }
  // floor(floor(x / a) / b) = floor(x / (a * b))
  if (rest.constant == 0 && rest.atoms.size() == 1 && rest.atoms[0].second == 1 &&
      IsBinary(rest.atoms[0].first, BinaryOp::kFloorDiv) && IsConst(rest.atoms[0].first->operands[1])) {
    const Expr& inner = rest.atoms[0].first;
    LinearIndex result = Over(whole, divisor);
    AddTo(result, DivideLinear(ToLinear(inner->operands[0]), divisor * inner->operands[1]->whole), 1);
    return result;
  }
  LinearIndex result = Over(whole, divisor);
  AddTo(result, Atom(Apply(BinaryOp::kFloorDiv, FromLinear(rest), divisor)), 1);
  return result;
}

LinearIndex ModuloLinear(const LinearIndex& sum, std::int64_t divisor) {
  const auto [whole, rest] = Split(sum, divisor);
  if (Within(rest, divisor)) return rest;
  for (const std::int64_t g : CommonDivisors(rest, divisor)) {
    const auto [coarse, fine] = Split(rest, g);
    if (!Within(fine, g)) continue;
    LinearIndex result = fine;
    AddTo(result, ModuloLinear(Over(coarse, g), divisor / g), g);
    return result;
  }
  return Atom(Apply(BinaryOp::kFloorMod, FromLinear(rest), divisor));
}

// k * m * (x / m) + k * (x mod m) = k * x
void Recombine(LinearIndex& sum) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < sum.atoms.size() && !again; ++i) {
      const auto [mod, k] = sum.atoms[i];
      if (!IsBinary(mod, BinaryOp::kFloorMod) || !IsConst(mod->operands[1])) continue;
      const std::int64_t m = mod->operands[1]->whole;
      const LinearIndex x = ToLinear(mod->operands[0]);
      const LinearIndex quotient = DivideLinear(x, m);
      if (quotient.constant != 0 || quotient.atoms.size() != 1 || quotient.atoms[0].second != 1) continue;
      for (std::size_t j = 0; j < sum.atoms.size(); ++j) {
        if (sum.atoms[j].second != k * m || !SameExpr(sum.atoms[j].first, quotient.atoms[0].first)) continue;
        sum.atoms.erase(sum.atoms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
        sum.atoms.erase(sum.atoms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
        AddTo(sum, x, k);
        again = true;
        break;
      }
    }
  }
}

LinearIndex Linear(const Expr& e) {
  if (IsConst(e)) return {e->whole, {}};
  if (e->kind == Expr::Kind::kIndex) return e->index.extent == 1 ? LinearIndex{} : Atom(e);
  if (e->kind == Expr::Kind::kUnary && e->unary == UnaryOp::kNeg && e->type == ScalarType::kInt) {
    LinearIndex sum;
    AddTo(sum, Linear(e->operands[0]), -1);
    return sum;
  }
  if (e->kind != Expr::Kind::kBinary || e->type != ScalarType::kInt) return Atom(e);
  const Expr &a = e->operands[0], &b = e->operands[1];
  switch (e->binary) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: {
      LinearIndex sum = Linear(a);
      AddTo(sum, Linear(b), e->binary == BinaryOp::kAdd ? 1 : -1);
      return sum;
    }
    case BinaryOp::kMul: {
      const LinearIndex x = Linear(a), y = Linear(b);
      if (!x.atoms.empty() && !y.atoms.empty()) return Atom(FromLinear(x) * FromLinear(y));
      LinearIndex sum;
      AddTo(sum, x.atoms.empty() ? y : x, x.atoms.empty() ? x.constant : y.constant);
      return sum;
    }
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: {
      const LinearIndex x = ToLinear(a), y = Linear(b);
      if (!y.atoms.empty() || y.constant <= 0) return Atom(e);
      return e->binary == BinaryOp::kFloorDiv ? DivideLinear(x, y.constant) : ModuloLinear(x, y.constant);
    }
    case BinaryOp::kMin:
    case BinaryOp::kMax: {
      LinearIndex difference = ToLinear(a);
      AddTo(difference, ToLinear(b), -1);
      const auto [low, high] = RangeOf(difference);
      const bool least = e->binary == BinaryOp::kMin;
      if (high <= 0) return ToLinear(least ? a : b);
      if (low >= 0) return ToLinear(least ? b : a);
      return Atom(e);
    }
    default: return Atom(e);
  }
}

}  // namespace

LinearIndex ToLinear(const Expr& index) {
  LinearIndex sum = Linear(index);
  Recombine(sum);
  return sum;
}

std::pair<double, double> IndexRange(const Expr& e) {
  const std::pair<double, double> unknown = {-kInfinity, kInfinity};
  if (e->type == ScalarType::kBool) return {0, 1};
  if (e->kind == Expr::Kind::kConst) return {static_cast<double>(e->whole), static_cast<double>(e->whole)};
  if (e->kind == Expr::Kind::kIndex) return {0, static_cast<double>(std::max<std::int64_t>(e->index.extent - 1, 0))};
  if (e->kind != Expr::Kind::kBinary) return unknown;
  const auto [a, b] = IndexRange(e->operands[0]);
  const auto [c, d] = IndexRange(e->operands[1]);
  switch (e->binary) {
    case BinaryOp::kAdd: return {a + c, b + d};
    case BinaryOp::kSub: return {a - d, b - c};
    case BinaryOp::kMin: return {std::min(a, c), std::min(b, d)};
    case BinaryOp::kMax: return {std::max(a, c), std::max(b, d)};
    case BinaryOp::kMul:
      if (c == d && std::isfinite(a) && std::isfinite(b)) return {std::min(a * c, b * c), std::max(a * c, b * c)};
      if (a >= 0 && c >= 0 && std::isfinite(b) && std::isfinite(d)) return {a * c, b * d};
      return unknown;
    case BinaryOp::kFloorDiv:
      if (c == d && c > 0) return {std::floor(a / c), std::floor(b / c)};
      return unknown;
    case BinaryOp::kFloorMod:
      if (c == d && c > 0) return a >= 0 && b < c ? std::pair(a, b) : std::pair(0.0, c - 1);
      return unknown;
    default: return unknown;
  }
}

}  // namespace hone
