#include "dsl/cuda/attention_wgmma.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::dsl {
namespace {

// Has the batch index `d` go along one of the two dimensions, as so many of its steps or with steps that are shorter
// then, past places that no batch has; false if neither's step is a multiple of the other.
bool GoesAlong(AttentionMatrices& matrices, std::size_t d, std::int64_t stride, std::int64_t extent) {
  for (std::size_t dim = 0; dim < 2; ++dim) {
    std::int64_t &step = matrices.strides[dim], &there = matrices.extents[dim];
    auto& factors = matrices.factors[dim];
    if (stride % step == 0) {
      factors[d] = stride / step;
      there += (extent - 1) * factors[d];
      return true;
    }
    if (step % stride != 0) continue;
    for (std::int64_t& factor : factors) factor *= step / stride;
    factors[d] = 1;
    there = (there - 1) * (step / stride) + extent;
    step = stride;
    return true;
  }
  return false;
}

}  // namespace

std::optional<AttentionMatrices> AttentionMatricesOf(const Kernel& kernel, std::size_t input,
                                                     const KernelOperand& operand, const AttentionRows& rows,
                                                     std::string& why) {
  AttentionMatrices matrices{
      .buffer = rows.buffer, .offset = rows.offset, .rows = rows.count, .width = rows.width, .row = rows.row};
  const std::size_t rank = kernel.space.size();
  std::size_t dims = 0;
  const bool pages = input > 0 && ReadsPages(kernel);
  for (std::size_t d = rank - kAttentionM; d-- > 0;) {
    const std::int64_t stride = operand.strides[d], extent = kernel.space[d].extent;
    if (stride == 0 || extent == 1 || (pages && d == rank - kAttentionS)) continue;
    const bool continues = dims > 0 && stride == matrices.strides[dims - 1] * matrices.extents[dims - 1];
    if (!continues && dims == 2) {
      if (GoesAlong(matrices, d, stride, extent)) continue;
      why = fmt::format("the batches of {} lie unevenly in more than two dimensions", kAttentionNames[input]);
      return std::nullopt;
    }
    if (!continues) ++dims;
    auto& factors = matrices.factors[dims - 1];
    factors.resize(rank - kAttentionM, 0);
    factors[d] = continues ? matrices.extents[dims - 1] : 1;
    if (!continues) matrices.strides[dims - 1] = stride;
    matrices.extents[dims - 1] *= extent;
  }
  for (std::size_t d = 0; d < 2; ++d) {
    matrices.factors[d].resize(rank - kAttentionM, 0);
    if (d >= dims) matrices.strides[d] = matrices.row;  // of an extent of 1: any that is a multiple of 16 bytes
  }
  return matrices;
}

std::int64_t PagesApart(const Kernel& kernel, const AttentionMatrices& matrices) {
  return ReadsPages(kernel) ? matrices.factors[0][kernel.space.size() - kAttentionP] : 0;
}

std::optional<std::string> CheckTileOfPages(const Kernel& kernel, std::int64_t keys) {
  if (!ReadsPages(kernel)) return std::nullopt;
  const std::int64_t page = AttentionExtent(kernel, kAttentionS);
  if (page % keys == 0 || keys % page == 0) return std::nullopt;
  return fmt::format("a tile of {} keys is neither whole pages of {} nor a part of one", keys, page);
}

// Eight rows are what it lays as one.
std::optional<std::string> CheckPages(const Kernel& kernel) {
  if (!ReadsPages(kernel)) return std::nullopt;
  const std::int64_t page = AttentionExtent(kernel, kAttentionS);
  if (page == 8 || page % 16 == 0) return std::nullopt;
  return fmt::format("pages of {} keys: the copy engine reads such of 8 or a multiple of 16; look them up before",
                     page);
}

std::int64_t KeysOfCopy(const Kernel& kernel, std::int64_t keys) {
  return ReadsPages(kernel) ? std::min(keys, AttentionExtent(kernel, kAttentionS)) : keys;
}

std::string OpenAttentionKeys(DeviceWriter& out, const Kernel& kernel, const std::vector<std::string>& batches) {
  if (!ReadsPages(kernel)) return "KeysInOrder{}";
  std::vector<std::string> places = batches;
  places.resize(kernel.space.size(), "0");
  places[places.size() - kAttentionT] = "at";
  out.Open("const auto number = [&](int place)");
  // A tile's keys behind the last are of no page: the last one's are read again, and nobody looks at them.
  out.Line(fmt::format("const int at = min(place, {});", AttentionExtent(kernel, kAttentionT) - 1));
  out.Line(fmt::format("return static_cast<int>({});", AttentionText(out, kernel, kernel.inputs[3], places, "long")));
  out.CloseWith(";");
  return fmt::format("KeysInPages<{}, decltype(number)>{{number}}", AttentionExtent(kernel, kAttentionS));
}

TensorMapArgument AttentionMap(const KernelProgram& program, const AttentionMatrices& matrices, std::int64_t rows) {
  return {.buffer = program.buffers[static_cast<std::size_t>(matrices.buffer)].name,
          .offset = matrices.offset,
          .shape = {matrices.extents[1], matrices.extents[0], matrices.rows, matrices.width},
          .strides = {matrices.strides[1], matrices.strides[0], matrices.row, 1},
          .box = {1, 1, rows, 64},
          .swizzle = 128};
}

std::string AttentionProductsText(std::int64_t n, DType type) {
  const std::string_view ptx = type == DType::kBF16 ? "bf16" : "f16";
  const std::int64_t count = n / 2;
  std::string names, values;
  for (std::int64_t i = 0; i < count; ++i) {
    names += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    values += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : ", ", i);
  }
  return fmt::format(R"(template <>
struct Products<{type}, {n}> {{
  __device__ __forceinline__ static void Of(float (&d)[{count}], unsigned long a, unsigned long b, int add) {{
    asm volatile(
        "{{\n.reg .pred add;\nsetp.ne.b32 add, %{after2}, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{ptx}.{ptx} {{{names}}}, %{count}, %{after1}, add, 1, 1, 0, 0;\n}}"
        : {values}
        : "l"(a), "l"(b), "r"(add));
  }}
  __device__ __forceinline__ static void After(float (&d)[{count}], const unsigned* a, unsigned long b) {{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{ptx}.{ptx} {{{names}}}, "
        "{{%{count}, %{after1}, %{after2}, %{after3}}}, %{after4}, 1, 1, 1, 1;"
        : {values}
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }}
  __device__ __forceinline__ static void AfterShared(float (&d)[{count}], unsigned long a, unsigned long b) {{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{ptx}.{ptx} {{{names}}}, %{count}, %{after1}, 1, 1, 1, 0, 1;"
        : {values}
        : "l"(a), "l"(b));
  }}
}};
)",
                     fmt::arg("type", DeviceType(type)), fmt::arg("n", n), fmt::arg("count", count),
                     fmt::arg("after1", count + 1), fmt::arg("after2", count + 2), fmt::arg("after3", count + 3),
                     fmt::arg("after4", count + 4), fmt::arg("names", names), fmt::arg("values", values),
                     fmt::arg("ptx", ptx));
}

}  // namespace hone::dsl
