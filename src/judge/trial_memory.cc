#include "judge/trial_memory.h"

#include <cstring>
#include <utility>

namespace hone {

Result<TrialMemory> TrialMemory::Create(TrialLayout layout) {
  TrialMemory memory;
  memory.layout_ = std::move(layout);
  memory.input_memory_ = HONE_TRY(SharedMemory::Create(memory.layout_.input_bytes));
  memory.output_memory_ = HONE_TRY(SharedMemory::Create(memory.layout_.output_bytes));
  const WorkerSetup& setup = memory.layout_.setup;
  for (const auto& slot : setup.input_slots) {
    for (const Place& place : slot) FillRedZones(memory.input_memory_, place);
  }
  for (const Place& place : setup.parameter_places) FillRedZones(memory.input_memory_, place);
  return memory;
}

Result<SharedMemory> TrialMemory::MoreOutputs() const { return SharedMemory::Create(layout_.output_bytes); }

void TrialMemory::LoadParameters(const std::vector<std::vector<std::byte>>& values) {
  for (std::size_t i = 0; i < layout_.parameter_index.size(); ++i) {
    const auto& value = values[layout_.parameter_index[i]];
    if (!value.empty()) std::memcpy(input_memory_.At(layout_.setup.parameter_places[i]), value.data(), value.size());
  }
}

void TrialMemory::LoadInputs(std::size_t slot, const std::vector<std::vector<std::byte>>& values) {
  for (std::size_t i = 0; i < layout_.input_index.size(); ++i) {
    const auto& value = values[layout_.input_index[i]];
    if (!value.empty()) std::memcpy(Input(slot, i), value.data(), value.size());
  }
}

void TrialMemory::Poison(std::size_t slot, std::size_t from, std::uint16_t pattern) {
  for (std::size_t o = 0; o < layout_.setup.outputs.size(); ++o) {
    const Place& place = OutputPlace(slot, o);
    FillAll(output_memory_, place, pattern);  // around it, too
    LoadUpdated(output_memory_, slot, o, from);
  }
}

bool TrialMemory::LoadUpdated(const SharedMemory& outputs, std::size_t slot, std::size_t output,
                              std::size_t from) const {
  const auto input = UpdatedBy(layout_.setup, output);
  if (!input) return false;
  const Place& place = OutputPlace(slot, output);
  if (place.bytes > 0) std::memcpy(outputs.At(place), Input(from, *input), static_cast<std::size_t>(place.bytes));
  return true;
}

void TrialMemory::PoisonElement(const SharedMemory& memory, std::size_t slot, std::size_t output,
                                std::int64_t element) const {
  const auto bytes = Bytes(layout_.setup.outputs[output].dtype);
  std::memset(memory.At(layout_.setup.output_slots[slot][output]) + element * static_cast<std::int64_t>(bytes), 0xff,
              bytes);
}

}  // namespace hone
