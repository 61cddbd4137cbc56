// The memory in which candidates of one problem run: slots for inputs and outputs, and the parameters. The judge's
// side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/trial.h"
#include "protocol/tensor_memory.h"

namespace hone {

// Not thread-safe. A worker may run in it while the judge reads it; nothing of it is written then.
class TrialMemory {
 public:
  static Result<TrialMemory> Create(TrialLayout layout);
  // Outputs of its own beside the same inputs: for a baseline that runs in turn with a candidate.
  Result<SharedMemory> MoreOutputs() const;

  const TrialLayout& layout() const { return layout_; }
  const SharedMemory& input_memory() const { return input_memory_; }
  const SharedMemory& output_memory() const { return output_memory_; }

  // values: one a tensor of Problem::Inputs(); those of the other role are not looked at.
  void LoadParameters(const std::vector<std::vector<std::byte>>& values);
  void LoadInputs(std::size_t slot, const std::vector<std::vector<std::byte>>& values);
  // But for outputs that are written into an input: those get its values, from where the slot `from` has them.
  void Poison(std::size_t slot, std::size_t from, std::uint16_t pattern);
  bool LoadUpdated(const SharedMemory& outputs, std::size_t slot, std::size_t output, std::size_t from) const;
  void PoisonElement(const SharedMemory& outputs, std::size_t slot, std::size_t output, std::int64_t element) const;

  std::byte* Input(std::size_t slot, std::size_t i) const {
    return input_memory_.At(layout_.setup.input_slots[slot][i]);
  }
  std::byte* Output(std::size_t slot, std::size_t i) const { return output_memory_.At(OutputPlace(slot, i)); }
  const Place& OutputPlace(std::size_t slot, std::size_t i) const { return layout_.setup.output_slots[slot][i]; }

 private:
  TrialLayout layout_;
  SharedMemory input_memory_, output_memory_;
};

}  // namespace hone
