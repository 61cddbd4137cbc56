#include "target/cuda/device_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/date.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/driver.h"
#include "target/cuda/loaded_plan.h"
#include "target/cuda/nvml.h"
#include "target/cuda/nvrtc.h"
#include "target/cuda/toolkit.h"
#include "target/shipped_model.h"

namespace hone::cuda {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
// Bytes read and written together, from what the second-level cache holds to what it does not.
constexpr std::int64_t kWorkingSets[] = {2 * kMiB,  8 * kMiB,   16 * kMiB,  32 * kMiB,
                                         64 * kMiB, 128 * kMiB, 512 * kMiB, 4096 * kMiB};
constexpr int kThreads = 256, kRepeats = 9, kRounds = 256;

constexpr std::string_view kSource = R"(
struct alignas(16) Four { float at[4]; };

extern "C" __global__ void __launch_bounds__(256) Copy(const Four* from, Four* to, long count) {
  const long at = blockIdx.x * 256l + threadIdx.x;
  if (at < count) to[at] = from[at];
}

extern "C" __global__ void __launch_bounds__(256) Read(const Four* from, float* to, long count) {
  float sum = 0;
#pragma unroll 4
  for (long at = blockIdx.x * 256l + threadIdx.x; at < count; at += gridDim.x * 256l) {
    const Four four = from[at];
    sum += four.at[0] + four.at[1] + four.at[2] + four.at[3];
  }
  if (sum == 1.25e30f) *to = sum;  // never: what is read has to be read
}

// Eight chains a thread hide the adder's latency.
template <class T>
__device__ void Multiply(T* to, int rounds) {
  T a[8];
  for (int i = 0; i < 8; ++i) a[i] = T(threadIdx.x + i);
  const T b = T(1.0000001), c = T(0.5);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < 16; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = a[i] * b + c;
    }
  }
  T sum = 0;
  for (int i = 0; i < 8; ++i) sum += a[i];
  if (sum == T(1.25e30)) *to = sum;
}
extern "C" __global__ void __launch_bounds__(256) MultiplyF32(float* to, int rounds) { Multiply(to, rounds); }
extern "C" __global__ void __launch_bounds__(256) MultiplyF64(double* to, int rounds) { Multiply(to, rounds); }

extern "C" __global__ void Nothing() {}
)";

// Where the device has wgmma.
constexpr std::string_view kTensorSource = R"(
// Tensor cores on halves in shared memory, all zero: no operand costs less energy, so no product runs at a higher clock.
extern "C" __global__ void __launch_bounds__(256) MultiplyTensor(float* to, int rounds) {
  __shared__ alignas(1024) unsigned char tiles[40960];
  for (int i = threadIdx.x; i < 40960 / 4; i += 256) reinterpret_cast<unsigned*>(tiles)[i] = 0;
  asm volatile("fence.proxy.async;\n" ::: "memory");
  __syncthreads();
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(tiles));
  // K-major tiles with 128-byte swizzle: 64 rows of A, 256 of B.
  const unsigned long long common = (1ull << 16) | (64ull << 32) | (1ull << 62);
  const unsigned long long a = common | ((base & 0x3ffff) >> 4), b = common | (((base + 8192) & 0x3ffff) >> 4);
  float d[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) d[i] = 0;
  for (int round = 0; round < rounds; ++round) {
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
          "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
          "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
          "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
          "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
          "}, %128, %129, 1, 1, 1, 0, 0;\n"
          : ACCUMULATORS
          : "l"(a + 2 * step), "l"(b + 2 * step));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" ::: "memory");
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 128; ++i) sum += d[i];
  if (sum == 1.25e30f) *to = sum;
}
)";

std::string Source(const DeviceModel& device) {
  if (!device.has.wgmma) return std::string(kSource);
  std::string accumulators;
  for (int i = 0; i < 128; ++i) accumulators += fmt::format("{}\"+f\"(d[{}])", i ? ", " : "", i);
  std::string text(kTensorSource);
  constexpr std::string_view kPlace = "ACCUMULATORS";
  return std::string(kSource) + text.replace(text.find(kPlace), kPlace.size(), accumulators);
}

template <class T>
Result<T> AsResult(Try<T> value) {
  if (value) return std::move(*value);
  return Fail(ErrorKind::kTool, "measuring the device: " + value.error().message);
}
Result<void> AsResult(const Try<void>& done) {
  if (done) return {};
  return Fail(ErrorKind::kTool, "measuring the device: " + done.error().message);
}

