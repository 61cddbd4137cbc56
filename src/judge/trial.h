// Where the trials of one problem take place: the inputs that are drawn, what the oracle expects of them, and the slots
// of memory in which candidates run. The judge decides by this interface alone; host_trial.h keeps all of it in host
// memory, for modules, device_trial.h on a device, for plans. Not thread-safe. Failures are the world's: a candidate is
// never at fault here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret_random.h"
#include "oracle/compare.h"
#include "oracle/element_check.h"
#include "problem/generate.h"
#include "problem/problem.h"
#include "protocol/protocol.h"
#include "protocol/tensor_memory.h"
#include "verdict/verdict.h"

namespace hone {

class Graph;

// The draws on which a candidate is judged.
// With outliers in one real input each, of which as many are made as the problem has real inputs. Where two that are
// multiplied have outliers at once, algorithms that mix elements before they multiply (Strassen, Winograd) may multiply
// outliers that no output multiplies: what is left of that is then as large beside the largest results as the error of
// TF32's operands, and no budget tells the two apart. With more inputs every kOutlierDraws-th is in the same draw.
inline constexpr std::size_t kOutlierDraw = 5, kOutlierDraws = 4;
inline constexpr std::size_t kWideDraw = kOutlierDraw + kOutlierDraws;  // very wide: says what holds componentwise
inline constexpr std::size_t kAfterDraw = kWideDraw + 1;                // the problem's own, for after the timing
// Those that timed calls work on: one, the same but for a run of each input, and another one.
inline constexpr std::size_t kTimedDraw = kAfterDraw + 1, kTimedDraws = 3;
inline constexpr std::size_t kDraws = kTimedDraw + kTimedDraws;  // [0, kWideDraw) decide

// Of those that decide, as many as are made in `within_s`, three at least, the most telling ones; of each it takes
// `draw_s`. All where that is so.
class Trial;
std::vector<std::size_t> TellingDraws(const Trial& trial, double draw_s, double within_s);

struct DrawSpec {
  const char* name;          // "seed 1", "scale 2^10"
  std::uint64_t seed;        // of the inputs, beside the run's own
  std::uint64_t parameters;  // likewise
  Draw draw = {};
  std::uint64_t disturbed = 0;  // if not 0: a run of each input is of this seed
  std::size_t share = 0;        // which of the draws with outliers
  // A process that is timed gets inputs that are made in one way only, and one set of parameters.
  bool timed() const { return parameters == kTimedParameters; }
  static constexpr std::uint64_t kTimedParameters = 8;
  bool own() const { return draw.scale == 1 && !draw.outliers && draw.widen == 0; }  // the problem's own generator
};
const DrawSpec& DrawSpecOf(std::size_t which);
std::size_t OutlierDraws(const Problem& problem);  // so many are made, at least 1
// How many of the kDraws are made of a problem.
inline std::size_t DrawsOf(const Problem& problem) { return kDraws - kOutlierDraws + OutlierDraws(problem); }
inline constexpr std::uint64_t kUnjudgedSeed = 1000;  // and more: what is in the slots before timing begins

// Where the tensors of a problem lie in two memories, of the inputs and of the outputs.
struct TrialLayout {
  WorkerSetup setup;                                      // tensors, and their places in slots
  std::int64_t input_bytes = 0, output_bytes = 0;         // of the memories
  std::int64_t problem_bytes = 0;                         // of all tensors once
  std::vector<std::size_t> input_index, parameter_index;  // which of Problem::Inputs() each is
};
// As many slots as `cache_bytes` take, at least 2, at most kMaxSlots. `unit`: what a tensor begins at a multiple of.
TrialLayout LayOut(const Problem& problem, std::int64_t cache_bytes, std::int64_t unit);

struct DrawnInputs {
  explicit DrawnInputs(const DrawSpec& spec) : name(spec.name), own(spec.own()), outliers(spec.draw.outliers) {}
  virtual ~DrawnInputs() = default;
  std::string name;
  bool own = false;                  // the problem's own generator, unchanged
  bool outliers = false;             // a few elements are a thousand times larger than the others
  std::vector<double> honest_ratio;  // one an output
};

// An input or a parameter that a candidate has written to.
struct ChangedInput {
  std::string name;
  bool parameter = false;
  std::int64_t offset = 0;  // the first byte that changed, from the tensor's first
};

// The run of a tensor's `count` elements by which inputs differ that are else the same, chosen by `chance`: a 64th of
// the tensor changes a sum over all of it by more than a budget; 2048 elements at most, so that most stays as it was.
struct ElementRun {
  std::uint64_t begin = 0, length = 0;
};
ElementRun RunToDisturb(std::uint64_t count, std::uint64_t chance);
// The run of an input that Disturb makes new.
ElementRun RunToDisturb(const Tensor& input, std::uint64_t chance);

// What is timed works in these slots. Before every call all inputs become new; before some of them those of real types
// stay as they were but for a run, which shows who gains by remembering. (Whole numbers become new all the same: on
// them it depends what of the parameters is in the caches.) Each of the three also puts poison into some elements of
// the slot's outputs, and nothing that a call can see tells them apart before it looks at its inputs.
class TimedSlots {
 public:
  virtual ~TimedSlots() = default;
  virtual std::size_t count() const = 0;
  virtual Result<void> Renew(std::size_t slot, SecretRandom& random) = 0;
  virtual Result<void> Give(const DrawnInputs& drawn, std::size_t slot, SecretRandom& random) = 0;  // those of a draw
  virtual Result<void> Disturb(std::size_t slot, SecretRandom& random) = 0;
  // Has the device do next to nothing for us, and waits for it: as long as others keep it at work, that takes longer.
  // On a host it is nothing at all.
  virtual Result<void> Touch() = 0;
};

class Trial {
 public:
  virtual ~Trial() = default;

