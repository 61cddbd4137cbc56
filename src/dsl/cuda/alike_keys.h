// Attention of sequences that are packed into one: a query sees the keys whose number, of their document, is its own.
// Before it a kernel finds, for each tile of queries, between which keys all lie that any of them can see: tiles of
// keys before and behind are not looked at. Where the tile is of one document, and all between are of it, nothing more
// is asked of a key than whether it lies between. That is right whatever the numbers are, and gains where they ascend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/seen_keys.h"

namespace hone::dsl {

class AlikeKeys {
 public:
  // Of tiles of so many queries. The kernel and `seen` outlive it.
  AlikeKeys(const Kernel& kernel, const SeenKeys& seen, std::int64_t queries);

  bool any() const { return !seen_.alike.empty(); }

  // The kernel that finds it, before the one that attends.
  void Emit(DeviceWriter& out);
  // By the name that a launch reads it; empty where there is nothing to find.
  const std::string& found() const { return found_; }
  // Lines that name what was found for the queries of `tile` of the batch at these places: `alike_from` and
  // `alike_end`, and `alike`, whether a key between them is seen for sure, as far as this says.
  void Write(DeviceWriter& out, const std::vector<std::string>& batches, const std::string& tile) const;

 private:
  const Kernel& kernel_;
  const SeenKeys& seen_;
  std::int64_t queries_, tiles_ = 1;
  std::vector<std::size_t> dims_;  // of the batch, that numbers hang on
  std::string found_;
};

}  // namespace hone::dsl
