// How fast memory is read, by the ways that kernels of ours have: loads, bulk copies as bytes lie, and boxes of a tensor
// map, each with what the second-level cache is told to bring beside. What is read is six tensors in turn, so that none
// is there already.
//
//   nvcc -O3 -std=c++17 -arch=sm_90a tools/read_speed.cu -o read_speed && ./read_speed [MEGABYTES]
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr long kRowBytes = 1536, kBoxRows = 16, kLineBytes = 128;
constexpr int kWarps = 8, kTensors = 6, kRuns = 21, kNotCounted = 3;

void Check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(3);
}

__device__ unsigned SharedAddress(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }
__device__ void Expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ void Wait(unsigned barrier, unsigned phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra out;\nbra "
      "again;\nout:\n}" ::"r"(barrier),
      "r"(phase)
      : "memory");
}

// Each warp reads every so manieth stretch of STAGE bytes (as they lie, or 16 rows of so many bytes each) through a ring
// of its own.
template <bool BOXES, int STAGES, int STAGE>
__global__ void __launch_bounds__(kWarps * 32, 1)
    Copied(const char* from, const __grid_constant__ CUtensorMap map, long bytes, unsigned* never) {
  extern __shared__ __align__(1024) char shared[];
  __shared__ unsigned long long full[kWarps * STAGES];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (auto& barrier : full) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  char* const ring = shared + warp * STAGES * STAGE;
  const long count = bytes / STAGE, step = gridDim.x * kWarps, first = blockIdx.x * kWarps + warp;
  const auto copy = [&](long i, int stage) {
    if (i >= count || lane != 0) return;
    const unsigned barrier = SharedAddress(&full[warp * STAGES + stage]), to = SharedAddress(ring + stage * STAGE);
    Expect(barrier, STAGE);
    if constexpr (BOXES) {
      constexpr long kPart = STAGE / kBoxRows, kParts = kRowBytes / kPart;
      asm volatile(
          "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
              to),
          "l"(&map), "r"(barrier), "r"(0), "r"(static_cast<int>(i / kParts * kBoxRows)),
          "r"(static_cast<int>(i % kParts * (kPart / kLineBytes)))
          : "memory");
    } else {
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                   "l"(__cvta_generic_to_global(from + i * STAGE)), "r"(STAGE), "r"(barrier)
                   : "memory");
    }
  };
  for (int stage = 0; stage < STAGES; ++stage) copy(first + stage * step, stage);
  unsigned any = 0, phase = 0;
  int stage = 0;
  for (long i = first; i < count; i += step) {
    Wait(SharedAddress(&full[warp * STAGES + stage]), phase);
    const auto* at = reinterpret_cast<const uint4*>(ring + stage * STAGE) + lane;
#pragma unroll 4
    for (int j = 0; j < STAGE / 512; ++j) any |= at[j * 32].x | at[j * 32].y | at[j * 32].z | at[j * 32].w;
    __syncwarp();
    copy(i + STAGES * step, stage);
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
  if (any != 0) *never = any;
}

enum class Brings { kAsAsked, k64, k128, k256 };
template <Brings BRINGS>
__device__ uint4 Load(const uint4* from) {
  uint4 to;
#define HONE_LOAD(beside)                                                                  \
  asm volatile("ld.global.nc.L1::no_allocate" beside ".v4.u32 {%0, %1, %2, %3}, [%4];"     \
               : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w)                             \
               : "l"(from))
  if constexpr (BRINGS == Brings::kAsAsked) HONE_LOAD("");
  if constexpr (BRINGS == Brings::k64) HONE_LOAD(".L2::64B");
  if constexpr (BRINGS == Brings::k128) HONE_LOAD(".L2::128B");
  if constexpr (BRINGS == Brings::k256) HONE_LOAD(".L2::256B");
#undef HONE_LOAD
  return to;
}
template <Brings BRINGS>
__global__ void __launch_bounds__(1024) Loaded(const uint4* from, long bytes, unsigned* never) {
  constexpr int kEach = 4;
  unsigned any = 0;
  const long count = bytes / 16, threads = 1024;
  for (long i = blockIdx.x * threads * kEach + threadIdx.x; i < count; i += gridDim.x * threads * kEach) {
    uint4 values[kEach] = {};
#pragma unroll
    for (int u = 0; u < kEach; ++u) {
      if (i + u * threads < count) values[u] = Load<BRINGS>(from + i + u * threads);
    }
#pragma unroll
    for (const uint4& value : values) any |= value.x | value.y | value.z | value.w;
  }
  if (any != 0) *never = any;
}

