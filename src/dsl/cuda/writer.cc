#include "dsl/cuda/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "dsl/element.h"
#include "dsl/family.h"

namespace hone::dsl {
namespace {

struct HelperText {
  std::string_view name, needs, text;
};

constexpr HelperText kHelpers[] = {
    {"Max", "", R"(// The larger; a NaN on either side is the result.
template <class T>
__device__ T Max(T a, T b) {
  return a != a || a > b ? a : b;
}
__device__ float Max(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}
)"},
    {"Min", "", R"(// The smaller; a NaN on either side is the result.
template <class T>
__device__ T Min(T a, T b) {
  return a != a || a < b ? a : b;
}
__device__ float Min(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}
)"},
    {"Sign", "", R"(template <class T>
__device__ T Sign(T x) {
  return T(x > 0) - T(x < 0);
}
)"},
    {"FloorDiv", "", R"(// The quotient towards minus infinity.
template <class T>
__device__ T FloorDiv(T a, T b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
)"},
    {"FloorMod", "", R"(// The remainder that has the sign of b.
template <class T>
__device__ T FloorMod(T a, T b) {
  const T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
__device__ float FloorMod(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
__device__ double FloorMod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"Pack", "", R"(// Neighbouring elements that are moved as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};
)"},
    {"Adds", "", R"(struct Adds {
  template <class T>
  __device__ static T Of(T a, T b) { return a + b; }
};
)"},
    {"Multiplies", "", R"(struct Multiplies {
  template <class T>
  __device__ static T Of(T a, T b) { return a * b; }
};
)"},
    {"Larger", "Max", R"(struct Larger {
  template <class T>
  __device__ static T Of(T a, T b) { return Max(a, b); }
};
)"},
    {"Smaller", "Min", R"(struct Smaller {
  template <class T>
  __device__ static T Of(T a, T b) { return Min(a, b); }
};
)"},
    {"Either", "", R"(struct Either {
  __device__ static bool Of(bool a, bool b) { return a || b; }
};
)"},
    {"Both", "", R"(struct Both {
  __device__ static bool Of(bool a, bool b) { return a && b; }
};
)"},
    {"Place", "",
     R"(// An element and its number among those that are folded; kNowhere: none that is better than nothing.
constexpr int kNowhere = 0x7fffffff;
template <class T>
struct Place {
  T value;
  int at;
};
)"},
    {"FirstLarger", "Place", R"(// The first of the largest; a NaN is the largest.
struct FirstLarger {
  template <class T>
  __device__ static Place<T> Of(Place<T> a, Place<T> b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (a_nan || a.value == b.value) return a.at < b.at ? a : b;
    return a.value > b.value ? a : b;
  }
  // A later element than all that `best` has seen.
  template <class T>
  __device__ static void Take(Place<T>& best, T value, int at) {
    if (!(value <= best.value) && best.value == best.value) best = {value, at};
  }
};
)"},
    {"FirstSmaller", "Place", R"(// The first of the smallest; a NaN is the smallest.
struct FirstSmaller {
  template <class T>
  __device__ static Place<T> Of(Place<T> a, Place<T> b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (a_nan || a.value == b.value) return a.at < b.at ? a : b;
    return a.value < b.value ? a : b;
  }
  // A later element than all that `best` has seen.
  template <class T>
  __device__ static void Take(Place<T>& best, T value, int at) {
    if (!(value >= best.value) && best.value == best.value) best = {value, at};
  }
};
)"},
    {"MeetCluster", "",
     R"(// All threads of the cluster come here before any goes on; what they wrote before is seen after.
__device__ void MeetCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
)"},
    {"ArriveCluster", "", R"(// The first half of a meeting: the block is there. AwaitCluster is the other half.
__device__ void ArriveCluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
)"},
    {"AwaitCluster", "ArriveCluster", R"(__device__ void AwaitCluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
)"},
    {"FoldCluster", "MeetCluster",
     R"(// The blocks' values folded in their order. `slots` is shared memory for this alone, into which every block puts its
// value in all of them; the blocks have to be there.
template <class How, int BLOCKS, class T>
__device__ T FoldCluster(T value, T* slots) {
  if (threadIdx.x < BLOCKS) {
    unsigned rank, there;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(slots + rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(static_cast<unsigned>(threadIdx.x)));
#pragma unroll
    for (int word = 0; word < sizeof(T) / 4; ++word) {
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there + 4 * word),
                   "r"(reinterpret_cast<const unsigned*>(&value)[word])
                   : "memory");
    }
  }
  MeetCluster();
  T all = slots[0];
