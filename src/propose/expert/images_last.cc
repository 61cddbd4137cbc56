// Images whose channels lie last, whatever makes them: products of pixels, pools, maps. A piece writes in the order of
// its space, so that its channels go behind, and its readers find its elements where they are then. A product is
// [pixels, channels] so, and nothing is turned between it and a convolution on the tensor cores, which reads and makes
// channels last by its own setting, and what ends it with it.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "propose/expert/fuser.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/unflatten.h"

namespace hone::expert {
// The indices of a load in the buffer's dimensions, whether it is written in them, and may leave them, or elsewise.
std::optional<std::vector<Expr>> Fuser::IndicesIn(int buffer, const ExprNode& load) const {
  if (load.buffer == buffer && load.operands.size() == memory_.shape(buffer).size()) return load.operands;
  const std::vector<IndexVar> vars = VarsIn(load);
  const auto position = memory_.Position(load);
  const auto at = position ? Unflatten(*position, vars, memory_.shape(buffer)) : std::nullopt;
  if (!at) return std::nullopt;
  std::vector<Expr> indices;
  for (const Affine& index : *at) indices.push_back(ToExpr(index, vars));
  return indices;
}

// A load that goes through all pixels as through one dimension, where channels lie last.
std::optional<Expr> Fuser::PixelsLast(int buffer, const ExprNode& load) const {
  const Shape& shape = memory_.shape(buffer);
  const std::vector<IndexVar> vars = VarsIn(load);
  const auto position = memory_.Position(load);
  const std::int64_t channels = shape[1], pixels = ElementCount(shape) / (shape[0] * channels);
  const auto at = position ? Unflatten(*position, vars, {shape[0], channels, pixels}) : std::nullopt;
  if (!at) return std::nullopt;
  Affine flat = Combine(Affine{}, (*at)[0], channels * pixels);
  flat = Combine(std::move(flat), (*at)[2], channels);
  flat = Combine(std::move(flat), (*at)[1], 1);
  return Load(buffer, {ToExpr(flat, vars)}, load.type);
}

// The reader with channels last where it reads the buffer; nothing if that needs a division.
std::optional<Piece> Fuser::ReadingLast(std::size_t reader, int buffer, int last) const {
  Piece changed = pieces_[reader];
  bool all = true;
  EachExpr(changed, [&](Expr& expr) {
    expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
      if (memory_.Root(load.buffer) != buffer) return {};
      auto indices = IndicesIn(buffer, load);
      if (!indices) {
        auto flat = PixelsLast(buffer, load);
        all &= flat.has_value();
        return flat.value_or(Expr());
      }
      std::rotate(indices->begin() + 1, indices->begin() + 2, indices->end());
      return Load(last, std::move(*indices), load.type);
    });
  });
  return all ? std::optional(std::move(changed)) : std::nullopt;
}

// Whether a product goes over places of an image: a window's, or pixels some of which it skips, which are no rows.
bool Fuser::Convolves(const Piece& piece) const {
  if (!IsProduct(piece)) return false;
  if (IsWindow(piece)) return true;
  const std::size_t rank = piece.space.size();
  if (rank < 4) return false;
  return std::ranges::any_of(memory_.Loads(piece.fold->body), [&](const FlatLoad& load) {
    if (!load.position) return true;
    const auto step = [&](std::size_t d) { return load.position->of(piece.space[d]); };
    bool all = step(rank - 1) != 0, skips = false;
    for (std::size_t d = 2; d + 1 < rank; ++d) {
      all &= step(d) != 0 || piece.space[d].extent == 1;
      skips |= step(d) != step(d + 1) * piece.space[d + 1].extent;
    }
    return all && skips;
  });
}

// What convolutions make, and what ends them.
std::set<int> Fuser::MadeByConvolutions() const {
  std::set<int> made;
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    if (!known_[at].alive) continue;
    const bool ends = IsSimpleMap(at) && std::ranges::any_of(known_[at].reads, [&](int read) {
                        return made.contains(read) && std::ranges::all_of(readers_[Id(read)], [&](std::size_t reader) {
                                 return IsSimpleMap(reader);
                               });
                      });
    if (Convolves(pieces_[at]) || ends) made.insert(pieces_[at].buffer);
  }
  return made;
}

