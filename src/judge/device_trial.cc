#include "judge/device_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "oracle/exact_wholes.h"
#include "oracle/picks.h"
#include "protocol/worker_kernels.h"

namespace hone {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kAlignment = 512;  // of tensors, as the driver's own allocations have it
// Of the device's memory: for draws at hand, and what judging may take at all. A worker's context takes 0.5 GiB, and a
// plan may have buffers.
constexpr double kDrawShare = 0.3, kMostShare = 0.9;

}  // namespace

struct DeviceTrial::Drawn : DrawnInputs {
  using DrawnInputs::DrawnInputs;
  std::vector<DeviceArray> values;  // one a tensor of Problem::Inputs()
  std::vector<DeviceExpected> expected;
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& one : values) sum += one.bytes();
    for (const auto& one : expected) sum += one.value.bytes() + one.scale.bytes();
    return sum;
  }
};

class DeviceTrial::Slots : public TimedSlots {
 public:
  explicit Slots(DeviceTrial& trial) : trial_(trial) {}

  std::size_t count() const override { return trial_.slots(); }

  Result<void> Renew(std::size_t slot, SecretRandom& random) override {
    for (std::size_t i = 0; i < trial_.inputs(); ++i)
      HONE_TRY(trial_.DrawNew(i, random(), {.begin = 0, .length = Count(i)}, trial_.Input(slot, i)));
    return SpoilOutputs(slot, random);
  }

  Result<void> Give(const DrawnInputs& drawn, std::size_t slot, SecretRandom& random) override {
    HONE_TRY(trial_.LoadInputs(drawn, slot));
    return SpoilOutputs(slot, random);
  }

  // What stays as it was is written, too: who reads what was written right before waits until the cache has put it
  // away, and times can be compared.
  Result<void> Disturb(std::size_t slot, SecretRandom& random) override {
    for (std::size_t i = 0; i < trial_.inputs(); ++i) {
      HONE_TRY(trial_.kernels_->Rewrite(trial_.Input(slot, i), trial_.input(i).bytes()));
      HONE_TRY(trial_.DrawNew(i, random(), RunToDisturb(trial_.input(i), random()), trial_.Input(slot, i)));
    }
    return SpoilOutputs(slot, random);
  }

  Result<void> Touch() override {
    if (touched_.bytes() == 0) touched_ = HONE_TRY(trial_.heap_->Take(1));
    HONE_TRY(FromDevice(trial_.context_->Set(touched_.address(), 0, touched_.bytes())));
    return FromDevice(trial_.context_->Wait());
  }

 private:
  std::uint64_t Count(std::size_t i) const { return static_cast<std::uint64_t>(ElementCount(trial_.input(i).shape)); }
  Result<void> SpoilOutputs(std::size_t slot, SecretRandom& random) {
    for (std::size_t o = 0; o < trial_.outputs(); ++o) {
      if (HONE_TRY(trial_.LoadUpdated(o, slot, slot))) continue;
      HONE_TRY(trial_.kernels_->Spoil(trial_.output(o), trial_.Output(slot, o), random()));
    }
    return FromDevice(trial_.context_->Wait());
  }

  DeviceTrial& trial_;
  DeviceArray touched_;
};

Result<std::unique_ptr<DeviceTrial>> DeviceTrial::Create(const Graph& graph, std::uint64_t seed) {
  auto context = HONE_TRY(FromDevice(cuda::Context::Open(0)));
  TrialLayout layout = LayOut(graph.problem(), context->device().model.l2_bytes / 2, kAlignment);
  const std::int64_t input_bytes = layout.input_bytes, output_bytes = layout.output_bytes;
  auto trial = std::unique_ptr<DeviceTrial>(new DeviceTrial(graph, std::move(layout), std::move(context), seed));
  HONE_TRY(trial->SetUp(input_bytes, output_bytes));
  return trial;
}

DeviceTrial::DeviceTrial(const Graph& graph, TrialLayout layout, std::unique_ptr<cuda::Context> context,
                         std::uint64_t seed)
    : Trial(graph, std::move(layout), seed),
      context_(std::move(context)),
      heap_(std::make_unique<DeviceHeap>(*context_)) {}

