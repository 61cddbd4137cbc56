// The memory in which candidates of one problem run: slots for inputs and outputs, and the parameters. The judge's
// side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/protocol.h"
#include "evaluate/tensor_memory.h"
#include "problem/problem.h"

namespace hone {

// Tensors, and where they lie in the memory of the inputs and of the outputs, whose sizes come back: as many slots as
// `cache_bytes` take, at least 2, at most kMaxSlots. `unit`: what a tensor begins at a multiple of.
WorkerSetup LayOut(const Problem& problem, std::int64_t cache_bytes, std::int64_t unit, std::int64_t& input_bytes,
                   std::int64_t& output_bytes);

// Not thread-safe. A worker may run in it while the judge reads it; nothing of it is written then.
class TrialMemory {
 public:
  // As many slots as half of the second-level cache takes, at least 2, at most kMaxSlots.
  static Result<TrialMemory> Create(const Problem& problem, std::int64_t l2_bytes);
  // Outputs of its own beside the same inputs: for a baseline that runs in turn with a candidate.
  Result<SharedMemory> MoreOutputs() const;

  std::size_t slots() const { return setup_.input_slots.size(); }
  std::size_t inputs() const { return setup_.inputs.size(); }
  std::size_t outputs() const { return setup_.outputs.size(); }
  const Tensor& output(std::size_t i) const { return setup_.outputs[i]; }
  const Tensor& input(std::size_t i) const { return setup_.inputs[i]; }
  std::int64_t problem_bytes() const { return problem_bytes_; }  // of all tensors once
  const SharedMemory& input_memory() const { return input_memory_; }
  const SharedMemory& output_memory() const { return output_memory_; }

  // values: one a tensor of Problem::Inputs(); those of the other role are not looked at.
  void LoadParameters(const std::vector<std::vector<std::byte>>& values);
  void LoadInputs(std::size_t slot, const std::vector<std::vector<std::byte>>& values);
  void Poison(std::size_t slot, std::uint16_t pattern);
  void PoisonElement(const SharedMemory& outputs, std::size_t slot, std::size_t output, std::int64_t element) const;

  std::byte* Input(std::size_t slot, std::size_t i) const { return input_memory_.At(setup_.input_slots[slot][i]); }
  std::byte* Output(std::size_t slot, std::size_t i) const { return output_memory_.At(setup_.output_slots[slot][i]); }
  const Place& OutputPlace(std::size_t slot, std::size_t i) const { return setup_.output_slots[slot][i]; }
  // Which of Problem::Inputs() is input i.
  std::size_t InputIndex(std::size_t i) const { return input_index_[i]; }

  // What a worker is told of it; library, threads, views and limits are the caller's.
  const WorkerSetup& setup() const { return setup_; }

 private:
  WorkerSetup setup_;
  std::vector<std::size_t> input_index_, parameter_index_;
  std::int64_t problem_bytes_ = 0, output_bytes_ = 0;
  SharedMemory input_memory_, output_memory_;
};

}  // namespace hone
