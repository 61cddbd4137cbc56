#include "dsl/shape/stored_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/dtype.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

// What is added to numbers of 8 and of 4 bits: beside it, the code adds 128, or takes 128 and 8: bf16 holds up to 256.
constexpr int kMostAddedToBytes = 128, kMostAddedToNibbles = 112;

bool OfBytes(DType type) { return type == DType::kI8 || type == DType::kU8; }
bool IsReal8(DType type) { return IsFloat(type) && Bytes(type) == 1; }

// The whole number for a byte, as its type has it, and an index.
std::optional<std::int64_t> Evaluated(const Expr& e, std::int64_t byte, int index, std::int64_t at) {
  std::vector<std::int64_t> of;
  if (e->kind == Kind::kSelect) {
    const auto holds = Evaluated(e->operands[0], byte, index, at);
    return holds ? Evaluated(e->operands[*holds != 0 ? 1 : 2], byte, index, at) : std::nullopt;
  }
  if (e->kind == Kind::kLoad) return byte;
  for (const Expr& operand : e->operands) {
    const auto value = Evaluated(operand, byte, index, at);
    if (!value) return std::nullopt;
    of.push_back(*value);
  }
  if (e->kind == Kind::kConst && e->type != ScalarType::kReal) return e->whole;
  if (e->kind == Kind::kIndex && e->index.id == index) return at;
  if (e->kind == Kind::kCast && e->type != ScalarType::kReal)
    return e->type == ScalarType::kBool ? std::int64_t{of[0] != 0} : of[0];
  if (e->kind != Kind::kBinary || e->type == ScalarType::kReal) return std::nullopt;
  const std::int64_t a = of[0], b = of[1];
  const auto floored = [&] { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };
  switch (e->binary) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kFloorDiv: return b == 0 ? std::nullopt : std::optional(floored());
    case BinaryOp::kFloorMod: return b == 0 ? std::nullopt : std::optional(a - b * floored());
    case BinaryOp::kMin: return std::min(a, b);
    case BinaryOp::kMax: return std::max(a, b);
    case BinaryOp::kAnd: return a & b;
    case BinaryOp::kOr: return a | b;
    case BinaryOp::kXor: return a ^ b;
    case BinaryOp::kLess: return a < b;
    case BinaryOp::kLessEqual: return a <= b;
    case BinaryOp::kEqual: return a == b;
    case BinaryOp::kNotEqual: return a != b;
    default: return std::nullopt;
  }
}

class Reader {
 public:
  explicit Reader(const Kernel& kernel) : kernel_(kernel) {}

  std::variant<StoredWeights, std::string> Read() {
    if (kernel_.attributes.contains("sequence")) return "it is a step of a sequence";
    made_.element = MakeFlat(kernel_, {});
    if (!TakeFold()) return "it is no sum of products, or several";
    const auto& indices = made_.element.indices;
    if (indices.empty() || indices.size() > 2) return "its result is no matrix";
    made_.n = indices.back();
    if (indices.size() == 2) made_.m = indices[0];
    made_.k = 1;
    for (const IndexVar& over : fold_->over) made_.k *= over.extent;
    if (auto why = ReadX()) return *why;
    if (auto why = ReadNumbers()) return *why;
    if (auto why = ReadSteps(weight_)) return *why;
    std::reverse(made_.steps.begin(), made_.steps.end());
    // A whole number that is added first is the code's.
    while (!made_.is_real && !made_.steps.empty() && made_.steps[0].op != BinaryOp::kMul && !made_.steps[0].reversed &&
           std::holds_alternative<double>(made_.steps[0].other)) {
      const int number = static_cast<int>(std::get<double>(made_.steps[0].other));
      for (int& more : made_.more) more += made_.steps[0].op == BinaryOp::kAdd ? number : -number;
      made_.steps.erase(made_.steps.begin());
    }
    if (std::max(std::abs(made_.more[0]), std::abs(made_.more[1])) >
        (made_.bits == 8 ? kMostAddedToBytes : kMostAddedToNibbles))
      return "halves do not hold its numbers";
    return made_;
  }

