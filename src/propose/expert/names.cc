#include "propose/expert/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/functions.h"
#include "propose/expert/pieces.h"
#include "propose/expert/unflatten.h"

namespace hone::expert {
namespace {

using dsl::Number;
using dsl::TermPtr;

// --- Functions of the language that stand for several operations: an expression of their shape is written by their
// name. ---

bool Matches(const Expr& pattern, const Expr& e, Expr& hole) {
  if (pattern->kind == Expr::Kind::kValue) {
    if (!hole) hole = e;
    return SameExpr(hole, e);
  }
  if (pattern->kind != e->kind || pattern->type != e->type || pattern->operands.size() != e->operands.size())
    return false;
  switch (e->kind) {
    case Expr::Kind::kConst: return SameExpr(pattern, e);
    case Expr::Kind::kUnary:
      if (pattern->unary != e->unary) return false;
      break;
    case Expr::Kind::kBinary:
      if (pattern->binary != e->binary) return false;
      break;
    case Expr::Kind::kSelect: break;
    default: return false;
  }
  for (std::size_t i = 0; i < e->operands.size(); ++i) {
    if (!Matches(pattern->operands[i], e->operands[i], hole)) return false;
  }
  return true;
}

struct Composite {
  std::string_view name;
  Expr pattern;
  int size = 0;
};

// Largest first, so that mish is not written as the softplus in it.
const std::vector<Composite>& Composites() {
  static const std::vector<Composite> composites = [] {
    std::vector<Composite> found;
    const Expr hole = Value({NamedValue::Kind::kHole}, ScalarType::kReal);
    for (const auto& function : dsl::AllFunctions()) {
      if (function.arguments != 1 || function.whole_only) continue;
      Composite composite{function.name, function.build(std::span(&hole, 1))};
      Visit(composite.pattern, [&](const ExprNode&) { ++composite.size; });
      const bool simple = composite.pattern->kind == Expr::Kind::kCast ||
                          composite.pattern->kind == Expr::Kind::kValue ||
                          composite.pattern->kind == Expr::Kind::kUnary;
      if (composite.pattern->type == ScalarType::kReal && (!simple || composite.size > 2))
        found.push_back(std::move(composite));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Composite& a, const Composite& b) { return a.size > b.size; });
    return found;
  }();
  return composites;
}

TermPtr Constant(const Expr& e) {
  if (e->type == ScalarType::kReal) return Number(e->real);
  // The language takes larger ones for reals.
  constexpr std::int64_t kReal = 1 << 20;
  const auto whole = [](std::int64_t value) {
    const TermPtr number = Number(static_cast<double>(value));
    return value > -kReal && value < kReal ? number : dsl::Call("int", {number});
  };
  if (e->type == ScalarType::kBool) return dsl::Call("bool", {whole(e->whole)});
  // And its numbers have 53 bits.
  constexpr std::int64_t kMost = std::int64_t{1} << 53, kHalf = std::int64_t{1} << 32;
  if (e->whole >= -kMost && e->whole <= kMost) return whole(e->whole);
  const std::int64_t low = e->whole & (kHalf - 1);
  return dsl::Call("+", {dsl::Call("*", {whole((e->whole - low) / kHalf), whole(kHalf)}), whole(low)});
}

// The expression as a term, its leaves (loads, values, indices, folds) by `leaf`.
std::optional<TermPtr> Write(const Expr& e, const std::function<std::optional<TermPtr>(const Expr&)>& leaf) {
  switch (e->kind) {
    case Expr::Kind::kConst: return Constant(e);
    case Expr::Kind::kLoad:
    case Expr::Kind::kValue:
    case Expr::Kind::kIndex:
    case Expr::Kind::kReduce: return leaf(e);
    default: break;
  }
  for (const auto& composite : Composites()) {
    Expr argument;
    if (!Matches(composite.pattern, e, argument)) continue;
    auto inner = Write(argument, leaf);
    if (!inner) return std::nullopt;
    return dsl::Call(std::string(composite.name), {std::move(*inner)});
  }
  std::vector<TermPtr> arguments;
  for (const auto& operand : e->operands) {
    auto argument = Write(operand, leaf);
    if (!argument) return std::nullopt;
    arguments.push_back(std::move(*argument));
  }
  switch (e->kind) {
    case Expr::Kind::kSelect: return dsl::Call("select", std::move(arguments));
    case Expr::Kind::kUnary: return dsl::Call(std::string(Name(e->unary)), std::move(arguments));
    case Expr::Kind::kCast: {
      const std::string word = e->type == ScalarType::kReal ? "real" : e->type == ScalarType::kInt ? "int" : "bool";
      return dsl::Call(word, std::move(arguments));
    }
    default: return dsl::Call(std::string(Name(e->binary)), std::move(arguments));
  }
}

}  // namespace

std::string Identifier(const std::string& name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) text = "v" + text;
  return text;
}

std::string_view FoldWord(ReduceOp op) { return Name(op); }