OracleRoom RoomOfOracle(double total, double beside) {
  const double left = std::max(0.0, kMostShare * total - beside);
  return {.at_once = static_cast<std::int64_t>(left),
          .by_slabs = static_cast<std::int64_t>(std::max(left - kDrawShare * total, left / 2))};
}

Result<void> DeviceTrial::SetUp(std::int64_t input_bytes, std::int64_t output_bytes) {
  std::int64_t expected_bytes = 0;
  setup_.kernels = HONE_TRY(CompileWorkerKernels(context_->device().model.arch));
  setup_.input_bytes = input_bytes;
  setup_.output_bytes = output_bytes;
  for (const Tensor* tensor : graph_.problem().Outputs()) expected_bytes += 24 * ElementCount(tensor->shape);
  const auto total = static_cast<double>(context_->device().model.memory_bytes);
  kernels_ = HONE_TRY(DeviceKernels::Load(*context_, *heap_, JudgedTypes::Of(graph_.problem())));
  // At the least one draw, while the oracle makes it, beside the slots.
  const std::int64_t beside = input_bytes + output_bytes + expected_bytes + problem_bytes_;
  oracle_ = HONE_TRY(DeviceOracle::Create(*kernels_, graph_, RoomOfOracle(total, static_cast<double>(beside))));
  const auto needed = static_cast<double>(beside + oracle_->plan().peak_bytes);
  if (needed > kMostShare * total) {
    return Fail(
        ErrorKind::kUsage,
        fmt::format("judging '{}' takes {:.1f} GiB of device memory and {} has {:.1f}: make the problem smaller",
                    graph_.problem().name, needed / kGiB, context_->device().model.processor, total / kGiB));
  }
  room_ = static_cast<std::int64_t>(std::min(kDrawShare * total, kMostShare * total - needed));
  for (const Tensor* tensor : graph_.problem().Inputs()) draw_bytes_ += tensor->bytes();
  for (const Tensor* tensor : graph_.problem().Outputs()) draw_bytes_ += 16 * ElementCount(tensor->shape);
  using Access = cuda::Exchange::Access;
  input_memory_ = HONE_TRY(FromDevice(cuda::Exchange::Create(*context_, input_bytes)));
  output_memory_ = HONE_TRY(FromDevice(cuda::Exchange::Create(*context_, output_bytes)));
  inputs_at_ = HONE_TRY(FromDevice(input_memory_->Map(Access::kReadWrite)));
  outputs_at_ = HONE_TRY(FromDevice(output_memory_->Map(Access::kReadWrite)));
  for (const auto& slot : setup_.input_slots) {
    for (const Place& place : slot) HONE_TRY(FillRedZones(inputs_at_, place));
  }
  for (const Place& place : setup_.parameter_places) HONE_TRY(FillRedZones(inputs_at_, place));
  return {};
}

Result<void> DeviceTrial::DrawTensor(std::size_t which, const DrawSpec& spec, cuda::Address to) {
  const Tensor& tensor = *graph_.problem().Inputs()[which];
  const bool input = tensor.role == Role::kInput;
  const std::uint64_t seed = seed_ + (input ? spec.seed : spec.parameters);
  const hone::Draw varied = VariationOf(spec, which);
  if (!std::holds_alternative<FromFile>(tensor.generator)) {
    const std::int64_t count = ElementCount(tensor.shape);
    HONE_TRY(kernels_->Draw(tensor, DrawingOf(tensor, seed, which, varied), to, 0, count));
    if (!input || spec.disturbed == 0) return {};
    const auto [begin, length] = RunToDisturb(static_cast<std::uint64_t>(count), seed);
    return kernels_->Draw(tensor, DrawingOf(tensor, seed_ + spec.disturbed, which, varied), to,
                          static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin + length));
  }
  std::vector<std::byte> data(static_cast<std::size_t>(tensor.bytes()));
  HONE_TRY(Fill(tensor, seed, which, varied, data.data(), graph_.problem().folder));
  HONE_TRY(FromDevice(context_->CopyIn(to, data.data(), tensor.bytes())));
  return FromDevice(context_->Wait());
}

