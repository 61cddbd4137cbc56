#include "graph/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace hone {
namespace {

// An index out of data, which may count from the end.
Expr Wrapped(const Expr& index, std::int64_t extent) { return Select(Less(index, 0), index + extent, index); }

// Sources come to an element in the order of `number` over `extents`; `hits` says whether one does, `value` what it is.
struct Arrivals {
  std::vector<std::int64_t> extents;
  std::function<Expr(Indices k)> hits, value;
};

Expr Combined(Scattering how, const Expr& own, const Arrivals& arrivals, ScalarType type, bool include_self) {
  const auto fold = [&](ReduceOp op, const Expr& neutral) {
    return Fold(op, arrivals.extents, [&](Indices k) { return Select(arrivals.hits(k), arrivals.value(k), neutral); });
  };
  const auto count = [&] {
    return Fold(ReduceOp::kSum, arrivals.extents, [&](Indices k) { return Cast(arrivals.hits(k), ScalarType::kInt); });
  };
  const auto written = [&] { return Fold(ReduceOp::kAny, arrivals.extents, arrivals.hits); };
  const auto joined = [&](const Expr& folded, const Expr& with_own) {
    return include_self ? with_own : Select(written(), folded, own);
  };
  const Expr zero = Cast(0, type), one = Cast(1, type);
  switch (how) {
    case Scattering::kOverwrite: break;
    case Scattering::kAdd: {
      if (type == ScalarType::kBool) return Apply(BinaryOp::kOr, own, fold(ReduceOp::kAny, Expr::Bool(false)));
      const Expr sum = fold(ReduceOp::kSum, zero);
      return joined(sum, own + sum);
    }
    case Scattering::kMultiply: {
      const Expr product = fold(ReduceOp::kProd, one);
      return joined(product, own * product);
    }
    case Scattering::kMean: {
      const Expr sum = fold(ReduceOp::kSum, zero), arrived = count();
      const Expr total = include_self ? own + sum : sum, number = include_self ? arrived + 1 : Max(arrived, 1);
      const Expr mean =
          type == ScalarType::kReal ? total / Cast(number, type) : Apply(BinaryOp::kFloorDiv, total, number);
      return include_self ? mean : Select(Less(0, arrived), mean, own);
    }
    case Scattering::kLargest:
    case Scattering::kSmallest: {
      const bool largest = how == Scattering::kLargest;
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const Expr neutral = type == ScalarType::kReal ? Expr(largest ? -kInfinity : kInfinity)
                           : largest                 ? Expr(std::numeric_limits<std::int64_t>::min())
                                                     : Expr(std::numeric_limits<std::int64_t>::max());
      const Expr extreme = fold(largest ? ReduceOp::kMax : ReduceOp::kMin, neutral);
      return joined(extreme, largest ? Max(own, extreme) : Min(own, extreme));
    }
  }
  HONE_CHECK(false, "overwriting has no combination");
}

bool IsEmpty(const std::vector<std::int64_t>& extents) { return ElementCount(extents) == 0; }

// The result, of self's shape, element by element. Overwriting first finds the last source of each element: along
// dimensions other than `asked`, which `hits` does not ask about, it is one for all, as rows of a cache are written
// whole.
void OutputScattered(OpCall& call, const Operand& self, Scattering how, bool include_self,
                     const std::vector<std::int64_t>& extents, const std::vector<int>& asked,
                     const std::function<Expr(Indices at, Indices k)>& hits,
                     const std::function<Expr(Indices at, Indices k)>& value) {
  if (IsEmpty(extents)) return call.Output(self.shape(), self.dtype(), [&](Indices at) { return self(at); });
  const ScalarType type = ScalarTypeOf(self.dtype());
  if (how != Scattering::kOverwrite) {
    return call.Output(self.shape(), self.dtype(), [&](Indices at) {
      const Arrivals arrivals{extents, [&](Indices k) { return hits(at, k); },
                              [&](Indices k) { return Cast(value(at, k), type); }};
      return Combined(how, self(at), arrivals, type, include_self);
    });
  }
  Shape places;
  for (const int d : asked) places.push_back(self.dim(d));
  // As long as self where each element has one of its own: of four bytes, if they hold its number.
  const bool short_numbers = ElementCount(extents) <= std::numeric_limits<std::int32_t>::max();
  const DType number = short_numbers ? DType::kI32 : DType::kI64;
  const Operand last = call.Let("last", places, number, [&](Indices place) {
    std::vector<Expr> at(self.shape().size(), Expr(0));
    for (std::size_t i = 0; i < asked.size(); ++i) at[static_cast<std::size_t>(asked[i])] = place[i];
    return Fold(ReduceOp::kMax, extents,
                [&](Indices k) { return Select(hits(at, k), Flatten(k, extents), std::int64_t{-1}); });
  });
  call.Output(self.shape(), self.dtype(), [&](Indices at) {
    std::vector<Expr> place;
    for (const int d : asked) place.push_back(at[static_cast<std::size_t>(d)]);
    const std::vector<Expr> k = Unflatten(last(place), extents);
    return Select(LessEqual(0, last(place)), Cast(value(at, k), type), self(at));
  });
}

std::vector<int> AllDims(const Operand& x) {
  std::vector<int> dims(x.shape().size());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

}  // namespace

Scattering ReadReduce(OpCall& call, std::initializer_list<std::string_view> takes) {
  static constexpr std::pair<std::string_view, Scattering> kNames[] = {{"sum", Scattering::kAdd},
                                                                       {"prod", Scattering::kMultiply},
                                                                       {"mean", Scattering::kMean},
                                                                       {"amax", Scattering::kLargest},
                                                                       {"amin", Scattering::kSmallest}};
  const std::string reduce = call.String("reduce");
  for (const auto& [name, how] : kNames) {
    if (name == reduce && std::ranges::count(takes, name) > 0) return how;
  }
  std::string names;
  for (const std::string_view* name = takes.begin(); name != takes.end(); ++name)
    names += fmt::format("{}{}", name == takes.begin() ? "" : name + 1 == takes.end() ? " or " : ", ", *name);
  call.Fail("reduce has to be " + names);
  return Scattering::kAdd;
}

void DefineScatter(OpCall& call, Scattering how, const ElementFunction& source, bool include_self) {
  const Operand self = call.Tensor("self"), index = call.Tensor("index");
  const int dim = call.Dim("dim", self.rank());
  if (std::max(self.rank(), 1) != std::max(index.rank(), 1)) return call.Fail("index needs as many dimensions as self");
  if (call.failed()) return;
  const auto place = [&](Indices at, Indices k) {
    std::vector<Expr> full(index.shape().size(), Expr(0));
    if (self.rank() > 0 && index.rank() > 0) full = Replaced(at, dim, k[0]);
    return full;
  };
  const std::int64_t sources = index.rank() == 0 ? 1 : ElementCount(index.shape()) == 0 ? 0 : index.dim(dim);
  OutputScattered(
      call, self, how, include_self, {sources}, AllDims(self),
      [&](Indices at, Indices k) {
        if (self.rank() == 0) return Expr::Bool(true);
        Expr hit = Equal(Wrapped(index(place(at, k)), self.dim(dim)), at[static_cast<std::size_t>(dim)]);
        // Beside index's own extents nothing is written, and there is nothing to load.
        Expr inside = Expr::Bool(true);
        for (int d = 0; d < self.rank(); ++d) {
          if (d != dim && index.rank() > 0 && index.dim(d) < self.dim(d))
            inside = And(inside, Less(at[static_cast<std::size_t>(d)], index.dim(d)));
        }
        return inside->kind == Expr::Kind::kConst ? hit : Select(inside, hit, Expr::Bool(false));
      },
      [&](Indices at, Indices k) { return source(place(at, k)); });
}

void DefineIndexScatter(OpCall& call, Scattering how, const std::function<Expr(Indices)>& source, bool include_self) {
  const Operand self = call.Tensor("self"), index = call.Tensor("index");
  const int dim = call.Dim("dim", self.rank());
  if (index.rank() > 1) return call.Fail("index has to be a vector");
  if (call.failed()) return;
  OutputScattered(
      call, self, how, include_self, {ElementCount(index.shape())},
      self.rank() == 0 ? std::vector<int>{} : std::vector<int>{dim},
      [&](Indices at, Indices k) {
        if (self.rank() == 0) return Expr::Bool(true);
        const Expr named = index.rank() == 0 ? index(std::vector<Expr>{}) : index({k[0]});
        return Equal(Wrapped(named, self.dim(dim)), at[static_cast<std::size_t>(dim)]);
      },
      [&](Indices at, Indices k) { return source(Replaced(at, dim, k[0])); });
}

std::optional<AdvancedIndex> ReadAdvancedIndex(OpCall& call, const Operand& self) {
  const auto given = call.MaybeTensors("indices");
  if (given.size() > self.shape().size()) call.Fail("more indices than dimensions");
  std::vector<Operand> tensors;
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < given.size(); ++d) {
    if (!given[d]) continue;
    if (ScalarTypeOf(given[d]->dtype()) == ScalarType::kBool || given[d]->dtype() == DType::kU8) {
      call.Fail("hone does not define indexing with a mask: the shape of its result hangs on the data");
      return std::nullopt;
    }
    tensors.push_back(*given[d]);
    dims.push_back(d);
  }
  if (call.failed()) return std::nullopt;
  const Shape picked = call.BroadcastShape(tensors);
  if (call.failed()) return std::nullopt;
  // Where the indexed dimensions lie side by side, what they pick takes their place; otherwise it comes first.
  const bool together = dims.empty() || dims.back() - dims.front() + 1 == dims.size();
  const std::size_t first = together && !dims.empty() ? dims.front() : 0;
  AdvancedIndex made;
  std::vector<std::size_t> kept;
  for (std::size_t d = 0; d < self.shape().size(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) kept.push_back(d);
  }
  for (std::size_t i = 0; i < first; ++i) made.shape.push_back(self.shape()[kept[i]]);
  made.shape.insert(made.shape.end(), picked.begin(), picked.end());
  for (std::size_t i = first; i < kept.size(); ++i) made.shape.push_back(self.shape()[kept[i]]);
  if (ElementCount(picked) > 0) {
    for (const auto d : dims) {
      if (self.shape()[d] == 0) call.Fail("an index into a dimension without elements");
    }
  }
  made.place = [=](Indices at) {
    std::vector<Expr> full(self.shape().size());
    for (std::size_t i = 0; i < kept.size(); ++i) full[kept[i]] = at[i < first ? i : i + picked.size()];
    const Indices inner = at.subspan(first, picked.size());
    for (std::size_t i = 0; i < dims.size(); ++i)
      full[dims[i]] = Wrapped(tensors[i].Broadcast(inner), self.shape()[dims[i]]);
    return full;
  };
  return made;
}

