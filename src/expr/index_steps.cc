#include "expr/index_steps.h"

#include <algorithm>
#include <cmath>

#include "expr/fold.h"

namespace hone {

bool IsOfIndices(const Expr& e, const std::map<int, std::size_t>& ranks) {
  bool all = true;
  Visit(e, [&](const ExprNode& node) {
    using Kind = Expr::Kind;
    if (node.kind == Kind::kLoad || node.kind == Kind::kValue || node.kind == Kind::kReduce) all = false;
    if (node.kind == Kind::kIndex && !ranks.count(node.index.id)) all = false;
  });
  return all;
}

std::size_t IndexSteps::Add(const ExprNode& node) {
  if (const auto known = numbers_.find(&node); known != numbers_.end()) return known->second;
  Step step{.kind = node.kind, .type = node.type};
  for (std::size_t i = 0; i < node.operands.size(); ++i) step.operands[i] = Add(*node.operands[i]);
  if (node.kind == Expr::Kind::kConst) step.constant = NumberOf(node);
  if (node.kind == Expr::Kind::kIndex) step.operands[0] = ranks_.at(node.index.id);
  if (node.kind == Expr::Kind::kUnary) step.op = static_cast<int>(node.unary);
  if (node.kind == Expr::Kind::kBinary) step.op = static_cast<int>(node.binary);
  steps_.push_back(step);
  return numbers_[&node] = steps_.size() - 1;
}

void IndexSteps::Place(const std::vector<IndexVar>& vars, std::int64_t first, std::size_t count) {
  std::int64_t inner = 1;
  for (auto var = vars.rbegin(); var != vars.rend(); ++var) {
    Column& column = places_[ranks_.at(var->id)];
    for (std::size_t i = 0; i < count; ++i)
      column[i] = static_cast<double>((first + static_cast<std::int64_t>(i)) / inner % var->extent);
    inner *= var->extent;
  }
}

void IndexSteps::Run() {
  columns_.resize(steps_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) Do(steps_[s], columns_[s]);
}

bool IndexSteps::AllWhole() const {
  constexpr double kMost = 1LL << 53;
  return std::ranges::all_of(columns_, [](const Column& column) {
    return std::ranges::all_of(column, [](double x) { return std::abs(x) <= kMost && x == std::trunc(x); });
  });
}

void IndexSteps::Do(const Step& step, Column& made) const {
  if (step.kind == Expr::Kind::kIndex) {
    made = places_[step.operands[0]];
    return;
  }
  const Column &a = columns_[step.operands[0]], &b = columns_[step.operands[1]], &c = columns_[step.operands[2]];
  const auto each = [&](const auto& element) {
    for (std::size_t i = 0; i < kBatch; ++i) made[i] = element(a[i], b[i], c[i]);
  };
  switch (step.kind) {
    case Expr::Kind::kConst: return made.fill(step.constant);
    case Expr::Kind::kUnary:
      return each([op = static_cast<UnaryOp>(step.op)](double x, double, double) { return ValueOf(op, x); });
    case Expr::Kind::kSelect: return each([](double x, double y, double z) { return x != 0 ? y : z; });
    case Expr::Kind::kCast:
      if (step.type == ScalarType::kReal) made = a;
      if (step.type == ScalarType::kInt) each([](double x, double, double) { return std::trunc(x); });
      if (step.type == ScalarType::kBool) each([](double x, double, double) { return x != 0 ? 1.0 : 0.0; });
      return;
    case Expr::Kind::kBinary: break;
    default: return;  // none of indices alone
  }
  // Most are these.
  switch (const auto op = static_cast<BinaryOp>(step.op)) {
    case BinaryOp::kAdd: return each([](double x, double y, double) { return x + y; });
    case BinaryOp::kSub: return each([](double x, double y, double) { return x - y; });
    case BinaryOp::kMul: return each([](double x, double y, double) { return x * y; });
    case BinaryOp::kLess: return each([](double x, double y, double) { return x < y ? 1.0 : 0.0; });
    case BinaryOp::kLessEqual: return each([](double x, double y, double) { return x <= y ? 1.0 : 0.0; });
    default: return each([op](double x, double y, double) { return ValueOf(op, x, y); });
  }
}

std::string IndexSteps::Key() const {
  std::string key;
  const auto add = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const Step& step : steps_) {
    add(step.kind);
    add(step.type);
    add(step.op);
    add(step.constant);
    for (const std::size_t operand : step.operands) add(operand);
  }
  return key;
}

}  // namespace hone