#pragma unroll 4
  for (int block = 1; block < BLOCKS; ++block) all = How::Of(all, slots[block]);
  return all;
}
)"},
    {"NextNumber", "", R"(// Numbers the blocks in the order in which they begin.
__device__ int NextNumber(long* counter) {
  __shared__ int number;
  if (threadIdx.x == 0) number = static_cast<int>(atomicAdd(reinterpret_cast<unsigned*>(counter), 1u));
  __syncthreads();
  return number;
}
)"},
    {"Tell", "",
     R"(// Puts a value where other blocks look for it, 32 bits at a time, each beside a mark that it is there: `to` held zeros.
template <class T>
__device__ void Tell(long* to, const T& value) {
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < sizeof(T) / 4; ++i)
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to + i), "l"(1ull << 32 | words[i]) : "memory");
}
)"},
    {"Hear", "Tell", R"(// Waits for what another block tells.
template <class T>
__device__ T Hear(const long* from) {
  constexpr int kWords = sizeof(T) / 4;
  unsigned long long marked[kWords];
  bool there;
  do {
    there = true;
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(marked[i]) : "l"(from + i) : "memory");
#pragma unroll
    for (int i = 0; i < kWords; ++i) there &= marked[i] >> 32 == 1;
  } while (!there);
  unsigned words[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = static_cast<unsigned>(marked[i]);
  T value;
  memcpy(&value, words, sizeof(T));
  return value;
}
)"},
    {"Log2Unit", "",
     R"(// What the unit for such functions has: within 2^-22 of the binary logarithm, subnormals as zeros.
__device__ float Log2Unit(float x) {
  float log;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(x));
  return log;
}
)"},
    {"Log", "Log2Unit",
     R"(// The natural logarithm within 1.3 units in the last place, in fewer instructions than logf. x = 2^n (1 + m), |m| <= 1/3.
// Of what is not a normal positive number the unit's own, times 2^24 and back: zeros, infinities and NaNs stay such.
__device__ float Log(float x) {
  const int bits = __float_as_int(x), power = (bits - 0x3f2aaaab) & 0xff800000;
  const float m = __int_as_float(bits - power) - 1.0f;
  float q = 0.13820201f;
  q = fmaf(q, m, -0.15122183f);
  q = fmaf(q, m, 0.14042316f);
  q = fmaf(q, m, -0.16472326f);
  q = fmaf(q, m, 0.20007919f);
  q = fmaf(q, m, -0.25004238f);
  q = fmaf(q, m, 0.33333266f);
  q = fmaf(q, m, -0.5f);
  const float log = fmaf(static_cast<float>(power), 8.2629583e-8f, fmaf(q, m * m, m));  // 2^-23 ln 2
  const float odd = fmaf(Log2Unit(x * 16777216.0f), 0.693147181f, -16.6355323f);        // ln 2, 24 ln 2
  return static_cast<unsigned>(bits) - 0x800000u < 0x7f000000u ? log : odd;
}
)"},
    {"LoadOnce", "", R"(// What nobody reads again takes no place in the first-level cache.
template <class T>
__device__ T LoadOnce(const T* from) {
  if constexpr (sizeof(T) != 16) {
    return *from;
  } else {
    unsigned words[4];
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from));
    T value;
    memcpy(&value, words, sizeof(T));
    return value;
  }
}
)"},
    {"CopyAhead", "", R"(// Begins to copy 4, 8 or 16 bytes to shared memory; they are there after WaitForCopies.
template <class T>
__device__ void CopyAhead(T* to, const T* from) {
  const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (sizeof(T) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(from) : "memory");
  else if (sizeof(T) == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(there), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(from) : "memory");
}
)"},
    {"CopyAheadOrZero", "", R"(// The same, but zeros if there is nothing there; it has to be memory all the same.
template <class T>
__device__ void CopyAheadOrZero(T* to, const T* from, bool is_there) {
  const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? static_cast<int>(sizeof(T)) : 0;
  if (sizeof(T) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(there), "l"(from), "r"(bytes) : "memory");
  else if (sizeof(T) == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(there), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(there), "l"(from), "r"(bytes) : "memory");
}
)"},
    {"WaitForCopies", "", R"(// For all copies that this thread has begun.
__device__ void WaitForCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
)"},
    {"MeetAll", "", R"(// Waits until the blocks have come here `times` times in all, and sees what they wrote before.
__device__ void MeetAll(int* counter, int times) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1);
    while (*static_cast<volatile int*>(counter) < times) {
    }
    __threadfence();
  }
  __syncthreads();
}
)"},
    {"Across", "", R"(// What the thread has that differs in these bits of its number.
template <class T>
__device__ T Across(T value, int bits) {
  return __shfl_xor_sync(0xffffffffu, value, bits);
}
)"},
    {"AcrossPlace", "Place", R"(template <class T>
__device__ Place<T> Across(Place<T> place, int bits) {
  return {__shfl_xor_sync(0xffffffffu, place.value, bits), __shfl_xor_sync(0xffffffffu, place.at, bits)};
}
)"},
    {"Common", "", R"(// The middle one of what three threads of the warp have: one of them may be far off.
__device__ float Common(float value) {
  const float a = __shfl_sync(0xffffffffu, value, 0), b = __shfl_sync(0xffffffffu, value, 1),
              c = __shfl_sync(0xffffffffu, value, 2);
  return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}
)"},
    {"Fold", "Across",
     R"(// The values of LANES neighbouring threads folded; every one of them gets the result. LANES is a power of two; above 32
// all threads of the block must come here, and `shared` holds a value for each warp of it.
template <class How, int LANES, class T>
__device__ T Fold(T value, T* shared) {
#pragma unroll
  for (int step = (LANES < 32 ? LANES : 32) / 2; step > 0; step /= 2)
    value = How::Of(value, Across(value, step));
  if (LANES <= 32) return value;
  const int warp = threadIdx.x / 32, first = threadIdx.x / LANES * (LANES / 32);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[warp] = value;
  __syncthreads();
  value = shared[first + threadIdx.x % (LANES / 32)];
#pragma unroll
  for (int step = LANES / 64; step > 0; step /= 2) value = How::Of(value, Across(value, step));
  return value;
}
)"},
};

