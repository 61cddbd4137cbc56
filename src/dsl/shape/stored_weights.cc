#include "dsl/shape/stored_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/dtype.h"
#include "dsl/shape/stored_bits.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

// What is added to numbers of 8 and of 4 bits: beside it, the code adds 128, or takes 128 and 8: bf16 holds up to 256.
constexpr int kMostAddedToBytes = 128, kMostAddedToNibbles = 112;

// What is added to a power of two: beyond that no f32 holds it, whatever byte it is.
constexpr int kMostPower = 512;

// How much higher zeros may be than numbers: the code has both in what it takes away, behind the exponent of 128.
constexpr int kMostOfZeros = 96;

bool OfBytes(DType type) { return type == DType::kI8 || type == DType::kU8; }
bool OfWords(DType type) { return type == DType::kI32; }
bool IsReal8(DType type) { return IsFloat(type) && Bytes(type) == 1; }

class Reader {
 public:
  explicit Reader(const Kernel& kernel) : kernel_(kernel) {}

  std::variant<StoredWeights, std::string> Read() {
    if (kernel_.attributes.contains("sequence")) return "it is a step of a sequence";
    made_.element = MakeFlat(kernel_, {});
    if (!TakeFold()) return "it is no sum of products, or several";
    if (made_.element.indices.empty()) return "its result is no matrix";
    made_.k = 1;
    for (const IndexVar& over : fold_->over) made_.k *= over.extent;
    if (auto why = ReadX()) return *why;
    for (const IndexVar& index : made_.n) made_.columns *= index.extent;
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
    if (made_.zeros) {
      made_.zeros->more -= made_.more[0];
      made_.more = {};
      if (made_.zeros->more < 0 || made_.zeros->more > kMostOfZeros)
        return fmt::format("its zeros are {} higher than their bits say, 0 to {} are possible", made_.zeros->more,
                           kMostOfZeros);
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
    return node.kind == Kind::kLoad && (OfBytes(TypeOf(node)) || OfWords(TypeOf(node)) || IsReal8(TypeOf(node)));
  }

  // From the innermost: what a place does not vary with, so many of them, then one step for the next, so many times
  // that for each further.
  struct Steps {
    std::int64_t of = 1, step = 0;
  };
  static std::optional<Steps> StepsOf(const LinearForm& form, const std::vector<IndexVar>& indices) {
    Steps steps;
    std::int64_t dense = 0;
    for (std::size_t d = indices.size(); d-- > 0;) {
      const std::int64_t stride = form.sum.of(indices[d].id);
      if (dense == 0 && stride == 0) {
        steps.of *= indices[d].extent;
        continue;
      }
      if (dense == 0) {
        steps.step = stride;
        dense = stride;
      } else if (stride != dense) {
        return std::nullopt;
      }
      dense *= indices[d].extent;
    }
    return steps;
  }

  // Where a load lies, of so many rows; nothing if it reads by anything else.
  std::optional<PlaceAlongK> Place(const ExprNode& load, const std::vector<IndexVar>& rows) const {
    if (load.operands.size() != 1 || load.may_miss) return std::nullopt;
    const LinearForm form = LinearOf(load.operands[0]);
    if (!form.rest.empty()) return std::nullopt;
    const auto of_rows = StepsOf(form, rows), of_k = StepsOf(form, fold_->over);
    if (!of_rows || !of_k) return std::nullopt;
    for (const IndexVar& index : made_.element.indices) {
      const bool is_row =
          std::any_of(rows.begin(), rows.end(), [&](const IndexVar& row) { return row.id == index.id; });
      if (!is_row && form.sum.of(index.id) != 0) return std::nullopt;
    }
    return PlaceAlongK{.operand = load.buffer,
                       .offset = form.sum.constant,
                       .of_row = of_rows->step,
                       .of_rows = of_rows->of,
                       .step = of_k->step,
                       .of_k = of_k->of};
  }

  // The body without its one factor that is x.
  std::optional<std::string> ReadX() {
    const Expr& body = fold_->operands[0];
    for (const int side : {0, 1}) {
      const Expr& x = body->operands[static_cast<std::size_t>(side)];
      if (x->kind != Kind::kLoad || !IsHalf(TypeOf(*x))) continue;
      const auto& indices = made_.element.indices;
      const auto place = Place(*x, {indices[0]});
      if (!place || place->step != 1 || place->of_k != 1) continue;
      made_.x = *place;
      if (place->of_row != 0) made_.m = indices[0];
      made_.n.assign(indices.begin() + (made_.m ? 1 : 0), indices.end());
      if (made_.n.empty()) return "its result is no matrix";
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
    if (!place || place->of_row == 0 || place->step == 0 || (IsAcross(*place) && place->of_row != 1))
      return std::nullopt;
    if (OfWords(TypeOf(node))) {
      const bool along = place->of_k == 8 && place->of_rows == 1;
      const bool columns = IsAcross(*place) && place->of_k == 1 && place->of_rows == 8;
      return along || columns ? place : std::nullopt;
    }
    const bool may_be_halves = !IsAcross(*place) && OfBytes(TypeOf(node));
    return place->of_k <= (may_be_halves ? 2 : 1) && place->of_rows == 1 ? place : std::nullopt;
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
    made_.bits = made_.bytes.of_k == 2 || OfWords(TypeOf(*bytes_)) ? 4 : 8;
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
    Visit(e, [&](const ExprNode& node) { has |= IsNumber(node); });
    return has;
  }
  bool IsNumber(const ExprNode& node) const {
    return node.kind == Kind::kLoad && node.buffer == bytes_->buffer && SameExpr(node.operands[0], bytes_->operands[0]);
  }

  // From outside in: what is done to the number last comes first.
  std::optional<std::string> ReadSteps(const Expr& e) {
    if (made_.is_real && e->kind == Kind::kLoad && HasNumber(e)) return std::nullopt;
    if (ReadTable(e)) return std::nullopt;
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
    } else if (ReadZeros(inner->binary, first, other)) {
      return ReadSteps(Cast(inner->operands[0], ScalarType::kReal));
    } else if (const auto power = PowerOfByte(other)) {
      step.other = power->first;
      step.power = power->second;
    } else {
      if (other->kind == Kind::kCast) other = other->operands[0];
      const bool holds = other->kind == Kind::kLoad &&
                         (OfBytes(TypeOf(*other)) || TypeOf(*other) == DType::kF32 ||
                          TypeOf(*other) == kernel_.operand_types[static_cast<std::size_t>(made_.x.operand)]);
      const auto place = holds ? Place(*other, made_.n) : std::nullopt;
      if (!place)
        return "a scale, or a zero, is no element of f32 or of as many bits as x has, or varies with its rows";
      step.other = *place;
    }
    if (made_.zeros) return "zeros of words are not what is taken from its numbers first";
    made_.steps.push_back(step);
    Expr number = inner->operands[first ? 0 : 1];
    return ReadSteps(converts ? Cast(number, ScalarType::kReal) : number);
  }

  // Where the byte lies that two is raised to the power of, but for a number that is added.
  std::optional<std::pair<PlaceAlongK, int>> PowerOfByte(const Expr& e) const {
    if (!IsBinary(e, BinaryOp::kPow) || ConstantNumber(e->operands[0]) != 2.0) return std::nullopt;
    int more = 0;
    Expr power = e->operands[1];
    for (;; power = power->operands[0]) {
      if (power->kind == Kind::kCast && power->operands[0]->type != ScalarType::kReal) continue;
      const bool adds = IsBinary(power, BinaryOp::kAdd) || IsBinary(power, BinaryOp::kSub);
      const auto number = adds ? ConstantNumber(power->operands[1]) : std::nullopt;
      if (!number || std::abs(*number) > kMostPower || *number != static_cast<int>(*number)) break;
      more += static_cast<int>(power->binary == BinaryOp::kAdd ? *number : -*number);
    }
    const bool byte = power->kind == Kind::kLoad && OfBytes(TypeOf(*power));
    const auto place = byte ? Place(*power, made_.n) : std::nullopt;
    return place ? std::optional(std::pair(*place, more)) : std::nullopt;
  }

  // An element of a table, and where in it that is, also where the number's place in its byte chooses between two.
  std::optional<std::pair<const ExprNode*, Expr>> InTable(const Expr& e) const {
    if (e->kind == Kind::kLoad && e->operands.size() == 1) return std::pair(e.get(), e->operands[0]);
    if (e->kind != Kind::kSelect || e->type != ScalarType::kReal) return std::nullopt;
    const auto then = InTable(e->operands[1]), otherwise = InTable(e->operands[2]);
    if (!then || !otherwise || then->first->buffer != otherwise->first->buffer) return std::nullopt;
    return std::pair(then->first, Select(e->operands[0], then->second, otherwise->second));
  }
  // Whether it is an element of a table of 16 that the number alone chooses.
  bool ReadTable(const Expr& e) {
    if (made_.is_real || made_.bits != 4 || OfWords(TypeOf(*bytes_)) || e->type != ScalarType::kReal) return false;
    const auto place = InTable(e);
    if (!place || !HasNumber(place->second)) return false;
    const DType type = TypeOf(*place->first);
    if (type != DType::kF32 && type != kernel_.operand_types[static_cast<std::size_t>(made_.x.operand)]) return false;
    const KernelOperand& table = kernel_.operands[static_cast<std::size_t>(place->first->buffer)];
    if (table.extents != Shape{16} || table.offset != 0 || table.strides[0] != 1 || !ReadCode(place->second))
      return false;
    if (made_.more != std::array<int, 2>{} || made_.is_signed != std::array<bool, 2>{}) return false;
    made_.table = place->first->buffer;
    return true;
  }

  // Of each of eight neighbours, along what is summed or columns, which four bits of the word are the whole number's,
  // but for a number that is added.
  struct Nibbles {
    NibblesOfWord of_words = {};
    int more = 0;
  };
  static std::optional<Nibbles> NibblesOf(Expr whole, const std::vector<IndexVar>& indices) {
    Nibbles made;
    for (;;) {
      if (whole->kind == Kind::kCast && whole->type == ScalarType::kInt) {
        whole = whole->operands[0];
        continue;
      }
      const bool adds = IsBinary(whole, BinaryOp::kAdd) || IsBinary(whole, BinaryOp::kSub);
      const auto number = adds ? ConstantNumber(whole->operands[1]) : std::nullopt;
      if (!number) break;
      made.more += static_cast<int>(whole->binary == BinaryOp::kAdd ? *number : -*number);
      whole = whole->operands[0];
    }
    const auto first = FirstOfEight(indices);
    if (!first) return std::nullopt;
    for (int neighbour = 0; neighbour < 8; ++neighbour) {
      Fixed fixed;
      std::int64_t left = neighbour;
      for (std::size_t d = indices.size(); d-- > *first; left /= indices[d].extent)
        fixed[indices[d].id] = left % indices[d].extent;
      const auto bits = BitsOf(whole, fixed);
      const auto nibble = bits ? bits->Nibble() : std::nullopt;
      if (!nibble) return std::nullopt;
      made.of_words[static_cast<std::size_t>(neighbour)] = *nibble;
    }
    return made;
  }
  // From which index on they are eight.
  static std::optional<std::size_t> FirstOfEight(const std::vector<IndexVar>& indices) {
    std::int64_t of = 1;
    std::size_t first = indices.size();
    while (of < 8 && first > 0) of *= indices[--first].extent;
    return of == 8 ? std::optional(first) : std::nullopt;
  }

  // Whether that is taken away of the numbers of words, and is eight in a word as well, each for its column.
  bool ReadZeros(BinaryOp op, bool numbers_first, Expr whole) {
    if (whole->kind == Kind::kCast) whole = whole->operands[0];
    if (made_.zeros || op != BinaryOp::kSub || !numbers_first || !OfWords(TypeOf(*bytes_))) return false;
    const ExprNode* load = nullptr;
    bool one = true;
    Visit(whole, [&](const ExprNode& node) {
      if (node.kind != Kind::kLoad) return;
      one &= OfWords(TypeOf(node)) &&
             (load == nullptr || (load->buffer == node.buffer && SameExpr(load->operands[0], node.operands[0])));
      load = &node;
    });
    if (load == nullptr || !one) return false;
    const auto place = Place(*load, made_.n);
    const auto nibbles = NibblesOf(whole, made_.n);
    if (!place || place->of_rows != 8 || !nibbles) return false;
    made_.zeros = {.words = *place, .of_words = nibbles->of_words, .more = nibbles->more};
    return true;
  }

  // Whether the whole number is a byte, or half of one, but for its sign and a number that is added.
  bool ReadCode(const Expr& whole) {
    if (made_.is_real || !HasNumber(whole)) return false;
    int others = 0;
    Visit(whole, [&](const ExprNode& node) { others += node.kind == Kind::kLoad && !IsNumber(node) ? 1 : 0; });
    if (others > 0) return false;
    if (OfWords(TypeOf(*bytes_))) {
      const auto nibbles = NibblesOf(whole, made_.bytes.of_k == 8 ? fold_->over : made_.n);
      if (!nibbles || (made_.bytes.of_k == 8 && nibbles->of_words != kNibblesInOrder)) return false;
      made_.of_words = nibbles->of_words;
      made_.more = {nibbles->more, nibbles->more};
      return true;
    }
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
