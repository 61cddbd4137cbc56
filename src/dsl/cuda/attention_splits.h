// What the ways of attention have in common in which few queries attend to many keys: which rows read the same keys,
// and that keys are split among blocks, whose sums a second kernel puts together. Each way is a class of its own over
// AttentionSplits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/cuda/attention_parts.h"
#include "dsl/cuda/writer.h"
#include "dsl/knobs.h"

namespace hone::dsl {

// The rows that read the same keys: the innermost batch dimensions along which neither keys nor values move, and M.
struct AttentionSharedRows {
  std::size_t shared_from = 0;  // the first of those dimensions
  std::int64_t pairs = 1;       // of keys and values that differ
  std::int64_t count = 1;       // rows of one
};
AttentionSharedRows SharedRowsOf(const Kernel& kernel);

// At which keys and values are read: bytes a second.
double AttentionBandwidth(const DeviceModel& device);
// Values of the knob `split`, the best first: of `items`, which `resident` blocks of `warps` take at a time.
std::vector<Setting> AttentionSplitValues(const Kernel& kernel, std::int64_t items, std::int64_t resident,
                                          std::int64_t warps);
// Likewise, of items that take `item_us` each, if they see all keys, and are split into `most` parts at most.
std::vector<Setting> AttentionSplitValues(const Kernel& kernel, std::int64_t items, std::int64_t resident,
                                          std::int64_t most, double item_us);
inline constexpr const char* kAttentionSplitDoc =
    "parts of the keys, which blocks of their own attend to and a second kernel puts together";
std::optional<std::string> CheckAttentionSplit(const Kernel&, const Setting& value);

class AttentionSplits {
 protected:
  // `tile` rows that a block has, of `warps` that take `step` keys at a time.
  AttentionSplits(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, std::int64_t tile,
                  std::int64_t warps, std::int64_t step);

  // Begins the kernel, of a block an item and part: `part`, `pair`, `first_row`, batch dimensions, and the function
  // `query`, the address of a row's query or null; of its second part `query1`. Blocks that read the same keys are
  // neighbours.
  void Begin(int blocks_a_processor);
  // A line that names the scale of all keys of a batch, where they have one, and the text that multiplies a product
  // with it. What each has for itself the functions `key_scale` and `value_scale` give.
  std::string Scaled();
  // Lines that have `warp` attend to the part's keys, with the function `score`, and write what came of it.
  void Attend();
  // A line that names `begin`, where the part's step of the number `step` begins, and `end`, where its keys do, of
  // which there are those before `last`.
  void OpenKeys(std::string_view step, std::string last);
  // Opens the function that writes what came of a row `at` of the tile, and has its body; to be closed.
  void OpenMade(const std::string& head);
  // Ends the kernel; what puts parts together follows. `maps`: of keys and values, where those are read so.
  void End(std::int64_t shared_bytes, std::vector<std::pair<std::string, TensorMapArgument>> maps = {},
           std::int64_t cluster = 1);
  // The score's text at the row and key of these names, of the product `it`.
  std::string ScoreAt(const std::string& row, const std::string& key);

  const KernelProgram& program_;
  const Kernel& kernel_;
  DeviceWriter& out_;
  AttentionSharedRows rows_;
  std::int64_t tile_, tiles_, warps_, step_, splits_, width_;
  ScaledScore score_;
  SeenKeys seen_;
  std::vector<std::string> batches_;  // the names of the batch dimensions before the shared ones

 private:
  void Rows(const std::string& name, std::size_t input, std::vector<std::string> places);
  void Scales(const std::string& name, std::size_t input, std::vector<std::string> places);
  void OpenPage(std::vector<std::string>& places);
  void PutTogether();
  // Writes element `e` of `row`, of the names of the sum of its values and that of their weights, `sum` and `total`,
  // over its largest score, `most`.
  void Write(const std::vector<std::string>& batches);
  // Lines that take the number `of` of `count` apart along dimensions [first, end): their names, "0" for an extent
  // of 1.
  std::vector<std::string> Decomposed(const std::string& of, std::size_t first, std::size_t end, std::int64_t count);
  // The place in each dimension of what belongs to the row of this name; "0" where it does not say.
  std::vector<std::string> PlacesOf(const std::vector<std::string>& batches, const std::string& row);

  std::string sums_, statistics_;  // scratch, where there are several parts
};

}  // namespace hone::dsl