 private:
  bool TakeFold() {
    int folds = 0;
    const std::function<Expr(const Expr&)> replaced = [&](const Expr& e) -> Expr {
      if (e->kind == Kind::kReduce) {
        folds += fold_.get() == e.get() ? 0 : 1;
        fold_ = e;
        return Value(kIt, e->type);
      }
      std::vector<Expr> operands;
      for (const Expr& operand : e->operands) operands.push_back(replaced(operand));
      return operands.empty() ? e : WithOperands(e, std::move(operands));
    };
    made_.element.value = replaced(made_.element.value);
    return folds == 1 && fold_->reduce == ReduceOp::kSum && !HasReduce(fold_->operands[0]) &&
           IsBinary(fold_->operands[0], BinaryOp::kMul);
  }

  DType TypeOf(const ExprNode& load) const { return kernel_.operand_types[static_cast<std::size_t>(load.buffer)]; }
  bool IsBytes(const ExprNode& node) const {
    return node.kind == Kind::kLoad && (OfBytes(TypeOf(node)) || IsReal8(TypeOf(node)));
  }

  // Where a load lies, of `row`'s rows; nothing if it reads by anything else.
  std::optional<PlaceAlongK> Place(const ExprNode& load, const std::optional<IndexVar>& row) const {
    if (load.operands.size() != 1 || load.may_miss) return std::nullopt;
    const LinearForm form = LinearOf(load.operands[0]);
    if (!form.rest.empty()) return std::nullopt;
    PlaceAlongK place{.operand = load.buffer,
                      .offset = form.sum.constant,
                      .of_row = row ? form.sum.of(row->id) : 0,
                      .step = 0,
                      .of_k = 1};
    for (const IndexVar& index : made_.element.indices) {
      if ((!row || index.id != row->id) && form.sum.of(index.id) != 0) return std::nullopt;
    }
    // From the innermost: what it does not vary with, then one step for the next, so many times that for each further.
    std::int64_t dense = 0;
    for (std::size_t d = fold_->over.size(); d-- > 0;) {
      const std::int64_t stride = form.sum.of(fold_->over[d].id);
      if (dense == 0 && stride == 0) {
        place.of_k *= fold_->over[d].extent;
        continue;
      }
      if (dense == 0) {
        place.step = stride;
        dense = stride;
      } else if (stride != dense) {
        return std::nullopt;
      }
      dense *= fold_->over[d].extent;
    }
    return place;
  }

  // The body without its one factor that is x.
  std::optional<std::string> ReadX() {
    const Expr& body = fold_->operands[0];
    for (const int side : {0, 1}) {
      const Expr& x = body->operands[static_cast<std::size_t>(side)];
      if (x->kind != Kind::kLoad || !IsHalf(TypeOf(*x))) continue;
      const auto place = Place(*x, made_.m);
      if (!place || place->step != 1 || place->of_k != 1 || (made_.m && place->of_row == 0)) continue;
      made_.x = *place;
      weight_ = body->operands[static_cast<std::size_t>(1 - side)];
      return std::nullopt;
    }
    return "no factor is rows of f16, or of bf16, that lie along what is summed";
  }

  static bool IsAcross(const PlaceAlongK& place) { return place.step != 1; }
  // Where a load lies if it may be the numbers, which belong to one element of K each, or to both of a byte.
  std::optional<PlaceAlongK> NumbersPlace(const ExprNode& node) const {
    if (!IsBytes(node)) return std::nullopt;
    const auto place = Place(node, made_.n);
    if (!place || place->of_row == 0 || place->step == 0) return std::nullopt;
    const bool may_be_halves = !IsAcross(*place) && OfBytes(TypeOf(node));
    if (place->of_k > (may_be_halves ? 2 : 1) || (IsAcross(*place) && place->of_row != 1)) return std::nullopt;
    return place;
  }

  // The number in the weight, as a real: where its bytes are and what their bits say.
  std::optional<std::string> ReadNumbers() {
    int loads = 0;
    Visit(weight_, [&](const ExprNode& node) {
      const auto place = NumbersPlace(node);
      if (!place) return;
      bytes_ = &node;
      made_.bytes = *place;
      ++loads;
    });
    if (loads == 0) return "no factor is numbers of 8 or 4 bits that lie along what is summed, or across it";
    if (loads > 1 && !SameLoads()) return "several operands lie along what is summed";
    made_.bits = made_.bytes.of_k == 2 ? 4 : 8;
    made_.across = IsAcross(made_.bytes);
    made_.is_real = IsReal8(TypeOf(*bytes_));
    return std::nullopt;
  }
  bool SameLoads() const {
    bool same = true;
    Visit(weight_, [&](const ExprNode& node) {
      if (const auto place = NumbersPlace(node))
        same &= place->operand == made_.bytes.operand && place->offset == made_.bytes.offset;
    });
    return same;
  }
  bool HasNumber(const Expr& e) const {
    bool has = false;
    Visit(e, [&](const ExprNode& node) {
      has |= IsBytes(node) && node.buffer == bytes_->buffer && SameExpr(node.operands[0], bytes_->operands[0]);
    });
    return has;
  }

