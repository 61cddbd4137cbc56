// A sum over channels and places of a window of input times weight: conv, and conv transposed.
#include <algorithm>

#include "propose/expert/recognise/recognise.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/window.h"

namespace hone::expert::recogniser_conv {
namespace {

bool Has(const std::vector<IndexVar>& vars, const IndexVar& var) {
  return std::any_of(vars.begin(), vars.end(), [&](const IndexVar& v) { return v.id == var.id; });
}

// One spatial dimension of the convolution; an index of extent 1 is none.
struct Spatial {
  const WindowDim* dim = nullptr;
  std::optional<IndexVar> out, tap;
};

// The indices by what they do.
struct Roles {
  std::vector<IndexVar> batch;  // input and result
  std::optional<IndexVar> group, made, channel;
  std::optional<IndexVar> inner;  // of a channel: a dimension that each window has whole, as if it were channels
  std::vector<Spatial> spatial;
};

class Reading {
 public:
  Reading(Names& names, const Piece& piece, const WindowLoad& x, const FlatLoad& w)
      : names_(names), piece_(piece), x_(x), w_(w) {}

  std::optional<dsl::Statement> Read() {
    if (x_.type != ScalarType::kReal || w_.type != ScalarType::kReal || x_.outside != 0) return std::nullopt;
    if (!FindRoles() || !InOrder()) return std::nullopt;
    transposed_ = std::any_of(roles_.spatial.begin(), roles_.spatial.end(), [](const Spatial& spatial) {
      return spatial.dim->divisor > 1 || (spatial.tap && spatial.dim->place.of(*spatial.tap) < 0);
    });
    dsl::Statement statement;
    statement.family = "conv";
    if (transposed_) statement.variant = "transposed";
    if (!Operands(statement) || !Attributes(statement)) return std::nullopt;
    if (!Epilogue(statement)) return std::nullopt;
    return statement;
  }

 private:
  bool InInput(const IndexVar& var) const {
    return std::any_of(x_.dims.begin(), x_.dims.end(), [&](const WindowDim& dim) { return dim.place.of(var) != 0; });
  }
  bool InWeight(const IndexVar& var) const { return w_.position->of(var) != 0; }

