// Whole numbers that say where: the places in a cache that is written to, the numbers of its rows.
#include <algorithm>
#include <vector>

#include "propose/expert/fuser.h"
#include "propose/expert/keyed_pieces.h"
#include "propose/expert/one_place.h"

namespace hone::expert {

// Folds of which one term alone may count, once what they compare with is known to be 0, 1, 2 ...
void Fuser::TakeTerms() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !pieces_[i].fold || pieces_[i].fold->body->kind != Expr::Kind::kSelect) continue;
    Piece fold = pieces_[i];
    std::vector<std::size_t> numbers;
    for (const int read : known_[i].reads) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || !IsSimpleMap(Id(maker)) || !known_[Id(maker)].loads_nothing || known_[Id(maker)].expensive)
        continue;
      if (auto with = Inlined(pieces_[Id(maker)], fold)) {
        fold = std::move(*with);
        numbers.push_back(Id(maker));
      }
    }
    auto term = AtOnePlace(fold);
    if (!term) continue;
    pieces_[i] = std::move(*term);
    Learn(i);
    for (const std::size_t map : numbers) {
      if (Readers(pieces_[map].buffer).empty() && !memory_.IsOutput(pieces_[map].buffer)) Kill(map);
    }
  }
}

// Whether a map makes whole numbers of a few others, one for all of a row of whoever reads it, as the place is in a
// cache that is written to: made again for each pack of elements it costs less than a kernel of its own.
bool Fuser::IsNumberOfRows(std::size_t map_at) const {
  constexpr std::int64_t kFew = 64;  // times as many elements has the reader
  const Piece& map = pieces_[map_at];
  if (!IsSimpleMap(map_at) || known_[map_at].expensive || known_[map_at].loads_nothing ||
      memory_.IsOutput(map.buffer) || map.value->type == ScalarType::kReal)
    return false;
  std::int64_t read = 0;
  for (const int buffer : known_[map_at].reads) read += ElementCount(memory_.shape(buffer));
  return std::ranges::all_of(Readers(map.buffer), [&](std::size_t at) {
    const Piece& reader = pieces_[at];
    bool of_row = IsSimpleMap(at) && !reader.space.empty() && read * kFew <= known_[at].count;
    if (!of_row) return false;
    Visit(reader.value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || memory_.Root(node.buffer) != map.buffer) return;
      for (const Expr& index : node.operands) of_row &= !UsesIndex(index, reader.space.back().id);
    });
    return of_row;
  });
}

// Whether a map is written into an input of which it lets by most: whoever reads it reads that memory, rather than make
// it again of both.
bool Fuser::WritesPlaces(std::size_t map_at) const {
  const Piece& map = pieces_[map_at];
  if (!IsSimpleMap(map_at) || map.value->kind != Expr::Kind::kSelect) return false;
  return std::ranges::any_of(InputsWritten(map.buffer), [&](const std::string& input) {
    const auto lets_by = [&](const Expr& side) {
      if (side->kind != Expr::Kind::kLoad || memory_.Position(*side) != OwnPosition(map.space)) return false;
      return memory_.graph().buffers()[Id(memory_.Root(side->buffer))].name == input;
    };
    return lets_by(map.value->operands[1]) || lets_by(map.value->operands[2]);
  });
}

// The inputs that what is in a buffer is written into.
std::vector<std::string> Fuser::InputsWritten(int buffer) const {
  std::vector<std::string> inputs;
  const auto outputs = memory_.graph().problem().Outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o]->updates.empty() && memory_.Maker(o) == buffer) inputs.push_back(outputs[o]->updates);
  }
  return inputs;
}

// Which of few places writes last to each of many is asked where they are written: nobody has to look at the others.
void Fuser::TakePlaces() {
  constexpr std::int64_t kFew = 1024;  // as long as each looks at all of them
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& last = pieces_[i];
    if (!known_[i].alive || !last.fold || last.fold->op != ReduceOp::kMax || memory_.IsOutput(last.buffer) ||
        !last.inside.empty() || !last.statistics.empty() || !KeyedFoldIn(last) ||
        ElementCount(Extents(last.fold->over)) > kFew)
      continue;
    const auto readers = Readers(last.buffer);
    if (readers.empty() || !std::ranges::all_of(readers, [&](std::size_t at) { return WritesPlaces(at); })) continue;
    Piece as_map = last;
    as_map.fold.reset();
    as_map.value = ReplaceValue(last.fold->finish, kIt, Reduce(last.fold->op, last.fold->over, last.fold->body));
    std::swap(last, as_map);
    const bool taken = std::ranges::all_of(readers, [&](std::size_t at) { return InlineInto(i, at); });
    if (taken) Kill(i);
    if (!taken) std::swap(last, as_map);
  }
}

// A map that looks something up takes the dimensions of the map that it reads, which goes into it: numbers that are
// eight in a word, of groups that have an order of their own. What indices alone make of such a nest it makes itself.
void Fuser::EndLookups() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !known_[i].plain || !IsSimpleMap(i) || memory_.IsOutput(pieces_[i].buffer) ||
        picks_.count(i) > 0 || (eights_ && MakesEightBits(i)) || (rounded_ && RoundsToHalves(i)))
      continue;
    const auto readers = Readers(pieces_[i].buffer);
    if (readers.size() != 1 || !IsSimpleMap(readers[0]) || known_[readers[0]].plain ||
        known_[readers[0]].count != known_[i].count || !IsWorth(i, readers[0]))
      continue;
    const auto apart = OverSpace(pieces_[readers[0]], pieces_[i].space);
    auto both = apart ? Inlined(pieces_[i], *apart) : std::nullopt;
    if (!both) continue;
    pieces_[readers[0]] = std::move(*both);
    Kill(i);
    Learn(readers[0]);
  }
  InlineWhere([&](std::size_t map, std::size_t reader) {
    const Known& made = known_[map];
    return made.loads_nothing && !made.plain && !made.expensive && !known_[reader].plain && IsSimpleMap(reader);
  });
}

}  // namespace hone::expert
