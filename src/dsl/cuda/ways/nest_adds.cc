// Two kernels: each element begins with what is added to; each term is added, by an atomic operation, to the element
// that its key says. In whichever order they come: sums of reals differ in their last bits from run to run, those of
// whole numbers and their extremes do not.
#include <fmt/format.h>

#include <map>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/knobs.h"
#include "dsl/shape/keyed_nest.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_nest_adds {
namespace {

// Many terms may be of one element, as those are that stand for none: 12.6 million, half of them of 64 elements, took
// 3.6 ms one by one on an H200, 2026-11-23.
constexpr std::string_view kFoldInto =
    R"(__device__ __forceinline__ void Added(float* place, float value) { atomicAdd(place, value); }
__device__ __forceinline__ void Added(double* place, double value) { atomicAdd(place, value); }
__device__ __forceinline__ void Added(int* place, int value) { atomicAdd(place, value); }
__device__ __forceinline__ void Added(long* place, long value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(value));
}
__device__ __forceinline__ void Raised(int* place, int value) { atomicMax(place, value); }
__device__ __forceinline__ void Raised(long* place, long value) {
  atomicMax(reinterpret_cast<long long*>(place), static_cast<long long>(value));
}
__device__ __forceinline__ void Lowered(int* place, int value) { atomicMin(place, value); }
__device__ __forceinline__ void Lowered(long* place, long value) {
  atomicMin(reinterpret_cast<long long*>(place), static_cast<long long>(value));
}

// Folds the value into what is there; where it is one place for all of a warp, what they all come to.
template <class How, class T, class Into>
__device__ __forceinline__ void FoldInto(T* place, T value, const Into& into) {
  const unsigned active = __activemask();
  int same = 0;
  __match_all_sync(active, reinterpret_cast<unsigned long long>(place), &same);
  if (active != ~0u || !same) {
    into(place, value);
    return;
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = How::Of(value, __shfl_xor_sync(~0u, value, step));
  if (threadIdx.x % 32 == 0) into(place, value);
}
)";

void EmitBegin(const Kernel& kernel, const KeyedNest& nest, std::int64_t threads, DeviceWriter& out) {
  FlatElement base = nest.element;
  base.value = BaseOf(nest);
  const std::int64_t pack = NeighboursOf(kernel, base, base.value);
  std::vector<IndexVar> indices = base.indices;
  if (pack > 1) indices.back().extent /= pack;
  const std::int64_t count = PointsOf(indices);
  out.BeginKernel("begin", threads);
  std::map<int, std::string> names;
  NamePlaces(out, kernel, indices, out.OpenThreads("at", count), names);
  if (pack > 1)
    WriteNeighbours(out, kernel, base, names, pack);
  else
    WriteElement(out, kernel, base, names);
  out.Launch(
      {.grid_x = (count + threads - 1) / threads, .reads = BuffersOf(kernel, base.value), .writes = {kernel.target}});
}

// A thread a term: neighbours' keys are often neighbours, too, and a warp's additions then go to memory as one. Packs
// of two and four terms a thread were slower, 115.6 and 118.6 us for 108.4 on an H200 (2026-11-27).
void EmitAdd(const Kernel& kernel, const KeyedNest& nest, std::int64_t threads, DeviceWriter& out) {
  const KeyedFold& fold = nest.fold;
  std::vector<IndexVar> indices = fold.others;
  indices.insert(indices.end(), fold.over.begin(), fold.over.end());
  const auto beside = Beside(nest);
  indices.insert(indices.end(), beside.begin(), beside.end());
  const std::int64_t count = PointsOf(indices);
  if (count == 0) return;
  out.Define(std::string(kFoldInto));
  out.BeginKernel("add", threads);
  std::map<int, std::string> names;
  NamePlaces(out, kernel, indices, out.OpenThreads("at", count), names);
  const std::string key = out.Fresh("key");
  out.Line(fmt::format("const long {} = {};", key, ValueText(out, kernel, fold.key, names)));
  out.Line(fmt::format("if ({0} < 0 || {0} >= {1}) return;", key, fold.index.extent));
  names[fold.index.id] = key;
  const std::string value = ValueText(out, kernel, fold.term, names);
  const std::string type = DeviceType(kernel.target_type);
  const std::string_view into = fold.op == ReduceOp::kMax ? "Raised" : fold.op == ReduceOp::kMin ? "Lowered" : "Added";
  out.Line(
      fmt::format("FoldInto<{0}>(&{1}, static_cast<{2}>({3}), []({2}* place, {2} value) {{ {4}(place, value); }});",
                  out.How(fold.op), TargetText(out, kernel, names), type, value, into));
  std::vector<int> reads = BuffersOf(kernel, fold.key);
  for (const int buffer : BuffersOf(kernel, fold.term)) reads.push_back(buffer);
  out.Launch({.grid_x = (count + threads - 1) / threads, .reads = std::move(reads), .writes = {kernel.target}});
}

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) {
  const KeyedNest nest = *KeyedNestOf(kernel);
  if (PointsOf(nest.element.indices) == 0) return;
  const std::int64_t threads = IntSetting(kernel, "block");
  EmitBegin(kernel, nest, threads, out);
  EmitAdd(kernel, nest, threads, out);
}

// Where nothing is added but single numbers; of rows, listing costs little beside reading them.
std::optional<double> Cost(const Kernel& kernel) {
  if (AddsPay(kernel)) return 0.5;
  return ListsPay(kernel) ? std::optional(2.0) : std::nullopt;
}

constexpr Knob kKnobs[] = {kBlockThreadsKnob};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "adds",
    .doc =
        "for sums of terms that go where a key says: they are added as they come, and no two runs need agree, but "
        "those of whole numbers, whose largest and smallest may be wanted, too",
    .why_not = WhyNotAdded,
    .cost = Cost,
    .looks = LooksByKeys,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_nest_adds