// Of programs that store reals of 8 bits.
constexpr std::string_view kRounded =
    R"(// A float as PyTorch rounds it to 8 bits: what is too large becomes the infinity, where the type has one. The
// processor's own conversion takes the largest number.
template <class T>
__device__ T Rounded(float x);
template <>
[[maybe_unused]] __device__ inline __nv_fp8_e4m3 Rounded(float x) {
  __nv_fp8_e4m3 made;
  made.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  return made;
}
template <>
[[maybe_unused]] __device__ inline __nv_fp8_e5m2 Rounded(float x) {
  __nv_fp8_e5m2 made;
  made.__x = fabsf(x) >= 61440.0f ? (x < 0.0f ? 0xfc : 0x7c) : __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  return made;
}
)";

constexpr std::int64_t kMostInt = std::int64_t{1} << 31;

}  // namespace

std::string DeviceType(DType dtype) { return std::string(RowOf(dtype).cuda); }

std::vector<int> OperandBuffers(std::span<const Kernel> kernels) {
  std::vector<int> buffers;
  for (const auto& kernel : kernels) {
    for (const auto& operand : kernel.operands) {
      if (std::find(buffers.begin(), buffers.end(), operand.buffer) == buffers.end()) buffers.push_back(operand.buffer);
    }
  }
  return buffers;
}