class Measurer {
 public:
  static Result<Measurer> Create(int ordinal) {
    Measurer one;
    one.context_ = HONE_TRY(AsResult(Context::Open(ordinal)));
    one.clock_ = std::make_unique<GpuClock>(HONE_TRY(AsResult(GpuClock::Create(*one.context_))));
    return one;
  }

  // The least microseconds of one run of `steps` over these buffers; several runs a turn, as one graph if asked.
  Result<double> Best(std::vector<PlanBuffer> buffers, std::vector<PlanStep> steps, bool graph) {
    Plan plan;
    plan.sources.push_back({"ceilings.cu", Source(device().model), {}});
    plan.buffers = std::move(buffers);
    plan.steps = std::move(steps);
    const auto built = HONE_TRY(BuildPlan(plan, Problem{}, device().model));
    if (const auto* refusal = std::get_if<PlanRefusal>(&built))
      return Fail(ErrorKind::kTool, fmt::format("our own measuring kernels: {}: {}", refusal->where, refusal->message));
    auto loaded = HONE_TRY(AsResult(LoadedPlan::Load(*context_, std::get<BuiltPlan>(built))));
    const int binding = HONE_TRY(AsResult(loaded->Bind({})));
    double best = 1e300;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      HONE_TRY(AsResult(clock_->Start()));
      HONE_TRY(AsResult(graph ? loaded->RunGraph(binding) : loaded->Run(binding)));
      const double us = HONE_TRY(AsResult(clock_->Stop()));
      if (repeat > 1) best = std::min(best, us);
    }
    return best;
  }

  const Device& device() const { return context_->device(); }

 private:
  std::unique_ptr<Context> context_;
  std::unique_ptr<GpuClock> clock_;
};

LaunchStep Launch(const std::string& kernel, std::int64_t blocks, std::int64_t threads,
                  std::vector<PlanArgument> arguments) {
  LaunchStep step;
  step.kernel = kernel;
  step.grid = {blocks, 1, 1};
  step.block = {threads, 1, 1};
  step.arguments = std::move(arguments);
  return step;
}
// Products large enough that more would not be faster, small enough for milliseconds.
struct LibraryRate {
  std::string_view name;
  DType dtype;
  LibraryCompute compute;
  std::int64_t size;
};
constexpr LibraryRate kLibraryRates[] = {{"f16", DType::kF16, LibraryCompute::kF32, 8192},
                                         {"bf16", DType::kBF16, LibraryCompute::kF32, 8192},
                                         {"tf32", DType::kF32, LibraryCompute::kTf32, 8192},
                                         {"f32", DType::kF32, LibraryCompute::kF32, 4096},
                                         {"f64", DType::kF64, LibraryCompute::kF64, 4096}};
constexpr std::int64_t kWorkspaceBytes = 32 * kMiB;  // cuBLAS's own default on this kind of device

std::vector<PlanBuffer> SquareBuffers(const LibraryRate& rate) {
  const std::vector<std::int64_t> shape = {rate.size, rate.size};
  return {{"a", rate.dtype, shape},
          {"b", rate.dtype, shape},
          {"d", rate.dtype, shape},
          {"space", DType::kU8, {kWorkspaceBytes}}};
}

MatmulStep SquareProduct(const LibraryRate& rate) {
  MatmulStep step;
  step.m = step.n = step.k = rate.size;
  step.a = {.buffer = "a", .strides = {rate.size, 1}};
  step.b = {.buffer = "b", .strides = {1, rate.size}};  // columns: the layout that the library is fastest in
  step.d = {.buffer = "d", .strides = {rate.size, 1}};
  step.compute = rate.compute;
  step.workspace = "space";
  return step;
}

NumberArgument Long(std::int64_t value) { return {NumberArgument::Type::kI64, value}; }
NumberArgument Int(std::int64_t value) { return {NumberArgument::Type::kI32, value}; }

}  // namespace

FoundLibraries FindLibraries() {
  return {.cublas_lt = FindLibrary(Library::kCublasLt).has_value(), .cudnn = FindLibrary(Library::kCudnn).has_value()};
}

Result<DeviceModel> DescribeDevice(int ordinal) {
  const auto devices = HONE_TRY(FindDevices());
  HONE_CHECK(ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size(), "a device is one of those found");
  DeviceModel device = devices[static_cast<std::size_t>(ordinal)].model;
  device.libraries = FindLibraries();
  return device;
}

DeviceModel ModelToBuildFor(const std::string& uuid) {
  const auto devices = FindDevices();
  if (!devices) return TypicalDevice();
  for (const Device& device : *devices) {
    if (device.uuid == uuid) return device.model;
  }
  return devices->front().model;
}

