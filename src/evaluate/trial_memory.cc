#include "evaluate/trial_memory.h"

#include <algorithm>
#include <cstring>

namespace hone {

WorkerSetup LayOut(const Problem& problem, std::int64_t cache_bytes, std::int64_t unit, std::int64_t& input_end,
                   std::int64_t& output_end) {
  WorkerSetup setup;
  std::vector<std::int64_t> input_bytes, parameter_bytes, output_bytes;
  for (const Tensor* tensor : problem.Inputs()) {
    const bool input = tensor->role == Role::kInput;
    (input ? setup.inputs : setup.parameters).push_back(*tensor);
    (input ? input_bytes : parameter_bytes).push_back(tensor->bytes());
  }
  for (const Tensor* tensor : problem.Outputs()) {
    setup.outputs.push_back(*tensor);
    output_bytes.push_back(tensor->bytes());
  }
  std::int64_t set_bytes = 0;
  for (const auto bytes : input_bytes) set_bytes += bytes;
  for (const auto bytes : output_bytes) set_bytes += bytes;
  const auto slots = std::clamp<std::int64_t>(cache_bytes / std::max<std::int64_t>(set_bytes, 1), 2, kMaxSlots);
  input_end = output_end = 0;
  for (std::int64_t i = 0; i < slots; ++i) {
    setup.input_slots.push_back(PlaceTensors(input_bytes, input_end, unit));
    setup.output_slots.push_back(PlaceTensors(output_bytes, output_end, unit));
  }
  setup.parameter_places = PlaceTensors(parameter_bytes, input_end, unit);
  return setup;
}

Result<TrialMemory> TrialMemory::Create(const Problem& problem, std::int64_t l2_bytes) {
  TrialMemory memory;
  std::int64_t input_end = 0, output_end = 0;
  memory.setup_ = LayOut(problem, l2_bytes / 2, 64, input_end, output_end);
  const auto tensors = problem.Inputs();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    (tensors[i]->role == Role::kInput ? memory.input_index_ : memory.parameter_index_).push_back(i);
  for (const Tensor& tensor : problem.tensors) memory.problem_bytes_ += tensor.bytes();
  memory.output_bytes_ = output_end;
  memory.input_memory_ = HONE_TRY(SharedMemory::Create(input_end));
  memory.output_memory_ = HONE_TRY(SharedMemory::Create(output_end));
  for (const auto& slot : memory.setup_.input_slots) {
    for (const Place& place : slot) FillRedZones(memory.input_memory_, place);
  }
  for (const Place& place : memory.setup_.parameter_places) FillRedZones(memory.input_memory_, place);
  return memory;
}

Result<SharedMemory> TrialMemory::MoreOutputs() const { return SharedMemory::Create(output_bytes_); }

void TrialMemory::LoadParameters(const std::vector<std::vector<std::byte>>& values) {
  for (std::size_t i = 0; i < parameter_index_.size(); ++i) {
    const auto& value = values[parameter_index_[i]];
    if (!value.empty()) std::memcpy(input_memory_.At(setup_.parameter_places[i]), value.data(), value.size());
  }
}

void TrialMemory::LoadInputs(std::size_t slot, const std::vector<std::vector<std::byte>>& values) {
  for (std::size_t i = 0; i < input_index_.size(); ++i) {
    const auto& value = values[input_index_[i]];
    if (!value.empty()) std::memcpy(Input(slot, i), value.data(), value.size());
  }
}

void TrialMemory::Poison(std::size_t slot, std::uint16_t pattern) {
  for (const Place& place : setup_.output_slots[slot]) FillAll(output_memory_, place, pattern);
}

void TrialMemory::PoisonElement(const SharedMemory& memory, std::size_t slot, std::size_t output,
                                std::int64_t element) const {
  const auto bytes = Bytes(setup_.outputs[output].dtype);
  std::memset(memory.At(setup_.output_slots[slot][output]) + element * static_cast<std::int64_t>(bytes), 0xff, bytes);
}

}  // namespace hone
