// Means and sums over windows of what a convolution makes are a convolution, with weights that were summed before:
//
//   sum_e (a * (sum_k x[s * (q * y + e) + k] * w[k]) + b) = a * (sum_t x[s * q * y + t] * v[t]) + b * (how many e)
//   v[t] = sum_(e, k: s * e + k = t) w[k]
//
// What the convolution made is never in memory, and has fewer products: of a window of 3 x 3 and a mean of 4 x 4 six
// times six for each of its results, in place of 144. Of a transposed one, phases whose mean is taken are one.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "propose/expert/fuser.h"
#include "propose/expert/line.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/window.h"

namespace hone::expert {
namespace {

bool IsOfFloats(const Memory& memory, int buffer) {
  return memory.graph().buffers()[static_cast<std::size_t>(buffer)].dtype == DType::kF32 &&
         memory.KeptAs(memory.Root(buffer)) == DType::kF32;
}

struct SummedConvolution {
  Piece weights, conv;
};

class Summing {
 public:
  Summing(const Memory& memory, const Piece& conv, const Piece& sum) : memory_(memory), conv_(conv), sum_(sum) {}

  std::optional<SummedConvolution> Make() {
    if (!ReadConvolution() || !FindPlaces()) return std::nullopt;
    const auto line = LineOf(ReplaceLoads(sum_.fold->body, [&](const ExprNode& load) {
      return memory_.Root(load.buffer) == conv_.buffer ? InSum(conv_.fold->finish) : Expr();
    }));
    if (!line || !line->slope || Varies(line->slope, sum_.fold->over) ||
        (line->rest && Varies(line->rest, sum_.fold->over)))
      return std::nullopt;
    over_ = conv_.fold->over;
    summed_ = sum_.fold->over;
    for (const WindowDim& dim : x_.dims) {
      if (!Join(dim)) return std::nullopt;
    }
    if (!summed_.empty()) return std::nullopt;
    SummedConvolution made;
    const Expr weight = SumWeights(made.weights);
    if (!Saves(made.weights)) return std::nullopt;
    made.conv = sum_;
    made.conv.fold->over = over_;
    made.conv.fold->body = Image() * weight;
    made.conv.fold->finish = ReplaceValue(sum_.fold->finish, kIt, SumOf(*line, ElementCount(Extents(sum_.fold->over))));
    made.conv.fold->torch_in_tf32 = conv_.fold->torch_in_tf32;
    return made;
  }

 private:
  // A dimension of the image along which is summed: index * step + first is where the weight `index` is of, which sums
  // those whose `place` it is.
  struct Joined {
    IndexVar index;
    std::int64_t step = 1, first = 0;
    Affine place;
  };

  static bool Has(const std::vector<IndexVar>& vars, const IndexVar& var) {
    return std::ranges::any_of(vars, [&](const IndexVar& other) { return other.id == var.id; });
  }
  static std::vector<IndexVar> Of(const Affine& place, const std::vector<IndexVar>& vars) {
    std::vector<IndexVar> found;
    std::ranges::copy_if(vars, std::back_inserter(found), [&](const IndexVar& var) { return place.of(var) != 0; });
    return found;
  }
  bool ReadConvolution() {
    for (const std::size_t first : {0, 1}) {
      const Expr &left = conv_.fold->body->operands[first], &right = conv_.fold->body->operands[1 - first];
      auto x = ReadWindow(memory_, left, conv_.space, conv_.fold->over);
      if (!x || x->outside != 0 || right->kind != Expr::Kind::kLoad) continue;
      const auto place = memory_.Position(*right);
      if (!place || !IsOfFloats(memory_, x->buffer) || !IsOfFloats(memory_, right->buffer)) continue;
      x_ = std::move(*x);
      Visit(left, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad) read_ = node.buffer;
      });
      weight_ = memory_.Root(right->buffer);
      weight_place_ = *place;
      const bool slides =
          std::ranges::any_of(x_.dims, [](const WindowDim& dim) { return !dim.kept.empty() && !dim.folded.empty(); });
      if (slides) return true;
    }
    return false;
  }