  bool FindRoles() {
    // Whether an index of the result alone comes before the channels, where batches are, or behind.
    bool behind = false;
    for (const auto& var : piece_.space) {
      const bool input = InInput(var), weight = InWeight(var);
      if (!input && !weight) return false;
      if (weight) {
        auto& role = input ? roles_.group : roles_.made;
        if (role) return false;
        role = var;
        behind = true;
      }
    }
    const bool channels_first = behind;
    behind = false;
    for (const auto& var : piece_.space) {
      if (InWeight(var)) {
        behind = true;
        continue;
      }
      const WindowDim* dim = nullptr;
      for (const auto& d : x_.dims) {
        if (d.place.of(var) == 0) continue;
        if (dim) return false;
        dim = &d;
      }
      const bool alone = dim->kept.size() == 1 && dim->folded.empty() && !dim->guarded && dim->divisor == 1;
      if (channels_first ? !behind : (alone && roles_.spatial.empty() && roles_.batch.empty())) {
        if (!dim->folded.empty() || dim->guarded || dim->divisor > 1) return false;
        roles_.batch.push_back(var);
        continue;
      }
      if (dim->kept.size() != 1 || dim->folded.size() > 1) return false;
      Spatial spatial{dim, var, {}};
      if (!dim->folded.empty()) spatial.tap = dim->folded[0];
      roles_.spatial.push_back(spatial);
    }
    // What is folded beside the taps: the channel, in the group's dimension, or the first that nothing guards; others
    // are windows as large as what they slide over.
    std::vector<const WindowDim*> folded;
    for (const auto& dim : x_.dims) {
      const bool spatial =
          std::any_of(roles_.spatial.begin(), roles_.spatial.end(), [&](const Spatial& s) { return s.dim == &dim; });
      if (!spatial && !dim.folded.empty()) folded.push_back(&dim);
    }
    const auto of_group = std::find_if(folded.begin(), folded.end(), [&](const WindowDim* dim) {
      return roles_.group && dim->place.of(*roles_.group) != 0;
    });
    auto channel = of_group;
    if (channel == folded.end() && !roles_.group) {
      channel = std::find_if(folded.begin(), folded.end(), [](const WindowDim* dim) {
        return !dim->guarded && dim->divisor == 1 && dim->place.constant == 0;
      });
    }
    if (channel != folded.end()) {
      const WindowDim& dim = **channel;
      if (dim.folded.size() != 1 || dim.kept.size() != (roles_.group ? 1u : 0u) || dim.guarded || dim.divisor > 1 ||
          dim.place.of(dim.folded[0]) != 1 || dim.place.constant != 0 ||
          (roles_.group && dim.place.of(*roles_.group) != dim.folded[0].extent))
        return false;
      roles_.channel = dim.folded[0];
      folded.erase(channel);
    }
    for (const auto* dim : folded) {
      if (dim->folded.size() != 1 || !dim->kept.empty()) return false;
      if (!roles_.inner && MakesChannels(*dim)) {
        roles_.inner = dim->folded[0];
        continue;
      }
      // As the image lies.
      const auto behind_it =
          std::ranges::find_if(roles_.spatial, [&](const Spatial& spatial) { return spatial.dim->step < dim->step; });
      roles_.spatial.insert(behind_it, {dim, {}, dim->folded[0]});
    }
    for (const auto& var : piece_.fold->over) {
      if (!InInput(var) || !InWeight(var)) return false;
    }
    // Where windows are as large as what they slide over, and each channel is a group, that is a row times a matrix,
    // for each group of one image; where each group has one result, of however many images, it is the sum of a row.
    const bool slides = std::any_of(roles_.spatial.begin(), roles_.spatial.end(),
                                    [](const Spatial& spatial) { return spatial.out && spatial.tap; });
    if (roles_.group && !roles_.channel && (roles_.batch.empty() || !roles_.made) && !slides) return false;
    // Where the result has groups alone, nothing is read twice: that is a sum.
    const bool shares = roles_.made || !roles_.batch.empty() ||
                        std::any_of(roles_.spatial.begin(), roles_.spatial.end(),
                                    [](const Spatial& spatial) { return spatial.out.has_value(); });
    return shares && !roles_.spatial.empty() && roles_.spatial.size() <= 3;
  }

  // Whether what is folded lies in the channel, in the image as in the weights.
  bool MakesChannels(const WindowDim& dim) const {
    const IndexVar& var = dim.folded[0];
    return roles_.channel && !dim.guarded && dim.divisor == 1 && dim.place == Affine{0, {{var.id, 1}}} &&
           Flat(*roles_.channel) == Flat(var) * var.extent &&
           w_.position->of(*roles_.channel) == w_.position->of(var) * var.extent;
  }

  // The result's dimensions as the family has them: batches, groups and channels, spatial ones.
  bool InOrder() const {
    std::vector<int> want;
    for (const auto& var : roles_.batch) want.push_back(var.id);
    if (roles_.group) want.push_back(roles_.group->id);
    if (roles_.made) want.push_back(roles_.made->id);
    for (const auto& spatial : roles_.spatial) {
      if (spatial.out) want.push_back(spatial.out->id);
    }
    return std::equal(want.begin(), want.end(), piece_.space.begin(), piece_.space.end(),
                      [](int id, const IndexVar& var) { return id == var.id; });
  }

  std::int64_t Flat(const IndexVar& var) const {
    std::int64_t step = 0;
    for (const auto& dim : x_.dims) step += dim.place.of(var) * dim.step;
    return step;
  }

  static std::int64_t Extent(const std::optional<IndexVar>& var) { return var ? var->extent : 1; }

  // Several indices that are walked as one; nothing if they are not.
  static std::optional<std::int64_t> Together(const std::vector<IndexVar>& vars,
                                              const std::function<std::int64_t(const IndexVar&)>& step) {
    std::int64_t inner = 0, count = 1;
    for (std::size_t i = vars.size(); i-- > 0;) {
      if (count > 1 && step(vars[i]) != inner * count) return std::nullopt;
      if (count == 1) inner = step(vars[i]);
      count *= vars[i].extent;
    }
    return inner;
  }

