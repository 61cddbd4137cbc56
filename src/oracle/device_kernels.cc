#include "oracle/device_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace hone {

extern const std::string_view kDeviceStdText, kPhiloxText, kDrawingText, kElementCheckText, kNudgeText,
    kJudgeKernelsText;

namespace {

constexpr int kThreads = 256;  // as in device_code/judge.cu
constexpr std::int64_t kSpoiled = 4;

std::string ElementOf(DType dtype) {
  return fmt::format("{}<{}>", IsSmallFloat(dtype) ? "Small" : "Plain", ElementType(dtype));
}

// A bool that is neither 0 nor 1 is not right: compared as the byte that it is.
std::string ComparedAs(DType dtype) { return ElementOf(dtype == DType::kBool ? DType::kU8 : dtype); }

// Of the largest part that a block writes.
constexpr std::int64_t kPartBytes =
    std::max({sizeof(PartCheck), sizeof(UndecidedPart), sizeof(NormCheck), sizeof(Totals)});

std::vector<std::string> Instances(const JudgedTypes& types) {
  std::vector<std::string> instances{"Spoil",      "Rewrite", "Undecided", "Nudge",
                                     "NudgeSmall", "Decide",  "Settle",    "Differ"};
  for (const DType dtype : types.drawn) instances.push_back(fmt::format("Draw<{}>", ElementOf(dtype)));
  std::set<std::string> compared;
  for (const DType dtype : types.compared) {
    for (const auto kernel : {"Compare", "Norm", "Sum"})
      compared.insert(fmt::format("{}<{}>", kernel, ComparedAs(dtype)));
    if (MayBeOpen(dtype)) compared.insert(fmt::format("Open<{}>", ElementOf(dtype)));
  }
  instances.insert(instances.end(), compared.begin(), compared.end());
  return instances;
}

}  // namespace

JudgedTypes JudgedTypes::Of(const Problem& problem) {
  JudgedTypes types;
  for (const Tensor& tensor : problem.tensors)
    (tensor.role == Role::kOutput ? types.compared : types.drawn).insert(tensor.dtype);
  return types;
}

JudgedTypes JudgedTypes::All() {
  JudgedTypes types;
  for (const DTypeRow& row : kDTypes) types.drawn.insert(row.dtype);
  types.compared = types.drawn;
  return types;
}

Result<cuda::CompiledCubin> CompileJudgeKernels(const std::string& arch, const JudgedTypes& types) {
  cuda::CubinRequest request;
  request.name = "judge.cu";
  request.arch = arch;
  for (const auto text : {kDeviceStdText, kPhiloxText, kDrawingText, kElementCheckText, kNudgeText, kJudgeKernelsText})
    request.source += text;
  request.instances = Instances(types);
  request.flags = {"--fmad=false"};
  auto compiled = HONE_TRY(cuda::CompileCubin(request));
  if (!compiled.ok())
    return Fail(ErrorKind::kTool, "NVRTC refuses the judge's kernels: " + compiled.errors.front().message);
  return compiled;
}