struct Reads {
  std::vector<char*> tensors;
  long bytes;
  int processors;
  unsigned* never;

  template <class Ask>
  void Time(const char* name, const Ask& ask) const {
    cudaEvent_t begin, end;
    Check(cudaEventCreate(&begin), name);
    Check(cudaEventCreate(&end), name);
    std::vector<float> us;
    for (int run = 0; run < kRuns; ++run) {
      Check(cudaEventRecord(begin), name);
      ask(tensors[static_cast<std::size_t>(run) % tensors.size()]);
      Check(cudaEventRecord(end), name);
      Check(cudaEventSynchronize(end), name);
      float ms = 0;
      Check(cudaEventElapsedTime(&ms, begin, end), name);
      if (run >= kNotCounted) us.push_back(1000 * ms);
    }
    std::sort(us.begin(), us.end());
    const float median = us[us.size() / 2];
    std::printf("%-58s %7.1f us (%.1f to %.1f), %.2f TB/s\n", name, median, us.front(), us.back(), bytes / median / 1e6);
  }

  template <Brings BRINGS>
  void Loads(const char* name) const {
    Time(name, [&](char* x) { Loaded<BRINGS><<<2 * processors, 1024>>>(reinterpret_cast<uint4*>(x), bytes, never); });
  }

  template <bool BOXES, int STAGES, int STAGE>
  void Copies(const char* name, int brings) const {
    const auto kernel = Copied<BOXES, STAGES, STAGE>;
    constexpr int kShared = kWarps * STAGES * STAGE;
    Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared), name);
    void* encode = nullptr;
    cudaDriverEntryPointQueryResult found{};
    Check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found), name);
    Time(name, [&](char* x) {
      CUtensorMap map;
      const cuuint64_t extents[] = {kLineBytes / 2, static_cast<cuuint64_t>(bytes / kRowBytes), kRowBytes / kLineBytes};
      const cuuint64_t strides[] = {kRowBytes, kLineBytes};
      const cuuint32_t box[] = {kLineBytes / 2, kBoxRows, STAGE / kBoxRows / kLineBytes}, ones[] = {1, 1, 1};
      const auto code = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
          &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, x, extents, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_128B, static_cast<CUtensorMapL2promotion>(brings), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
      if (code != CUDA_SUCCESS) std::exit(3);
      kernel<<<processors, kWarps * 32, kShared>>>(x, map, bytes, never);
    });
  }
};

}  // namespace

int main(int count, char** arguments) {
  const double megabytes = count > 1 ? std::atof(arguments[1]) : 3932;
  constexpr long kWhole = 16 * kRowBytes;  // of all stages' sizes
  Reads reads{.bytes = std::max(1l, static_cast<long>(megabytes * 1e6) / kWhole) * kWhole};
  cudaDeviceProp device{};
  Check(cudaGetDeviceProperties(&device, 0), "a device");
  reads.processors = device.multiProcessorCount;
  Check(cudaMalloc(&reads.never, 4), "memory");
  for (int i = 0; i < kTensors; ++i) {
    char* tensor = nullptr;
    Check(cudaMalloc(&tensor, reads.bytes), "memory");
    Check(cudaMemset(tensor, 0, reads.bytes), "memory");
    reads.tensors.push_back(tensor);
  }
  std::printf("%s, %.0f MB\n", device.name, reads.bytes / 1e6);
  reads.Loads<Brings::kAsAsked>("loads of 16 bytes, as asked");
  reads.Loads<Brings::k64>("loads of 16 bytes, 64 brought");
  reads.Loads<Brings::k128>("loads of 16 bytes, 128 brought");
  reads.Loads<Brings::k256>("loads of 16 bytes, 256 brought");
  reads.Copies<false, 3, 8192>("bulk copies of 8 KiB, 3 stages", 0);
  reads.Copies<true, 3, 8192>("boxes of 16 x 512 bytes, 3 stages, as asked", 0);
  reads.Copies<true, 3, 8192>("boxes of 16 x 512 bytes, 3 stages, 64 brought", 1);
  reads.Copies<true, 3, 8192>("boxes of 16 x 512 bytes, 3 stages, 128 brought", 2);
  reads.Copies<true, 3, 8192>("boxes of 16 x 512 bytes, 3 stages, 256 brought", 3);
  reads.Copies<true, 6, 4096>("boxes of 16 x 256 bytes, 6 stages, 128 brought", 2);
  reads.Copies<true, 6, 4096>("boxes of 16 x 256 bytes, 6 stages, 256 brought", 3);
  return 0;
}
