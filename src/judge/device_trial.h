// Trials on a device, for plans: everything stays there. The slots lie in memory that judge and worker share; draws
// and expected values in memory of the judge's own, which no worker ever sees. What a worker has had in its hands is
// believed in nothing: red zones, inputs and outputs are looked at from here.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "judge/trial.h"
#include "oracle/device_kernels.h"
#include "oracle/device_oracle.h"
#include "target/cuda/driver.h"

namespace hone {

// What an oracle may take of a device of so many bytes, beside what else there has to be. Draws are made again where
// there is no room to keep them, which costs less than slabs do; beside slabs some are kept.
OracleRoom RoomOfOracle(double total, double beside);

class DeviceTrial : public Trial {
 public:
  // Opens the first device and compiles the oracle for it. The graph outlives it. Fails with kUsage when the problem is
  // too large for the device's memory.
  static Result<std::unique_ptr<DeviceTrial>> Create(const Graph& graph, std::uint64_t seed);
  ~DeviceTrial() override { ForgetDraws(); }                                               // they are the heap's
  void WhenFull(std::function<void()> give_way) { heap_->WhenFull(std::move(give_way)); }  // of DeviceHeap

  const cuda::Device& device() const { return context_->device(); }
  int input_descriptor() const override { return input_memory_->descriptor(); }
  int output_descriptor() const override { return output_memory_->descriptor(); }
  Result<void> Load(const DrawnInputs& drawn, std::size_t slot) override;
  Result<void> Poison(std::size_t slot, std::uint16_t pattern) override;
  Result<std::optional<Trespass>> FindTrespass(std::size_t slot, std::size_t output) override;
  Result<OutputCheck> Compare(const DrawnInputs& drawn, std::size_t slot, std::size_t output,
                              std::uint16_t poison) override;
  Result<NormCheck> CompareNorm(const DrawnInputs& drawn, std::size_t slot, std::size_t output,
                                std::uint16_t poison) override;
  Result<bool> SameOutput(std::size_t slot, std::size_t other, std::size_t output) override;
  Result<bool> IsCopy(std::size_t slot, std::size_t output, std::size_t input) override;
  Result<std::optional<ChangedInput>> FindChangedInput(const DrawnInputs& drawn, std::size_t slot) override;
  Result<void> Read(const DrawnInputs& drawn, std::size_t which, std::byte* to) override;
  Result<OutputCheck> CompareValues(const DrawnInputs& drawn, std::size_t output, const std::byte* values) override;
  Result<std::unique_ptr<TimedSlots>> StartTiming(const DrawnInputs& timed) override;
  std::size_t timed_draws() const override {
    return draw_bytes_ * static_cast<std::int64_t>(draws()) <= room_ ? kTimedDraws : 1;
  }

 private:
  struct Drawn;
  class Slots;
  DeviceTrial(const Graph& graph, TrialLayout layout, std::unique_ptr<cuda::Context> context, std::uint64_t seed);
  Result<void> SetUp(std::int64_t input_bytes, std::int64_t output_bytes);
  Result<std::shared_ptr<const DrawnInputs>> MakeDraw(const DrawSpec& spec) override;
  // One tensor of Problem::Inputs() as a draw makes it, at `to`.
  Result<void> DrawTensor(std::size_t which, const DrawSpec& spec, cuda::Address to);
  // Elements of input i that nobody has seen, at `to`, where its first lies; what a file gives stays.
  Result<void> DrawNew(std::size_t i, std::uint64_t seed, ElementRun run, cuda::Address to);
  void MakeRoom();
  cuda::Address At(const cuda::Address base, const Place& place) const {
    return base + static_cast<cuda::Address>(place.offset + place.data);
  }
  cuda::Address Input(std::size_t slot, std::size_t i) const { return At(inputs_at_, setup_.input_slots[slot][i]); }
  cuda::Address Output(std::size_t slot, std::size_t i) const { return At(outputs_at_, setup_.output_slots[slot][i]); }
  Result<void> LoadInputs(const DrawnInputs& drawn, std::size_t slot);
  // Into output o of a slot, if it is written into an input: that one's values, from where another slot has them.
  Result<bool> LoadUpdated(std::size_t o, std::size_t slot, std::size_t from);
  Result<void> SpoilOrLoad(std::size_t slot, std::size_t from, std::uint16_t pattern);
  // One output, made of a draw's inputs.
  Result<OutputCheck> Check(const DrawnInputs& drawn, std::size_t o, cuda::Address got, std::uint16_t poison);
  static std::vector<cuda::Address> InputsAnd(const DrawnInputs& drawn, std::initializer_list<cuda::Address> more);
  Result<void> LoadParameters(const DrawnInputs& drawn);
  Result<void> FillRedZones(cuda::Address base, const Place& place);
  Result<std::optional<Trespass>> LookAround(cuda::Address base, const Place& place);

  // In this order: what comes later uses what comes before.
  std::unique_ptr<cuda::Context> context_;
  std::unique_ptr<DeviceHeap> heap_;
  std::unique_ptr<DeviceKernels> kernels_;
  std::unique_ptr<DeviceOracle> oracle_;
  std::map<std::size_t, std::unique_ptr<DeviceOracle>> picks_, exact_;  // by output, of those about which it was asked
  std::unique_ptr<cuda::Exchange> input_memory_, output_memory_;
  cuda::Address inputs_at_ = 0, outputs_at_ = 0;
  std::int64_t room_ = 0;        // for draws that are at hand, in bytes
  std::int64_t draw_bytes_ = 0;  // of one of them
};

}  // namespace hone
