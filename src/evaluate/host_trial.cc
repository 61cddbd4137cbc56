#include "evaluate/host_trial.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "target/machine.h"

namespace hone {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::size_t kPool = 3;
constexpr std::int64_t kAlignment = 64;  // of tensors

// What a draw costs in memory: its inputs, and 16 bytes for each element of the outputs.
std::int64_t NeededBytes(const Problem& problem) {
  std::int64_t inputs = 0, outputs = 0, elements = 0;
  for (const Tensor* tensor : problem.Inputs()) inputs += tensor->bytes();
  for (const Tensor* tensor : problem.Outputs()) {
    outputs += tensor->bytes();
    elements += ElementCount(tensor->shape);
  }
  return static_cast<std::int64_t>(kDraws + 5) * inputs + 6 * outputs +
         static_cast<std::int64_t>(16 * kDraws + 24) * elements;
}

}  // namespace

struct HostTrial::Drawn : DrawnInputs {
  using DrawnInputs::DrawnInputs;
  Values values;
  std::vector<Expected> expected;  // one an output; `scale` is dropped
};

class HostTrial::Slots : public TimedSlots {
 public:
  Slots(const HostTrial& trial, const SharedMemory& outputs)
      : trial_(trial), memory_(trial.memory_), outputs_(outputs), pool_(trial.pool_) {}

  // One timed call: one value a tensor.
  struct Kept {
    Values inputs, outputs;
  };
  const std::optional<Kept>& call() const { return kept_; }

  std::size_t count() const override { return trial_.slots(); }

  Result<void> Disturb(std::size_t slot, std::mt19937_64& random) override {
    for (std::size_t i = 0; i < trial_.inputs(); ++i) {
      const Tensor& tensor = trial_.input(i);
      const auto count = static_cast<std::uint64_t>(ElementCount(tensor.shape));
      if (count == 0) continue;
      const auto [begin, length] = RunToDisturb(count, random);
      const auto& from = (*pool_)[random() % pool_->size()][trial_.input_index_[i]];
      const auto size = Bytes(tensor.dtype);
      std::memcpy(memory_.Input(slot, i) + begin * size, from.data() + begin * size, length * size);
    }
    for (std::size_t i = 0; i < trial_.outputs(); ++i) {
      const auto count = static_cast<std::uint64_t>(ElementCount(trial_.output(i).shape));
      for (int spot = 0; spot < 4 && count > 0; ++spot)
        memory_.PoisonElement(outputs_, slot, i, static_cast<std::int64_t>(random() % count));
    }
    return {};
  }

  Result<void> Touch() override { return {}; }

  Result<void> Keep(std::size_t slot) override {
    Kept kept;
    for (std::size_t i = 0; i < trial_.inputs(); ++i) {
      const auto* data = memory_.Input(slot, i);
      kept.inputs.emplace_back(data, data + trial_.input(i).bytes());
    }
    for (std::size_t i = 0; i < trial_.outputs(); ++i) {
      const auto* data = outputs_.At(memory_.OutputPlace(slot, i));
      kept.outputs.emplace_back(data, data + trial_.output(i).bytes());
    }
    kept_ = std::move(kept);
    return {};
  }

  bool kept() const override { return kept_.has_value(); }

 private:
  const HostTrial& trial_;
  const TrialMemory& memory_;
  const SharedMemory& outputs_;
  std::shared_ptr<const Pool> pool_;
  std::optional<Kept> kept_;
};

Result<std::unique_ptr<HostTrial>> HostTrial::Create(const Graph& graph, std::uint64_t seed, int threads) {
  const auto memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (const auto needed = NeededBytes(graph.problem()); needed > memory_bytes / 10 * 8) {
    return Fail(ErrorKind::kUsage,
                fmt::format("judging '{}' takes {:.1f} GiB of memory and this machine has {:.1f}: make the problem "
                            "smaller",
                            graph.problem().name, static_cast<double>(needed) / kGiB,
                            static_cast<double>(memory_bytes) / kGiB));
  }
  Oracle oracle = HONE_TRY(Oracle::Compile(graph));
  TrialMemory memory =
      HONE_TRY(TrialMemory::Create(LayOut(graph.problem(), DescribeMachine().l2_bytes / 2, kAlignment)));
  return std::unique_ptr<HostTrial>(new HostTrial(graph, std::move(oracle), std::move(memory), seed, threads));
}

HostTrial::HostTrial(const Graph& graph, Oracle oracle, TrialMemory memory, std::uint64_t seed, int threads)
    : Trial(graph, memory.layout(), seed), oracle_(std::move(oracle)), memory_(std::move(memory)), threads_(threads) {}

void HostTrial::Renew(std::uint64_t seed) {
  Trial::Renew(seed);
  pool_.reset();
}

Result<std::shared_ptr<const DrawnInputs>> HostTrial::MakeDraw(const DrawSpec& spec) {
  auto drawn = std::make_shared<Drawn>(spec);
  const auto tensors = graph_.problem().Inputs();
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto& data = drawn->values.emplace_back(static_cast<std::size_t>(tensors[i]->bytes()));
    HONE_TRY(Fill(*tensors[i], seed_ + spec.seed, i, spec.draw, data.data(), graph_.problem().folder));
    pointers.push_back(data.data());
  }
  drawn->expected = HONE_TRY(oracle_.Run(pointers, threads_));
  for (Expected& expected : drawn->expected) {
    drawn->honest_ratio.push_back(expected.honest_ratio);
    expected.scale.clear();
    expected.scale.shrink_to_fit();
  }
  return drawn;
}

