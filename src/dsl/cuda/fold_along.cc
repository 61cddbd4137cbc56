// Maxima of rows that nobody keeps, and sums of exponentials by them, in one pass over memory: a thread's sums are by
// the largest element that it has met so far, and become sums by a larger one when that comes. It takes what it reads
// in handfuls, which are on their way together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cuda/fold_writer.h"
#include "dsl/family.h"
#include "dsl/shape/reduction.h"

namespace hone::dsl {
namespace {

// The power itself is the value of this let in a sum's body; no kernel has so many.
constexpr int kPowers = 1 << 20;

bool ReadsLets(const Expr& expr) {
  bool reads = false;
  Visit(expr, [&](const ExprNode& node) {
    reads |= node.kind == Expr::Kind::kValue && node.value.kind == NamedValue::Kind::kLet;
  });
  return reads;
}

// Which maximum it is; -1: none.
int MaximumOf(const DevicePass& maxima, const Expr& expr) {
  for (std::size_t k = 0; k < maxima.items.size(); ++k) {
    if (IsValue(expr, LetValue(maxima.items[k].let))) return static_cast<int>(k);
  }
  return -1;
}

// By which maximum it is exp(x - maximum) of its x; -1: it is something else.
int PowerOf(const DevicePass& maxima, const Expr& expr) {
  if (!IsUnary(expr, UnaryOp::kExp)) return -1;
  const Expr& away = expr->operands[0];
  if (!IsBinary(away, BinaryOp::kSub)) return -1;
  const int k = MaximumOf(maxima, away->operands[1]);
  return k >= 0 && SameExpr(away->operands[0], maxima.items[static_cast<std::size_t>(k)].body) ? k : -1;
}

// How many times each maximum is added to `expr`, which is multiplied with power `power`; nothing where they come into
// it in another way. What a minus infinity hides is of no account, since the power is zero there.
std::optional<std::map<int, double>> Shares(const DevicePass& maxima, int power, const Expr& expr) {
  if (!ReadsLets(expr)) return std::map<int, double>();
  if (const int k = MaximumOf(maxima, expr); k >= 0) return std::map<int, double>{{k, 1}};
  const auto times = [](std::optional<std::map<int, double>> shares, double factor) {
    if (shares) {
      for (auto& [k, share] : *shares) share *= factor;
    }
    return shares;
  };
  if (expr->kind == Expr::Kind::kUnary && expr->unary == UnaryOp::kNeg)
    return times(Shares(maxima, power, expr->operands[0]), -1);
  if (expr->kind == Expr::Kind::kSelect) {
    const Expr& condition = expr->operands[0];
    const Expr& x = maxima.items[static_cast<std::size_t>(power)].body;
    const bool hides = IsBinary(condition, BinaryOp::kEqual) && SameExpr(condition->operands[0], x) &&
                       ConstantNumber(condition->operands[1]) == -INFINITY;
    return hides && !ReadsLets(expr->operands[1]) ? Shares(maxima, power, expr->operands[2]) : std::nullopt;
  }
  if (expr->kind != Expr::Kind::kBinary) return std::nullopt;
  const Expr &a = expr->operands[0], &b = expr->operands[1];
  if (expr->binary == BinaryOp::kMul && ConstantNumber(a)) return times(Shares(maxima, power, b), *ConstantNumber(a));
  if (expr->binary == BinaryOp::kMul && ConstantNumber(b)) return times(Shares(maxima, power, a), *ConstantNumber(b));
  if (expr->binary == BinaryOp::kDiv && ConstantNumber(b))
    return times(Shares(maxima, power, a), 1 / *ConstantNumber(b));
  if (expr->binary != BinaryOp::kAdd && expr->binary != BinaryOp::kSub) return std::nullopt;
  auto sum = Shares(maxima, power, a);
  const auto other = times(Shares(maxima, power, b), expr->binary == BinaryOp::kSub ? -1 : 1);
  if (!sum || !other) return std::nullopt;
  for (const auto& [k, share] : *other) (*sum)[k] += share;
  std::erase_if(*sum, [](const auto& one) { return one.second == 0; });
  return sum;
}

// A sum as it goes along with maxima.
struct AlongSum {
  int power = -1;                // its terms are multiplied with the power by this maximum; -1: none reads a maximum
  std::map<int, double> shares;  // how many times each maximum is added to what the power is multiplied with
  int powers = -1;               // the sum of the powers themselves, if there are shares
  Expr body;                     // with powers as lets
};

std::optional<AlongSum> AlongOf(const DevicePass& maxima, const Expr& body) {
  if (!ReadsLets(body)) return AlongSum{.body = body};
  if (const int k = PowerOf(maxima, body); k >= 0)
    return AlongSum{.power = k, .body = Value(LetValue(kPowers + k), body->type)};
  if (!IsBinary(body, BinaryOp::kMul)) return std::nullopt;
  for (const std::size_t first : {0, 1}) {
    const Expr& rest = body->operands[1 - first];
    auto sum = AlongOf(maxima, body->operands[first]);
    if (!sum || sum->power < 0 || !sum->shares.empty()) continue;
    const auto shares = Shares(maxima, sum->power, rest);
    if (!shares || (!shares->empty() && sum->body->kind != Expr::Kind::kValue)) continue;
    sum->shares = *shares;
    sum->body = sum->body * rest;
    return sum;
  }
  return std::nullopt;
}

std::optional<std::vector<AlongSum>> AlongSums(const DevicePass& maxima, const DevicePass& sums) {
  std::vector<AlongSum> along;
  for (std::size_t i = 0; i < sums.items.size(); ++i) {
    const FoldPass::Item& item = sums.items[i];
    if (item.fold != ReduceOp::kSum || item.body->type != ScalarType::kReal || sums.centre[i] >= 0) return std::nullopt;
    auto one = AlongOf(maxima, item.body);
    if (!one) return std::nullopt;
    along.push_back(std::move(*one));
  }
  for (auto& one : along) {
    if (one.shares.empty()) continue;
    const auto powers = std::find_if(along.begin(), along.end(), [&](const AlongSum& other) {
      return IsValue(other.body, LetValue(kPowers + one.power));
    });
    if (powers == along.end()) return std::nullopt;
    one.powers = static_cast<int>(powers - along.begin());
  }
  return along;
}

// Two passes as maxima and what is summed along with them, sums that wait for none among the latter; nothing if they
// are not that.
std::optional<std::pair<DevicePass, DevicePass>> Parted(const DevicePass& first, const DevicePass& second) {
  DevicePass maxima, sums = second;
  for (std::size_t i = 0; i < first.items.size(); ++i) {
    const FoldPass::Item& item = first.items[i];
    const bool largest = item.fold == ReduceOp::kMax;
    if (largest && (item.body->type != ScalarType::kReal || !IsValue(item.finish, kIt))) return std::nullopt;
    DevicePass& to = largest ? maxima : sums;
    to.items.push_back(item);
    to.centre.push_back(first.centre[i]);
  }
  const auto along = AlongSums(maxima, sums);
  if (!along || std::none_of(along->begin(), along->end(), [](const AlongSum& one) { return one.power >= 0; }))
    return std::nullopt;
  return std::pair(std::move(maxima), std::move(sums));
}

}  // namespace

bool GoesAlong(const Kernel& kernel) {
  if (kernel.family->keeps_axes || kernel.lets.empty() || FindsPlace(kernel) || kernel.compute == DType::kF64 ||
      !FoldsRows(kernel))
    return false;
  const std::vector<FoldPass> passes = ReductionPasses(kernel, ReductionOf(kernel));
  const auto as_device = [](const FoldPass& pass) {
    return DevicePass{.items = pass.items, .centre = std::vector<int>(pass.items.size(), -1)};
  };
  return passes.size() >= 2 && Parted(as_device(passes[0]), as_device(passes[1]));
}

bool FoldWriter::GoAlong(const DevicePass& first, const DevicePass& second) const {
  return rows_ && split_ == 1 && cluster_ * team_ == 1 && per_lane_ == 0 && steps_ > 0 && !keeps_axes() &&
         !out_.wide() && Parted(first, second);
}

void FoldWriter::FoldAlong(const DevicePass& first, const DevicePass& second) {
  const auto [maxima, sums] = *Parted(first, second);
  const auto along = *AlongSums(maxima, sums);
  const std::string low = out_.Neutral(ReduceOp::kMax, ScalarType::kReal), how = out_.How(ReduceOp::kMax),
                    power_of = out_.Helper("Exp2Unit");
  constexpr std::string_view kLog2e = "1.44269504f";
  std::vector<Accumulator> tops, parts;
  std::vector<std::string> bases;
  std::vector<Expr> top_bodies, sum_bodies;
  for (std::size_t k = 0; k < maxima.items.size(); ++k) {
    tops.push_back(AccumulatorOf(maxima, k));
    tops.back().name = out_.Fresh(maxima.items[k].name + "_part");
    bases.push_back(out_.Fresh(maxima.items[k].name + "_base"));
    out_.Line(fmt::format("float {} = {}, {} = 0;", tops.back().name, low, bases.back()));
    top_bodies.push_back(maxima.items[k].body);
  }
  for (std::size_t i = 0; i < sums.items.size(); ++i) {
    parts.push_back(AccumulatorOf(sums, i));
    parts.back().name = out_.Fresh(sums.items[i].name + "_part");
    out_.Line(fmt::format("{} {} = 0;", parts.back().type, parts.back().name));
    sum_bodies.push_back(along[i].body);
  }
  // Where there is nothing but minus infinity, any other number will do.
  const auto base_of = [&](const std::string& top) { return fmt::format("{0} == {1} ? 0 : {0}", top, low); };
  // Sums by `bases` and `tops` become sums by others.
  const auto go_over = [&](const std::vector<std::string>& to_bases, const std::vector<std::string>& factors) {
    for (const bool shared : {true, false}) {
      for (std::size_t i = 0; i < along.size(); ++i) {
        if (along[i].power < 0 || along[i].shares.empty() == shared) continue;
        std::string sum = parts[i].name;
        for (const auto& [k, share] : along[i].shares) {
          const auto at = static_cast<std::size_t>(k);
          sum += fmt::format(" + {} * ({} - {}) * {}", out_.Number(share), to_bases[at], bases[at],
                             parts[static_cast<std::size_t>(along[i].powers)].name);
        }
        out_.Line(
            fmt::format("{} = ({}) * {};", parts[i].name, sum, factors[static_cast<std::size_t>(along[i].power)]));
      }
    }
  };

  // What varies along a row is read in handfuls of `count` packs.
  std::vector<int> read;
  std::int64_t pack_bytes = 0;
  std::vector<Expr> bodies = top_bodies;
  for (const auto& item : sums.items) bodies.push_back(item.body);
  for (const int operand : OperandsOf(bodies)) {
    if (pack_ > 1 && !LoadsInPacks(loops_, kernel_, static_cast<std::size_t>(operand), pack_)) continue;
    const bool varies = std::any_of(reduced_.begin(), reduced_.end(), [&](std::size_t d) {
      return loops_.dims[d].strides[static_cast<std::size_t>(operand)] != 0;
    });
    if (!varies) continue;
    read.push_back(operand);
    pack_bytes += pack_ * ElementBytes(operand);
  }
  constexpr std::int64_t kOtherRegisters = 40, kHandful = 32;  // elements of each operand
  const std::int64_t registers = std::min<std::int64_t>(
      255, kernel_.device->limits.registers / std::max<std::int64_t>(lanes_ * RowsABlock(), kRowThreads));
  std::int64_t handful = std::max<std::int64_t>(1, kHandful / pack_);
  while (handful > 1 && handful * pack_bytes / 4 > registers - kOtherRegisters) handful /= 2;

  const std::string own_lane = lane_, at = out_.Fresh("at");
  const auto take = [&](std::int64_t count, Ends ends) {
    lane_ = at;
    per_lane_ = count;
    ends_ = ends;
    for (const int operand : read) {
      std::string& name = kept_operands_[operand];
      name = out_.Fresh(out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer) + "_packs");
      out_.Line(fmt::format("{} {}[{}];", PackType(operand), name, count));
    }
    EachStep([&] {
      for (const int operand : read)
        out_.Line(fmt::format("{}[{}] = {};", kept_operands_.at(operand), step_, PackAt(operand)));
    });
    std::vector<std::string> larger, new_bases, factors;
    for (const auto& top : tops) {
      larger.push_back(out_.Fresh("larger"));
      out_.Line(fmt::format("float {} = {};", larger.back(), top.name));
    }
    EachStep([&] {
      LoadPacks(top_bodies);
      const std::string e = OpenElements();
      DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
      for (std::size_t k = 0; k < tops.size(); ++k)
        out_.Line(fmt::format("{0} = {1}::Of({0}, float({2}));", larger[k], how, expr.Text(top_bodies[k])));
      CloseElements();
    });
    for (std::size_t k = 0; k < tops.size(); ++k) {
      new_bases.push_back(out_.Fresh("base"));
      factors.push_back(out_.Fresh("factor"));
      out_.Line(fmt::format("const float {} = {};", new_bases[k], base_of(larger[k])));
      out_.Line(fmt::format("const float {0} = {1} == {2} ? 1.0f : {3}(({1} - {4}) * {5});", factors[k], tops[k].name,
                            larger[k], power_of, new_bases[k], kLog2e));
    }
    go_over(new_bases, factors);
    for (std::size_t k = 0; k < tops.size(); ++k) {
      out_.Line(fmt::format("{} = {};", tops[k].name, larger[k]));
      out_.Line(fmt::format("{} = {};", bases[k], new_bases[k]));
      let_names_[maxima.items[k].let] = bases[k];
    }
    EachStep([&] {
      LoadPacks(bodies);
      const std::string e = OpenElements();
      DeviceExpr expr(out_, [&](const ExprNode& load) { return LoadText(load, e); });
      for (std::size_t k = 0; k < tops.size(); ++k) {
        const bool needed = std::any_of(along.begin(), along.end(),
                                        [&](const AlongSum& one) { return one.power == static_cast<int>(k); });
        if (!needed) continue;
        std::string& power = let_names_[kPowers + static_cast<int>(k)];
        power = out_.Fresh("power");
        out_.Line(fmt::format("const float {} = {}((({}) - {}) * {});", power, power_of, expr.Text(top_bodies[k]),
                              bases[k], kLog2e));
      }
      for (std::size_t i = 0; i < parts.size(); ++i)
        out_.Line(fmt::format("{} += {};", parts[i].name, expr.Text(sum_bodies[i])));
      CloseElements();
    });
    step_.clear();
    kept_operands_.clear();
    per_lane_ = 0;
    ends_ = Ends::kAtLast;
    lane_ = own_lane;
  };
  out_.Line(fmt::format("{} {} = {};", index(), at, own_lane));
  out_.Open(fmt::format("for (; {0} + {1} < {2}; {0} += {3})", at, (handful - 1) * stride_, steps_, handful * stride_));
  take(handful, Ends::kBehind);
  out_.Close();
  if (handful > 1 && steps_ % (handful * stride_) != 0) {
    out_.Open(fmt::format("if ({} < {})", at, steps_));
    take(std::min(handful, (steps_ + stride_ - 1) / stride_), Ends::kAnywhere);
    out_.Close();
  }

  // Each thread's sums by the row's maxima.
  const std::vector<std::string> totals = CombineAll(maxima, tops);
  std::vector<std::string> of_row, factors;
  for (std::size_t k = 0; k < tops.size(); ++k) {
    of_row.push_back(out_.Fresh("base"));
    factors.push_back(out_.Fresh("factor"));
    out_.Line(fmt::format("const float {} = {};", of_row[k], base_of(totals[k])));
    // Of a row of nothing but minus infinity this is no number, and its sums are none.
    out_.Line(
        fmt::format("const float {} = {}(({} - {}) * {});", factors[k], power_of, tops[k].name, totals[k], kLog2e));
  }
  go_over(of_row, factors);
  FinishAll(maxima, totals, tops);
  FinishAll(sums, CombineAll(sums, parts), parts);
}

}  // namespace hone::dsl
