// A device's text with wgmma, barriers and the copy engine, run on the host: threads of all blocks of a cluster take
// turns, each until it has to wait. What the text says in PTX has stand-ins that do it at once, so that places in
// memory, who waits for whom and what is computed are as on a device; what comes late there does not here.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "candidate/plan.h"
#include "dsl/cuda/attention_wgmma.h"
#include "dsl/cuda/tensor_product.h"
#include "dsl/lower.h"
#include "dsl/testing/interpreter.h"
#include "problem/element.h"
#include "target/shipped_model.h"

namespace hone {
extern const std::string_view kTensorCoreText;      // dsl/cuda/tensor_core.cuh
extern const std::string_view kTensorEndText;       // dsl/cuda/tensor_end.cuh
extern const std::string_view kTensorPixelsText;    // dsl/cuda/tensor_pixels.cuh
extern const std::string_view kAttentionPairsText;  // dsl/cuda/attention_pairs.cuh
}  // namespace hone

namespace hone::dsl::testing {

class DeviceBlocksTest : public ::testing::Test {
 protected:
  // Runs the program on random numbers; every output has to be the interpreter's, but for `tolerance` of the elements'
  // size.
  void ExpectBlocksSay(std::string_view text, double tolerance) {
    SCOPED_TRACE(text);
    const auto lowered = Lower(fmt::format("program p\n{}\n", text), nullptr, TypicalDevice());
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<Complaint>(lowered));
    const auto& program = std::get<KernelProgram>(lowered);
    const Plan plan = EmitCuda(program);
    std::map<std::string, std::vector<char>> memory;
    std::map<std::string, std::size_t> element_bytes;
    std::vector<std::vector<double>> values(program.buffers.size());
    std::mt19937 random(5);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const KernelBuffer& buffer = program.buffers[b];
      auto& bytes = memory[buffer.name];
      element_bytes[buffer.name] = Bytes(buffer.dtype);
      bytes.assign(static_cast<std::size_t>(ElementCount(buffer.shape)) * Bytes(buffer.dtype), '\xff');
      if (buffer.home > KernelBuffer::Home::kParameter) continue;
      values[b].resize(static_cast<std::size_t>(ElementCount(buffer.shape)));
      for (std::size_t i = 0; i < values[b].size(); ++i) {
        const int drawn = static_cast<int>(random() % 4096) - 1024;
        SetElement(buffer.dtype, bytes.data(), static_cast<std::int64_t>(i),
                   IsFloat(buffer.dtype) ? drawn / 2048.0 : std::abs(drawn % 100));
        values[b][i] = ElementAsDouble(buffer.dtype, bytes.data(), static_cast<std::int64_t>(i));
      }
    }
    for (const PlanBuffer& buffer : plan.buffers) {
      element_bytes[buffer.name] = Bytes(buffer.dtype);
      memory[buffer.name].assign(static_cast<std::size_t>(ElementCount(buffer.shape)) * Bytes(buffer.dtype), '\xff');
    }
    std::vector<void*> addresses;
    std::map<std::string, std::size_t> numbers;
    for (auto& [name, bytes] : memory) {
      numbers[name] = addresses.size();
      addresses.push_back(bytes.data());
    }
    RunOnHost(SourceOf(plan, numbers, element_bytes), addresses);
    Interpreter(program, values).Run();
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const KernelBuffer& buffer = program.buffers[b];
      if (buffer.home != KernelBuffer::Home::kOutput) continue;
      double size = 0;
      for (const double want : values[b])
        size += std::isfinite(want) ? std::fabs(want) / static_cast<double>(values[b].size()) : 0;
      int wrong = 0;
      for (std::size_t i = 0; i < values[b].size() && wrong < 3; ++i) {
        const double want = values[b][i],
                     is = ElementAsDouble(buffer.dtype, memory[buffer.name].data(), static_cast<std::int64_t>(i));
        if (std::isinf(want) ? is == want : std::fabs(is - want) <= tolerance * (size + std::fabs(want))) continue;
        ++wrong;
        ADD_FAILURE() << buffer.name << "[" << i << "] is " << is << ", not " << want;
      }
    }
  }

 private:
  // The plan's text with stand-ins, and a function that launches its steps.
  static std::string SourceOf(const Plan& plan, const std::map<std::string, std::size_t>& numbers,
                              const std::map<std::string, std::size_t>& bytes) {
    std::string text = plan.sources.at(0).text;
    const auto replace = [&](std::string_view what, std::string_view with) {
      for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    };
    replace(kTensorCoreText, "");
    replace(kTensorEndText, "");
    replace(kTensorPixelsText, "");
    replace(kAttentionPairsText, "");
    replace("asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));", "y = std::exp2(x);");
    for (const DType type : {DType::kF16, DType::kBF16}) {
      for (std::int64_t n = 8; n <= 256; n += 8) replace(AttentionProductsText(n, type), "");
    }
    for (const DType type : {DType::kF16, DType::kBF16, DType::kF32}) {
      const ProductKind kind{type, type};
      for (std::int64_t n = 64; n <= 256; n += 64)
        replace(ProductText(n, kind),
                fmt::format("const auto {} = Products<{}, {}>::Of;\n", kind.Name(), RowOf(type).cuda, n));
    }
    replace("template <class T, int N>\nstruct Products;", "");
    replace("#include", "//");
    replace("extern __shared__ unsigned char tiles[];", "unsigned char* const tiles = Dynamic();");
    replace("__shared__ __align__(8) unsigned long full[kStages], empty[kStages];",
            "unsigned long* const full = &Static<unsigned long>(), *const empty = full + kStages;");
    replace("extern __shared__ __align__(16) unsigned char memory[];", "unsigned char* const memory = Dynamic();");
    replace("__shared__ Block::Shared shared;", "Block::Shared& shared = Static<Block::Shared>();");
    std::string run = "extern \"C\" void run(void** buffers) {\n";
    for (const PlanStep& step : plan.steps) {
      const auto& launch = std::get<LaunchStep>(step);
      std::string arguments;
      for (const PlanArgument& argument : launch.arguments) {
        arguments += arguments.empty() ? "" : ", ";
        if (const auto* map = std::get_if<TensorMapArgument>(&argument)) {
          arguments += MapText(*map, numbers.at(map->buffer), bytes.at(map->buffer));
        } else {
          arguments += fmt::format("Pointer{{buffers[{}]}}", numbers.at(std::get<BufferArgument>(argument).name));
        }
      }
      run += fmt::format("  RunGrid({}, {}, {}, [&] {{ {}({}); }});\n", launch.grid[0], launch.block[0],
                         launch.cluster[0], launch.kernel, arguments);
    }
    return "#include \"stand_ins.h\"\n" + text + run + "}\n";
  }
  static std::string MapText(const TensorMapArgument& map, std::size_t buffer, std::size_t bytes) {
    const auto list = [](const std::vector<std::int64_t>& of) { return fmt::format("{{{}}}", fmt::join(of, ", ")); };
    const PixelWalk walk = map.pixels.value_or(PixelWalk{});
    return fmt::format("TensorMap{{static_cast<unsigned char*>(buffers[{}]) + {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}",
                       buffer, map.offset * static_cast<std::int64_t>(bytes), bytes, map.tf32, list(map.shape),
                       list(map.strides), map.pixels ? map.box[0] : map.box[map.box.size() - 2], walk.lower.size(),
                       list(walk.lower), list(walk.upper), list(walk.stride));
  }

  static void RunOnHost(const std::string& source, std::vector<void*>& addresses) {
    static const std::string stand_ins = StandInsForAll();
    const auto folder = TempDirectory::Create("device_blocks");
    ASSERT_TRUE(folder);
    const std::string file = folder->path() + "/blocks.cc", library = folder->path() + "/blocks.so";
    std::ofstream(file) << source;
    CompileForHost({"-shared", file, "-I", stand_ins, "-o", library});
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    reinterpret_cast<void (*)(void**)>(dlsym(handle, "run"))(addresses.data());
  }
  static void CompileForHost(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {"g++", "-std=c++20", "-O1", "-w", "-fno-strict-aliasing", "-fPIC", "-pthread"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const auto exit = hone::Run({.argv = argv, .environment = InheritedEnvironment()});
    ASSERT_TRUE(exit);
    ASSERT_TRUE(exit->ok()) << exit->error;
  }
  // The folder of the header that all texts begin with, read by the compiler once for all of a process's tests.
  static std::string StandInsForAll() {
    static const auto folder = TempDirectory::Create("device_stand_ins");
    if (!folder) return "";
    const std::string header = folder->path() + "/stand_ins.h";
    std::ofstream(header) << kStandIns << kProducts;
    CompileForHost({"-x", "c++-header", header, "-o", header + ".gch"});
    return folder->path();
  }

  // Both operands of shared memory lie as the copy engine lays boxes, which is what a descriptor says.
  static constexpr std::string_view kProducts = R"(template <class T, int N>
struct Products {
  static int Row(int i) { return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8; }
  static int Column(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }
  static T At(unsigned address) { return *reinterpret_cast<T*>(there->memory + Swizzled(address)); }
  static unsigned Begin(unsigned long d) { return (d & 0x3fff) << 4; }
  static constexpr int kDepth = 32 / sizeof(T);
  static float Along(unsigned long d, int row, int k) { return At(Begin(d) + row * 128 + k * sizeof(T)); }
  static float Across(unsigned long d, int k, int column) {
    return At(Begin(d) + column / 64 * ((d >> 16 & 0x3fff) << 4) + k * 128 + column % 64 * 2);
  }
  static void Of(float (&d)[N / 2], unsigned long a, unsigned long b, int add) {
    for (int i = 0; i < N / 2; ++i) {
      if (!add) d[i] = 0;
      for (int k = 0; k < kDepth; ++k) d[i] += Along(a, Row(i), k) * Along(b, Column(i), k);
    }
  }
  static void AfterShared(float (&d)[N / 2], unsigned long a, unsigned long b) {
    for (int i = 0; i < N / 2; ++i)
      for (int k = 0; k < 16; ++k) d[i] += Along(a, Row(i), k) * Across(b, k, Column(i));
  }
  static void After(float (&d)[N / 2], const unsigned* a, unsigned long b) {
    Warp& warp = there->warps[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) warp.words[i][lane] = a[i];
    warp.sync.Wait();
    for (int i = 0; i < N / 2; ++i)
      for (int k = 0; k < 16; ++k) {
        const unsigned word = warp.words[i / 2 % 2 + k / 8 * 2][lane / 4 * 4 + k % 8 / 2];
        d[i] += static_cast<float>(std::bit_cast<T>(static_cast<unsigned short>(word >> k % 2 * 16))) *
                Across(b, k, Column(i));
      }
    warp.sync.Wait();
  }
};)";

  static constexpr std::string_view kStandIns = R"(#include <algorithm>