  // Each of the convolution's indices in those of what sums it; every element that it makes has to be there.
  bool FindPlaces() {
    std::optional<Expr> load;
    Visit(sum_.fold->body, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad && memory_.Root(node.buffer) == conv_.buffer)
        load = Load(node.buffer, node.operands, node.type);
    });
    if (!load) return false;
    const auto read = ReadWindow(memory_, *load, sum_.space, sum_.fold->over);
    if (!read || read->conditions || read->offset != 0) return false;
    std::size_t found = 0;
    std::int64_t step = 1;
    for (std::size_t d = conv_.space.size(); d-- > 0; step *= conv_.space[d].extent) {
      const IndexVar& var = conv_.space[d];
      const auto dim = std::ranges::find_if(
          read->dims, [&](const WindowDim& one) { return var.extent > 1 && one.step == step && one.divisor == 1; });
      places_[var.id] = dim == read->dims.end() ? Affine() : dim->place;
      if (dim == read->dims.end()) continue;
      ++found;
      // Two of the convolution's dimensions may be one there.
      std::vector<IndexVar> vars = sum_.space;
      vars.insert(vars.end(), sum_.fold->over.begin(), sum_.fold->over.end());
      const WholeRange range = RangeOf(dim->place, vars);
      if (range.low < 0 || range.high >= var.extent) return false;
    }
    return found == read->dims.size();
  }
  Affine InSum(const Affine& place) const {
    Affine to = {.constant = place.constant, .coefficient = {}};
    for (const auto& [id, factor] : place.coefficient) {
      const auto of_conv = places_.find(id);
      if (of_conv != places_.end())
        to = Combine(std::move(to), of_conv->second, factor);
      else
        to.coefficient[id] += factor;
    }
    return to;
  }
  Expr InSum(const Expr& expr) const {
    return Substitute(expr, [&](const IndexVar& var) {
      const auto of_conv = places_.find(var.id);
      return of_conv != places_.end() ? ToExpr(of_conv->second, Vars()) : Expr();
    });
  }
  std::vector<IndexVar> Vars() const {
    std::vector<IndexVar> vars = sum_.space;
    for (const auto* more : {&sum_.fold->over, &conv_.fold->over, &over_}) {
      for (const IndexVar& var : *more) {
        if (!Has(vars, var)) vars.push_back(var);
      }
    }
    return vars;
  }

  // The places of the image along a dimension, of the window and of what is summed at once.
  bool Join(const WindowDim& dim) {
    WindowDim to = dim;
    to.place = InSum(dim.place);
    const std::vector<IndexVar> summed = Of(to.place, sum_.fold->over), taps = Of(to.place, conv_.fold->over);
    // Windows that go backwards, as those of a transposed convolution, are turned on the way.
    if (summed.empty() && (taps.size() != 1 || to.place.of(taps[0]) > 0)) {
      image_.push_back(to);
      return dim.divisor == 1;
    }
    if (summed.size() > 1 || taps.size() > 1 || (!summed.empty() && !Has(summed_, summed[0]))) return false;
    Affine own = {.constant = to.place.constant, .coefficient = {}};  // what no index of the result is in
    std::int64_t step = to.divisor == 1 ? 0 : to.divisor;
    std::vector<IndexVar> both = summed;
    both.insert(both.end(), taps.begin(), taps.end());
    for (const IndexVar& var : both) {
      own.coefficient[var.id] = to.place.of(var);
      if (to.divisor == 1) step = std::gcd(step, own.of(var));
      to.place.coefficient.erase(var.id);
    }
    for (auto& [_, factor] : to.place.coefficient) {
      if (factor % to.divisor != 0) return false;
      factor /= to.divisor;
    }
    WholeRange range = RangeOf(own, both);
    if (to.place.coefficient.empty())  // one window for all: beyond the image it has zeros
      range = {.low = std::max<std::int64_t>(range.low, 0),
               .high = std::min(range.high, (dim.extent - 1) * dim.divisor)};
    // The least place that divides.
    const std::int64_t past = range.low % to.divisor, first = range.low + (past > 0 ? to.divisor - past : -past);
    const std::int64_t count = (range.high - first) / step + 1;
    if (range.high < first) return false;
    const IndexVar index = NewIndex(count);
    to.place.constant = first / to.divisor;
    to.place.coefficient[index.id] = step / to.divisor;
    to.divisor = 1;
    std::erase_if(over_, [&](const IndexVar& var) { return Has(taps, var); });
    std::erase_if(summed_, [&](const IndexVar& var) { return Has(summed, var); });
    over_.push_back(index);
    image_.push_back(to);
    joined_.push_back({.index = index, .step = step, .first = first, .place = std::move(own)});
    return true;
  }

  // The weights that are summed, and which of them is beside an element of the image.
  Expr SumWeights(Piece& weights) const {
    const Affine place = InSum(weight_place_);
    std::vector<IndexVar> kept, own;  // and as the weights' piece has them
    for (const auto* vars : {&sum_.space, &over_}) {
      for (const IndexVar& var : *vars) {
        const bool is_joined = std::ranges::any_of(joined_, [&](const Joined& one) { return one.index.id == var.id; });
        if (place.of(var) == 0 && !is_joined) continue;
        kept.push_back(var);
        own.push_back(NewIndex(var.extent));
      }
    }
    const auto in_own = [&](const Affine& affine) {
      Affine to = {.constant = affine.constant, .coefficient = {}};
      for (const auto& [id, factor] : affine.coefficient) {
        const auto at = std::ranges::find(kept, id, &IndexVar::id);
        to.coefficient[at == kept.end() ? id : own[static_cast<std::size_t>(at - kept.begin())].id] = factor;
      }
      return to;
    };
    Fold fold{.over = {}, .op = ReduceOp::kSum, .body = {}, .finish = Value(kIt, ScalarType::kReal)};
    for (const auto* vars : {&sum_.fold->over, &conv_.fold->over}) {
      for (const IndexVar& var : *vars) {
        if (std::ranges::any_of(joined_, [&](const Joined& one) { return one.place.of(var) != 0; }))
          fold.over.push_back(var);
      }
    }
    std::vector<IndexVar> vars = own;
    vars.insert(vars.end(), fold.over.begin(), fold.over.end());
    fold.body = Load(weight_, {ToExpr(in_own(place), vars)}, ScalarType::kReal);
    for (const Joined& one : joined_) {
      const Affine to = {.constant = one.first, .coefficient = {{one.index.id, one.step}}};
      fold.body = Select(Equal(ToExpr(one.place, vars), ToExpr(in_own(to), vars)), fold.body, Expr(0.0));
    }
    weights.buffer = conv_.buffer;
    weights.space = own;
    weights.fold = std::move(fold);
    Affine at;
    std::int64_t step = 1;
    for (std::size_t d = own.size(); d-- > 0; step *= own[d].extent) at.coefficient[kept[d].id] = step;
    return Load(conv_.buffer, {ToExpr(at, Vars())}, ScalarType::kReal);
  }

  Expr Image() const {
    const Shape& shape = memory_.shape(read_);
    const std::vector<std::int64_t> strides = DenseStrides(shape);
    std::vector<Affine> at(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) at[d].constant = x_.offset / strides[d] % shape[d];
    Expr inside;
    const std::vector<IndexVar> vars = Vars();
    for (const WindowDim& dim : image_) {
      std::size_t d = 0;
      while (dim.step < strides[d] || dim.step / strides[d] >= shape[d]) ++d;
      at[d] = Combine(std::move(at[d]), dim.place, dim.step / strides[d]);
      const WholeRange range = RangeOf(dim.place, vars);
      const auto require = [&](const Expr& condition) { inside = inside ? And(inside, condition) : condition; };
      if (range.low < 0) require(LessEqual(Expr(std::int64_t{0}), ToExpr(dim.place, vars)));
      if (range.high >= dim.extent) require(Less(ToExpr(dim.place, vars), Expr(dim.extent)));
    }
    std::vector<Expr> places;
    for (const Affine& place : at) places.push_back(ToExpr(place, vars));
    const Expr load = Load(read_, std::move(places), ScalarType::kReal);
    return inside ? Select(inside, load, Expr(0.0)) : load;
  }

  // Fewer products, and of weights no more than a part of what is read, nor than there is memory for.
  bool Saves(const Piece& weights) const {
    constexpr std::int64_t kOfImage = 4;
    std::int64_t before = ElementCount(Extents(conv_.space)) * ElementCount(Extents(conv_.fold->over));
    for (const WindowDim& dim : x_.dims) before /= dim.divisor;
    const std::int64_t now = ElementCount(Extents(sum_.space)) * ElementCount(Extents(over_)),
                       summed = ElementCount(Extents(weights.space));
    return now < before && summed * kOfImage <= ElementCount(memory_.shape(x_.buffer)) &&
           summed <= ElementCount(memory_.shape(conv_.buffer));
  }

  const Memory& memory_;
  const Piece &conv_, &sum_;
  WindowLoad x_;
  int read_ = -1, weight_ = -1;  // the buffer that is read, and the weights' memory
  Affine weight_place_;
  std::map<int, Affine> places_;         // of the convolution's indices, in those of what sums it
  std::vector<IndexVar> over_, summed_;  // what is folded now; what is summed and not joined yet
  std::vector<WindowDim> image_;
  std::vector<Joined> joined_;
};

}  // namespace

void Fuser::SumConvolutions() {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const Piece& conv = pieces_[p];
    if (!known_[p].alive || !IsProduct(conv) || !conv.inside.empty() || !conv.statistics.empty() ||
        !conv.also.empty() || memory_.IsOutput(conv.buffer) || !IsOfFloats(memory_, conv.buffer) ||
        Readers(conv.buffer).size() != 1)
      continue;
    const std::size_t reader = Readers(conv.buffer)[0];
    const Piece& sum = pieces_[reader];
    if (!sum.fold || sum.fold->op != ReduceOp::kSum || !sum.inside.empty() || !sum.statistics.empty() ||
        !sum.also.empty() || LoadsOf(reader, conv.buffer) != 1 || LoadsBuffer(sum.fold->finish, conv.buffer))
      continue;
    auto made = Summing(memory_, conv, sum).Make();
    if (!made) continue;
    pieces_[p] = std::move(made->weights);
    pieces_[reader] = std::move(made->conv);
    Learn(p);
    Learn(reader);
  }
}

}  // namespace hone::expert