Result<void> DeviceTrial::DrawNew(std::size_t i, std::uint64_t seed, ElementRun run, cuda::Address to) {
  const Tensor& tensor = input(i);
  if (run.length == 0 || std::holds_alternative<FromFile>(tensor.generator)) return {};
  return kernels_->Draw(tensor, DrawingOf(tensor, seed, input_index_[i], {}), to, static_cast<std::int64_t>(run.begin),
                        static_cast<std::int64_t>(run.begin + run.length));
}

// Draws give way to the next one, the oldest first, when they would take more than their share.
void DeviceTrial::MakeRoom() {
  std::int64_t used = 0, largest = 0;
  for (const auto& drawn : drawn_) {
    if (!drawn) continue;
    const auto bytes = static_cast<const Drawn&>(*drawn).bytes();
    used += bytes;
    largest = std::max(largest, bytes);
  }
  for (std::size_t i = 0; i < kDraws && used + largest > room_; ++i) {
    if (!drawn_[i]) continue;
    used -= static_cast<const Drawn&>(*drawn_[i]).bytes();
    drawn_[i].reset();
  }
}

Result<std::shared_ptr<const DrawnInputs>> DeviceTrial::MakeDraw(const DrawSpec& spec) {
  MakeRoom();
  auto drawn = std::make_shared<Drawn>(spec);
  drawn->name = NameOf(spec);
  const auto tensors = graph_.problem().Inputs();
  std::vector<cuda::Address> addresses;
  Say("drawing inputs");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    drawn->values.push_back(HONE_TRY(heap_->Take(tensors[i]->bytes())));
    addresses.push_back(drawn->values[i].address());
    HONE_TRY(DrawTensor(i, spec, addresses[i]));
  }
  Say("expected outputs");
  drawn->expected = HONE_TRY(oracle_->Run(addresses));
  for (const auto& expected : drawn->expected) drawn->honest_ratio.push_back(expected.honest_ratio);
  // What the oracle took for itself may be more than a worker leaves: large pieces go back.
  if (heap_->spare() > room_ / 4) {
    HONE_TRY(FromDevice(context_->Wait()));
    heap_->Trim();
  }
  return drawn;
}

Result<void> DeviceTrial::LoadInputs(const DrawnInputs& drawn, std::size_t slot) {
  const auto& values = static_cast<const Drawn&>(drawn).values;
  for (std::size_t i = 0; i < inputs(); ++i)
    HONE_TRY(FromDevice(context_->Copy(Input(slot, i), values[input_index_[i]].address(), input(i).bytes())));
  return {};
}

Result<void> DeviceTrial::Load(const DrawnInputs& drawn, std::size_t slot) {
  loaded_ = slot;
  HONE_TRY(LoadInputs(drawn, slot));
  HONE_TRY(LoadParameters(drawn));
  return FromDevice(context_->Wait());
}

Result<void> DeviceTrial::LoadParameters(const DrawnInputs& drawn) {
  const auto& values = static_cast<const Drawn&>(drawn).values;
  for (std::size_t p = 0; p < parameter_index_.size(); ++p)
    HONE_TRY(FromDevice(context_->Copy(At(inputs_at_, setup_.parameter_places[p]),
                                       values[parameter_index_[p]].address(), setup_.parameters[p].bytes())));
  return {};
}

Result<void> DeviceTrial::FillRedZones(cuda::Address base, const Place& place) {
  const auto at = base + static_cast<cuda::Address>(place.offset);
  const auto end = place.data + place.bytes;
  HONE_TRY(kernels_->Poison(at, place.data, kPattern));
  if (end % 2 == 0) return kernels_->Poison(at + static_cast<cuda::Address>(end), place.total - end, kPattern);
  HONE_TRY(FromDevice(context_->Set(at + static_cast<cuda::Address>(end), kPattern >> 8, 1)));
  return kernels_->Poison(at + static_cast<cuda::Address>(end) + 1, place.total - end - 1, kPattern);
}

Result<void> DeviceTrial::Poison(std::size_t slot, std::uint16_t pattern) {
  return SpoilOrLoad(slot, loaded_, pattern);
}

