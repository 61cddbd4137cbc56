#include "propose/expert/turned_streams.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "propose/expert/named_places.h"

namespace hone::expert {
namespace {

using StreamStrides = std::vector<std::int64_t>;

bool IsDeclared(const dsl::Program& program, const std::string& name) {
  return std::ranges::any_of(program.declarations, [&](const auto& one) { return one.name == name; });
}

// A step in memory of dimensions that lie dense in their order, as one in memory where they lie at `to`: along one of
// them, if so many steps from where `at` has come to are in it.
std::optional<std::int64_t> StepIn(const Shape& shape, const StreamStrides& to, std::int64_t step, std::int64_t extent,
                                   std::vector<std::int64_t>& at) {
  if (step == 0 || extent == 1) return 0;
  const auto from = DenseStrides(shape);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (step < from[d]) continue;
    if (step % from[d] != 0) return std::nullopt;
    at[d] += step / from[d] * (extent - 1);
    return at[d] < shape[d] ? std::optional(step / from[d] * to[d]) : std::nullopt;
  }
  return std::nullopt;
}

class StreamTurner {
 public:
  explicit StreamTurner(dsl::Program program) : program_(std::move(program)) {}

  std::optional<dsl::Program> Turn(const dsl::KernelProgram& checked) {
    places_ = NamedPlacesIn(program_, checked);
    for (std::size_t s = 0; s < program_.statements.size(); ++s) s -= TurnSum(s) ? 1 : 0;
    return any_ ? std::optional(std::move(program_)) : std::nullopt;
  }

 private:
  std::set<std::size_t> ReadersOf(const std::string& base) {
    std::set<std::size_t> readers;
    for (std::size_t s = 0; s < program_.statements.size(); ++s) {
      for (const dsl::TermPtr* term : TermsOf(program_.statements[s])) {
        VisitNames(*term, [&](const std::string& name) {
          const auto place = places_.find(name);
          if (place != places_.end() && place->second.base == base) readers.insert(s);
        });
      }
    }
    return readers;
  }

  // A matrix product that statement `s` alone reads, under one name that has all of its elements over the sum's
  // dimensions, and these in the order of the product's; nothing if there is none, or they lie so already.
  struct Term {
    std::size_t product = 0;
    std::string name;
    std::vector<std::size_t> order;
  };
  std::optional<Term> TermOfProduct(std::size_t s) {
    const dsl::Statement& sum = program_.statements[s];
    const Shape& shape = places_.at(sum.target).shape;
    std::set<std::string> names;
    VisitNames(sum.operands[0], [&](const std::string& name) { names.insert(name); });
    for (const std::string& name : names) {
      const auto found = places_.find(name);
      if (found == places_.end() || found->second.shape != shape || found->second.offset != 0) continue;
      const NamedPlace& place = found->second;
      const auto product = std::ranges::find(program_.statements, place.base, &dsl::Statement::target);
      if (product == program_.statements.end() || product->family != "matmul" || !product->also.empty() ||
          product->has_target_shape || IsDeclared(program_, place.base) || places_.at(place.base).shape.size() != 2 ||
          ReadersOf(place.base) != std::set<std::size_t>{s})
        continue;
      const auto reads_as = [&](const std::string& other) {
        return other != name && places_.contains(other) && places_.at(other).base == place.base;
      };
      if (std::ranges::any_of(names, reads_as)) continue;
      Term term{.product = static_cast<std::size_t>(product - program_.statements.begin()), .name = name, .order = {}};
      term.order.resize(shape.size());
      std::iota(term.order.begin(), term.order.end(), std::size_t{0});
      std::ranges::stable_sort(term.order, [&](std::size_t a, std::size_t b) {
        return shape[a] != 1 && shape[b] != 1 && place.strides[a] > place.strides[b];
      });
      if (std::ranges::is_sorted(term.order)) continue;
      Shape turned;
      for (const std::size_t d : term.order) turned.push_back(shape[d]);
      const auto dense = DenseStrides(turned);
      bool each_once = turned.back() == places_.at(place.base).shape[1];
      for (std::size_t n = 0; n < turned.size(); ++n)
        each_once &= turned[n] == 1 || place.strides[term.order[n]] == dense[n];
      if (each_once) return term;
    }
    return std::nullopt;
  }

  // Whether the product that was before it is gone.
  bool TurnSum(std::size_t s) {
    const dsl::Statement& sum = program_.statements[s];
    if (sum.family != "map" || !sum.variant.empty() || sum.operands.size() != 1 || !sum.lets.empty() ||
        !sum.also.empty() || !sum.epilogue.empty() || sum.has_target_shape || IsDeclared(program_, sum.target))
      return false;
    const auto term = TermOfProduct(s);
    if (!term || !TurnReaders(s, term->order)) return false;
    return EndProduct(s, *term) || TurnMap(s, term->order);
  }

