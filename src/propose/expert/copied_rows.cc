#include "propose/expert/copied_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "propose/expert/named_places.h"

namespace hone::expert {
namespace {

// The offsets in equal steps, or each by itself.
std::vector<std::vector<std::int64_t>> InEqualSteps(const std::set<std::int64_t>& offsets) {
  const std::vector<std::int64_t> all(offsets.begin(), offsets.end());
  for (std::size_t i = 2; i < all.size(); ++i) {
    if (all[i] - all[i - 1] == all[1] - all[0]) continue;
    std::vector<std::vector<std::int64_t>> apart;
    for (const std::int64_t one : all) apart.push_back({one});
    return apart;
  }
  return {all};
}

// What is read by a name, as a view: of a tensor or value itself, all of it.
std::optional<dsl::View> ViewOf(const Names& names, const dsl::TermPtr& operand) {
  if (operand->kind != dsl::Term::Kind::kName) return std::nullopt;
  if (const auto at = names.FindView(operand->name)) return names.views()[*at];
  const Names::Value* value = names.Find(operand->name);
  if (value == nullptr) return std::nullopt;
  return dsl::View{.name = operand->name,
                   .base = operand->name,
                   .shape = value->shape,
                   .strides = DenseStrides(value->shape),
                   .at = {}};
}

// A type that holds both reals, of what a kernel multiplies: halves hold all of 8 bits, and f32 all of 16.
DType HoldsBoth(DType a, DType b) {
  if (Bytes(a) != Bytes(b)) return Bytes(a) < Bytes(b) ? b : a;
  if (Bytes(a) == 1) return DType::kF16;
  return a == b ? a : DType::kF32;
}

// Of both by numpy's rule, which they follow.
Shape ShapeOfBoth(const Shape& a, const Shape& b) {
  Shape both = a.size() < b.size() ? b : a;
  const Shape& other = a.size() < b.size() ? a : b;
  for (std::size_t d = 0; d < other.size(); ++d) {
    std::int64_t& extent = both[both.size() - other.size() + d];
    extent = std::max(extent, other[d]);
  }
  return both;
}

// Whether its rows are side by side and begin at multiples of 16 bytes.
bool LiesInRows(const dsl::View& view, DType type) {
  const std::int64_t whole = 16 / static_cast<std::int64_t>(Bytes(type));
  bool lies = view.strides.back() == 1 && view.offset % whole == 0;
  for (std::size_t d = 0; d + 1 < view.shape.size(); ++d) lies &= view.shape[d] == 1 || view.strides[d] % whole == 0;
  return lies;
}

// Has attention read expressions over keys and over values as values of this type, each made once; of pages nobody
// knows which are read.
std::vector<dsl::Statement> MakeRows(Names& names, dsl::Statement& attention, DType type) {
  const bool pages = attention.operands.size() % 2 == 0;
  std::vector<dsl::Statement> made;
  std::map<std::string, std::string> known;  // by the expression
  for (const std::size_t o : {1, 2}) {
    const dsl::TermPtr rows = attention.operands[o];
    if (pages || rows->kind == dsl::Term::Kind::kName) continue;
    const auto [at, is_new] = known.try_emplace(dsl::Print(rows));
    if (is_new) {
      dsl::Statement map;
      map.family = "map";
      map.operands = {rows};
      VisitReads(rows, [&](const dsl::Term& read) {
        const auto view = ViewOf(names, dsl::Name(read.name));
        if (map.target.empty() && view) map.target = names.Fresh(view->base + "_rows");
        if (view) map.target_shape = ShapeOfBoth(map.target_shape, view->shape);
      });
      if (map.target.empty()) return {};
      map.target_type = type;
      names.CallNew(map.target, map.target_shape, type);
      at->second = map.target;
      made.push_back(std::move(map));
    }
    attention.operands[o] = dsl::Name(at->second);
  }
  return made;
}

}  // namespace

std::vector<dsl::Statement> CopyRows(Names& names, dsl::Statement& attention) {
  using Like = std::tuple<std::string, Shape, std::vector<std::int64_t>>;
  std::map<Like, std::map<std::int64_t, std::vector<std::size_t>>> alike;  // operands by offset
  std::optional<DType> multiplied;
  for (const auto& operand : attention.operands) {
    const auto view = ViewOf(names, operand);
    const DType type = view ? names.Find(view->base)->dtype : DType::kI64;
    if (IsFloat(type)) multiplied = multiplied ? HoldsBoth(*multiplied, type) : type;
  }
  const auto copied_as = [&](DType type) { return IsFloat(type) ? *multiplied : type; };
  for (std::size_t o = 0; o < attention.operands.size(); ++o) {
    const auto view = ViewOf(names, attention.operands[o]);
    if (!view) continue;
    const DType type = names.Find(view->base)->dtype;
    if (copied_as(type) == type && (view->name == view->base || LiesInRows(*view, type))) continue;
    alike[{view->base, view->shape, view->strides}][view->offset].push_back(o);
  }
  std::vector<dsl::Statement> copies;
  if (multiplied && Bytes(*multiplied) > 1) copies = MakeRows(names, attention, *multiplied);
  for (const auto& [like, operands] : alike) {
    const auto& [base, shape, strides] = like;
    const Names::Value value = *names.Find(base);
    const int buffer = names.BufferOf(base);
    std::set<std::int64_t> offsets;
    for (const auto& [offset, _] : operands) offsets.insert(offset);
    // What several read in common is copied once.
    Shape once = shape;
    for (std::size_t d = 0; d < once.size(); ++d) {
      if (strides[d] == 0) once[d] = 1;
    }
    std::vector<std::int64_t> lies = DenseStrides(once);
    for (std::size_t d = 0; d < once.size(); ++d) {
      if (strides[d] == 0) lies[d] = 0;
    }
    for (const auto& steps : InEqualSteps(offsets)) {
      Shape copied = once;
      std::vector<std::int64_t> from = strides;
      copied.insert(copied.begin(), static_cast<std::int64_t>(steps.size()));
      from.insert(from.begin(), steps.size() > 1 ? steps[1] - steps[0] : 0);
      const auto read = names.View(buffer, copied, from, steps[0], Broadcast::kForbidden);
      if (!read) return {};
      dsl::Statement copy;
      copy.family = "map";
      copy.operands = {dsl::Name(*read)};
      copy.target = names.Fresh(base + "_rows");
      copy.target_type = copied_as(value.dtype);
      copy.target_shape = copied;
      const int made = names.CallNew(copy.target, copied, *copy.target_type);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto row =
            names.View(made, shape, lies, static_cast<std::int64_t>(i) * ElementCount(once), Broadcast::kForbidden);
        if (!row) return {};
        for (const std::size_t o : operands.at(steps[i])) attention.operands[o] = dsl::Name(*row);
      }
      copies.push_back(std::move(copy));
    }
  }
  return copies;
}

}  // namespace hone::expert