Result<void> DeviceTrial::SpoilOrLoad(std::size_t slot, std::size_t from, std::uint16_t pattern) {
  for (std::size_t o = 0; o < outputs(); ++o) {
    if (!HONE_TRY(LoadUpdated(o, slot, from))) HONE_TRY(kernels_->Poison(Output(slot, o), output(o).bytes(), pattern));
    HONE_TRY(FillRedZones(outputs_at_, setup_.output_slots[slot][o]));
  }
  return FromDevice(context_->Wait());
}

Result<bool> DeviceTrial::LoadUpdated(std::size_t o, std::size_t slot, std::size_t from) {
  if (!updated_[o]) return false;
  HONE_TRY(FromDevice(context_->Copy(Output(slot, o), Input(from, *updated_[o]), output(o).bytes())));
  return true;
}

Result<std::optional<Trespass>> DeviceTrial::LookAround(cuda::Address base, const Place& place) {
  const auto end = place.data + place.bytes;
  std::vector<std::byte> before(static_cast<std::size_t>(place.data)),
      after(static_cast<std::size_t>(place.total - end));
  const auto at = base + static_cast<cuda::Address>(place.offset);
  HONE_TRY(FromDevice(context_->CopyOut(before.data(), at, place.data)));
  HONE_TRY(FromDevice(context_->CopyOut(after.data(), at + static_cast<cuda::Address>(end), place.total - end)));
  return hone::FindTrespass(before.data(), after.data(), place);
}

Result<std::optional<Trespass>> DeviceTrial::FindTrespass(std::size_t slot, std::size_t output) {
  return LookAround(outputs_at_, setup_.output_slots[slot][output]);
}

Result<OutputCheck> DeviceTrial::Compare(const DrawnInputs& drawn, std::size_t slot, std::size_t o,
                                         std::uint16_t poison) {
  return Check(drawn, o, Output(slot, o), poison);
}

std::vector<cuda::Address> DeviceTrial::InputsAnd(const DrawnInputs& drawn, std::initializer_list<cuda::Address> more) {
  std::vector<cuda::Address> inputs;
  for (const auto& value : static_cast<const Drawn&>(drawn).values) inputs.push_back(value.address());
  inputs.insert(inputs.end(), more);
  return inputs;
}

// As HostTrial::Check does in host memory.
Result<OutputCheck> DeviceTrial::Check(const DrawnInputs& drawn, std::size_t o, cuda::Address got,
                                       std::uint16_t poison) {
  const DeviceExpected& expected = static_cast<const Drawn&>(drawn).expected[o];
  const Tensor& tensor = output(o);
  const OutputCheck check = HONE_TRY(kernels_->Compare(tensor, got, expected, poison));
  if (!MayBeOpen(tensor.dtype) || check.unwritten > 0) return check;
  if (check.right() && tensor.dtype == DType::kI64 && expected.size >= kExactWholes) {
    if (!exact_.contains(o)) exact_[o] = HONE_TRY(DeviceOracle::Create(*kernels_, WithExactWholes(graph_, o)));
    const auto differs = HONE_TRY(exact_[o]->Run(InputsAnd(drawn, {got})));
    const auto exact = HONE_TRY(kernels_->CompareOpen(tensor, got, expected, kAnyRoom, &differs[0], -1));
    if (!exact.right()) return exact;
  }
  if (check.right() && HONE_TRY(kernels_->CompareOpen(tensor, got, expected, 0, nullptr)).right()) return check;
  const auto picks = WithPicks(graph_, o);
  const OfEquals of_equals = picks ? picks->of_equals : OfEquals::kExpected;
  if (!check.right() && of_equals == OfEquals::kExpected) return check;
  if (!picks) {
    const auto near = HONE_TRY(kernels_->CompareOpen(tensor, got, expected, OpenRoom(expected.open_error), nullptr));
    return near.right() || IsOfScan(graph_, o) ? check : near;
  }
  if (!picks_.contains(o)) picks_[o] = HONE_TRY(DeviceOracle::Create(*kernels_, picks->graph));
  const auto distances = HONE_TRY(picks_[o]->Run(InputsAnd(drawn, {got, expected.value.address()})));
  const double sure_room = of_equals == OfEquals::kAny ? 0 : kAnyRoom;
  const auto picked = HONE_TRY(kernels_->CompareOpen(tensor, got, expected, 0, &distances[0], sure_room));
  if (!picked.right()) return picked;
  return check.right() ? check : OutputCheck{.official = check.official};
}