  // Has all who read what statement `s` makes read it as it lies with its dimensions in this order.
  bool TurnReaders(std::size_t s, const std::vector<std::size_t>& order) {
    const std::string target = program_.statements[s].target;
    const Shape shape = places_.at(target).shape;
    StreamStrides lies(shape.size());
    std::int64_t step = 1;
    for (std::size_t n = order.size(); n-- > 0; step *= shape[order[n]]) lies[order[n]] = step;
    // Dimensions that are one on both sides.
    Shape extents;
    StreamStrides to;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      if (!to.empty() && to.back() == lies[d] * shape[d]) {
        extents.back() *= shape[d];
        to.back() = lies[d];
      } else {
        extents.push_back(shape[d]);
        to.push_back(lies[d]);
      }
    }
    const auto dense = DenseStrides(extents);
    std::vector<dsl::View> views = program_.views;
    for (dsl::View& view : views) {
      if (view.base != target) continue;
      std::vector<std::int64_t> at;  // where it begins, and then ends
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < extents.size(); ++d) {
        at.push_back(view.offset / dense[d] % extents[d]);
        offset += at[d] * to[d];
      }
      for (std::size_t d = 0; d < view.strides.size(); ++d) {
        const auto in = StepIn(extents, to, view.strides[d], view.shape[d], at);
        if (!in) return false;
        view.strides[d] = *in;
      }
      view.offset = offset;
    }
    program_.views = std::move(views);
    for (const dsl::View& view : program_.views)
      places_[view.name] = {view.base, view.shape, view.strides, view.offset};
    std::string whole;
    for (std::size_t r = s + 1; r < program_.statements.size(); ++r) {
      for (dsl::TermPtr* term : TermsOf(program_.statements[r])) {
        *term = WithNames(*term, [&](const std::string& name) -> dsl::TermPtr {
          if (name != target) return nullptr;
          if (whole.empty()) whole = AddView(target + "_first", {target, shape, lies, 0});
          return dsl::Name(whole);
        });
      }
    }
    return true;
  }

  std::string AddView(std::string name, const NamedPlace& place) {
    while (places_.contains(name)) name += "_";
    places_[name] = place;
    program_.views.push_back(
        {.name = name, .base = place.base, .shape = place.shape, .strides = place.strides, .offset = place.offset});
    return name;
  }

  // As rows and columns of the product; nothing if the rows are no one dimension.
  std::optional<NamedPlace> AsRows(const NamedPlace& place, const Shape& shape, const std::vector<std::size_t>& order) {
    const std::size_t missing = shape.size() - place.shape.size();
    NamedPlace rows{.base = place.base, .shape = {1, 1}, .strides = {0, 0}, .offset = place.offset};
    std::int64_t extent = 1;
    for (std::size_t n = order.size(); n-- > 0;) {
      const std::size_t d = order[n];
      const bool varies = d >= missing && place.shape[d - missing] > 1;
      const std::int64_t stride = varies ? place.strides[d - missing] : 0;
      if (n + 1 == order.size()) {
        if (varies) rows.shape[1] = shape[d];
        rows.strides[1] = stride;
        continue;
      }
      if (shape[d] == 1) continue;
      if (extent > 1 && stride != rows.strides[0] * extent) return std::nullopt;
      if (extent == 1) rows.strides[0] = stride;
      extent *= shape[d];
    }
    if (rows.strides[0] != 0) rows.shape[0] = extent;
    return rows;
  }

  bool EndProduct(std::size_t s, const Term& term) {
    dsl::Statement& sum = program_.statements[s];
    const Shape shape = places_.at(sum.target).shape;
    std::map<std::string, NamedPlace> rows;
    bool fits = true;
    VisitNames(sum.operands[0], [&](const std::string& name) {
      const auto place = AsRows(places_.at(name), shape, term.order);
      fits &= place.has_value();
      if (place) rows[name] = *place;
    });
    if (!fits) return false;
    std::map<std::string, std::string> other;
    for (const auto& [name, place] : rows) {
      if (name != term.name) other[name] = AddView(name + "_rows", place);
    }
    dsl::Statement made = program_.statements[term.product];
    const std::string product = made.target;
    dsl::TermPtr end = WithNames(sum.operands[0], [&](const std::string& name) {
      return name == term.name ? dsl::It() : dsl::Name(other.at(name));
    });
    if (end->kind != dsl::Term::Kind::kIt) made.epilogue.push_back(std::move(end));
    made.target = sum.target;
    made.target_type = sum.target_type;
    places_[made.target].shape = places_.at(product).shape;
    places_[made.target].strides = DenseStrides(places_.at(product).shape);
    sum = std::move(made);
    program_.statements.erase(program_.statements.begin() + static_cast<std::ptrdiff_t>(term.product));
    std::erase_if(program_.views, [&](const dsl::View& view) { return view.base == product; });
    any_ = true;
    return true;
  }

  // It stays a map, of its dimensions in that order. False: nobody is gone.
  bool TurnMap(std::size_t s, const std::vector<std::size_t>& order) {
    dsl::Statement& sum = program_.statements[s];
    std::map<std::string, std::string> turned;
    sum.operands[0] = WithNames(sum.operands[0], [&](const std::string& name) {
      auto& other = turned[name];
      if (other.empty()) other = AddTurnedView(program_, places_, name, order);
      return dsl::Name(other);
    });
    NamedPlace& place = places_[sum.target];
    Shape shape;
    for (const std::size_t d : order) shape.push_back(place.shape[d]);
    place.shape = shape;
    place.strides = DenseStrides(shape);
    return false;
  }

  dsl::Program program_;
  NamedPlaces places_;
  bool any_ = false;  // product ends so
};

}  // namespace

std::optional<dsl::Program> WithTurnedStreams(dsl::Program program, const dsl::KernelProgram& checked) {
  return StreamTurner(std::move(program)).Turn(checked);
}

}  // namespace hone::expert