  // --- Draws, made when first asked for, and kept as long as there is room
  Result<std::shared_ptr<const DrawnInputs>> Draw(std::size_t which);
  bool Has(std::size_t which) const {  // else it is no draw of this problem
    return which < kOutlierDraw + outlier_draws_ || which >= kWideDraw;
  }
  std::size_t draws() const { return kDraws - kOutlierDraws + outlier_draws_; }
  std::shared_ptr<const DrawnInputs> AtHand(std::size_t which) const { return drawn_[which]; }  // null: it is not made
  virtual void Renew(std::uint64_t seed);  // forgets all and draws from another seed
  void OnStage(std::function<void(std::string_view)> stage) { stage_ = std::move(stage); }  // told what Draw is at

  // --- Slots
  std::size_t slots() const { return setup_.input_slots.size(); }
  std::size_t inputs() const { return setup_.inputs.size(); }
  std::size_t outputs() const { return setup_.outputs.size(); }
  const Tensor& input(std::size_t i) const { return setup_.inputs[i]; }
  const Tensor& output(std::size_t i) const { return setup_.outputs[i]; }
  std::int64_t problem_bytes() const { return problem_bytes_; }  // of all tensors once
  // What a worker is told of it; library, threads, views and limits are the caller's.
  const WorkerSetup& setup() const { return setup_; }
  virtual int input_descriptor() const = 0;  // of the memory that the worker maps
  virtual int output_descriptor() const = 0;

  // The inputs of a slot, and the parameters, of which there is one set.
  virtual Result<void> Load(const DrawnInputs& drawn, std::size_t slot) = 0;
  // The outputs of a slot, and around them. One that is written into an input holds, instead of poison, that input as
  // it was loaded last: there a candidate finds it.
  virtual Result<void> Poison(std::size_t slot, std::uint16_t pattern) = 0;
  virtual Result<std::optional<Trespass>> FindTrespass(std::size_t slot, std::size_t output) = 0;
  virtual Result<OutputCheck> Compare(const DrawnInputs& drawn, std::size_t slot, std::size_t output,
                                      std::uint16_t poison) = 0;
  virtual Result<NormCheck> CompareNorm(const DrawnInputs& drawn, std::size_t slot, std::size_t output,
                                        std::uint16_t poison) = 0;
  virtual Result<bool> SameOutput(std::size_t slot, std::size_t other, std::size_t output) = 0;  // bit for bit
  virtual Result<bool> IsCopy(std::size_t slot, std::size_t output, std::size_t input) = 0;
  // Whether the slot's inputs and the parameters are still as they were loaded.
  virtual Result<std::optional<ChangedInput>> FindChangedInput(const DrawnInputs& drawn, std::size_t slot) = 0;

  // --- For a baseline, which has memory of its own: values of a draw, and what it has made of them
  // The tensor of Problem::Inputs() with this index, into host memory.
  virtual Result<void> Read(const DrawnInputs& drawn, std::size_t which, std::byte* to) = 0;
  // As Compare, of an output that lies in host memory.
  virtual Result<OutputCheck> CompareValues(const DrawnInputs& drawn, std::size_t output, const std::byte* values) = 0;

  // --- Timing
  // All slots with the parameters of a timed draw, and poison.
  virtual Result<std::unique_ptr<TimedSlots>> StartTiming(const DrawnInputs& timed) = 0;
  virtual std::size_t timed_draws() const { return kTimedDraws; }  // that there is room for, at least 1

 protected:
  Trial(const Graph& graph, TrialLayout layout, std::uint64_t seed);

  // For MakeDraw: how the tensor `which` of Problem::Inputs() varies, and what people call the draw.
  hone::Draw VariationOf(const DrawSpec& spec, std::size_t which) const;
  std::string NameOf(const DrawSpec& spec) const;
  // "drawing inputs" or "expected outputs", and how much of all draws is made.
  void Say(std::string_view what) const;
  // For whoever keeps draws in memory of its own, which goes before they would.
  void ForgetDraws();

  // Draws the inputs and has the oracle say what is expected of them.
  virtual Result<std::shared_ptr<const DrawnInputs>> MakeDraw(const DrawSpec& spec) = 0;

  const Graph& graph_;
  std::uint64_t seed_;
  WorkerSetup setup_;
  std::int64_t problem_bytes_;
  std::vector<std::size_t> input_index_, parameter_index_;  // in Problem::Inputs()
  std::vector<std::optional<std::size_t>> updated_;         // by output, the input that it is written into
  std::size_t loaded_ = 0;                                  // the slot whose inputs were loaded last
  std::size_t outlier_draws_;
  std::shared_ptr<const DrawnInputs> drawn_[kDraws];
  std::function<void(std::string_view)> stage_;
};

}  // namespace hone
