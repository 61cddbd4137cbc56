#include "judge/host_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/machine_memory.h"
#include "oracle/exact_wholes.h"
#include "oracle/picks.h"
#include "target/device_model.h"

namespace hone {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::uint64_t kTableSeed = 1000;      // beside those of the draws
constexpr std::uint64_t kTensorSeeds = 10'000;  // between two tensors' choices from tables
constexpr int kSpoiled = 4;                     // elements of an output, before each timed call
constexpr std::int64_t kAlignment = 64;         // of tensors

// What a draw costs in memory: its inputs, and 16 bytes for each element of the outputs.
std::int64_t NeededBytes(const Problem& problem) {
  std::int64_t inputs = 0, outputs = 0, elements = 0;
  for (const Tensor* tensor : problem.Inputs()) inputs += tensor->bytes();
  for (const Tensor* tensor : problem.Outputs()) {
    outputs += tensor->bytes();
    elements += ElementCount(tensor->shape);
  }
  const auto draws = static_cast<std::int64_t>(DrawsOf(problem));
  return (draws + 2) * inputs + 6 * outputs + (16 * draws + 24) * elements;
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
      : trial_(trial), memory_(trial.memory_), outputs_(outputs), tables_(trial.tables_) {}

  std::size_t count() const override { return trial_.slots(); }

  Result<void> Renew(std::size_t slot, SecretRandom& random) override {
    for (std::size_t i = 0; i < trial_.inputs(); ++i) Table(i).Fill(random(), memory_.Input(slot, i), 0, Count(i));
    return SpoilOutputs(slot, random);
  }

  Result<void> Give(const DrawnInputs& drawn, std::size_t slot, SecretRandom& random) override {
    for (std::size_t i = 0; i < trial_.inputs(); ++i) {
      const auto& value = static_cast<const Drawn&>(drawn).values[trial_.input_index_[i]];
      if (!value.empty()) std::memcpy(memory_.Input(slot, i), value.data(), value.size());
    }
    return SpoilOutputs(slot, random);
  }

  // What stays as it was is written, too: caches then hold all of it as they hold new inputs, and times can be
  // compared.
  Result<void> Disturb(std::size_t slot, SecretRandom& random) override {
    for (std::size_t i = 0; i < trial_.inputs(); ++i) {
      std::byte* data = memory_.Input(slot, i);
      same_.assign(data, data + trial_.input(i).bytes());
      const auto [begin, length] = RunToDisturb(trial_.input(i), random());
      Table(i).Fill(random(), same_.data(), begin, length);
      if (!same_.empty()) std::memcpy(data, same_.data(), same_.size());
    }
    return SpoilOutputs(slot, random);
  }

  Result<void> Touch() override { return {}; }

 private:
  const InputTable& Table(std::size_t i) const { return (*tables_)[trial_.input_index_[i]]; }
  std::uint64_t Count(std::size_t i) const { return static_cast<std::uint64_t>(ElementCount(trial_.input(i).shape)); }
  Result<void> SpoilOutputs(std::size_t slot, SecretRandom& random) {
    for (std::size_t o = 0; o < trial_.outputs(); ++o) {
      if (memory_.LoadUpdated(outputs_, slot, o, slot)) continue;
      const auto count = static_cast<std::uint64_t>(ElementCount(trial_.output(o).shape));
      for (int spot = 0; spot < kSpoiled && count > 0; ++spot)
        memory_.PoisonElement(outputs_, slot, o, static_cast<std::int64_t>(random.Below(count)));
    }
    return {};
  }

  const HostTrial& trial_;
  const TrialMemory& memory_;
  const SharedMemory& outputs_;
  std::shared_ptr<const Tables> tables_;
  std::vector<std::byte> same_;
};

Result<HostTrial::Expect> HostTrial::CompileOracle(const Graph& graph) {
  const auto oracle = std::make_shared<Oracle>(HONE_TRY(Oracle::Compile(graph)));
  return [oracle](const std::vector<const void*>& inputs, int threads) { return oracle->Run(inputs, threads); };
}

Result<std::unique_ptr<HostTrial>> HostTrial::Create(const Graph& graph, const MakeOracle& make_oracle,
                                                     std::uint64_t seed, int threads) {
  const std::int64_t memory_bytes = PhysicalMemoryBytes();
  if (const auto needed = NeededBytes(graph.problem()); needed > memory_bytes / 10 * 8) {
    return Fail(ErrorKind::kUsage,
                fmt::format("judging '{}' takes {:.1f} GiB of memory and this machine has {:.1f}: make the problem "
                            "smaller",
                            graph.problem().name, static_cast<double>(needed) / kGiB,
                            static_cast<double>(memory_bytes) / kGiB));
  }
  Expect expect = HONE_TRY(make_oracle(graph));
  TrialMemory memory =
      HONE_TRY(TrialMemory::Create(LayOut(graph.problem(), DescribeMachine().l2_bytes / 2, kAlignment)));
  return std::unique_ptr<HostTrial>(new HostTrial(graph, std::move(expect), std::move(memory), seed, threads));
}

HostTrial::HostTrial(const Graph& graph, Expect expect, TrialMemory memory, std::uint64_t seed, int threads)
    : Trial(graph, memory.layout(), seed), expect_(std::move(expect)), memory_(std::move(memory)), threads_(threads) {}

void HostTrial::Renew(std::uint64_t seed) {
  Trial::Renew(seed);
  tables_.reset();
}

Result<std::shared_ptr<const DrawnInputs>> HostTrial::MakeDraw(const DrawSpec& spec) {
  if (spec.timed()) HONE_TRY(MakeTables());
  auto drawn = std::make_shared<Drawn>(spec);
  drawn->name = NameOf(spec);
  const auto tensors = graph_.problem().Inputs();
  std::vector<const void*> pointers;
  Say("drawing inputs");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto& data = drawn->values.emplace_back(static_cast<std::size_t>(tensors[i]->bytes()));
    const bool input = tensors[i]->role == Role::kInput;
    if (input && spec.timed()) {
      const auto count = static_cast<std::uint64_t>(ElementCount(tensors[i]->shape));
      const std::uint64_t seed = seed_ + kTensorSeeds * i;
      (*tables_)[i].Fill(seed + spec.seed, data.data(), 0, count);
      const auto [begin, length] = RunToDisturb(count, seed);
      if (spec.disturbed != 0) (*tables_)[i].Fill(seed + spec.disturbed, data.data(), begin, length);
    } else {
      HONE_TRY(Fill(*tensors[i], seed_ + (input ? spec.seed : spec.parameters), i, VariationOf(spec, i), data.data(),
                    graph_.problem().folder));
    }
    pointers.push_back(data.data());
  }
  Say("expected outputs");
  drawn->expected = HONE_TRY(expect_(pointers, threads_));
  for (Expected& expected : drawn->expected) {
    drawn->honest_ratio.push_back(expected.honest_ratio);
    expected.scale.clear();
    expected.scale.shrink_to_fit();
  }
  return drawn;
}