std::string LoadedText(const DeviceWriter& writer, int buffer, const std::string& element) {
  const DType dtype = writer.program().buffers[static_cast<std::size_t>(buffer)].dtype;
  const std::string type = writer.Type(ScalarOf(dtype));
  return type == DeviceType(dtype) ? element : fmt::format("static_cast<{}>({})", type, element);
}

std::string PackType(DeviceWriter& writer, const std::string& element, std::int64_t count) {
  return fmt::format("{}<{}, {}>", writer.Helper("Pack"), element, count);
}

std::string PackText(const std::string& pack_type, const std::string& memory, const std::string& address) {
  return fmt::format("*reinterpret_cast<const {}*>({} + {})", pack_type, memory, address);
}

DeviceWriter::DeviceWriter(const KernelProgram& program) : program_(program) {
  for (const auto& buffer : program.buffers) {
    names_.push_back(Spelled(buffer.name));
    if (ElementCount(buffer.shape) >= kMostInt) index_type_ = "long";
    if (buffer.home == KernelBuffer::Home::kIntermediate)
      plan_.buffers.push_back({buffer.name, buffer.dtype, {std::max<std::int64_t>(ElementCount(buffer.shape), 1)}});
  }
  kernel_names_ = {names_.begin(), names_.end()};
  // Nothing counts folded and kept dimensions in one number.
  for (const auto& kernel : program.kernels) {
    double kept = 1, folded = 1;
    for (std::size_t d = 0; d < kernel.space.size(); ++d) {
      const bool reduced = std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d));
      (reduced && !kernel.family->keeps_axes ? folded : kept) *= static_cast<double>(kernel.space[d].extent);
    }
    if (std::max(kept, folded) >= static_cast<double>(kMostInt)) index_type_ = "long";
  }
}

void DeviceWriter::Line(std::string_view line) {
  text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
  text_ += line;
  text_ += '\n';
}
void DeviceWriter::Open(std::string_view head) {
  Line(std::string(head) + (head.empty() ? "{" : " {"));
  ++depth_;
}
void DeviceWriter::Close() { CloseWith(""); }
void DeviceWriter::CloseWith(std::string_view tail) {
  --depth_;
  Line(fmt::format("}}{}", tail));
}

std::string DeviceWriter::Fresh(const std::string& hint) {
  std::string name = hint;
  for (int n = 2; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", hint, n);
  fresh_.push_back(name);
  return name;
}

std::string DeviceWriter::Helper(std::string_view name) {
  if (helpers_.emplace(name).second) {
    const auto* helper =
        std::find_if(std::begin(kHelpers), std::end(kHelpers), [&](const HelperText& one) { return one.name == name; });
    HONE_CHECK(helper != std::end(kHelpers), "a helper that is not there");
    if (!helper->needs.empty()) Helper(helper->needs);
    head_.emplace_back(helper->text);
  }
  return std::string(name);
}

void DeviceWriter::Define(const std::string& text) {
  if (functions_.insert(text).second) head_.push_back(text);
}

void DeviceWriter::Begin(const Kernel& kernel) {
  kernel_ = &kernel;
  wide_ = ComputeType(program_, kernel) == DType::kF64;
  comment_ = "// ";
  for (const char c : kernel.text) comment_ += c == '\n' ? std::string("\n//") : std::string(1, c);
}

std::string DeviceWriter::Type(ScalarType type) const {
  return type == ScalarType::kReal ? (wide_ ? "double" : "float") : type == ScalarType::kInt ? "long" : "bool";
}

std::string DeviceWriter::Number(double value) const {
  if (!wide_) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return wide_ ? "__longlong_as_double(0x7ff8000000000000ll)" : "__int_as_float(0x7fc00000)";
  if (std::isinf(value))
    return std::string(value < 0 ? "-" : "") +
           (wide_ ? "__longlong_as_double(0x7ff0000000000000ll)" : "__int_as_float(0x7f800000)");
  std::string text = wide_ ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + (wide_ ? "" : "f");
}

std::string DeviceWriter::How(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return Helper("Adds");
    case ReduceOp::kProd: return Helper("Multiplies");
    case ReduceOp::kMax: return Helper("Larger");
    case ReduceOp::kMin: return Helper("Smaller");
    case ReduceOp::kAny: return Helper("Either");
    case ReduceOp::kAll: return Helper("Both");
    case ReduceOp::kArgMax: return Helper("FirstLarger");
    case ReduceOp::kArgMin: return Helper("FirstSmaller");
  }
  HONE_CHECK(false, "a fold of no kind");
  return "";
}

