#include "dsl/shape/updated_places.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "expr/affine.h"
#include "expr/fold.h"
#include "expr/keyed_fold.h"

namespace hone::dsl {
namespace {

bool ReadsTarget(const Kernel& kernel, const Expr& value) {
  return value->kind == Expr::Kind::kLoad &&
         kernel.operands[static_cast<std::size_t>(value->buffer)].buffer == kernel.target;
}

// Conditions on the indices of a nest, taken apart into the places that each index has.
class Narrowed {
 public:
  Narrowed(const Kernel& kernel, const Expr& condition) {
    for (const IndexVar& index : kernel.space) places_.push_back({index, 0, index.extent, {}, {}});
    for (const Expr& one : Conjuncts(condition)) {
      if (!Narrow(one) && !NarrowToOne(one) && !NarrowToKeys(one)) rest_.push_back(one);
    }
    for (const Place& place : places_) {
      const std::int64_t extent = place.at ? 1 : std::max<std::int64_t>(place.end - place.begin, 0);
      space_.push_back(place.of_keys.value_or(IndexVar{place.index.id, extent}));
      if (place.at) {
        known_[place.index.id] = place.at;
        rest_.push_back(LessEqual(Expr(place.begin), place.at));
        rest_.push_back(Less(place.at, Expr(place.end)));
      } else if (place.begin > 0) {
        known_[place.index.id] = Expr(space_.back()) + Expr(place.begin);
      } else {
        known_[place.index.id] = space_.back();
      }
    }
  }

  const std::vector<IndexVar>& space() const { return space_; }
  Expr At(const Expr& e) const {
    return Substitute(last_ ? WithLast(e) : e, [&](const IndexVar& index) {
      const auto found = known_.find(index.id);
      return found == known_.end() ? Expr() : found->second;
    });
  }
  // What is left to be asked at a place; null: nothing.
  Expr Condition() const {
    Expr all;
    for (const Expr& one : rest_) {
      const Expr at = At(one);
      if (IsConst(at) && at->whole != 0) continue;
      all = all ? And(all, at) : at;
    }
    return all;
  }

 private:
  struct Place {
    IndexVar index;
    std::int64_t begin, end;
    Expr at;                          // the one place, if there is one
    std::optional<IndexVar> of_keys;  // which of several places it is
  };

  // index >= a, index < b, of numbers.
  bool Narrow(const Expr& e) {
    const bool turned = IsUnary(e, UnaryOp::kNot);
    const Expr& one = turned ? e->operands[0] : e;
    const bool less = IsBinary(one, BinaryOp::kLess);
    if ((!less && !IsBinary(one, BinaryOp::kLessEqual)) || one->operands[0]->type != ScalarType::kInt) return false;
    const auto a = AffineOf(one->operands[0]), b = AffineOf(one->operands[1]);
    if (!a || !b) return false;
    // 0 <= more
    Affine more = turned ? Combine(*a, *b, -1) : Combine(*b, *a, -1);
    if (less != turned) more.constant -= 1;
    if (more.coefficient.size() != 1) return false;
    const auto [id, step] = *more.coefficient.begin();
    Place* place = Find(id);
    if (place == nullptr || (step != 1 && step != -1)) return false;
    if (step == 1)
      place->begin = std::max(place->begin, -more.constant);
    else
      place->end = std::min(place->end, more.constant + 1);
    return true;
  }

  // index == e, where e hangs on other indices and on data alone.
  bool NarrowToOne(const Expr& e) {
    if (!IsBinary(e, BinaryOp::kEqual) || e->operands[0]->type != ScalarType::kInt ||
        e->operands[1]->type != ScalarType::kInt)
      return false;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const LinearForm form = LinearOf(e->operands[side]);
      for (const auto& [id, step] : form.sum.coefficient) {
        Place* place = Find(id);
        if (place == nullptr || place->at || (step != 1 && step != -1)) continue;
        const Expr other = e->operands[side] - Expr(place->index) * Expr(step);
        const Expr& across = e->operands[1 - side];
        Expr at = step == 1 ? across - other : other - across;
        const Expr own =
            Substitute(at, [&](const IndexVar& index) { return index.id == id ? Expr(std::int64_t{0}) : Expr(); });
        // What is left of the index cancels where the form says that it stands in the sum alone.
        bool alone = !UsesIndex(across, id);
        for (const auto& [part, times] : form.rest) alone = alone && !UsesIndex(part, id);
        for (const Place& known : places_) {
          alone = alone && !(known.at && (UsesIndex(own, known.index.id) || UsesIndex(known.at, id)));
        }
        if (!alone) continue;
        place->at = own;
        return true;
      }
    }
    return false;
  }

