#include "dsl/cuda/alike_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "dsl/cuda/attention_parts.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kThreads = 128;

bool HangsOn(const Kernel& kernel, const Expr& number, std::size_t dim) {
  if (number->kind == Expr::Kind::kLoad)
    return kernel.operands[static_cast<std::size_t>(number->buffer)].strides[dim] != 0;
  if (number->kind == Expr::Kind::kIndex) return number->index.id == kernel.space[dim].id;
  return std::ranges::any_of(number->operands, [&](const Expr& part) { return HangsOn(kernel, part, dim); });
}

}  // namespace

AlikeKeys::AlikeKeys(const Kernel& kernel, const SeenKeys& seen, std::int64_t queries)
    : kernel_(kernel), seen_(seen), queries_(queries) {
  tiles_ = CeilDiv(AttentionExtent(kernel, kAttentionM), queries);
  if (!any()) return;
  for (std::size_t d = 0; d + kAttentionM < kernel.space.size(); ++d) {
    const bool hangs = HangsOn(kernel, seen.alike[0].query, d) || HangsOn(kernel, seen.alike[0].key, d);
    if (kernel.space[d].extent > 1 && hangs) dims_.push_back(d);
  }
}

void AlikeKeys::Emit(DeviceWriter& out) {
  if (!any()) return;
  const std::int64_t m = AttentionExtent(kernel_, kAttentionM), n = AttentionExtent(kernel_, kAttentionN);
  std::int64_t rows = 1;
  for (const std::size_t d : dims_) rows *= kernel_.space[d].extent;
  found_ = out.Scratch("alike", DType::kI32, rows * tiles_ * 2);
  out.BeginKernel("found", kThreads);
  out.Line(fmt::format("const int row = blockIdx.x / {0}, m0 = blockIdx.x % {0} * {1};", tiles_, queries_));
  std::vector<std::string> places(kernel_.space.size(), "0");
  std::int64_t step = 1;
  for (std::size_t i = dims_.size(); i-- > 0; step *= kernel_.space[dims_[i]].extent)
    places[dims_[i]] = fmt::format("(row / {} % {})", step, kernel_.space[dims_[i]].extent);
  const auto number = [&](const Expr& of, std::size_t dim, const std::string& place) {
    std::vector<std::string> at = places;
    at[kernel_.space.size() - dim] = place;
    return fmt::format("static_cast<long>({})", AttentionText(out, kernel_, of, at, "long"));
  };
  for (const char* array : {"long least_of", "long most_of", "int first_of", "int end_of", "int count_of"})
    out.Line(fmt::format("__shared__ __align__(16) {}[{}];", array, kThreads));
  out.Line("long least = 0x7fffffffffffffff, most = -least;");
  out.Open(fmt::format("for (int m = m0 + threadIdx.x; m < min(m0 + {}, {}); m += {})", queries_, m, kThreads));
  out.Line(fmt::format("const long own = {};", number(seen_.alike[0].query, kAttentionM, "m")));
  out.Line("least = min(least, own), most = max(most, own);");
  out.Close();
  out.Line("least_of[threadIdx.x] = least, most_of[threadIdx.x] = most;");
  out.Line("__syncthreads();");
  out.Line(fmt::format("for (int i = 0; i < {}; ++i) least = min(least, least_of[i]), most = max(most, most_of[i]);",
                       kThreads));
  out.Line(fmt::format("int first = {}, end = 0, count = 0;", n));
  out.Open(fmt::format("for (int n = threadIdx.x; n < {}; n += {})", n, kThreads));
  out.Line(fmt::format("const long own = {};", number(seen_.alike[0].key, kAttentionN, "n")));
  out.Line("if (own >= least && own <= most) first = min(first, n), end = n + 1, ++count;");
  out.Close();
  out.Line("first_of[threadIdx.x] = first, end_of[threadIdx.x] = end, count_of[threadIdx.x] = count;");
  out.Line("__syncthreads();");
  out.Line("if (threadIdx.x != 0) return;");
  out.Open(fmt::format("for (int i = 1; i < {}; ++i)", kThreads));
  out.Line("first = min(first, first_of[i]), end = max(end, end_of[i]), count += count_of[i];");
  out.Close();
  out.Line(fmt::format("{}[blockIdx.x * 2] = min(first, end);", found_));
  out.Line(fmt::format("{}[blockIdx.x * 2 + 1] = end * 2 + (least == most && count == end - first ? 1 : 0);", found_));
  DeviceWriter::LaunchShape launch{.grid_x = rows * tiles_, .scratch_writes = {found_}};
  for (const Expr& of : {seen_.alike[0].query, seen_.alike[0].key}) {
    for (const int buffer : BuffersOf(kernel_, of)) AddRead(launch, buffer);
  }
  out.Launch(launch);
}

void AlikeKeys::Write(DeviceWriter& out, const std::vector<std::string>& batches, const std::string& tile) const {
  std::string row = "0";
  for (const std::size_t d : dims_)
    row = row == "0" ? batches[d] : fmt::format("({} * {} + {})", row, kernel_.space[d].extent, batches[d]);
  const std::string at = row == "0" ? fmt::format("({})", tile) : fmt::format("({} * {} + {})", row, tiles_, tile);
  out.Line(fmt::format("const int alike_from = {0}[{1} * 2], alike_end = {0}[{1} * 2 + 1] / 2;", found_, at));
  out.Line(fmt::format("const bool alike = {}[{} * 2 + 1] % 2 != 0;", found_, at));
}

}  // namespace hone::dsl