  // From outside in: what is done to the number last comes first.
  std::optional<std::string> ReadSteps(const Expr& e) {
    if (made_.is_real && e->kind == Kind::kLoad && HasNumber(e)) return std::nullopt;
    const bool converts = e->kind == Kind::kCast && e->type == ScalarType::kReal;
    if (converts && ReadCode(e->operands[0])) return std::nullopt;
    const Expr& inner = converts ? e->operands[0] : e;
    constexpr std::string_view kWhy = "what is done to its numbers is more than to add and to multiply";
    if (inner->kind != Kind::kBinary || (inner->binary != BinaryOp::kAdd && inner->binary != BinaryOp::kSub &&
                                         (inner->binary != BinaryOp::kMul || converts)))
      return std::string(kWhy);
    const bool first = HasNumber(inner->operands[0]);
    if (first == HasNumber(inner->operands[1])) return std::string(kWhy);
    StoredWeights::Step step{.op = inner->binary, .reversed = !first, .other = 0.0};
    Expr other = inner->operands[first ? 1 : 0];
    if (const auto number = ConstantNumber(other)) {
      if (*number != static_cast<double>(static_cast<int>(*number)) || *number > 256 || *number < -256)
        return fmt::format("halves do not hold {}", *number);
      step.other = *number;
    } else {
      if (other->kind == Kind::kCast) other = other->operands[0];
      const bool holds = other->kind == Kind::kLoad &&
                         (OfBytes(TypeOf(*other)) ||
                          TypeOf(*other) == kernel_.operand_types[static_cast<std::size_t>(made_.x.operand)]);
      const auto place = holds ? Place(*other, made_.n) : std::nullopt;
      if (!place) return "a scale, or a zero, is no element of as many bits as x has, or varies with its rows";
      step.other = *place;
    }
    made_.steps.push_back(step);
    Expr number = inner->operands[first ? 0 : 1];
    return ReadSteps(converts ? Cast(number, ScalarType::kReal) : number);
  }

  // Whether the whole number is a byte, or half of one, but for its sign and a number that is added.
  bool ReadCode(const Expr& whole) {
    if (made_.is_real || !HasNumber(whole)) return false;
    int others = 0;
    Visit(whole, [&](const ExprNode& node) {
      others += node.kind == Kind::kLoad && (!IsBytes(node) || node.buffer != bytes_->buffer) ? 1 : 0;
    });
    if (others > 0) return false;
    const bool i8 = TypeOf(*bytes_) == DType::kI8;
    const int parts = made_.bits == 4 ? 2 : 1, half = fold_->over.back().id;
    if (parts == 2 && fold_->over.back().extent != 2) return false;
    const auto fits = [&](int part, bool high, bool is_signed) {
      std::optional<std::int64_t> more;
      for (int byte = 0; byte < 256; ++byte) {
        const auto value = Evaluated(whole, i8 && byte >= 128 ? byte - 256 : byte, parts == 2 ? half : -1, part);
        const int bits = parts == 1 ? byte : high ? byte / 16 : byte % 16, top = parts == 1 ? 128 : 8;
        const int plain = is_signed && bits >= top ? bits - 2 * top : bits;
        if (!value || (more && *value - plain != *more)) return false;
        more = *value - plain;
      }
      made_.is_signed[static_cast<std::size_t>(part)] = is_signed;
      made_.more[static_cast<std::size_t>(part)] = static_cast<int>(*more);
      return true;
    };
    for (const bool high_first : {false, true}) {
      bool all = true;
      for (int part = 0; part < parts; ++part)
        all = all && (fits(part, high_first != (part == 1), false) || fits(part, high_first != (part == 1), true));
      made_.high_first = high_first;
      if (all) return true;
    }
    return false;
  }

  const Kernel& kernel_;
  StoredWeights made_;
  Expr fold_, weight_;
  const ExprNode* bytes_ = nullptr;
};

}  // namespace

std::variant<StoredWeights, std::string> StoredWeightsOf(const Kernel& kernel) { return Reader(kernel).Read(); }

}  // namespace hone::dsl