Result<NormCheck> DeviceTrial::CompareNorm(const DrawnInputs& drawn, std::size_t slot, std::size_t o,
                                           std::uint16_t poison) {
  return kernels_->CompareNorm(output(o), Output(slot, o), static_cast<const Drawn&>(drawn).expected[o], poison);
}

Result<bool> DeviceTrial::SameOutput(std::size_t slot, std::size_t other, std::size_t o) {
  return !HONE_TRY(kernels_->FirstDifference(Output(slot, o), Output(other, o), output(o).bytes())).has_value();
}

Result<bool> DeviceTrial::IsCopy(std::size_t slot, std::size_t o, std::size_t i) {
  if (input(i).bytes() != output(o).bytes()) return false;
  return !HONE_TRY(kernels_->FirstDifference(Output(slot, o), Input(slot, i), output(o).bytes())).has_value();
}

Result<std::optional<ChangedInput>> DeviceTrial::FindChangedInput(const DrawnInputs& drawn, std::size_t slot) {
  const auto& values = static_cast<const Drawn&>(drawn).values;
  for (const bool parameter : {false, true}) {
    const auto& tensors = parameter ? setup_.parameters : setup_.inputs;
    const auto& places = parameter ? setup_.parameter_places : setup_.input_slots[slot];
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto& value = values[parameter ? parameter_index_[i] : input_index_[i]];
      const auto differs =
          HONE_TRY(kernels_->FirstDifference(At(inputs_at_, places[i]), value.address(), tensors[i].bytes()));
      if (differs) return std::optional(ChangedInput{tensors[i].name, parameter, *differs});
      if (const auto trespass = HONE_TRY(LookAround(inputs_at_, places[i]))) {
        HONE_TRY(FillRedZones(inputs_at_, places[i]));  // for the next candidate
        return std::optional(ChangedInput{tensors[i].name, parameter, trespass->offset});
      }
    }
  }
  return std::optional<ChangedInput>();
}

Result<void> DeviceTrial::Read(const DrawnInputs& drawn, std::size_t which, std::byte* to) {
  const auto& value = static_cast<const Drawn&>(drawn).values[which];
  return FromDevice(context_->CopyOut(to, value.address(), graph_.problem().Inputs()[which]->bytes()));
}

Result<OutputCheck> DeviceTrial::CompareValues(const DrawnInputs& drawn, std::size_t o, const std::byte* values) {
  const std::int64_t bytes = output(o).bytes();
  const DeviceArray there = HONE_TRY(heap_->Take(bytes));
  HONE_TRY(FromDevice(context_->CopyIn(there.address(), values, bytes)));
  HONE_TRY(FromDevice(context_->Wait()));
  return Check(drawn, o, there.address(), kPoison);
}

Result<std::unique_ptr<TimedSlots>> DeviceTrial::StartTiming(const DrawnInputs& timed) {
  const auto& values = static_cast<const Drawn&>(timed).values;
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    for (std::size_t i = 0; i < inputs(); ++i) {
      const auto count = static_cast<std::uint64_t>(ElementCount(input(i).shape));
      if (std::holds_alternative<FromFile>(input(i).generator))
        HONE_TRY(FromDevice(context_->Copy(Input(slot, i), values[input_index_[i]].address(), input(i).bytes())));
      HONE_TRY(DrawNew(i, seed_ + kUnjudgedSeed + slot, {.begin = 0, .length = count}, Input(slot, i)));
    }
    HONE_TRY(SpoilOrLoad(slot, slot, kPoison));
  }
  HONE_TRY(LoadParameters(timed));
  HONE_TRY(FromDevice(context_->Wait()));
  return std::unique_ptr<TimedSlots>(std::make_unique<Slots>(*this));
}

}  // namespace hone