Result<void> HostTrial::MakeTables() {
  if (tables_) return {};
  auto tables = std::make_shared<Tables>();
  const auto tensors = graph_.problem().Inputs();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool input = tensors[i]->role == Role::kInput;
    tables->push_back(input ? HONE_TRY(InputTable::Create(*tensors[i], seed_ + kTableSeed, i, graph_.problem().folder))
                            : InputTable());
  }
  tables_ = std::move(tables);
  return {};
}

Result<void> HostTrial::Load(const DrawnInputs& drawn, std::size_t slot) {
  loaded_ = slot;
  const auto& values = static_cast<const Drawn&>(drawn).values;
  memory_.LoadParameters(values);
  memory_.LoadInputs(slot, values);
  return {};
}

Result<void> HostTrial::Poison(std::size_t slot, std::uint16_t pattern) {
  memory_.Poison(slot, loaded_, pattern);
  return {};
}

Result<std::optional<Trespass>> HostTrial::FindTrespass(std::size_t slot, std::size_t o) {
  return hone::FindTrespass(memory_.output_memory(), memory_.OutputPlace(slot, o));
}

Result<OutputCheck> HostTrial::Compare(const DrawnInputs& drawn, std::size_t slot, std::size_t o,
                                       std::uint16_t poison) {
  return Check(drawn, o, memory_.Output(slot, o), poison);
}