#include <bit>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>
#include <ucontext.h>
#define asm
#define volatile(...)
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
struct Block;
struct Three {
  int x = 0, y = 0, z = 0;
};
static Three threadIdx, blockIdx, gridDim;
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
static float2 make_float2(float x, float y) { return {x, y}; }
using std::max;
using std::min;
static float __int_as_float(int x) { return std::bit_cast<float>(x); }
struct __half {
  _Float16 value;
  __half() = default;
  __half(float x) : value(static_cast<_Float16>(x)) {}
  operator float() const { return value; }
};
static __half __float2half(float x) { return x; }
struct __nv_bfloat16 {
  unsigned short bits;
  operator float() const { return std::bit_cast<float>(static_cast<unsigned>(bits) << 16); }
};
static __nv_bfloat16 __float2bfloat16(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  return {static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <class T>
unsigned PairOf(float a, float b) {
  T low, high;
  if constexpr (sizeof(T) == sizeof(__half) && std::is_same_v<T, __half>) {
    low = __float2half(a), high = __float2half(b);
  } else {
    low = __float2bfloat16(a), high = __float2bfloat16(b);
  }
  return std::bit_cast<unsigned short>(low) | static_cast<unsigned>(std::bit_cast<unsigned short>(high)) << 16;
}

// --- Blocks.
struct Thread {
  ucontext_t begin;
  jmp_buf at;
  int number, block;
  Block* there;
  const unsigned* phase;  // while this is `was` it waits; null: it does not
  unsigned was;
  bool begun, done;
};
static Thread* running;
static jmp_buf others;
static void WaitWhile(const unsigned& phase, unsigned was) {
  if (phase != was) return;
  running->phase = &phase;
  running->was = was;
  if (_setjmp(running->at) == 0) _longjmp(others, 1);
}
struct Meeting {
  int count, left;
  unsigned phase = 0;
  Meeting(int threads) : count(threads), left(threads) {}
  void Wait() {
    if (--left > 0) return WaitWhile(phase, phase);
    left = count;
    ++phase;
  }
};
struct Barrier {
  int arrivals = 0, left = 0;
  long bytes = 0;
  unsigned phase = 0;
  void Change(int arrive, long add) {
    left -= arrive;
    bytes += add;
    if (left != 0 || bytes != 0) return;
    left = arrivals;
    phase ^= 1;
  }
};
struct Warp {
  Meeting sync{32};
  unsigned words[4][32];
};
struct Warpgroup {
  Meeting sync{128};
};
struct Block {
  alignas(1024) unsigned char memory[256 << 10];
  std::map<unsigned, Barrier> barriers;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  Meeting all, two{256};
  std::vector<std::unique_ptr<Block>>* cluster;
  Meeting* together;
  int rank;
  Block(int threads, int number) : warps(threads / 32), warpgroups(threads / 128), all(threads), rank(number) {}
};
static Block* there;
// What is static comes first; tiles begin anywhere.
static unsigned char* Dynamic() { return there->memory + 4096 + 16; }
template <class T>
T& Static() { return *reinterpret_cast<T*>(there->memory); }
static void __syncthreads() { there->all.Wait(); }
static void __syncwarp() { there->warps[threadIdx.x / 32].sync.Wait(); }
static float __shfl_xor_sync(unsigned, float x, int with) {
  Warp& warp = there->warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  warp.words[0][lane] = std::bit_cast<unsigned>(x);
  warp.sync.Wait();
  const float got = std::bit_cast<float>(warp.words[0][lane ^ with]);
  warp.sync.Wait();
  return got;
}
template <class Kernel>
void RunGrid(int blocks, int threads, int cluster, const Kernel& kernel) {
  constexpr std::size_t kStack = 256 << 10;
  static const Kernel* body;
  body = &kernel;
  gridDim.x = blocks;
  const std::unique_ptr<char[]> stacks(new char[threads * cluster * kStack]);
  for (int first = 0; first < blocks; first += cluster) {
    std::vector<std::unique_ptr<Block>> made;
    Meeting together(threads * cluster);
    std::vector<Thread> all(threads * cluster);
    for (int b = 0; b < cluster; ++b) {
      made.push_back(std::make_unique<Block>(threads, b));
      std::memset(made[b]->memory, 0xff, sizeof(made[b]->memory));
      made[b]->cluster = &made;
      made[b]->together = &together;
    }
    for (std::size_t t = 0; t < all.size(); ++t) {
      Thread& one = all[t];
      one.number = t % threads, one.block = first + t / threads, one.there = made[t / threads].get();
      getcontext(&one.begin);
      one.begin.uc_stack.ss_sp = stacks.get() + t * kStack;
      one.begin.uc_stack.ss_size = kStack;
      makecontext(&one.begin, +[] {
        (*body)();
        running->done = true;
        _longjmp(others, 1);
      }, 0);
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (Thread& one : all) {
        if (one.done || (one.phase != nullptr && *one.phase == one.was)) continue;
        moved = true;
        one.phase = nullptr;
        running = &one;
        threadIdx.x = one.number, blockIdx.x = one.block, there = one.there;
        if (_setjmp(others) != 0) continue;
        if (one.begun) _longjmp(one.at, 1);
        one.begun = true;
        setcontext(&one.begin);
      }
    }
    for (const Thread& one : all) {
      if (one.done) continue;
      std::fprintf(stderr, "thread %d of block %d waits in vain\n", one.number, one.block);
      std::abort();
    }
  }
}
struct Pointer {
  void* address;
  template <class T>
  operator T*() const { return static_cast<T*>(address); }
};

// --- What is said in PTX on a device.
struct TensorMap {
  unsigned char* at;
  long bytes;
  bool tf32;
  long extents[5], strides[5];  // outermost first, as those below
  int rows, spatial;            // 0: it is of boxes
  int lower[3], upper[3], step[3];
  // An element as it comes, by its place from the innermost dimension on; 0 outside.
  template <class Places>
  unsigned Element(const Places& place) const {
    const int rank = static_cast<int>(std::size(place));
    long element = 0;
    for (int d = 0; d < rank; ++d) {
      const long p = place[rank - 1 - d];
      if (p < 0 || p >= extents[d]) return 0;
      element += p * strides[d];
    }
    unsigned word = 0;
    std::memcpy(&word, at + element * bytes, bytes);
    return tf32 ? (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu : word;
  }
};
static unsigned SharedAddress(const void* pointer) {
  return static_cast<const unsigned char*>(pointer) - there->memory;
}
static unsigned Swizzled(unsigned address) { return address ^ (address >> 7 & 7) << 4; }
static void InitBarrier(unsigned barrier, int arrivals) {
  Barrier& made = there->barriers[barrier];
  made.arrivals = made.left = arrivals;
}
static void PublishBarriers() {}
static void PublishToCopies() {}
static void ExpectBytes(unsigned barrier, unsigned bytes) { there->barriers.at(barrier).Change(1, bytes); }
static void Arrive(unsigned barrier) { there->barriers.at(barrier).Change(1, 0); }
static void ArriveAt(unsigned barrier, unsigned block) { (*there->cluster)[block]->barriers.at(barrier).Change(1, 0); }
static void WaitFor(unsigned barrier, unsigned phase) { WaitWhile(there->barriers.at(barrier).phase, phase); }
static unsigned BlockOfCluster() { return there->rank; }
static void SyncCluster() { there->together->Wait(); }
static void TakeTurn(int) { there->two.Wait(); }
static void CopyBoxTo(Block& block, unsigned to, const TensorMap* map, int k, int row, int batch, int part,
                      unsigned barrier) {
  for (int r = 0; r < map->rows; ++r)
    for (int c = 0; c < 128 / map->bytes; ++c) {
      const long place[] = {k + c, row + r, batch, part};
      const unsigned element = map->Element(place);
      std::memcpy(block.memory + Swizzled(to + r * 128 + c * map->bytes), &element, map->bytes);
    }
  block.barriers.at(barrier).Change(0, -map->rows * 128);
}
// `places`: channel, spatial ones innermost first, image; then by how much each spatial one is moved.
static void CopyPixelsTo(Block& block, unsigned to, const TensorMap* map, std::vector<long> places, unsigned barrier) {
  const int spatial = map->spatial;
  const std::vector<long> moved(places.begin() + spatial + 2, places.end());
  places.resize(spatial + 2);
  std::vector<long> at;
  for (int r = 0; r < map->rows; ++r) {
    for (int c = 0; c < 128 / map->bytes; ++c) {
      at = places;
      at[0] += c;
      for (int d = 0; d < spatial; ++d) at[1 + d] += moved[d];
      const unsigned element = map->Element(at);
      std::memcpy(block.memory + Swizzled(to + r * 128 + c * map->bytes), &element, map->bytes);
    }
    int d = 0;
    for (; d < spatial; ++d) {
      const int of = spatial - 1 - d;
      places[1 + d] += map->step[of];
      if (places[1 + d] <= map->extents[1 + of] - 1 + map->upper[of]) break;
      places[1 + d] = map->lower[of];
    }
    if (d == spatial) ++places[1 + d];
  }
  block.barriers.at(barrier).Change(0, -map->rows * 128);
}
template <class... Places>
void CopyPixels(unsigned to, const TensorMap* map, Places... places) {
  std::vector<long> all = {places...};
  const unsigned barrier = all.back();
  all.pop_back();
  CopyPixelsTo(*there, to, map, all, barrier);
}
template <class... Places>
void CopyPixelsToAll(unsigned to, const TensorMap* map, Places... places) {
  std::vector<long> all = {places...};
  const unsigned barrier = all[all.size() - 2], blocks = all.back();
  all.resize(all.size() - 2);
  for (unsigned b = 0; b < there->cluster->size(); ++b)
    if (blocks >> b & 1) CopyPixelsTo(*(*there->cluster)[b], to, map, all, barrier);
}
static void CopyBox(unsigned to, const TensorMap* map, int k, int row, int batch, int part, unsigned barrier) {
  CopyBoxTo(*there, to, map, k, row, batch, part, barrier);
}
static void CopyBoxToAll(unsigned to, const TensorMap* map, int k, int row, int batch, int part, unsigned barrier,
                         unsigned short blocks) {
  for (unsigned b = 0; b < there->cluster->size(); ++b)
    if (blocks >> b & 1) CopyBoxTo(*(*there->cluster)[b], to, map, k, row, batch, part, barrier);
}
static void FetchMap(const TensorMap*) {}
static void StoreShared(unsigned to, unsigned word) { std::memcpy(there->memory + to, &word, 4); }
static void StoreShared(unsigned to, const unsigned (&words)[4]) { std::memcpy(there->memory + to, words, 16); }
static unsigned long TileDescriptor(unsigned address) { return address >> 4; }
static void BeginProducts() {}
static void CommitProducts() {}
// They are done when all of a warpgroup's are.
template <int LEFT>
void WaitForProducts() {
  there->warpgroups[threadIdx.x / 128].sync.Wait();
}
template <int REGISTERS>
void TakeRegisters() {}
template <int REGISTERS>
void GiveRegisters() {}
static unsigned BrainPair(float a, float b) { return PairOf<__nv_bfloat16>(a, b); }
static unsigned HalfPair(float a, float b) { return PairOf<__half>(a, b); }
static void StoreMatrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  Warp& warp = there->warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  warp.words[0][lane] = to;
  warp.sync.Wait();
  const unsigned words[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    std::memcpy(there->memory + warp.words[0][i * 8 + lane / 4] + lane % 4 * 4, &words[i], 4);
  warp.sync.Wait();
}
static void MeetWarpgroup(int warpgroup) { there->warpgroups[warpgroup].sync.Wait(); }
static void StoreBox(const TensorMap* map, int column, int row, int batch, unsigned from) {
  for (int r = 0; batch < map->extents[0] && r < 64 && row + r < map->extents[1]; ++r)
    for (int c = 0; c < 64 && column + c < map->extents[2]; ++c)
      std::memcpy(map->at + 2 * (batch * map->strides[0] + (row + r) * map->strides[1] + column + c),
                  there->memory + Swizzled(from + r * 128 + c * 2), 2);
}
static void CommitStores() {}
template <int LEFT>
void WaitForStores() {}

)";
};

}  // namespace hone::dsl::testing
