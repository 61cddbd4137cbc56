#include "propose/expert/held_rows.h"

#include <algorithm>

#include "dsl/cuda/attention_held.h"

namespace hone::expert {
namespace {

bool IsOfEight(const Memory& memory, const Expr& load) {
  return dsl::IsHeldInEightBits(memory.graph().buffers()[static_cast<std::size_t>(memory.Root(load->buffer))].dtype);
}

// Whether it is made of products and quotients alone; counts the loads of 8 bits, of which none is divided by.
bool IsScaledLoad(const Memory& memory, const Expr& e, int* eights) {
  if (IsBinary(e, BinaryOp::kMul))
    return IsScaledLoad(memory, e->operands[0], eights) && IsScaledLoad(memory, e->operands[1], eights);
  if (IsBinary(e, BinaryOp::kDiv)) {
    const int before = *eights;
    return IsScaledLoad(memory, e->operands[1], eights) && *eights == before &&
           IsScaledLoad(memory, e->operands[0], eights);
  }
  if (e->kind == Expr::Kind::kCast) return IsScaledLoad(memory, e->operands[0], eights);
  if (e->kind == Expr::Kind::kLoad) *eights += IsOfEight(memory, e) ? 1 : 0;
  return e->kind == Expr::Kind::kLoad || e->kind == Expr::Kind::kConst;
}

}  // namespace

bool ScalesEightBits(const Memory& memory, const Piece& map) {
  int eights = 0;
  return map.is_map() && map.inside.empty() && map.also.empty() && map.value->type == ScalarType::kReal &&
         IsScaledLoad(memory, map.value, &eights) && eights == 1;
}

std::optional<Expr> HeldElement(const Memory& memory, const std::vector<Piece>& maps, const FlatLoad& load,
                                const std::vector<IndexVar>& vars) {
  const auto map = std::ranges::find(maps, load.buffer, &Piece::buffer);
  if (map == maps.end() || !load.position || !ScalesEightBits(memory, *map)) return std::nullopt;
  return ElementAt(memory, *map, *load.position, vars);
}

std::optional<dsl::TermPtr> HeldOperand(Names& names, const std::vector<Piece>& maps, const FlatLoad& load,
                                        const std::vector<IndexVar>& space, const IndexVar& query) {
  std::vector<IndexVar> vars = space;
  vars.push_back(query);
  const auto element = HeldElement(names.memory(), maps, load, vars);
  return element && !UsesIndex(*element, query.id) ? names.Term(*element, space, {}) : std::nullopt;
}

std::optional<dsl::TermPtr> TimesOfWeights(Names& names, const Expr& times, std::vector<IndexVar> space, IndexVar key,
                                           const FlatLoad& v, const dsl::TermPtr& values) {
  const auto varies = [&](const IndexVar& var) { return v.position->of(var) == 0 && UsesIndex(times, var.id); };
  if (std::ranges::any_of(space, varies)) return std::nullopt;
  space[space.size() - 2] = key;
  const auto term = names.Term(times, space, {});
  return term ? std::optional(dsl::Call("*", {values, *term})) : std::nullopt;
}

}  // namespace hone::expert