std::string DeviceWriter::Neutral(ReduceOp op, ScalarType type) const {
  const bool real = type == ScalarType::kReal;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case ReduceOp::kProd:
    case ReduceOp::kAll: return "1";
    case ReduceOp::kArgMax: return fmt::format("{{{}, kNowhere}}", Neutral(ReduceOp::kMax, type));
    case ReduceOp::kArgMin: return fmt::format("{{{}, kNowhere}}", Neutral(ReduceOp::kMin, type));
    case ReduceOp::kMax: return real ? Number(-kInfinity) : "(-9223372036854775807l - 1)";
    case ReduceOp::kMin: return real ? Number(kInfinity) : "9223372036854775807l";
    default: return "0";
  }
}

std::string DeviceWriter::Scratch(const std::string& hint, DType dtype, std::int64_t count) {
  const std::string base = fmt::format("{}_{}", BufferName(kernel_->target), hint);
  std::string name = base;
  const auto used = [&](const std::string& text) {
    return scratch_.contains(text) || std::find(names_.begin(), names_.end(), text) != names_.end() ||
           std::any_of(program_.buffers.begin(), program_.buffers.end(),
                       [&](const KernelBuffer& buffer) { return buffer.name == text; });
  };
  for (int n = 2; used(name); ++n) name = fmt::format("{}_{}", base, n);
  scratch_[name] = dtype;
  plan_.buffers.push_back({name, dtype, {std::max<std::int64_t>(count, 1)}});
  return name;
}

void DeviceWriter::BeginKernel(const std::string& hint, std::int64_t threads, int blocks_a_processor) {
  const std::string base = BufferName(kernel_->target) + "_" + hint;
  kernel_name_ = base;
  for (int n = 2; !kernel_names_.insert(kernel_name_).second; ++n) kernel_name_ = fmt::format("{}_{}", base, n);
  threads_ = threads;
  blocks_a_processor_ = blocks_a_processor;
  fresh_.clear();
  taken_ = {names_.begin(), names_.end()};
  taken_.insert(kernel_name_);
  for (const auto& [name, dtype] : scratch_) taken_.insert(name);
  depth_ = 1;
}

std::string DeviceWriter::OpenThreads(const std::string& hint, std::int64_t count) {
  const std::string at = Fresh(hint);
  Line(fmt::format("const {0} {1} = static_cast<{0}>(blockIdx.x) * {2} + static_cast<int>(threadIdx.x);", index_type_,
                   at, threads_));
  if (count % threads_ != 0) Line(fmt::format("if ({} >= {}) return;", at, count));
  return at;
}

std::string DeviceWriter::WithoutNames(const std::string& definition, std::vector<std::string> names) const {
  names.insert(names.end(), fresh_.begin(), fresh_.end());
  std::map<std::string_view, std::size_t> numbers;
  for (const auto& name : names) numbers.emplace(name, numbers.size());
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string text;
  for (std::size_t at = 0; at < definition.size();) {
    std::size_t end = at;
    while (end < definition.size() && in_name(definition[end])) ++end;
    const std::string_view word = std::string_view(definition).substr(at, end - at);
    // A member keeps its name: one that is called as a variable is another thing.
    const auto number = at > 0 && definition[at - 1] == '.' ? numbers.end() : numbers.find(word);
    if (number != numbers.end()) {
      text += fmt::format("${}", number->second);
    } else {
      text += word;
    }
    if (end < definition.size()) text += definition[end++];
    at = end;
  }
  return text;
}

