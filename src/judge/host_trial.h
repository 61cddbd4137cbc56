// Trials in host memory, for modules: draws and expected values in the judge's own, slots in files that the worker
// maps, inputs read-only.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "judge/input_table.h"
#include "judge/trial.h"
#include "judge/trial_memory.h"
#include "oracle/oracle.h"

namespace hone {

class HostTrial : public Trial {
 public:
  // What is expected on inputs (Oracle::Run).
  using Expect = std::function<Result<std::vector<Expected>>(const std::vector<const void*>& inputs, int threads)>;
  using MakeOracle = std::function<Result<Expect>(const Graph&)>;
  static Result<Expect> CompileOracle(const Graph& graph);

  // The graph outlives it. threads: for the oracle.
  static Result<std::unique_ptr<HostTrial>> Create(const Graph& graph, const MakeOracle& make_oracle,
                                                   std::uint64_t seed, int threads);

  void Renew(std::uint64_t seed) override;
  int input_descriptor() const override { return memory_.input_memory().read_only_descriptor(); }
  int output_descriptor() const override { return memory_.output_memory().descriptor(); }
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
  Result<OutputCheck> CompareValues(const DrawnInputs& drawn, std::size_t output, const std::byte* values) override {
    return Check(drawn, output, values, kPoison);
  }
  Result<std::unique_ptr<TimedSlots>> StartTiming(const DrawnInputs& timed) override;

  // For a baseline that runs in turn with a candidate: outputs of its own beside the same inputs. After StartTiming.
  Result<std::unique_ptr<TimedSlots>> MoreSlots(const SharedMemory& outputs) const;
  Result<SharedMemory> MoreOutputs() const { return memory_.MoreOutputs(); }

 private:
  using Values = std::vector<std::vector<std::byte>>;  // one a tensor of Problem::Inputs()
  using Tables = std::vector<InputTable>;              // likewise; empty ones of parameters
  struct Drawn;
  class Slots;
  HostTrial(const Graph& graph, Expect expect, TrialMemory memory, std::uint64_t seed, int threads);
  Result<std::shared_ptr<const DrawnInputs>> MakeDraw(const DrawSpec& spec) override;
  Result<OutputCheck> Check(const DrawnInputs& drawn, std::size_t o, const std::byte* got, std::uint16_t poison);
  static std::vector<const void*> InputsAnd(const DrawnInputs& drawn, std::initializer_list<const void*> more);
  Result<void> MakeTables();

  Expect expect_;
  std::map<std::size_t, Oracle> picks_,
      exact_;  // by output, of those about which it was asked (oracle/picks.h, exact_wholes.h)
  TrialMemory memory_;
  int threads_;
  std::shared_ptr<const Tables> tables_;  // of the timing loop's inputs
};

}  // namespace hone