DeviceArray& DeviceArray::operator=(DeviceArray&& other) noexcept {
  if (this == &other) return *this;
  Release();
  heap_ = std::exchange(other.heap_, nullptr);
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void DeviceArray::Release() {
  if (heap_ == nullptr) return;
  heap_->spare_.emplace(bytes_, address_);
  heap_ = nullptr;
  address_ = 0;
}

Result<DeviceArray> DeviceHeap::Take(std::int64_t bytes) {
  constexpr std::int64_t kUnit = 512;
  bytes = std::max<std::int64_t>((bytes + kUnit - 1) / kUnit * kUnit, kUnit);
  if (const auto spare = spare_.find(bytes); spare != spare_.end()) {
    DeviceArray array(this, spare->second, bytes);
    spare_.erase(spare);
    return array;
  }
  auto made = context_.Allocate(bytes);
  if (!made) {
    Trim();
    made = context_.Allocate(bytes);
  }
  if (!made && give_way_) {
    give_way_();
    made = context_.Allocate(bytes);
  }
  const cuda::Address address = HONE_TRY(FromDevice(std::move(made)));
  return DeviceArray(this, address, bytes);
}

std::int64_t DeviceHeap::spare() const {
  std::int64_t sum = 0;
  for (const auto& [bytes, address] : spare_) sum += bytes;
  return sum;
}

void DeviceHeap::Trim() {
  for (const auto& [bytes, address] : spare_) context_.Free(address);
  spare_.clear();
}

Result<std::unique_ptr<DeviceKernels>> DeviceKernels::Load(cuda::Context& context, DeviceHeap& heap,
                                                           const JudgedTypes& types) {
  const auto compiled = HONE_TRY(CompileJudgeKernels(context.device().model.arch, types));
  auto module = HONE_TRY(FromDevice(cuda::Module::Load(context, compiled.cubin)));
  auto kernels = std::unique_ptr<DeviceKernels>(new DeviceKernels(context, heap, std::move(module)));
  const auto instances = Instances(types);
  for (std::size_t i = 0; i < instances.size(); ++i)
    kernels->functions_[instances[i]] = HONE_TRY(FromDevice(kernels->module_.Find(compiled.symbols[i])));
  kernels->results_ = HONE_TRY(heap.Take(kernels->Blocks(INT64_MAX / 2) * kPartBytes));
  return kernels;
}

std::int64_t DeviceKernels::Blocks(std::int64_t count) const {
  const std::int64_t most = std::int64_t{8} * std::max(context_.device().model.multiprocessors, 1);
  return std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, most);
}

template <class... Arguments>
Result<void> DeviceKernels::Launch(const std::string& kernel, std::int64_t blocks, int threads,
                                   Arguments... arguments) {
  void* const pointers[] = {&arguments...};
  return FromDevice(context_.Launch(functions_.at(kernel), blocks, threads, pointers));
}

Result<void> DeviceKernels::Draw(const Tensor& tensor, const Drawing& drawing, cuda::Address to, std::int64_t begin,
                                 std::int64_t end) {
  if (begin >= end) return {};
  return Launch(fmt::format("Draw<{}>", ElementOf(tensor.dtype)), Blocks((end - begin + 3) / 4 + 1), kThreads, to,
                drawing, begin, end);
}

Result<void> DeviceKernels::Spoil(const Tensor& tensor, cuda::Address at, std::uint64_t seed) {
  const std::int64_t count = ElementCount(tensor.shape);
  if (count == 0) return {};
  return Launch("Spoil", 1, kSpoiled, at, count, static_cast<std::int64_t>(Bytes(tensor.dtype)), seed);
}

Result<void> DeviceKernels::Rewrite(cuda::Address at, std::int64_t bytes) {
  const std::int64_t words = bytes / 8, rest = bytes % 8;
  return Launch("Rewrite", Blocks(words), kThreads, at, words, at + static_cast<cuda::Address>(bytes - rest), rest);
}

Result<void> DeviceKernels::Poison(cuda::Address at, std::int64_t bytes, std::uint16_t pattern) {
  HONE_TRY(FromDevice(context_.Set16(at, pattern, bytes / 2)));
  if (bytes % 2 == 0) return {};
  return FromDevice(context_.Set(at + static_cast<cuda::Address>(bytes) - 1, pattern & 0xff, 1));
}

template <class Part, class... Arguments>
Result<Part> DeviceKernels::Merge(const std::string& kernel, std::int64_t count, Arguments... arguments) {
  static_assert(sizeof(Part) <= kPartBytes);
  const std::int64_t blocks = Blocks(count);
  HONE_TRY(Launch(kernel, blocks, kThreads, arguments..., results_.address()));
  std::vector<Part> parts(static_cast<std::size_t>(blocks));
  HONE_TRY(
      FromDevice(context_.CopyOut(parts.data(), results_.address(), blocks * static_cast<std::int64_t>(sizeof(Part)))));
  Part whole;
  for (const Part& part : parts) whole = Merged(whole, part);
  return whole;
}

Result<UndecidedPart> DeviceKernels::FindUndecided(const DeviceExpected& expected, cuda::Address honest,
                                                   std::int64_t count) {
  return Merge<UndecidedPart>("Undecided", count, expected.value.address(), expected.scale.address(), honest, count);
}