  bool Operands(dsl::Statement& statement) {
    const std::int64_t groups = Extent(roles_.group), channels = Extent(roles_.channel) * Extent(roles_.inner),
                       made = Extent(roles_.made);
    const auto together = [](const std::vector<std::optional<IndexVar>>& some,
                             const std::function<std::int64_t(const IndexVar&)>& step) {
      std::vector<IndexVar> vars;
      for (const auto& var : some) {
        if (var) vars.push_back(*var);
      }
      return Together(vars, step);
    };
    const auto in_x = [&](const IndexVar& var) { return Flat(var); };
    const auto in_w = [&](const IndexVar& var) { return w_.position->of(var); };
    const auto batch = Together(roles_.batch, in_x);
    const auto channel = together({roles_.group, roles_.channel, roles_.inner}, in_x);
    const auto of_channel = together({roles_.channel, roles_.inner}, in_w);
    const auto first = transposed_ ? together({roles_.group, roles_.channel, roles_.inner}, in_w)
                                   : together({roles_.group, roles_.made}, in_w);
    if (!batch || !channel || !of_channel || !first) return false;
    count_ = 1;
    for (const auto& var : roles_.batch) count_ *= var.extent;
    Shape x_shape{count_, groups * channels}, w_shape{groups * (transposed_ ? channels : made)};
    std::vector<std::int64_t> x_strides{*batch, *channel}, w_strides{*first};
    w_shape.push_back(transposed_ ? made : channels);
    w_strides.push_back(!transposed_ ? *of_channel : roles_.made ? in_w(*roles_.made) : 0);
    std::int64_t offset = x_.offset;
    for (const auto& dim : x_.dims) {
      const bool spatial =
          std::any_of(roles_.spatial.begin(), roles_.spatial.end(), [&](const Spatial& s) { return s.dim == &dim; });
      if (!spatial) offset += dim.place.constant * dim.step;
    }
    for (auto& spatial : roles_.spatial) {
      const WindowDim& dim = *spatial.dim;
      // A window that begins inside is one over what is left.
      std::int64_t begin = 0;
      if (!transposed_ && dim.place.constant > 0) {
        if (dim.guarded) return false;
        begin = dim.place.constant;
      }
      offset += begin * dim.step;
      x_shape.push_back(dim.extent - begin);
      x_strides.push_back(dim.step);
      w_shape.push_back(Extent(spatial.tap));
      w_strides.push_back(spatial.tap ? in_w(*spatial.tap) : 0);
    }
    input_ = x_shape;
    const auto dense = [](const Shape& shape, std::vector<std::int64_t>& strides) {
      // Where nothing varies any stride will do: the one that makes it the value itself.
      std::int64_t natural = 1;
      for (std::size_t d = shape.size(); d-- > 0; natural *= shape[d]) {
        if (shape[d] == 1) strides[d] = natural;
      }
    };
    dense(x_shape, x_strides);
    dense(w_shape, w_strides);
    const auto x_name = names_.View(x_.buffer, x_shape, x_strides, offset, Broadcast::kForbidden);
    const auto w_name = names_.View(w_.buffer, w_shape, w_strides, w_.position->constant, Broadcast::kForbidden);
    if (!x_name || !w_name) return false;
    statement.operands = {dsl::Name(*x_name), dsl::Name(*w_name)};
    statement.target_shape = {count_, groups * made};
    return true;
  }