// Whether a piece may make an image of 16 bits with its channels last.
bool Fuser::MayMakeLast(std::size_t at) const {
  const Piece& piece = pieces_[at];
  if (!known_[at].alive || memory_.shape(piece.buffer).size() < 4 || !IsHalf(HeldAs(piece.buffer)) ||
      !piece.also.empty() || piece.sequence >= 0 || memory_.IsOutput(piece.buffer) ||
      memory_.Root(piece.buffer) != piece.buffer || Extents(piece.space) != memory_.shape(piece.buffer))
    return false;
  if (!piece.statistics.empty()) return !piece.fold;
  return piece.fold ? IsProduct(piece) || IsWindow(piece) : IsSimpleMap(at);
}

// Images: what convolutions read and make, and what maps, windows and products with parameters make of images, or make
// into them, in as many dimensions. Other values of four dimensions, as heads of attention are, have no channels.
std::set<int> Fuser::Images(const std::set<int>& convolved) const {
  std::set<int> images = convolved;
  const auto is_parameter = [&](int buffer) {
    const Buffer& read = memory_.graph().buffers()[Id(buffer)];
    return read.stage < 0 && memory_.graph().problem().tensors[Id(read.tensor)].role == Role::kParameter;
  };
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    if (!known_[at].alive || !Convolves(pieces_[at])) continue;
    for (const int read : known_[at].reads) {
      if (!is_parameter(read)) images.insert(read);
    }
  }
  // Whether a product with parameters adds up along the second dimension of what it reads.
  const auto mixes_channels = [&](const Piece& piece, int read) {
    const std::int64_t pixels = DenseStrides(memory_.shape(read))[1];
    bool along = false, weighs = false;
    for (const FlatLoad& load : memory_.Loads(piece.fold->body)) {
      weighs |= is_parameter(load.buffer);
      if (load.buffer != read || !load.position) continue;
      for (const IndexVar& over : piece.fold->over) along |= load.position->of(over) == pixels;
    }
    return along && weighs;
  };
  // Whether what a piece makes is an image where what it reads is one, and the other way round.
  const auto alike = [&](const Piece& piece, int read) {
    const Shape &made = memory_.shape(piece.buffer), &source = memory_.shape(read);
    if (!piece.fold) return made == source;
    if (made.size() != source.size() || made.size() < 3 || made[0] != source[0]) return false;
    return IsProduct(piece) ? mixes_channels(piece, read) : made[1] == source[1];
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t at = 0; at < pieces_.size(); ++at) {
      if (!known_[at].alive) continue;
      const int made = pieces_[at].buffer;
      for (const int read : known_[at].reads) {
        if (images.contains(made) == images.contains(read) || !alike(pieces_[at], read)) continue;
        images.insert({made, read});
        grown = true;
      }
    }
  }
  return images;
}

void Fuser::LayImagesLast() {
  const std::set<int> convolved = MadeByConvolutions(), images = Images(convolved);
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    Piece& piece = pieces_[at];
    const auto last = memory_.ChannelsLast(piece.buffer);
    if (!last || !MayMakeLast(at) || convolved.contains(piece.buffer) || !images.contains(piece.buffer)) continue;
    std::vector<std::pair<std::size_t, Piece>> changed;
    const std::vector<std::size_t> readers = Readers(piece.buffer);
    for (const std::size_t reader : readers) {
      auto one = ReadingLast(reader, piece.buffer, *last);
      if (!one) break;
      changed.emplace_back(reader, std::move(*one));
    }
    if (changed.size() < readers.size()) continue;
    std::rotate(piece.space.begin() + 1, piece.space.begin() + 2, piece.space.end());
    for (int& axis : piece.axes)
      axis = axis == 1 ? static_cast<int>(piece.space.size()) - 1 : axis > 1 ? axis - 1 : axis;
    std::ranges::sort(piece.axes);
    Learn(at);
    for (auto& [reader, one] : changed) {
      pieces_[reader] = std::move(one);
      Learn(reader);
    }
  }
}

}  // namespace hone::expert