void DeviceWriter::Launch(const LaunchShape& shape) {
  LaunchStep step;
  step.grid = {shape.grid_x, shape.grid_y, shape.grid_z};
  step.block = {threads_, 1, 1};
  step.cluster = {shape.cluster_x, 1, 1};
  step.shared_bytes = shape.shared_bytes;
  step.together = shape.together;
  std::string parameters;
  std::vector<std::string> names;
  for (const auto& [name, map] : shape.maps) {
    parameters += fmt::format("{}const __grid_constant__ TensorMap {}", parameters.empty() ? "" : ", ", name);
    names.push_back(name);
    step.arguments.emplace_back(map);
  }
  const auto add = [&](const std::string& buffer, const std::string& name, DType dtype, bool constant) {
    parameters += fmt::format("{}{}{}* __restrict__ {}", parameters.empty() ? "" : ", ", constant ? "const " : "",
                              DeviceType(dtype), name);
    names.push_back(name);
    step.arguments.emplace_back(BufferArgument{buffer, 0});
  };
  std::set<int> seen(shape.writes.begin(), shape.writes.end());
  for (const int buffer : shape.reads) {
    const KernelBuffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
    if (seen.insert(buffer).second) add(b.name, BufferName(buffer), b.dtype, true);
  }
  for (const auto& name : shape.scratch_reads) add(name, name, scratch_.at(name), true);
  for (const int buffer : shape.writes) {
    const KernelBuffer& b = program_.buffers[static_cast<std::size_t>(buffer)];
    add(b.name, BufferName(buffer), b.dtype, false);
  }
  for (const auto& name : shape.scratch_writes) add(name, name, scratch_.at(name), false);
  const std::string bounds =
      fmt::format("{}{}", threads_, blocks_a_processor_ > 0 ? fmt::format(", {}", blocks_a_processor_) : "");
  const auto [same, is_new] = same_text_.emplace(
      WithoutNames(fmt::format("{}) {}\n{}", parameters, bounds, text_), std::move(names)), kernel_name_);
  step.kernel = same->second;
  if (is_new) {
    kernels_ += fmt::format("{}\nextern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n{}}}\n\n", comment_,
                            bounds, kernel_name_, parameters, text_);
  } else {
    kernel_names_.erase(kernel_name_);
  }
  text_.clear();
  depth_ = 0;
  const bool prepare = shape.prepare || kernel_->attributes.contains(kPrepared);
  (prepare ? plan_.prepare : plan_.steps).emplace_back(std::move(step));
}

void DeviceWriter::Call(PlanStep step, bool prepare) {
  (prepare ? plan_.prepare : plan_.steps).push_back(std::move(step));
}

std::string DeviceWriter::Workspace(std::int64_t bytes) {
  if (workspace_.empty()) workspace_ = Scratch("workspace", DType::kU8, bytes);
  for (PlanBuffer& buffer : plan_.buffers) {
    if (buffer.name == workspace_) buffer.shape[0] = std::max(buffer.shape[0], bytes);
  }
  return workspace_;
}

Plan DeviceWriter::Finish() {
  plan_.arch = program_.device->arch;
  if (kernels_.empty() && !plan_.steps.empty()) return std::move(plan_);  // libraries alone
  std::string text = fmt::format("// {}: made from a program of the kernel language.\n", program_.name);
  std::set<std::string_view> headers;
  const auto declare = [&](const auto& buffers) {
    for (const auto& buffer : buffers) {
      if (IsHalf(buffer.dtype)) {  // helpers are written for both
        headers.insert({RowOf(DType::kF16).cuda_header, RowOf(DType::kBF16).cuda_header});
      } else if (!RowOf(buffer.dtype).cuda_header.empty()) {
        headers.insert(RowOf(buffer.dtype).cuda_header);
      }
    }
  };
  declare(program_.buffers);
  declare(plan_.buffers);
  for (const auto header : headers) text += fmt::format("#include <{}>\n", header);
  if (headers.contains(RowOf(DType::kF8E4M3).cuda_header)) head_.insert(head_.begin(), std::string(kRounded));
  text += "\n";
  if (!head_.empty()) {
    text += "namespace {\n\n";
    for (const auto& helper : head_) text += helper + "\n";
    text += "}  // namespace\n\n";
  }
  text += kernels_;
  plan_.sources.push_back({"program.cu", std::move(text), {"-default-device"}});
  return std::move(plan_);
}

}  // namespace hone::dsl
