// Several results of one kernel, so that what they read is read once: of a norm, as a sum beside what is normalised; of
// a map, as an optimizer's step, a sum and what is made of it, gradients of an operator.
#include <algorithm>
#include <functional>
#include <iterator>

#include "propose/expert/fuser.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// Tensors that a kernel reads and writes: a thread has a pack of each in registers.
constexpr std::size_t kMostTensors = 12;

bool SameElements(const FlatLoad& a, const FlatLoad& b) { return a.buffer == b.buffer && a.position == b.position; }

bool Holds(const std::vector<FlatLoad>& loads, const FlatLoad& load) {
  return std::any_of(loads.begin(), loads.end(), [&](const FlatLoad& other) { return SameElements(load, other); });
}

// Each once.
std::vector<FlatLoad> LoadsOfPiece(const Memory& memory, const Piece& piece) {
  std::vector<FlatLoad> loads;
  EachExpr(piece, [&](const Expr& expr) {
    for (auto& load : memory.Loads(expr)) {
      if (!Holds(loads, load)) loads.push_back(std::move(load));
    }
  });
  return loads;
}

// The dimensions along which loads lie side by side that do not along the innermost, which can be turned in squares.
std::set<std::size_t> Across(const Memory& memory, const Piece& merged) {
  std::set<std::size_t> across;
  for (const FlatLoad& load : LoadsOfPiece(memory, merged)) {
    const auto step = [&](std::size_t d) { return load.position->of(merged.space[d]); };
    if (merged.space.empty() || step(merged.space.size() - 1) == 0 || step(merged.space.size() - 1) == 1) continue;
    std::size_t d = 0;
    while (d < merged.space.size() && step(d) != 1) ++d;
    across.insert(d);
  }
  return across;
}

// Whether what was read in squares still is: along one dimension, and in no more than there were.
bool KeepsSquares(const Memory& memory, Piece both, const Piece& a, const Piece& b) {
  MergeDimensions(memory, both);
  const auto fits = [&](Piece one) {
    MergeDimensions(memory, one);
    return Across(memory, one).empty() || both.space.size() <= one.space.size();
  };
  return Across(memory, both).size() <= 1 && fits(a) && fits(b);
}

}  // namespace

std::vector<int> Fuser::MadeBy(const Piece& piece) {
  std::vector<int> made = {piece.buffer};
  for (const auto& one : piece.also) made.push_back(one.buffer);
  return made;
}

// A norm and a map of as many elements that reads nothing but what the norm reads, at the same places: as one, they
// read it once.
void Fuser::GroupResults() {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    if (!known_[m].alive || !IsSimpleMap(m) || !known_[m].plain || known_[m].loads_nothing) continue;
    for (const auto norm : Readers(known_[m].reads[0])) {
      if (pieces_[norm].statistics.empty() || pieces_[norm].fold || !IsPlain(memory_, pieces_[norm]) ||
          LoadsOf(norm, pieces_[m].buffer) > 0)
        continue;
      auto also = AsReadBy(pieces_[norm], pieces_[m]);
      const auto place = also ? PlaceOfBoth(m, norm) : std::nullopt;
      if (!place) continue;
      Piece both = pieces_[norm];
      both.also.push_back(std::move(*also));
      Become(std::move(both), m, norm, *place);
      break;
    }
  }
}

// Two pieces become one, which stands where one of them did.
void Fuser::Become(Piece both, std::size_t a, std::size_t b, std::size_t place) {
  Kill(a);
  Kill(b);
  pieces_[place] = std::move(both);
  known_[place].alive = true;
  for (const int buffer : MadeBy(pieces_[place])) maker_[Id(buffer)] = static_cast<int>(place);
  Learn(place);
}

// The map over the norm's space, if it reads what that reads.
std::optional<Piece> Fuser::AsReadBy(const Piece& norm, const Piece& map) const {
  auto also = OverSpace(map, norm.space);
  if (!also) return std::nullopt;
  const std::vector<FlatLoad> read = LoadsOfPiece(memory_, norm), loads = LoadsOfPiece(memory_, *also);
  const bool same = std::all_of(loads.begin(), loads.end(), [&](const FlatLoad& load) { return Holds(read, load); });
  return same ? std::move(also) : std::nullopt;
}