  bool Attributes(dsl::Statement& statement) {
    std::vector<std::int64_t> stride, padding, dilation, extent;
    bool plain_extent = true;
    for (std::size_t d = 0; d < roles_.spatial.size(); ++d) {
      const Spatial& spatial = roles_.spatial[d];
      const WindowDim& dim = *spatial.dim;
      const std::int64_t out = Extent(spatial.out), taps = Extent(spatial.tap), in = input_[d + 2];
      const std::int64_t out_step = spatial.out ? dim.place.of(*spatial.out) : 1;
      const std::int64_t tap_step = spatial.tap ? dim.place.of(*spatial.tap) : transposed_ ? -1 : 1;
      extent.push_back(out);
      if (transposed_) {
        // place = out + padding - tap * dilation, over the stride.
        if (out_step != 1 || tap_step >= 0 || dim.place.constant < 0) return false;
        stride.push_back(dim.divisor);
        padding.push_back(dim.place.constant);
        dilation.push_back(-tap_step);
        plain_extent &= out == (in - 1) * dim.divisor - 2 * dim.place.constant - tap_step * (taps - 1) + 1;
      } else {
        if (dim.divisor != 1 || out_step < 1 || tap_step < 1) return false;
        stride.push_back(out_step);
        dilation.push_back(tap_step);
        padding.push_back(std::max<std::int64_t>(-dim.place.constant, 0));
        const std::int64_t room = in + 2 * padding.back() - tap_step * (taps - 1) - 1;
        plain_extent &= room >= 0 && out == room / out_step + 1;
      }
      statement.target_shape.push_back(out);
    }
    statement.attributes["stride"] = stride;
    statement.attributes["padding"] = padding;
    statement.attributes["dilation"] = dilation;
    if (roles_.group) statement.attributes["groups"] = {roles_.group->extent};
    if (!plain_extent) statement.attributes["extent"] = extent;
    return true;
  }

  // The chain sees [batch, channels, spatial..]: what the piece has as two indices is one there.
  bool Epilogue(dsl::Statement& statement) {
    std::vector<IndexVar> space;
    Expr finish = names_.memory().Flat(piece_.fold->finish);
    const auto merge = [&](const std::vector<IndexVar>& vars) {
      if (vars.size() == 1) {
        space.push_back(vars[0]);
        return true;
      }
      std::int64_t count = 1;
      for (const auto& var : vars) count *= var.extent;
      const IndexVar merged = NewIndex(count);
      space.push_back(merged);
      for (const auto& load : names_.memory().Loads(finish)) {
        if (!load.position || !Together(vars, [&](const IndexVar& var) { return load.position->of(var); }))
          return false;
      }
      finish = Substitute(finish, [&](const IndexVar& var) {
        return !Has(vars, var) ? Expr() : var.id == vars.back().id ? Expr(merged) : Expr(0);
      });
      return true;
    };
    std::vector<IndexVar> channels;
    if (roles_.group) channels.push_back(*roles_.group);
    if (roles_.made) channels.push_back(*roles_.made);
    if (!merge(roles_.batch) || !merge(channels)) return false;
    for (const auto& spatial : roles_.spatial) space.push_back(spatial.out ? *spatial.out : NewIndex(1));
    return AddEpilogue(names_, statement, finish, space);
  }

  Names& names_;
  const Piece& piece_;
  const WindowLoad& x_;
  const FlatLoad& w_;
  Roles roles_;
  bool transposed_ = false;
  std::int64_t count_ = 1;  // of batches
  Shape input_;
};

std::optional<dsl::Statement> RecogniseConv(Names& names, const Piece& piece) {
  if (!piece.fold || !IsContraction(names.memory(), *piece.fold)) return std::nullopt;
  const Fold& fold = *piece.fold;
  for (const int first : {0, 1}) {
    const Expr &left = fold.body->operands[static_cast<std::size_t>(first)],
               &right = fold.body->operands[static_cast<std::size_t>(1 - first)];
    const auto x = ReadWindow(names.memory(), left, piece.space, fold.over);
    if (!x || right->kind != Expr::Kind::kLoad) continue;
    const auto position = names.memory().Position(*right);
    if (!position) continue;
    const FlatLoad w{names.memory().Root(right->buffer), position, right->type};
    const std::size_t views = names.views().size();
    if (auto statement = Reading(names, piece, *x, w).Read()) return statement;
    names.ForgetViews(views);
  }
  return std::nullopt;
}

}  // namespace

HONE_ROW(Recogniser){.name = "conv", .form = Form::kAsItIs, .place = 20, .recognise = RecogniseConv};

}  // namespace hone::expert::recogniser_conv
