// Whether a map that several kernels read is made again in each of them, or made once and read. A residual stream that
// is made again is longer in each layer: what its last sum reads is all that was ever added to it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "propose/expert/fuser.h"

namespace hone::expert {

// Bytes that the map reads and none of `kernel` reads anyway; bytes that it makes.
std::int64_t Fuser::BytesRead(std::size_t map, const std::vector<std::size_t>& kernel) const {
  std::int64_t bytes = 0;
  for (const int read : known_[map].reads) {
    const bool anyway = std::ranges::any_of(kernel, [&](std::size_t at) { return readers_[Id(read)].contains(at); });
    if (anyway) continue;
    const std::int64_t count = std::min(ElementCount(memory_.shape(read)), known_[map].count);
    bytes += count * static_cast<std::int64_t>(Bytes(HeldAs(read)));
  }
  return bytes;
}
std::int64_t Fuser::BytesMade(std::size_t map) const {
  return known_[map].count * static_cast<std::int64_t>(Bytes(HeldAs(pieces_[map].buffer)));
}

// Those up to `last` that read what a piece's elements, or what maps make of them, are folded to: a mean, a sum of
// squares. Of folds, what has `whole` elements or more is none.
std::set<std::size_t> Fuser::ReadersOfFolds(std::size_t from, std::int64_t whole, std::size_t last) const {
  struct Reached {
    std::size_t piece;
    bool folded;
  };
  std::vector<Reached> reached;
  std::vector<bool> seen(last + 1, false);
  const auto go_on = [&](std::size_t at, bool folded) {
    if (at > last || seen[at]) return;
    const auto& fold = pieces_[at].fold;
    if (fold && (IsProduct(pieces_[at]) || IsWindow(pieces_[at]))) return;
    if (!fold && (!IsSimpleMap(at) || (folded && known_[at].count >= whole))) return;
    seen[at] = true;
    reached.push_back({at, folded || fold});
  };
  std::set<std::size_t> readers;
  go_on(from, false);
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const Reached one = reached[next];
    for (const std::size_t other : readers_[Id(pieces_[one.piece].buffer)]) {
      if (one.folded && other <= last) readers.insert(other);
      go_on(other, one.folded);
    }
  }
  return readers;
}

// The readers of a buffer, those together that will be one norm, as a mean, a variance and what they normalise.
std::vector<std::vector<std::size_t>> Fuser::KernelsThatRead(int buffer) const {
  std::vector<std::vector<std::size_t>> kernels;
  const std::vector<std::size_t> all = Readers(buffer);
  std::map<std::pair<std::size_t, std::int64_t>, std::set<std::size_t>> read_folds;
  for (const std::size_t reader : all) {  // in order: who is folded comes first
    const std::int64_t whole = ElementCount(Extents(pieces_[reader].space));
    const auto reads_fold_of = [&](std::size_t other) {
      const auto [found, is_new] = read_folds.try_emplace({other, whole});
      if (is_new) found->second = ReadersOfFolds(other, whole, all.back());
      return found->second.contains(reader);
    };
    const auto kernel = std::ranges::find_if(
        kernels, [&](const std::vector<std::size_t>& one) { return std::ranges::any_of(one, reads_fold_of); });
    if (kernel == kernels.end()) {
      kernels.push_back({reader});
    } else {
      kernel->push_back(reader);
    }
  }
  return kernels;
}

// Who had better read the map from memory. Of norms one may write it beside what it makes of it (TakeSums).
std::set<std::size_t> Fuser::WhoReadForLess(std::size_t map_at) const {
  constexpr double kWorth = 9.0 / 8;  // weights and what a row has one of are no reason
  const int buffer = pieces_[map_at].buffer;
  if (!known_[map_at].plain || known_[map_at].expensive || known_[map_at].loads_nothing) return {};
  const std::vector<std::size_t> all = Readers(buffer);
  if (all.empty() || (all.size() == 1 && !memory_.IsOutput(buffer))) return {};
  const auto kernels = KernelsThatRead(buffer);
  if (kernels.size() == 1 && !memory_.IsOutput(buffer)) return {};
  const std::int64_t made = BytesMade(map_at);
  const bool stays = memory_.IsOutput(buffer) || !std::ranges::all_of(all, [&](std::size_t reader) {
                       return IsWorth(map_at, reader) && Inlined(pieces_[map_at], pieces_[reader]);
                     });
  std::int64_t again = 0, once = BytesRead(map_at, {}) + made;
  std::set<std::size_t> longer;  // those that read more than the map has, if they make it
  bool beside = false;           // whether a norm writes it
  for (const auto& kernel : kernels) {
    const std::int64_t bytes = BytesRead(map_at, kernel);
    const bool is_norm = kernel.size() > 1;
    again += bytes;
    once += is_norm && !beside ? 0 : made;
    beside |= is_norm;
    if (static_cast<double>(bytes) > kWorth * static_cast<double>(made)) longer.insert(kernel.begin(), kernel.end());
  }
  if (stays) return longer;
  const bool keep = static_cast<double>(again) > kWorth * static_cast<double>(once);
  return keep ? std::set<std::size_t>{all.begin(), all.end()} : std::set<std::size_t>{};
}

// A norm of a map that others read, too, makes it itself and writes it.
void Fuser::TakeSums() {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    if (!known_[m].alive || !IsSimpleMap(m) || !known_[m].plain || known_[m].expensive || known_[m].loads_nothing)
      continue;
    for (const std::size_t norm : Readers(pieces_[m].buffer)) {
      if (pieces_[norm].statistics.empty() || pieces_[norm].fold || !IsPlain(memory_, pieces_[norm])) continue;
      auto both = Inlined(pieces_[m], pieces_[norm]);
      auto also = both ? AsReadBy(*both, pieces_[m]) : std::nullopt;
      const auto place = also ? PlaceOfBoth(m, norm) : std::nullopt;
      if (!place) continue;
      both->also.push_back(std::move(*also));
      Become(std::move(*both), m, norm, *place);
      break;
    }
  }
}

}  // namespace hone::expert
