#include "dsl/cuda/nest_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "base/rounding.h"
#include "base/text.h"
#include "dsl/cuda/expr.h"

namespace hone::dsl {

namespace {

constexpr std::int64_t kPackBytes = 16;

}  // namespace

std::string AddressText(DeviceExpr& expr, const LinearForm& form) {
  std::string text;
  const auto add = [&](const std::string& term, std::int64_t times) {
    text += text.empty() ? (times < 0 ? "-" : "") : times < 0 ? " - " : " + ";
    text += std::abs(times) == 1 ? term : fmt::format("{} * {}", term, std::abs(times));
  };
  // The largest steps first, as one writes addresses.
  std::vector<std::pair<int, std::int64_t>> terms(form.sum.coefficient.begin(), form.sum.coefficient.end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  for (const auto& [index, times] : terms) add(expr.NameOf(index), times);
  for (const auto& [rest, times] : form.rest) add("(" + expr.Address(rest) + ")", times);
  if (form.sum.constant != 0 || text.empty())
    text += text.empty() ? fmt::format("{}", form.sum.constant)
                         : fmt::format(" {} {}", form.sum.constant < 0 ? "-" : "+", std::abs(form.sum.constant));
  return text;
}

namespace {

// "x[i * 1024 + j]" as a value in a register.
std::string ElementText(DeviceWriter& out, DeviceExpr& expr, const Kernel& kernel, const ExprNode& load) {
  const int buffer = kernel.operands[static_cast<std::size_t>(load.buffer)].buffer;
  return LoadedText(out, buffer,
                    fmt::format("{}[{}]", out.BufferName(buffer), AddressText(expr, LinearOf(load.operands[0]))));
}

// A condition, and whether it holds where something is evaluated.
struct Guard {
  Expr condition;
  bool holds = true;
  bool operator==(const Guard& other) const { return condition.get() == other.condition.get() && holds == other.holds; }
};

// Where the parts of an expression are evaluated: under all of these conditions, always if there are none, and under
// conditions that nobody has written down if it is no list.
class Guards {
 public:
  using List = std::optional<std::vector<Guard>>;

  explicit Guards(const Expr& expr) { Walk(expr, std::vector<Guard>()); }

  bool Always(const ExprNode& node) const {
    const List& own = of(node);
    return own && own->empty();
  }
  const List& of(const ExprNode& node) const {
    static const List kUnknown;
    const auto found = of_.find(&node);
    return found == of_.end() ? kUnknown : found->second;
  }

 private:
  // What is met again is under what both ways there have in common: that of one of them, if it is always met so.
  void Walk(const Expr& e, List guards) {
    if (const auto [known, is_new] = of_.try_emplace(e.get(), guards); !is_new) {
      if (known->second == guards || Always(*e)) return;
      if (!guards || !guards->empty()) guards.reset();
      if (known->second == guards) return;
      known->second = guards;
    }
    if (e->kind == Expr::Kind::kSelect) {
      const auto under = [&](bool holds) {
        List more = guards;
        if (more) more->push_back({e->operands[0], holds});
        return more;
      };
      Walk(e->operands[0], guards);
      Walk(e->operands[1], under(true));
      Walk(e->operands[2], under(false));
      return;
    }
    if (e->kind == Expr::Kind::kReduce) guards.reset();
    for (const Expr& operand : e->operands) Walk(operand, guards);
  }

  std::map<const ExprNode*, List> of_;
};

// Whether a condition is the same for `count` neighbours along the index, the first at a multiple of that, wherever the
// other indices are.
bool IsOneOfPack(const Expr& condition, int along, std::int64_t count) {
  bool plain = true;
  Visit(condition,
        [&](const ExprNode& node) { plain &= node.kind != Expr::Kind::kReduce && node.kind != Expr::Kind::kValue; });
  if (!plain) return false;
  if (!UsesIndex(condition, along)) return true;
  if (IsBinary(condition, BinaryOp::kAnd) || IsBinary(condition, BinaryOp::kOr) || IsUnary(condition, UnaryOp::kNot)) {
    return std::ranges::all_of(condition->operands, [&](const Expr& part) { return IsOneOfPack(part, along, count); });
  }
  const bool less = IsBinary(condition, BinaryOp::kLess);
  if ((!less && !IsBinary(condition, BinaryOp::kLessEqual)) || condition->operands[0]->type != ScalarType::kInt)
    return false;
  const auto a = AffineOf(condition->operands[0]), b = AffineOf(condition->operands[1]);
  if (!a || !b) return false;
  // The condition is 0 <= more: from a multiple of the pack on, or up to the last before one.
  Affine more = Combine(*b, *a, -1);
  if (less) more.constant -= 1;
  const std::int64_t step = more.of(along);
  if (step != 1 && step != -1) return false;
  const std::int64_t edge = step == 1 ? more.constant : more.constant + 1;
  return edge % count == 0 && std::ranges::all_of(more.coefficient, [&](const auto& of) {
           return of.first == along || of.second % count == 0;
         });
}

// Whether `count` neighbours along the index, the first at a multiple of that, are one pack in memory wherever the
// other indices are, and may be read, if need be where the conditions hold under which they are.
bool LiesInPacks(const ExprNode& load, int along, std::int64_t count, const Guards& guards) {
  if (load.kind != Expr::Kind::kLoad || load.operands.size() != 1) return false;
  if (load.may_miss) {
    const Guards::List& own = guards.of(load);
    if (!own ||
        !std::ranges::all_of(*own, [&](const Guard& guard) { return IsOneOfPack(guard.condition, along, count); }))
      return false;
  }
  const LinearForm form = LinearOf(load.operands[0]);
  const auto own = form.sum.coefficient.find(along);
  if (own == form.sum.coefficient.end() || own->second != 1 || form.sum.constant % count != 0) return false;
  bool lies = true;
  for (const auto& [index, times] : form.sum.coefficient) lies &= index == along || times % count == 0;
  for (const auto& [rest, times] : form.rest) lies &= times % count == 0 && !UsesIndex(rest, along);
  return lies;
}

}  // namespace

void LaunchNest(DeviceWriter& out, const Kernel& kernel, std::int64_t count, std::int64_t threads) {
  out.Launch({.grid_x = CeilDiv(count, threads),
              .reads = OperandBuffers({&kernel, 1}),
              .writes = {kernel.target},
              .aside = true});
}

bool RunsFastest(const Kernel& kernel, const IndexVar& index) {
  for (std::size_t d = kernel.space.size(); d-- > 0;) {
    if (kernel.space[d].id == index.id) break;
    if (kernel.space[d].extent != 1) return false;
  }
  return true;
}

std::int64_t NeighboursOf(const Kernel& kernel, const FlatElement& element, const Expr& read, std::int64_t most_bytes) {
  if (element.indices.empty()) return 1;
  const IndexVar& along = element.indices.back();
  if (!RunsFastest(kernel, along)) return 1;
  std::set<int> folded;  // what a fold within reads is read for each neighbour
  Visit(read, [&](const ExprNode& node) {
    for (const auto& over : node.over) folded.insert(over.id);
  });
  const Guards guards(read);
  for (auto count = most_bytes / static_cast<std::int64_t>(Bytes(kernel.target_type)); count > 1; count /= 2) {
    if (along.extent % count != 0) continue;
    bool some = !HasLoad(read);  // the element itself does
    Visit(read, [&](const ExprNode& node) {
      if (!LiesInPacks(node, along.id, count, guards)) return;
      bool apart = true;
      for (const int id : FreeIndices(node.operands[0])) apart &= !folded.contains(id);
      some |= apart;
    });
    if (some) return count;
  }
  return 1;
}

bool LooksUp(const Expr& expr) {
  bool looks_up = false;
  Visit(expr, [&](const ExprNode& node) {
    for (const auto& index : node.operands) looks_up |= node.kind == Expr::Kind::kLoad && HasLoad(index);
  });
  return looks_up;
}

std::int64_t TermsInPacks(const Kernel& kernel, const ExprNode& fold) {
  const IndexVar& along = fold.over.back();
  const Guards guards(fold.operands[0]);
  for (std::int64_t count = 16; count > 1; count /= 2) {
    if (along.extent % count != 0) continue;
    bool some = false, all = true;
    Visit(fold.operands[0], [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || node.operands.empty() || !UsesIndex(node.operands[0], along.id)) return;
      some = true;
      const auto bytes = static_cast<std::int64_t>(Bytes(kernel.operand_types[static_cast<std::size_t>(node.buffer)]));
      all &= bytes * count <= 16 && LiesInPacks(node, along.id, count, guards);
    });
    if (some && all) return count;
  }
  return 1;
}

void PackedLoads::Write(DeviceWriter& out, const Expr& read, const std::map<int, std::string>& names,
                        const PackedLoads* terms, const std::string& term) {
  DeviceExpr* self = nullptr;
  DeviceExpr expr(out, [&](const ExprNode& load) {
    const std::string known = terms ? terms->Text(out, load, term) : "";
    return known.empty() ? ElementText(out, *self, kernel_, load) : known;
  });
  self = &expr;
  for (const auto& [id, name] : names) expr.Call({id, 1}, name);
  const Guards guards(read);
  Visit(read, [&](const ExprNode& node) {
    if (!LiesInPacks(node, along_.id, count_, guards)) return;
    const auto is_known = [&](const Expr& e) {  // what folds within go through is not there yet
      bool known = true;
      Visit(e, [&](const ExprNode& part) {
        known &= part.kind != Expr::Kind::kReduce && (part.kind != Expr::Kind::kIndex || names.contains(part.index.id));
      });
      return known;
    };
    if (!is_known(node.operands[0])) return;
    // Of what conditions of places choose among only that is read: of two tensors one behind the other, one.
    std::vector<Guard> known;
    if (const Guards::List& own = guards.of(node); own) {
      const bool can_be = std::ranges::all_of(*own, [&](const Guard& guard) {
        return is_known(guard.condition) && IsOneOfPack(guard.condition, along_.id, count_) &&
               (node.may_miss || !HasLoad(guard.condition));
      });
      if (can_be) known = *own;
    }
    if (node.may_miss && known.empty() && !guards.Always(node)) return;
    std::string condition;
    for (const Guard& guard : known) {
      const std::string text = expr.Text(guard.condition), sign = guard.holds ? "" : "!";
      condition +=
          (condition.empty() ? "" : " && ") + (known.size() == 1 && guard.holds ? text : sign + "(" + text + ")");
    }
    const auto operand = static_cast<std::size_t>(node.buffer);
    const std::string type = PackType(out, DeviceType(kernel_.operand_types[operand]), count_),
                      pack = out.Fresh("pack");
    const std::string read_text =
        PackText(type, out.BufferName(kernel_.operands[operand].buffer), AddressText(expr, LinearOf(node.operands[0])));
    if (condition.empty()) {
      out.Line(fmt::format("const {} {} = {};", type, pack, read_text));
    } else {
      out.Line(fmt::format("{} {} = {{}};", type, pack));
      out.Line(fmt::format("if ({}) {} = {};", condition, pack, read_text));
    }
    packs_[&node] = pack;
  });
}

std::string PackedLoads::Text(const DeviceWriter& out, const ExprNode& load, const std::string& e) const {
  const auto pack = packs_.find(&load);
  if (pack == packs_.end()) return "";
  return LoadedText(out, kernel_.operands[static_cast<std::size_t>(load.buffer)].buffer,
                    fmt::format("{}.at[{}]", pack->second, e));
}

void NamePlaces(DeviceWriter& out, const Kernel& kernel, const std::vector<IndexVar>& indices, const std::string& at,
                std::map<int, std::string>& names) {
  std::string left = at;
  for (std::size_t n = indices.size(); n-- > 0;) {
    const IndexVar& index = indices[n];
    const auto named = kernel.index_names.find(index.id);
    const std::string name = out.Fresh(named == kernel.index_names.end() ? "i" : Spelled(named->second));
    out.Line(fmt::format("const {} {} = {};", out.index_type(), name,
                         n == 0 ? left : fmt::format("{} % {}", left, index.extent)));
    names[index.id] = name;
    if (n > 0) left = fmt::format("({} / {})", left, index.extent);
  }
}

std::string TargetText(const DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names) {
  // The target is dense over the space; merged indices stand for the dimensions that they swallowed.
  std::string at;
  std::int64_t step = 1;
  for (std::size_t d = kernel.space.size(); d-- > 0;) {
    const auto it = names.find(kernel.space[d].id);
    if (it != names.end())
      at = (step == 1 ? it->second : fmt::format("{} * {}", it->second, step)) + (at.empty() ? "" : " + " + at);
    step *= kernel.space[d].extent;
  }
  return fmt::format("{}[{}]", out.BufferName(kernel.target), at.empty() ? "0" : at);
}

std::string ValueText(DeviceWriter& out, const Kernel& kernel, const Expr& value,
                      const std::map<int, std::string>& names, const ElementPlace& place) {
  DeviceExpr* self = nullptr;
  DeviceExpr expr(out, [&](const ExprNode& load) {
    if (load.kind == Expr::Kind::kValue) return place.made;
    std::string packed = place.packs ? place.packs->Text(out, load, place.neighbour) : "";
    if (packed.empty() && place.read) {
      const std::string read = place.read(load);
      if (!read.empty()) packed = LoadedText(out, kernel.operands[static_cast<std::size_t>(load.buffer)].buffer, read);
    }
    if (packed.empty() && place.terms) packed = place.terms->Text(out, load, place.term);
    return packed.empty() ? ElementText(out, *self, kernel, load) : packed;
  });
  self = &expr;
  for (const auto& [id, name] : names) expr.Call({id, 1}, name);
  expr.ShareSums(place.lane);
  if (place.stored) expr.BeCoarseWhereRounded({value}, {kernel.target_type});
  return expr.Text(value);
}

void WriteElement(DeviceWriter& out, const Kernel& kernel, const FlatElement& element,
                  const std::map<int, std::string>& names, const ElementPlace& place) {
  ElementPlace stored = place;
  stored.stored = true;
  const std::string value =
      DeviceExpr::Stored(ValueText(out, kernel, element.value, names, stored), element.value->type, kernel.target_type);
  out.Line(fmt::format("{}{} = {};", place.lane.empty() ? "" : fmt::format("if ({} == 0) ", place.lane),
                       place.to.empty() ? TargetText(out, kernel, names) : place.to, value));
}

void WriteNeighbours(DeviceWriter& out, const Kernel& kernel, const FlatElement& element,
                     std::map<int, std::string> names, std::int64_t count, const std::string& made) {
  const IndexVar& along = element.indices.back();
  const std::string first = out.Fresh("first"), e = out.Fresh("e"), place = out.Fresh("place"), all = out.Fresh("all");
  out.Line(fmt::format("const {} {} = {} * {};", out.index_type(), first, names.at(along.id), count));
  names[along.id] = first;
  PackedLoads packs(kernel, along, count);
  packs.Write(out, element.value, names);
  const std::int64_t bytes = static_cast<std::int64_t>(Bytes(kernel.target_type));
  const std::int64_t pack = std::min(count, kPackBytes / bytes), stores = count / pack;  // a whole row is several
  const std::string type = PackType(out, DeviceType(kernel.target_type), pack);
  out.Line(stores == 1 ? fmt::format("{} {};", type, all) : fmt::format("{} {}[{}];", type, all, stores));
  out.Unroll();
  out.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", e, count));
  out.Line(fmt::format("const {} {} = {} + {};", out.index_type(), place, first, e));
  std::map<int, std::string> at = names;
  at[along.id] = place;
  WriteElement(
      out, kernel, element, at,
      {.made = made.empty() ? "" : fmt::format("{}[{}]", made, e),
       .to = stores == 1 ? fmt::format("{}.at[{}]", all, e) : fmt::format("{0}[{1} / {2}].at[{1} % {2}]", all, e, pack),
       .packs = &packs,
       .neighbour = e});
  out.Close();
  const std::string to = TargetText(out, kernel, names);
  for (std::int64_t n = 0; n < stores; ++n) {
    out.Line(stores == 1 ? fmt::format("*reinterpret_cast<{}*>(&{}) = {};", type, to, all)
                         : fmt::format("*reinterpret_cast<{}*>(&{} + {}) = {}[{}];", type, to, n * pack, all, n));
  }
}

}  // namespace hone::dsl
