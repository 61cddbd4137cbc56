#include "dsl/cuda/nest_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/nest_element.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kGroupBytes = 16;
constexpr std::size_t kMostNodes = 64;  // of an element, which is written out for each of a group

// The element of a group that is `e`-th in it, the index before the innermost being which group.
Expr OneOfGroup(const FlatElement& element, std::int64_t count, std::int64_t e) {
  const IndexVar inner = element.indices.back(), outer = element.indices[element.indices.size() - 2];
  const std::int64_t rows = count / inner.extent;
  return Substitute(element.value, [&](const IndexVar& index) -> Expr {
    if (index.id == inner.id) return Expr(e % inner.extent);
    if (index.id == outer.id) return Expr(IndexVar{outer.id, outer.extent / rows}) * rows + e / inner.extent;
    return Expr(index);
  });
}

// Where a load lies in a pack of `size`, and the pack in memory.
struct InPack {
  std::int64_t size = 1, at = 0;
  LinearForm pack;
};

// Nothing where it has to be read alone.
std::optional<InPack> InPackOf(const Kernel& kernel, const ExprNode& load) {
  if (load.kind != Expr::Kind::kLoad || load.operands.size() != 1 || load.may_miss) return std::nullopt;
  InPack made{.pack = LinearOf(load.operands[0])};
  const auto bytes = static_cast<std::int64_t>(Bytes(kernel.operand_types[static_cast<std::size_t>(load.buffer)]));
  for (made.size = kGroupBytes / bytes; made.size > 1; made.size /= 2) {
    const auto whole = [&](std::int64_t times) { return times % made.size == 0; };
    if (std::ranges::all_of(made.pack.sum.coefficient, [&](const auto& term) { return whole(term.second); }) &&
        std::ranges::all_of(made.pack.rest, [&](const auto& term) { return whole(term.second); }))
      break;
  }
  if (made.size <= 1 || made.pack.sum.constant < 0) return std::nullopt;
  made.at = made.pack.sum.constant % made.size;
  made.pack.sum.constant -= made.at;
  return made;
}

}  // namespace

std::int64_t GroupOf(const Kernel& kernel, const FlatElement& element) {
  if (element.indices.size() < 2) return 1;
  const IndexVar &inner = element.indices.back(), &outer = element.indices[element.indices.size() - 2];
  const std::int64_t count = kGroupBytes / static_cast<std::int64_t>(Bytes(kernel.target_type));
  if (!RunsFastest(kernel, inner) || count <= inner.extent || count % inner.extent != 0) return 1;
  if (outer.extent % (count / inner.extent) != 0 || LooksUp(element.value)) return 1;
  std::size_t nodes = 0;
  bool plain = true;
  Visit(element.value, [&](const ExprNode& node) {
    ++nodes;
    plain &= node.kind != Expr::Kind::kReduce;
  });
  if (!plain || nodes > kMostNodes) return 1;
  for (std::int64_t e = 0; e < count; ++e) {
    Visit(OneOfGroup(element, count, e), [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad && UsesIndex(node.operands[0], outer.id))
        plain &= InPackOf(kernel, node).has_value();
    });
  }
  return plain ? count : 1;
}

void WriteGroup(DeviceWriter& out, const Kernel& kernel, const FlatElement& element, std::map<int, std::string> names,
                std::int64_t count) {
  const IndexVar &inner = element.indices.back(), &outer = element.indices[element.indices.size() - 2];
  const std::int64_t rows = count / inner.extent;
  std::vector<Expr> values;
  std::map<std::string, std::string> packs;  // by type and address
  const auto address = [&](DeviceExpr& expr, const ExprNode& load, const InPack& in) {
    const auto operand = static_cast<std::size_t>(load.buffer);
    const std::string type = PackType(out, DeviceType(kernel.operand_types[operand]), in.size);
    return std::pair(type, PackText(type, out.BufferName(kernel.operands[operand].buffer), AddressText(expr, in.pack)));
  };
  DeviceExpr places(out, [](const ExprNode&) { return ""; });
  for (const auto& [id, name] : names) places.Call({id, 1}, name);
  for (std::int64_t e = 0; e < count; ++e) {
    values.push_back(OneOfGroup(element, count, e));
    Visit(values.back(), [&](const ExprNode& node) {
      const auto in = InPackOf(kernel, node);
      if (!in) return;
      const auto [type, read] = address(places, node, *in);
      auto& pack = packs[read];
      if (!pack.empty()) return;
      pack = out.Fresh("pack");
      out.Line(fmt::format("const {} {} = {};", type, pack, read));
    });
  }
  const std::string all = out.Fresh("all"), type = PackType(out, DeviceType(kernel.target_type), count);
  out.Line(fmt::format("{} {};", type, all));
  for (std::int64_t e = 0; e < count; ++e) {
    FlatElement one = element;
    one.value = values[static_cast<std::size_t>(e)];
    WriteElement(out, kernel, one, names,
                 {.to = fmt::format("{}.at[{}]", all, e), .read = [&](const ExprNode& load) -> std::string {
                    const auto in = InPackOf(kernel, load);
                    if (!in) return "";
                    return fmt::format("{}.at[{}]", packs.at(address(places, load, *in).second), in->at);
                  }});
  }
  std::map<int, std::string> first = names;
  first[outer.id] = fmt::format("({} * {})", names.at(outer.id), rows);
  first[inner.id] = "0";
  out.Line(fmt::format("*reinterpret_cast<{}*>(&{}) = {};", type, TargetText(out, kernel, first), all));
}

}  // namespace hone::dsl