Result<void> DeviceKernels::Decide(DeviceExpected& expected, cuda::Address honest, std::int64_t count, double worst) {
  return Launch("Decide", Blocks(count), kThreads, expected.value.address(), expected.scale.address(), honest, count,
                UndecidedScale(worst, 0));
}

Result<void> DeviceKernels::Settle(DeviceExpected& expected, cuda::Address honest, std::int64_t count) {
  const auto part =
      HONE_TRY(Merge<HonestPart>("Settle", count, expected.value.address(), expected.scale.address(), honest, count));
  expected.honest_ratio = part.ratio;
  expected.open_error = part.open;
  expected.size = part.size;
  expected.factor = kBudgetFactor * std::max(1.0, expected.honest_ratio);
  return {};
}

Result<void> DeviceKernels::Nudge(const Tensor& input, cuda::Address from, cuda::Address to, int run,
                                  std::uint64_t number) {
  const std::int64_t count = ElementCount(input.shape);
  if (input.dtype == DType::kF32) return Launch("Nudge", Blocks(count), kThreads, from, to, count, run, number);
  return Launch("NudgeSmall", Blocks(count), kThreads, from, to, count, InfinityOf16Bits(input.dtype), run, number);
}

Result<OutputCheck> DeviceKernels::Compare(const Tensor& tensor, cuda::Address got, const DeviceExpected& expected,
                                           std::uint16_t poison) {
  const std::int64_t count = ElementCount(tensor.shape);
  if (count == 0) return OutputCheck{};
  const std::string element = ComparedAs(tensor.dtype);
  OutputCheck check = ToOutputCheck(HONE_TRY(Merge<PartCheck>(
      fmt::format("Compare<{}>", element), count, got, expected.value.address(), expected.scale.address(), count,
      expected.factor, OfficialTolerance(tensor.dtype), OverflowOf(tensor.dtype), std::int64_t{poison})));
  if (expected.whole) {
    const auto totals =
        HONE_TRY(Merge<Totals>(fmt::format("Sum<{}>", element), count, got, expected.value.address(), count));
    check.unlike = UnlikeWhole(*expected.whole, totals);
  }
  return check;
}

Result<OutputCheck> DeviceKernels::CompareOpen(const Tensor& tensor, cuda::Address got, const DeviceExpected& expected,
                                               double room, const DeviceExpected* distance, double sure_room) {
  const std::int64_t count = ElementCount(tensor.shape);
  if (count == 0) return OutputCheck{};
  const cuda::Address none = 0;
  return ToOutputCheck(HONE_TRY(Merge<PartCheck>(
      fmt::format("Open<{}>", ElementOf(tensor.dtype)), count, got, expected.value.address(), expected.scale.address(),
      distance ? distance->value.address() : none, distance ? distance->scale.address() : none, count,
      distance ? distance->factor : 0.0, room, sure_room)));
}

Result<NormCheck> DeviceKernels::CompareNorm(const Tensor& tensor, cuda::Address got, const DeviceExpected& expected,
                                             std::uint16_t poison) {
  const std::int64_t count = ElementCount(tensor.shape);
  if (count == 0) return NormCheck{};
  return Merge<NormCheck>(fmt::format("Norm<{}>", ComparedAs(tensor.dtype)), count, got, expected.value.address(),
                          expected.scale.address(), count, expected.factor, OverflowOf(tensor.dtype),
                          std::int64_t{poison});
}

Result<std::optional<std::int64_t>> DeviceKernels::FirstDifference(cuda::Address a, cuda::Address b,
                                                                   std::int64_t bytes) {
  std::int64_t least = bytes;
  HONE_TRY(FromDevice(context_.CopyIn(results_.address(), &least, 8)));
  HONE_TRY(Launch("Differ", Blocks(bytes / 8), kThreads, a, b, bytes, results_.address()));
  HONE_TRY(FromDevice(context_.CopyOut(&least, results_.address(), 8)));
  if (least >= bytes) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(least);
}

}  // namespace hone