namespace {

// x[mask] = value, the mask over self's first dimensions: a choice, as long as all that is written there is the same.
void DefineMaskedPut(OpCall& call, const Operand& self, const Operand& mask, const Operand& values, bool accumulate) {
  if (mask.rank() > self.rank() || !std::equal(mask.shape().begin(), mask.shape().end(), self.shape().begin()))
    return call.Fail("the mask does not fit self's first dimensions");
  const Shape inner(self.shape().begin() + mask.rank(), self.shape().end());
  // What is written counts the elements that the mask takes in its first dimension.
  Shape each = values.shape();
  if (each.size() == inner.size() + 1 && each[0] == 1) each.erase(each.begin());
  if (each.size() > inner.size())
    return call.Fail("hone defines x[mask] = value where all places get the same: use torch.where(mask, values, x)");
  const Operand value = call.Reshape(values, each);
  if (call.BroadcastShape({self, value}) != self.shape())
    return call.Fail("values do not broadcast to what is indexed");
  const ScalarType type = ScalarTypeOf(self.dtype());
  call.Output(self.shape(), self.dtype(), [&](Indices at) {
    const Expr taken = Cast(mask(at.first(static_cast<std::size_t>(mask.rank()))), ScalarType::kBool);
    const Expr written = Cast(value.Broadcast(at), type);
    return Select(taken, accumulate ? self(at) + written : written, self(at));
  });
}

bool IsMask(const std::optional<Operand>& index) {
  return index && (index->dtype() == DType::kBool || index->dtype() == DType::kU8);
}

}  // namespace