Names::Names(const Memory& memory) : memory_(memory) {
  for (const auto& tensor : memory.graph().problem().tensors) taken_.insert(tensor.name);
  for (std::size_t b = 0; b < memory.graph().buffers().size(); ++b) {
    const Buffer& buffer = memory.graph().buffers()[b];
    if (buffer.stage < 0) Call(static_cast<int>(b), buffer.name, buffer.shape, buffer.dtype);
  }
}

std::string Names::Fresh(const std::string& name) {
  const std::string base = Identifier(name);
  std::string fresh = base;
  for (int i = 2; taken_.count(fresh); ++i) fresh = fmt::format("{}_{}", base, i);
  taken_.insert(fresh);
  return fresh;
}

void Names::Call(int buffer, const std::string& name, const Shape& shape, DType dtype) {
  values_[buffer] = {name, shape, dtype};
  buffers_[name] = buffer;
}

int Names::CallNew(const std::string& name, const Shape& shape, DType dtype) {
  Call(next_new_, name, shape, dtype);
  return next_new_++;
}

std::string Names::Signs() {
  if (!signs_) {
    const std::string index = IndexNames(1, {})[0];
    const IndexVar side = NewIndex(2);
    dsl::Statement signs;
    signs.family = "nest";
    signs.loops = {{index, 2}};
    signs.operands = {
        *Nested(Select(Equal(Expr(side), Expr(std::int64_t{0})), Expr(-1.0), Expr(1.0)), {{{side.id, index}}, {}})};
    signs.target = Fresh("signs");
    signs.target_shape = {2};
    signs_ = CallNew(signs.target, signs.target_shape, DType::kF32);
    beside_.push_back(std::move(signs));
  }
  return *View(*signs_, {2, 1}, {1, 0}, 0, Broadcast::kForbidden);
}

const Names::Value* Names::Find(const std::string& name) const {
  const auto it = buffers_.find(name);
  return it == buffers_.end() ? nullptr : &values_.at(it->second);
}