// Number `which` of an endless row, all different from the draws. Parameters are left empty.
Result<HostTrial::Values> HostTrial::Unjudged(std::size_t which) const {
  const auto tensors = graph_.problem().Inputs();
  Values values(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]->role != Role::kInput) continue;
    values[i].resize(static_cast<std::size_t>(tensors[i]->bytes()));
    HONE_TRY(Fill(*tensors[i], seed_ + kUnjudgedSeed + which, i, {}, values[i].data(), graph_.problem().folder));
  }
  return values;
}

Result<void> HostTrial::Load(const DrawnInputs& drawn, std::size_t slot) {
  const auto& values = static_cast<const Drawn&>(drawn).values;
  memory_.LoadParameters(values);
  memory_.LoadInputs(slot, values);
  return {};
}

Result<void> HostTrial::Poison(std::size_t slot, std::uint16_t pattern) {
  memory_.Poison(slot, pattern);
  return {};
}

Result<std::optional<Trespass>> HostTrial::FindTrespass(std::size_t slot, std::size_t o) {
  return hone::FindTrespass(memory_.output_memory(), memory_.OutputPlace(slot, o));
}

Result<OutputCheck> HostTrial::Compare(const DrawnInputs& drawn, std::size_t slot, std::size_t o,
                                       std::uint16_t poison) {
  return CompareOutput(output(o), memory_.Output(slot, o), static_cast<const Drawn&>(drawn).expected[o], poison);
}

Result<NormCheck> HostTrial::CompareNorm(const DrawnInputs& drawn, std::size_t slot, std::size_t o,
                                         std::uint16_t poison) {
  return hone::CompareNorm(output(o), memory_.Output(slot, o), static_cast<const Drawn&>(drawn).expected[o], poison);
}

Result<bool> HostTrial::SameOutput(std::size_t slot, std::size_t other, std::size_t o) {
  return std::memcmp(memory_.Output(slot, o), memory_.Output(other, o), static_cast<std::size_t>(output(o).bytes())) ==
         0;
}

Result<bool> HostTrial::IsCopy(std::size_t slot, std::size_t o, std::size_t i) {
  const auto bytes = input(i).bytes();
  return bytes == output(o).bytes() &&
         std::memcmp(memory_.Input(slot, i), memory_.Output(slot, o), static_cast<std::size_t>(bytes)) == 0;
}

// The worker maps them read-only: who writes to them crashes there.
Result<std::optional<ChangedInput>> HostTrial::FindChangedInput(const DrawnInputs&, std::size_t) {
  return std::optional<ChangedInput>();
}

Result<std::unique_ptr<TimedSlots>> HostTrial::StartTiming(const DrawnInputs& parameters) {
  if (!pool_) {
    auto pool = std::make_shared<Pool>();
    for (std::size_t i = 0; i < kPool; ++i) pool->push_back(HONE_TRY(Unjudged(i)));
    pool_ = std::move(pool);
  }
  memory_.LoadParameters(static_cast<const Drawn&>(parameters).values);
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    memory_.LoadInputs(slot, (*pool_)[slot % pool_->size()]);
    memory_.Poison(slot, kPoison);
  }
  return MoreSlots(memory_.output_memory());
}

Result<std::unique_ptr<TimedSlots>> HostTrial::MoreSlots(const SharedMemory& outputs) const {
  return std::unique_ptr<TimedSlots>(std::make_unique<Slots>(*this, outputs));
}

Result<void> HostTrial::LoadKept(const TimedSlots& timed) {
  const auto& kept = *static_cast<const Slots&>(timed).call();
  for (std::size_t i = 0; i < inputs(); ++i) {
    if (!kept.inputs[i].empty()) std::memcpy(memory_.Input(0, i), kept.inputs[i].data(), kept.inputs[i].size());
  }
  for (std::size_t slot = 0; slot < slots(); ++slot) memory_.Poison(slot, kPoison);
  return {};
}

Result<void> HostTrial::CompareKept(const TimedSlots& slots, std::shared_ptr<const DrawnInputs> like,
                                    Verdict& verdict) {
  const auto& kept = *static_cast<const Slots&>(slots).call();
  for (std::size_t o = 0; o < outputs(); ++o) {
    const Tensor& tensor = output(o);
    if (kept.outputs[o].empty() ||
        std::memcmp(kept.outputs[o].data(), memory_.Output(0, o), kept.outputs[o].size()) == 0)
      continue;
    // Not bit for bit: as near as two right results can be. The budgets of other inputs of the same kind say how near
    // that is.
    double budget = 0;
    for (const double one : static_cast<const Drawn&>(*like).expected[o].budget) {
      if (std::isfinite(one)) budget = std::max(budget, one);
    }
    const std::int64_t count = ElementCount(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) {
      const double timed = ElementAsDouble(tensor.dtype, kept.outputs[o].data(), i);
      const double fresh = ElementAsDouble(tensor.dtype, memory_.Output(0, o), i);
      const double error = std::abs(timed - fresh);
      if (error <= 2 * budget + 1e-5 * std::abs(fresh) || timed == fresh || (std::isnan(timed) && std::isnan(fresh)))
        continue;
      verdict = {};
      verdict.outcome = Outcome::kSuspicious;
      verdict.reason = fmt::format(
          "a timed call gave {} = {:.9g}, a fresh process gives {:.9g} on the same inputs: it does not compute every "
          "time",
          ElementName(tensor, i), timed, fresh);
      verdict.evidence.draw = "timing, repeated";
      verdict.evidence.output = tensor.name;
      verdict.evidence.index = Unflatten(tensor.shape, i);
      verdict.evidence.expected = fresh;
      verdict.evidence.got = timed;
      verdict.evidence.budget = budget;
      return {};
    }
  }
  return {};
}

}  // namespace hone
