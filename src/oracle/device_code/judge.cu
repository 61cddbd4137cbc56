// The judge's kernels on a device (oracle/device_kernels.h calls them): they draw inputs, turn the oracle's scales
// into budgets, compare outputs with them, and find differences. NVRTC compiles this text behind base/device_std.h,
// base/philox.h, problem/drawing.h, oracle/element_check.h and oracle/nudge.h. Grids are of any size: every kernel
// loops over what is left.

using hone::Drawing;
using hone::PartCheck;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;
template <class T>
using Plain = hone::drawing::Plain<T>;
template <class Float>
using Small = hone::drawing::Small<Float>;

constexpr int kThreads = 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline int64_t First() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
inline int64_t Stride() { return int64_t{gridDim.x} * blockDim.x; }

// Elements [begin, end) of a drawing, at their places in `data`.
template <class Element>
__global__ void Draw(Element* data, Drawing drawing, int64_t begin, int64_t end) {
  for (int64_t block = begin / 4 + First(); 4 * block < end; block += Stride()) {
    Element four[4];
    hone::drawing::DrawFour(drawing, static_cast<uint64_t>(block), four);
    for (int i = 0; i < 4; ++i) {
      const int64_t at = 4 * block + i;
      if (at >= begin && at < end) data[at] = four[i];
    }
  }
}

// Some elements, chosen by `seed`, become all ones.
__global__ void Spoil(unsigned char* data, int64_t elements, int64_t bytes, uint64_t seed) {
  const uint64_t word = hone::Philox(seed, 0, threadIdx.x).word[0];
  const int64_t at = static_cast<int64_t>((word * static_cast<uint64_t>(elements)) >> 32);
  for (int64_t i = 0; i < bytes; ++i) data[at * bytes + i] = 0xff;
}

// Writes what lies there: caches hold it then as they hold what is new.
__global__ void Rewrite(volatile uint64_t* words, int64_t count, volatile unsigned char* rest, int64_t bytes) {
  for (int64_t i = First(); i < count; i += Stride()) words[i] = words[i];
  for (int64_t i = First(); i < bytes; i += Stride()) rest[i] = rest[i];
}

// Merges what the block's threads found, into its place of `parts`.
template <class Part>
__device__ void WriteBlock(const Part& part, Part* parts) {
  alignas(8) __shared__ unsigned char bytes[kThreads * sizeof(Part)];
  Part* all = reinterpret_cast<Part*>(bytes);
  all[threadIdx.x] = part;
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) all[threadIdx.x] = Merged(all[threadIdx.x], all[threadIdx.x + width]);
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = all[0];
}

// One part a block.
__global__ void Undecided(const double* value, const double* scale, const double* honest, int64_t count,
                          hone::UndecidedPart* parts) {
  hone::UndecidedPart part;
  for (int64_t i = First(); i < count; i += Stride()) part.Add(value[i], scale[i], honest[i]);
  WriteBlock(part, parts);
}

// Neighbours of reals, as bits: of 32.
__global__ void Nudge(const uint32_t* from, uint32_t* to, int64_t count, int run, uint64_t tensor) {
  for (int64_t i = First(); i < count; i += Stride())
    to[i] = hone::Nudged(from[i], run, tensor, static_cast<uint64_t>(i));
}

// Of 16.
__global__ void NudgeSmall(const std::uint16_t* from, std::uint16_t* to, int64_t count, std::uint16_t infinity, int run,
                           uint64_t tensor) {
  for (int64_t i = First(); i < count; i += Stride())
    to[i] = hone::Nudged(from[i], infinity, run, tensor, static_cast<uint64_t>(i));
}

// Gives elements about which the error analysis says nothing, though they are finite, the scale `unit` times 1 +
// |value|.
__global__ void Decide(const double* value, double* scale, const double* honest, int64_t count, double unit) {
  for (int64_t i = First(); i < count; i += Stride()) {
    if (scale[i] == kInfinity && std::isfinite(value[i]) && std::isfinite(honest[i]))
      scale[i] = unit * (1 + std::abs(value[i]));
  }
}

// What an honest run teaches. One part a block.
__global__ void Settle(const double* value, double* scale, const double* honest, int64_t count,
                       hone::HonestPart* parts) {
  hone::HonestPart part;
  for (int64_t i = First(); i < count; i += Stride()) part.Add(value[i], honest[i], scale[i]);
  WriteBlock(part, parts);
}

// What a candidate wrote beside what is expected. One check a block.
template <class Element>
__global__ void Compare(const Element* data, const double* value, const double* scale, int64_t count, double factor,
                        double tolerance, double overflow, int64_t poison, PartCheck* checks) {
  PartCheck check;
  for (int64_t i = First(); i < count; i += Stride()) {
    hone::CheckElement(reinterpret_cast<const unsigned char*>(data + i), sizeof(Element), i, data[i].Value(), value[i],
                       hone::BudgetOf(factor, scale[i]), tolerance, overflow, poison, check);
  }
  WriteBlock(check, checks);
}

// Whole numbers about which nothing is known, and the others by a room of their own. `distance` and its scale may be
// null. One check a block.
template <class Element>
__global__ void Open(const Element* data, const double* value, const double* scale, const double* distance,
                     const double* distance_scale, int64_t count, double factor, double room, double sure_room,
                     PartCheck* checks) {
  PartCheck check;
  for (int64_t i = First(); i < count; i += Stride()) {
    const bool open = scale[i] == kInfinity;
    if (!open && sure_room == kInfinity) continue;
    hone::OpenElement one;
    one.got = data[i].Value();
    one.want = value[i];
    one.distance = distance ? distance[i] : kInfinity;
    one.budget = open && distance ? hone::BudgetOf(factor, distance_scale[i]) : 0;
    hone::CheckOpen(i, one, open ? room : sure_room, check);
  }
  WriteBlock(check, checks);
}

// The same by the norm of the error. One check a block.
template <class Element>
__global__ void Norm(const Element* data, const double* value, const double* scale, int64_t count, double factor,
                     double overflow, int64_t poison, hone::NormCheck* checks) {
  hone::NormCheck check;
  for (int64_t i = First(); i < count; i += Stride()) {
    check.Add(reinterpret_cast<const unsigned char*>(data + i), sizeof(Element), i, data[i].Value(), value[i],
              hone::BudgetOf(factor, scale[i]), overflow, poison);
  }
  WriteBlock(check, checks);
}

// The same taken together. One part a block.
template <class Element>
__global__ void Sum(const Element* data, const double* value, int64_t count, hone::Totals* parts) {
  hone::Totals part;
  for (int64_t i = First(); i < count; i += Stride()) part.Add(data[i].Value(), value[i]);
  WriteBlock(part, parts);
}

// The first byte at which two pieces of memory differ, at `least`, which holds their size before; words of 8 bytes, so
// both begin at a multiple of 8.
__global__ void Differ(const unsigned char* a, const unsigned char* b, int64_t bytes, unsigned long long* least) {
  const int64_t words = bytes / 8;
  int64_t found = bytes;
  for (int64_t i = First(); i < words; i += Stride()) {
    const uint64_t difference = reinterpret_cast<const uint64_t*>(a)[i] ^ reinterpret_cast<const uint64_t*>(b)[i];
    if (difference != 0) {
      found = 8 * i + (__ffsll(static_cast<long long>(difference)) - 1) / 8;
      break;
    }
  }
  if (First() == 0) {
    for (int64_t i = 8 * words; i < bytes && found == bytes; ++i) {
      if (a[i] != b[i]) found = i;
    }
  }
  if (found < bytes) atomicMin(least, static_cast<unsigned long long>(found));
}