// Where one of two pieces stands behind all that both read and before all others who read them.
std::optional<std::size_t> Fuser::PlaceOfBoth(std::size_t a, std::size_t b) const {
  for (const std::size_t place : {std::min(a, b), std::max(a, b)}) {
    bool fits = true;
    for (const std::size_t piece : {a, b}) {
      for (const int buffer : known_[piece].reads) {
        const int maker = maker_[Id(buffer)];
        fits &= maker < static_cast<int>(place) || maker == static_cast<int>(a) || maker == static_cast<int>(b);
      }
      for (const int made : MadeBy(pieces_[piece])) {
        for (const auto reader : readers_[Id(made)]) fits &= reader > place || reader == a || reader == b;
      }
    }
    if (fits) return place;
  }
  return std::nullopt;
}

// Maps over the same elements of which one reads much of what the other reads, or what it makes.
void Fuser::GroupMaps() {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    while (GoesBeside(m) && JoinMap(m)) {
    }
  }
}

// What is of parameters alone may be made once, by itself.
bool Fuser::GoesBeside(std::size_t map) const {
  if (!known_[map].alive || !IsSimpleMap(map) || !known_[map].plain) return false;
  const Graph& graph = memory_.graph();
  return std::any_of(known_[map].reads.begin(), known_[map].reads.end(), [&](int buffer) {
    const Buffer& read = graph.buffers()[Id(buffer)];
    return read.stage >= 0 || graph.problem().tensors[Id(read.tensor)].role != Role::kParameter;
  });
}

// Whether it went together with another.
bool Fuser::JoinMap(std::size_t map) {
  std::set<std::size_t> others;
  for (const int read : known_[map].reads) {
    others.insert(readers_[Id(read)].begin(), readers_[Id(read)].end());
    if (maker_[Id(read)] >= 0) others.insert(Id(maker_[Id(read)]));
  }
  for (const int made : MadeBy(pieces_[map])) others.insert(readers_[Id(made)].begin(), readers_[Id(made)].end());
  for (const std::size_t other : others) {
    if (other == map || !GoesBeside(other) || !MayShareReads(map, other) || NeedsManyTensors(map, other)) continue;
    const auto place = PlaceOfBoth(map, other);
    if (!place) continue;
    auto both = Reads(map, other) ? AsOneMap(pieces_[other], pieces_[map]) : AsOneMap(pieces_[map], pieces_[other]);
    if (!both) continue;
    Become(std::move(*both), map, other, *place);
    DropUnread(*place);
    return true;
  }
  return false;
}

// Whether a piece reads what another makes.
bool Fuser::Reads(std::size_t piece, std::size_t other) const {
  const auto made = MadeBy(pieces_[other]);
  return std::any_of(made.begin(), made.end(), [&](int buffer) { return readers_[Id(buffer)].contains(piece); });
}

// More, read and written, than one kernel should have.
bool Fuser::NeedsManyTensors(std::size_t a, std::size_t b) const {
  std::set<int> tensors;
  for (const std::size_t piece : {a, b}) {
    tensors.insert(known_[piece].reads.begin(), known_[piece].reads.end());
    for (const int made : MadeBy(pieces_[piece])) tensors.insert(made);
  }
  return tensors.size() > kMostTensors;
}

// Of what a map makes, what another of its results alone has read.
void Fuser::DropUnread(std::size_t map) {
  std::vector<Piece> results = std::move(pieces_[map].also);
  pieces_[map].also.clear();
  results.insert(results.begin(), pieces_[map]);
  std::erase_if(results, [&](const Piece& one) {
    const bool unread = !memory_.IsOutput(one.buffer) && readers_[Id(one.buffer)].empty();
    if (unread) maker_[Id(one.buffer)] = -1;
    return unread;
  });
  if (results.empty()) return Kill(map);
  pieces_[map] = results[0];
  pieces_[map].also.assign(results.begin() + 1, results.end());
  Learn(map);
}

