// A plan: device sources and a declarative list of what to launch with them, and of NVIDIA's libraries' calls. It has
// no host code, so it compiles in milliseconds, cannot tamper with whoever runs it, and every launch is known before it
// happens. The in-memory form of docs/plan.md. A plain value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace hone {

inline constexpr std::string_view kKernelBegin = "extern \"C\" __global__";
struct PlanSource {
  std::string name;  // "rows.cu"
  std::string text;
  std::vector<std::string> flags;
  // Its kernels have nothing in common that is written: no variable of the device's. Each begins a line with
  // kKernelBegin, and all else that they need precedes the first: they may be compiled side by side.
  bool apart = false;
};

// Device memory that the plan has for itself, from before `prepare` until it is done with. Its content is kept between
// runs; what it holds before the first write is undefined.
struct PlanBuffer {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
};

// An address: of a tensor of the problem or a buffer of the plan, `offset` elements from its beginning.
struct BufferArgument {
  std::string name;
  std::int64_t offset = 0;
};
// A number, as the kernel's parameter declares it.
struct NumberArgument {
  enum class Type : std::uint8_t { kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF32, kF64 };
  Type type = Type::kI32;
  std::variant<std::int64_t, std::uint64_t, double> value;
};
// A tensor map for the bulk copy engine (TMA), passed by value as a __grid_constant__ parameter. Extents are outermost
// first, as everywhere in hone; the box lies in shared memory in the same order.
//
// Of an image [n, spatial.., channels] it may be of pixels instead of boxes, as the windows of a convolution see them:
// a copy then takes so many pixels one after the other, and so many channels of each. Pixels go from `lower` to `upper`
// in steps of `stride`, row by row and image by image, whatever place of the window a copy adds to them; what lies
// outside of the image is 0.
struct PixelWalk {
  std::vector<std::int64_t> lower, upper, stride;  // a spatial dimension each; `upper` from the image's last pixel on
};
// The least that `lower` and `upper` may be with so many spatial dimensions; the most is one less than its negative.
constexpr std::int64_t LeastPixelCorner(std::size_t spatial) {
  return spatial == 1 ? -32768 : spatial == 2 ? -128 : -16;
}
inline constexpr std::int64_t kMostPixelStride = 8;
struct TensorMapArgument {
  std::string buffer;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape, strides, box;  // strides in elements; the last is 1; of pixels: {pixels, channels}
  int swizzle = 0;                                // bytes: 0, 32, 64 or 128
  // Bytes that a miss of the second-level cache brings from memory: 0 (what is asked for), 64, 128 or 256. What is read
  // once as it lies is read faster by less.
  int promote = 256;
  bool tf32 = false;  // numbers of f32 become TF32 on their way
  std::optional<PixelWalk> pixels = std::nullopt;
};
inline constexpr int kTf32MapCode = 11;  // CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
using PlanArgument = std::variant<BufferArgument, NumberArgument, TensorMapArgument>;

struct LaunchStep {
  std::string kernel;  // its name in the source, or a template's instance: "rows<float, 4>"
  std::size_t source = 0;
  std::array<std::int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1}, cluster = {1, 1, 1};  // x, y, z
  std::int64_t shared_bytes = 0;                                                         // dynamic
  // So many blocks that follow each other in the order in which they begin may wait for one another: where a device
  // holds fewer at once, the launch is refused, because it would never end.
  std::int64_t together = 1;
  std::vector<PlanArgument> arguments;
};
struct MemsetStep {
  std::string buffer;
  int byte = 0;
};

// What a library makes products of f32 in; products of 16-bit types are summed in f32 whatever this says.
enum class LibraryCompute : std::uint8_t { kF32, kTf32, kF16, kBf16, kF64 };
enum class Activation : std::uint8_t { kNone, kRelu, kGelu };  // gelu is the form with tanh

// A matrix in a tensor or buffer, or a batch of them. Strides in elements; one of the two is 1.
struct MatrixArgument {
  std::string buffer;
  std::int64_t offset = 0;
  std::array<std::int64_t, 2> strides = {0, 1};  // of rows, of columns
  std::int64_t batch_stride = 0;
};
// By cuBLASLt: d = activation(alpha a b + beta c + bias), a being [m, k] and b [k, n]. c and d lie in rows, the n
// elements of the bias along them.
struct MatmulStep {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  MatrixArgument a, b, d;
  std::optional<MatrixArgument> c;
  std::optional<BufferArgument> bias;
  LibraryCompute compute = LibraryCompute::kF32;
  Activation activation = Activation::kNone;
  double alpha = 1, beta = 0;
  int algorithm = 0;      // which of the library's proposals that fit the workspace, its best first
  std::string workspace;  // a buffer of the plan; empty: none
};

// A tensor in a tensor or buffer, [batch, channels, spatial..]. Strides in elements.
struct StridedArgument {
  std::string buffer;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape, strides;
};
// By cuDNN: y = activation(conv(x, w) + bias), one to three spatial dimensions. w is [O, C / groups, window..], of a
// transposed convolution [C, O / groups, window..].
struct ConvolutionStep {
  StridedArgument x, w, y;
  std::vector<std::int64_t> stride, padding, dilation;  // one a spatial dimension
  std::int64_t groups = 1;
  bool transposed = false;  // then without bias and activation
  std::optional<BufferArgument> bias;
  LibraryCompute compute = LibraryCompute::kF32;
  Activation activation = Activation::kNone;  // kNone or kRelu
  int algorithm = 0;
  std::string workspace;
};
using PlanStep = std::variant<LaunchStep, MemsetStep, MatmulStep, ConvolutionStep>;

struct Plan {
  std::string arch;  // that the sources are compiled for: "sm_90a"; empty: that of the device
  std::vector<PlanSource> sources;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanStep> prepare;  // once, on parameters and buffers
  std::vector<PlanStep> steps;    // on every run, in order
};

bool CallsLibraries(const Plan& plan);  // whether a step is one of a library

// A bad plan is a candidate's fault, so it is no Error: the message says where (a JSON pointer, or line and column) and
// what is wanted.
struct PlanIssue {
  std::string where;
  std::string message;
};
std::variant<Plan, PlanIssue> ParsePlan(std::string_view json);
std::string ToJson(const Plan& plan);  // parsed again it is the same plan; sources as lists of lines

}  // namespace hone