Result<DeviceModel> CalibrateDevice(int ordinal) {
  DeviceModel device = HONE_TRY(DescribeDevice(ordinal));
  Ceilings& ceilings = device.ceilings;
  ceilings.source = Ceilings::Source::kMeasured;
  Measurer measurer = HONE_TRY(Measurer::Create(ordinal));
  constexpr int kSerial = 10;  // runs in one turn, so that a launch's own time is small beside it
  for (const std::int64_t bytes : kWorkingSets) {
    const std::int64_t half = bytes / 2, packs = half / 16;
    const std::vector<PlanBuffer> two = {{"from", DType::kF32, {half / 4}}, {"to", DType::kF32, {half / 4}}};
    const std::vector<PlanStep> copy(kSerial,
                                     Launch("Copy", (packs + kThreads - 1) / kThreads, kThreads,
                                            {BufferArgument{"from", 0}, BufferArgument{"to", 0}, Long(packs)}));
    const double copy_us = HONE_TRY(measurer.Best(two, copy, true)) / kSerial;
    const std::vector<PlanStep> read(kSerial,
                                     Launch("Read", device.multiprocessors * 8, kThreads,
                                            {BufferArgument{"from", 0}, BufferArgument{"to", 0}, Long(bytes / 16)}));
    const double read_us =
        HONE_TRY(measurer.Best({{"from", DType::kF32, {bytes / 4}}, {"to", DType::kF32, {16}}}, read, true)) / kSerial;
    ceilings.bandwidth.push_back(
        {bytes, static_cast<double>(bytes) / copy_us * 1e6, static_cast<double>(bytes) / read_us * 1e6});
  }
  const std::vector<PlanBuffer> one = {{"to", DType::kF64, {16}}};
  const auto flops = [&](const std::string& kernel, int blocks_each, double a_thread_round) -> Result<double> {
    const std::int64_t blocks = device.multiprocessors * blocks_each;
    const double us =
        HONE_TRY(measurer.Best(one, {Launch(kernel, blocks, kThreads, {BufferArgument{"to", 0}, Int(kRounds)})}, true));
    return static_cast<double>(blocks * kThreads * kRounds) * a_thread_round / us * 1e6;
  };
  ceilings.vector_flops_f32 = HONE_TRY(flops("MultiplyF32", 8, 2.0 * 16 * 8));
  ceilings.fma_flops_f64 = HONE_TRY(flops("MultiplyF64", 8, 2.0 * 16 * 8));
  const double halves = device.has.wgmma ? HONE_TRY(flops("MultiplyTensor", 2, 4 * 2.0 * 64 * 256 * 16 / 128)) : 0;
  constexpr int kLaunches = 100;
  ceilings.fork_join_us =
      HONE_TRY(measurer.Best(one, std::vector<PlanStep>(kLaunches, Launch("Nothing", 1, 32, {})), true)) / kLaunches;
  ceilings.stream_launch_us =
      HONE_TRY(measurer.Best(one, std::vector<PlanStep>(kLaunches, Launch("Nothing", 1, 32, {})), false)) / kLaunches;
  if (const auto nvml = Nvml::Open(measurer.device().uuid)) {
    if (const auto tick = MeasureEnergyTick(*nvml)) {
      ceilings.energy_tick_ms = tick->tick_ms;
      ceilings.idle_watts = tick->watts;
    }
  }
  // Last: should the library leave the device in an error, all else is measured.
  if (FindLibrary(Library::kCublasLt)) {
    for (const LibraryRate& rate : kLibraryRates) {
      // A type that the library does not make on this device is left out.
      if (const auto us = measurer.Best(SquareBuffers(rate), {SquareProduct(rate)}, true)) {
        const auto n = static_cast<double>(rate.size);
        ceilings.matmul_flops[std::string(rate.name)] = 2 * n * n * n / *us * 1e6;
      }
    }
  }
  const auto library = [&](const char* name) {
    const auto found = ceilings.matmul_flops.find(name);
    return found == ceilings.matmul_flops.end() ? 0.0 : found->second;
  };
  ceilings.fma_flops_f32 =
      std::max(library("f32"), SinglePrecisionCeiling(ceilings.vector_flops_f32, std::max(halves, library("f16"))));
  ceilings.fma_flops_f64 = std::max(ceilings.fma_flops_f64, library("f64"));
  ceilings.measured_on = Today();
  ceilings.compiler = HONE_TRY(NvrtcVersion());
  return device;
}

}  // namespace hone::cuda
