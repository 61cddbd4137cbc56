// Where candidates wait, and which were tried: one table with open addressing, since a tree of a million attempts asks
// and tells it five million times, each a miss of the cache. Nothing is ever taken out: who waits no more was tried.
#pragma once

#include <cstddef>
#include <vector>

#include "search/waiting.h"

namespace hone {

class CandidateIndex {
 public:
  CandidateIndex() : slots_(kFirst) {}

  // In work and dropped ones included.
  bool Tried(const CandidateKey& key) const {
    for (std::size_t at = Home(key); slots_[at].node != kFree; at = After(at)) {
      if (slots_[at].key == key && slots_[at].node == kTried) return true;
    }
    return false;
  }

  // It waits at this node, too.
  void Wait(const CandidateKey& key, int node) { Insert({key, node}); }

  // It waits nowhere any more, and was tried. Calls `waited(node)` for each place, in the order of waiting.
  template <class Function>
  void Take(const CandidateKey& key, const Function& waited) {
    bool known = false;
    for (std::size_t at = Home(key); slots_[at].node != kFree; at = After(at)) {
      if (!(slots_[at].key == key)) continue;
      known = true;
      if (slots_[at].node != kTried) waited(slots_[at].node);
      slots_[at].node = kTried;
    }
    if (!known) Insert({key, kTried});
  }

 private:
  static constexpr int kFree = -1, kTried = -2;
  static constexpr std::size_t kFirst = 64;  // slots; a power of two, as ever
  struct Slot {
    CandidateKey key;
    int node = kFree;
  };

  std::size_t Home(const CandidateKey& key) const { return key.high & (slots_.size() - 1); }  // the bits are a hash's
  std::size_t After(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void Insert(const Slot& slot) {
    if (4 * ++used_ > 3 * slots_.size()) Grow();
    Place(slot);
  }
  void Place(const Slot& slot) {
    std::size_t at = Home(slot.key);
    while (slots_[at].node != kFree) at = After(at);
    slots_[at] = slot;
  }
  // Slots of one key keep their order: a run of slots is begun where it begins.
  void Grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    const std::size_t size = before.size();
    std::size_t first = 0;
    while (before[first].node != kFree) ++first;
    for (std::size_t i = 1; i <= size; ++i) {
      const Slot& slot = before[(first + i) & (size - 1)];
      if (slot.node != kFree) Place(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace hone