std::vector<const void*> HostTrial::InputsAnd(const DrawnInputs& drawn, std::initializer_list<const void*> more) {
  std::vector<const void*> inputs;
  for (const auto& value : static_cast<const Drawn&>(drawn).values) inputs.push_back(value.data());
  inputs.insert(inputs.end(), more);
  return inputs;
}

Result<OutputCheck> HostTrial::Check(const DrawnInputs& drawn, std::size_t o, const std::byte* got,
                                     std::uint16_t poison) {
  const Expected& expected = static_cast<const Drawn&>(drawn).expected[o];
  const OutputCheck check = CompareOutput(output(o), got, expected, poison);
  if (!MayBeOpen(output(o).dtype) || check.unwritten > 0) return check;
  if (check.right() && output(o).dtype == DType::kI64 && expected.size >= kExactWholes) {
    if (!exact_.contains(o)) exact_.emplace(o, HONE_TRY(Oracle::Compile(WithExactWholes(graph_, o))));
    const auto differs = HONE_TRY(exact_.at(o).Run(InputsAnd(drawn, {got}), threads_));
    const OutputCheck exact = CompareOpen(output(o), got, expected, kAnyRoom, &differs[0], -1);
    if (!exact.right()) return exact;
  }
  if (check.right() && CompareOpen(output(o), got, expected, 0, nullptr).right()) return check;
  const auto picks = WithPicks(graph_, o);
  const OfEquals of_equals = picks ? picks->of_equals : OfEquals::kExpected;
  if (!check.right() && of_equals == OfEquals::kExpected) return check;
  if (!picks) {
    const OutputCheck near = CompareOpen(output(o), got, expected, OpenRoom(expected.open_error), nullptr);
    return near.right() || IsOfScan(graph_, o) ? check : near;
  }
  if (!picks_.contains(o)) picks_.emplace(o, HONE_TRY(Oracle::Compile(picks->graph)));
  const auto distances = HONE_TRY(picks_.at(o).Run(InputsAnd(drawn, {got, expected.value.data()}), threads_));
  const double sure_room = of_equals == OfEquals::kAny ? 0 : kAnyRoom;
  const OutputCheck picked = CompareOpen(output(o), got, expected, 0, &distances[0], sure_room);
  if (!picked.right()) return picked;
  return check.right() ? check : OutputCheck{.official = check.official};
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

Result<void> HostTrial::Read(const DrawnInputs& drawn, std::size_t which, std::byte* to) {
  const auto& value = static_cast<const Drawn&>(drawn).values[which];
  if (!value.empty()) std::memcpy(to, value.data(), value.size());
  return {};
}

// The worker maps them read-only: who writes to them crashes there.
Result<std::optional<ChangedInput>> HostTrial::FindChangedInput(const DrawnInputs&, std::size_t) {
  return std::optional<ChangedInput>();
}

Result<std::unique_ptr<TimedSlots>> HostTrial::StartTiming(const DrawnInputs& timed) {
  HONE_TRY(MakeTables());
  memory_.LoadParameters(static_cast<const Drawn&>(timed).values);
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    for (std::size_t i = 0; i < inputs(); ++i) {
      const auto count = static_cast<std::uint64_t>(ElementCount(input(i).shape));
      (*tables_)[input_index_[i]].Fill(seed_ + kUnjudgedSeed + slot, memory_.Input(slot, i), 0, count);
    }
    memory_.Poison(slot, slot, kPoison);
  }
  return MoreSlots(memory_.output_memory());
}

Result<std::unique_ptr<TimedSlots>> HostTrial::MoreSlots(const SharedMemory& outputs) const {
  return std::unique_ptr<TimedSlots>(std::make_unique<Slots>(*this, outputs));
}

}  // namespace hone