  // 0 <= last, which is the last of some keys that is the index: each of them is a place, if it is the last of its own.
  bool NarrowToKeys(const Expr& e) {
    if (last_ || !IsBinary(e, BinaryOp::kLessEqual) || ConstantNumber(e->operands[0]) != 0 ||
        e->operands[1]->kind != Expr::Kind::kReduce)
      return false;
    const auto keyed = KeyedFoldOf(*e->operands[1]);
    const bool numbers = keyed && keyed->op == ReduceOp::kMax && keyed->over.size() == 1 &&
                         SameExpr(keyed->term, Expr(keyed->over[0])) && ConstantNumber(keyed->neutral).value_or(0) < 0;
    Place* place = numbers ? Find(keyed->index.id) : nullptr;
    if (place == nullptr || place->at || place->begin > 0 || place->end < place->index.extent) return false;
    const IndexVar which = NewIndex(keyed->over[0].extent);
    place->at = Substitute(keyed->key,
                           [&](const IndexVar& index) { return index.id == keyed->over[0].id ? Expr(which) : Expr(); });
    place->of_keys = which;
    last_ = e->operands[1];
    which_ = which;
    rest_.push_back(Equal(
        Substitute(last_, [&](const IndexVar& index) { return index.id == place->index.id ? place->at : Expr(); }),
        which));
    return true;
  }

  Expr WithLast(const Expr& e) const {
    return with_last_.Do(e, [&](const Expr& one) -> Expr {
      if (SameExpr(one, last_)) return which_;
      std::vector<Expr> operands;
      for (const Expr& operand : one->operands) operands.push_back(WithLast(operand));
      return WithOperands(one, std::move(operands));
    });
  }

  Place* Find(int id) {
    const auto found = std::ranges::find_if(places_, [&](const Place& place) { return place.index.id == id; });
    return found == places_.end() ? nullptr : &*found;
  }

  std::vector<Place> places_;
  std::vector<Expr> rest_;
  std::vector<IndexVar> space_;
  std::map<int, Expr> known_;
  Expr last_;  // the number of the last key of a place, if it is of keys
  Expr which_;
  mutable ExprMemo with_last_;
};

}  // namespace

std::optional<UpdatedPlaces> UpdatedPlacesOf(const Kernel& kernel) {
  const Expr& value = kernel.epilogue;
  if (kernel.attributes.contains("sequence") || !kernel.also.empty() || value->kind != Expr::Kind::kSelect)
    return std::nullopt;
  const bool otherwise = ReadsTarget(kernel, value->operands[2]);
  if (!otherwise && !ReadsTarget(kernel, value->operands[1])) return std::nullopt;
  const Expr condition = otherwise ? value->operands[0] : Apply(UnaryOp::kNot, value->operands[0]);
  const Expr &made = value->operands[otherwise ? 1 : 2], &kept = value->operands[otherwise ? 2 : 1];
  const Narrowed narrowed(kernel, condition);
  UpdatedPlaces places{.kernel = kernel, .element = {}, .condition = {}, .address = {}};
  places.kernel.space = narrowed.space();
  // What is left alone stays in the element while it is made flat, so that indices merge only where the target's places
  // do.
  const Expr asked = narrowed.Condition(), always = Value(kIt, ScalarType::kBool);
  if (asked && IsConst(asked)) {  // nowhere
    if (kernel.space.empty()) return std::nullopt;
    places.kernel.space[0].extent = 0;
    places.element = {.value = made, .indices = {places.kernel.space[0]}};
    places.address = Expr(std::int64_t{0});
    return places;
  }
  places.kernel.epilogue = Select(asked ? And(always, asked) : always, narrowed.At(made), narrowed.At(kept));
  places.element = MakeFlat(places.kernel, {});
  const Expr flat = places.element.value;
  places.element.value = flat->operands[1];
  places.address = flat->operands[2]->operands[0];
  for (const Expr& one : Conjuncts(flat->operands[0])) {
    if (IsValue(one, kIt)) continue;
    places.condition = places.condition ? And(places.condition, one) : one;
  }
  return places;
}

std::optional<std::string> WhyNoUpdatedPlaces(const Kernel& kernel) {
  if (UpdatedPlacesOf(kernel)) return std::nullopt;
  return "only a nest that updates an input has places that it leaves alone: select(CONDITION, VALUE, INPUT[i, j])";
}

bool ReplacesOperand(const Kernel& kernel) {
  return std::ranges::any_of(kernel.operands,
                             [&](const KernelOperand& operand) { return operand.buffer == kernel.target; });
}

bool ReadsWhatItReplaces(const Kernel& kernel) {
  const std::vector<int> targets = TargetsOf(kernel);
  return targets.size() > 1 && std::ranges::any_of(kernel.operands, [&](const KernelOperand& operand) {
           return std::ranges::find(targets, operand.buffer) != targets.end();
         });
}

double BytesLeftAlone(const KernelProgram&, const Kernel& kernel) {
  const UpdatedPlaces places = *UpdatedPlacesOf(kernel);
  const auto all = static_cast<double>(ElementCount(kernel.result)),
             written = static_cast<double>(PointsOf(places.element.indices));
  return -(2 * all - written) * static_cast<double>(Bytes(kernel.target_type));
}

}  // namespace hone::dsl