void DefineIndexPut(OpCall& call) {
  const Operand self = call.Tensor("self"), values = call.Tensor("values");
  const bool accumulate = call.Bool("accumulate", false);
  if (const auto given = call.MaybeTensors("indices"); given.size() == 1 && IsMask(given[0]))
    return DefineMaskedPut(call, self, *given[0], values, accumulate);
  const auto index = ReadAdvancedIndex(call, self);
  if (!index || call.failed()) return;
  if (values.shape().size() > index->shape.size()) return call.Fail("values do not broadcast to what is indexed");
  for (std::size_t i = 0; i < values.shape().size(); ++i) {
    const auto from = index->shape[index->shape.size() - 1 - i], own = values.shape()[values.shape().size() - 1 - i];
    if (own != 1 && own != from) return call.Fail("values do not broadcast to what is indexed");
  }
  // Only dimensions that an index names are searched; along the others each element has its own place.
  std::vector<std::int64_t> extents;
  std::vector<int> fixed(index->shape.size(), -1);  // the dimension of self that this one of self[indices] is
  std::vector<Expr> probe;
  std::vector<IndexVar> vars;
  for (const auto extent : index->shape) {
    vars.push_back(NewIndex(extent));
    probe.emplace_back(vars.back());
  }
  const auto places = index->place(probe);
  for (std::size_t d = 0; d < places.size(); ++d) {
    if (places[d]->kind != Expr::Kind::kIndex) continue;
    for (std::size_t i = 0; i < vars.size(); ++i) {
      if (vars[i].id == places[d]->index.id) fixed[i] = static_cast<int>(d);
    }
  }
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (fixed[i] < 0) extents.push_back(index->shape[i]);
  }
  std::vector<int> named = AllDims(self);
  std::erase_if(named, [&](int d) { return std::ranges::find(fixed, d) != fixed.end(); });
  const auto source_at = [&](Indices at, Indices k) {
    std::vector<Expr> full(index->shape.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < full.size(); ++i)
      full[i] = fixed[i] < 0 ? k[next++] : at[static_cast<std::size_t>(fixed[i])];
    return full;
  };
  OutputScattered(
      call, self, accumulate ? Scattering::kAdd : Scattering::kOverwrite, true, extents, named,
      [&](Indices at, Indices k) {
        const auto place = index->place(source_at(at, k));
        Expr hit = Expr::Bool(true);
        for (const int d : named)
          hit = And(hit, Equal(place[static_cast<std::size_t>(d)], at[static_cast<std::size_t>(d)]));
        return hit;
      },
      [&](Indices at, Indices k) { return values.Broadcast(source_at(at, k)); });
}

}  // namespace hone