std::optional<std::size_t> Names::FindView(const std::string& name) const {
  const auto it = view_places_.find(name);
  return it == view_places_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<std::string> Names::Operand(int buffer, const Affine& position, const std::vector<IndexVar>& space) {
  std::vector<std::int64_t> strides;
  std::set<int> known;
  for (const auto& var : space) {
    strides.push_back(position.of(var));
    known.insert(var.id);
  }
  for (const auto& [id, coefficient] : position.coefficient) {
    if (!known.count(id)) return std::nullopt;
  }
  return View(buffer, Extents(space), strides, position.constant, Broadcast::kAllowed);
}

std::optional<std::string> Names::View(int buffer, Shape extents, std::vector<std::int64_t> strides,
                                       std::int64_t offset, Broadcast broadcast) {
  const auto it = values_.find(buffer);
  if (it == values_.end()) return std::nullopt;
  const Value& value = it->second;
  for (const auto stride : strides) {
    // What goes backwards is read as it comes by whoever reads elements; others step through memory.
    if (stride < 0 && broadcast == Broadcast::kForbidden) return std::nullopt;
  }
  if (broadcast == Broadcast::kAllowed) {
    const std::size_t rank = extents.size();
    for (std::size_t d = 0; d < rank; ++d) {
      if (strides[d] == 0) extents[d] = 1;
    }
    // Leading dimensions that do not vary need not be written.
    while (!extents.empty() && extents[0] == 1) {
      extents.erase(extents.begin());
      strides.erase(strides.begin());
    }
    // One element is the same for all, unless it has more dimensions than they have.
    if (ElementCount(value.shape) == 1 && offset == 0 && value.shape.size() <= rank) return value.name;
  }
  bool dense = offset == 0;
  const auto natural = DenseStrides(extents);
  for (std::size_t d = 0; d < extents.size(); ++d) dense &= extents[d] == 1 || strides[d] == natural[d];
  if (dense && extents == value.shape) return value.name;
  // What is read by its name alone may be a scalar, which a result without dimensions sees, too.
  if (extents.empty() && broadcast == Broadcast::kForbidden) {
    extents = {1};
    strides = {1};
  }
  const ViewKey key(value.name, extents, strides, offset);
  if (const auto known = view_names_.find(key); known != view_names_.end()) return known->second;
  dsl::View view{.name = Fresh(value.name + "_view"),
                 .base = value.name,
                 .shape = std::move(extents),
                 .strides = std::move(strides),
                 .offset = offset,
                 .at = {}};
  view_names_[key] = view.name;
  view_places_[view.name] = views_.size();
  views_.push_back(std::move(view));
  return views_.back().name;
}

std::optional<std::string> Names::Matrix(int buffer, const Affine& position, const std::vector<IndexVar>& batch,
                                         const IndexVar& row, const IndexVar& column) {
  std::vector<IndexVar> vars;
  for (const auto& var : batch) vars.push_back(position.of(var) == 0 ? NewIndex(1) : var);
  vars.push_back(row);
  vars.push_back(column);
  while (vars.size() > 2 && vars[0].extent == 1) vars.erase(vars.begin());
  Shape extents;
  std::vector<std::int64_t> strides;
  for (const auto& var : vars) {
    extents.push_back(var.extent);
    strides.push_back(position.of(var));
  }
  return View(buffer, std::move(extents), std::move(strides), position.constant, Broadcast::kForbidden);
}

void Names::ForgetViews(std::size_t count) {
  for (; views_.size() > count; views_.pop_back()) {
    const dsl::View& view = views_.back();
    view_names_.erase(ViewKey(view.base, view.shape, view.strides, view.offset));
    view_places_.erase(view.name);
    taken_.erase(view.name);
  }
}

std::optional<TermPtr> Names::Term(const Expr& expr, const std::vector<IndexVar>& space, const Known& known) {
  return Write(expr, [&](const Expr& e) -> std::optional<TermPtr> {
    if (e->kind == Expr::Kind::kValue) {
      const auto it = known.values.find(e->value);
      return it == known.values.end() ? std::nullopt : std::optional(it->second);
    }
    if (e->kind == Expr::Kind::kIndex) {
      const auto it = known.indices.find(e->index.id);
      return it == known.indices.end() ? std::nullopt : std::optional(it->second);
    }
    if (e->kind != Expr::Kind::kLoad) return std::nullopt;
    if (const auto it = known.lets.find(e->buffer); it != known.lets.end()) return it->second;
    const auto position = memory_.Position(*e);
    const auto name = position ? Operand(memory_.Root(e->buffer), *position, space) : std::nullopt;
    if (!name) return std::nullopt;
    return dsl::Name(*name);
  });
}

std::vector<std::string> Names::IndexNames(std::size_t count, const std::map<int, std::string>& used) const {
  std::set<std::string> there;
  for (const auto& [id, name] : used) there.insert(name);
  std::vector<std::string> names;
  for (int round = 0; names.size() < count; ++round) {
    for (char letter = 'i'; letter <= 't' && names.size() < count; ++letter) {
      const std::string name = round == 0 ? std::string(1, letter) : fmt::format("{}{}", letter, round);
      if (!taken_.count(name) && there.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

std::optional<TermPtr> Names::Nested(const Expr& expr, const Indices& indices) {
  return Write(expr, [&](const Expr& e) -> std::optional<TermPtr> {
    if (e->kind == Expr::Kind::kIndex) {
      const auto it = indices.names.find(e->index.id);
      if (it == indices.names.end()) return std::nullopt;
      return dsl::Name(it->second);
    }
    if (e->kind == Expr::Kind::kLoad) return Element(e, indices);
    if (e->kind != Expr::Kind::kReduce) return std::nullopt;
    const auto names = IndexNames(e->over.size(), indices.names);
    auto inside = indices;
    std::vector<dsl::LoopIndex> over;
    for (std::size_t d = 0; d < names.size(); ++d) {
      inside.names[e->over[d].id] = names[d];
      over.push_back({names[d], e->over[d].extent});
    }
    auto body = Nested(e->operands[0], inside);
    if (!body) return std::nullopt;
    return dsl::FoldOver(std::string(FoldWord(e->reduce)), std::move(over), std::move(*body));
  });
}

std::optional<TermPtr> Names::Element(const Expr& load, const Indices& indices) {
  const int root = memory_.Root(load->buffer);
  const auto it = values_.find(root);
  if (it == values_.end()) return std::nullopt;
  const Value value = it->second;
  std::vector<Expr> at = load->operands;
  Shape seen = at.size() == memory_.shape(load->buffer).size() ? memory_.shape(load->buffer) : Shape{};
  if (seen.empty()) {
    // The flat position, in the value's own dimensions where that needs no division.
    std::vector<IndexVar> vars;
    const Expr flat = at.empty() ? Expr(0) : at[0];
    Visit(flat, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kIndex) vars.push_back(node.index);
    });
    const auto affine = AffineOf(flat);
    std::sort(vars.begin(), vars.end(), [](const IndexVar& a, const IndexVar& b) { return a.id < b.id; });
    vars.erase(std::unique(vars.begin(), vars.end(), [](const IndexVar& a, const IndexVar& b) { return a.id == b.id; }),
               vars.end());
    const auto own = affine && !value.shape.empty() ? Unflatten(*affine, vars, value.shape) : std::nullopt;
    if (own) {
      seen = value.shape;
      at.clear();
      for (const auto& index : *own) at.push_back(ToExpr(index, vars));
    } else {
      seen = {ElementCount(value.shape)};
      at = {flat};
    }
  }
  // Dimensions whose indices are written as one are one.
  for (std::size_t d = at.size(); d-- > 0;) {
    if (at[d]->kind != Expr::Kind::kIndex || !indices.joined.count(at[d]->index.id)) continue;
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(d));
    seen[d + 1] *= seen[d];
    seen.erase(seen.begin() + static_cast<std::ptrdiff_t>(d));
  }
  const auto name = View(root, seen, DenseStrides(seen), 0, Broadcast::kForbidden);
  if (!name) return std::nullopt;
  std::vector<TermPtr> terms;
  for (const auto& index : at) {
    auto term = Nested(index, indices);
    if (!term) return std::nullopt;
    terms.push_back(std::move(*term));
  }
  return dsl::Element(*name, std::move(terms));
}

}  // namespace hone::expert
