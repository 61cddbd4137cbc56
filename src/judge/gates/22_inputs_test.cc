#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

// A place where no candidate runs, but inputs may change.
class WrittenTrial : public Trial {
 public:
  explicit WrittenTrial(const Graph& graph) : Trial(graph, LayOut(graph.problem(), 0, 64), 1) {}
  std::optional<ChangedInput> changed;

  int input_descriptor() const override { return -1; }
  int output_descriptor() const override { return -1; }
  Result<void> Load(const DrawnInputs&, std::size_t) override { return {}; }
  Result<void> Poison(std::size_t, std::uint16_t) override { return {}; }
  Result<std::optional<Trespass>> FindTrespass(std::size_t, std::size_t) override { return std::nullopt; }
  Result<OutputCheck> Compare(const DrawnInputs&, std::size_t, std::size_t, std::uint16_t) override {
    return OutputCheck();
  }
  Result<NormCheck> CompareNorm(const DrawnInputs&, std::size_t, std::size_t, std::uint16_t) override {
    return NormCheck();
  }
  Result<bool> SameOutput(std::size_t, std::size_t, std::size_t) override { return true; }
  Result<bool> IsCopy(std::size_t, std::size_t, std::size_t) override { return false; }
  Result<std::optional<ChangedInput>> FindChangedInput(const DrawnInputs&, std::size_t) override { return changed; }
  Result<void> Read(const DrawnInputs&, std::size_t, std::byte*) override { return {}; }
  Result<OutputCheck> CompareValues(const DrawnInputs&, std::size_t, const std::byte*) override {
    return OutputCheck();
  }
  Result<std::unique_ptr<TimedSlots>> StartTiming(const DrawnInputs&) override { return nullptr; }

 private:
  Result<std::shared_ptr<const DrawnInputs>> MakeDraw(const DrawSpec& spec) override {
    return std::make_shared<DrawnInputs>(spec);
  }
};

TEST(InputsGateTest, WhoWritesToAnInputIsRefusedWithItsNameAndTheFirstByte) {
  FakeCourt court;
  Examination host = court.Examine();
  WrittenTrial trial(court.graph());
  Examination examination{trial, host.worker, host.settings};
  const auto inputs = trial.Draw(0);
  ASSERT_TRUE(inputs);
  const Reply reply;
  const LookedAtCall call{.inputs = **inputs, .slot = 0, .reply = reply};

  auto refusal = GateOf("22_inputs").called(examination, call);
  ASSERT_TRUE(refusal);
  EXPECT_FALSE(refusal->has_value()) << (*refusal)->reason;

  trial.changed = ChangedInput{.name = "x", .parameter = false, .offset = 12};
  refusal = GateOf("22_inputs").called(examination, call);
  ASSERT_TRUE(refusal && refusal->has_value());
  EXPECT_EQ((*refusal)->outcome, Outcome::kInputModified);
  EXPECT_EQ((*refusal)->reason, "wrote to input 'x' or around it, at byte 12; it is read-only");
  EXPECT_EQ((*refusal)->evidence->draw, "seed 1");
}

}  // namespace
}  // namespace hone::testing