// Both over the same space, the second with what it reads of the first made anew. Nothing if they are not worth it.
std::optional<Piece> Fuser::AsOneMap(Piece first, Piece second) const {
  const Piece as_first = first, as_second = second;
  if (auto over = OverSpace(second, first.space)) {
    second = std::move(*over);
  } else if (auto other = OverSpace(first, second.space)) {
    first = std::move(*other);
  } else {
    return std::nullopt;
  }
  bool fits = true;
  const Affine own = OwnPosition(first.space);
  EachExpr(second, [&](Expr& expr) {
    expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
      const int root = memory_.Root(load.buffer);
      const Piece* made = root == first.buffer ? &first : nullptr;
      for (const Piece& one : first.also) {
        if (root == one.buffer) made = &one;
      }
      if (!made) return {};
      fits &= memory_.Position(load) == own;
      return made->value;
    });
    fits &= TreeSize(expr) <= kLongestExpression;
  });
  if (!fits) return std::nullopt;
  if (!ReadByBoth(ReadsOf(first), ReadsOf(second)).much) return std::nullopt;
  std::vector<Piece> further = std::move(second.also);
  second.also.clear();
  first.also.push_back(std::move(second));
  std::move(further.begin(), further.end(), std::back_inserter(first.also));
  for (Piece& one : first.also) one.space = first.space;
  const std::size_t tensors = LoadsOfPiece(memory_, first).size() + MadeBy(first).size();
  if (tensors > kMostTensors || !IsPlain(memory_, first) || !KeepsSquares(memory_, first, as_first, as_second))
    return std::nullopt;
  return first;
}

// Sorted by their keys, in which places are what the index of each dimension is multiplied with.
std::vector<Fuser::Read> Fuser::ReadsOf(const Piece& piece) const {
  std::vector<Read> reads;
  for (const FlatLoad& load : LoadsOfPiece(memory_, piece)) {
    Read& read = reads.emplace_back(Read{.bytes = static_cast<std::int64_t>(Bytes(HeldAs(load.buffer)))});
    const auto add = [&](std::int64_t number) {
      read.key = (read.key ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15;
      read.key ^= read.key >> 32;
    };
    add(load.buffer);
    if (load.position) add(load.position->constant);
    for (const IndexVar& var : piece.space) {
      if (load.position) add(load.position->of(var));
      if (!load.position || load.position->of(var) != 0) read.bytes *= var.extent;
    }
  }
  std::ranges::sort(reads, std::less(), &Read::key);
  return reads;
}

Fuser::InCommon Fuser::ReadByBoth(const std::vector<Read>& a, const std::vector<Read>& b) {
  InCommon common;
  std::int64_t of_a = 0, of_b = 0, shared = 0;
  for (const Read& read : a) of_a += read.bytes;
  auto other = a.begin();
  for (const Read& read : b) {
    of_b += read.bytes;
    while (other != a.end() && other->key < read.key) ++other;
    if (other == a.end() || other->key != read.key) continue;
    shared += read.bytes;
    ++common.reads;
  }
  common.much = 2 * shared >= std::min(of_a, of_b);
  return common;
}

// Whether two plain maps may be worth one kernel. Of a recurrence that is written out each step reads what all others
// do, a little of it: that is seen sooner than one is made of the two.
bool Fuser::MayShareReads(std::size_t a, std::size_t b) {
  if (Extents(pieces_[a].space) != Extents(pieces_[b].space) || Reads(a, b) || Reads(b, a)) return true;
  for (const std::size_t map : {a, b}) {
    if (!known_[map].each_read) known_[map].each_read = ReadsOf(pieces_[map]);
  }
  const std::vector<Read>&of_a = *known_[a].each_read, &of_b = *known_[b].each_read;
  const InCommon common = ReadByBoth(of_a, of_b);
  const std::size_t made = MadeBy(pieces_[a]).size() + MadeBy(pieces_[b]).size();
  return common.much && of_a.size() + of_b.size() - common.reads + made <= kMostTensors;
}

}  // namespace hone::expert
