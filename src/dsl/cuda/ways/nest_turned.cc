// A block makes a square of the result, a warp going along the index along which what is read lies close, and writes it
// from shared memory as the result lies.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rounding.h"
#include "dsl/cuda/knobs.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/turned_nest.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_nest_turned {
namespace {

constexpr std::int64_t kEdgeAcross = 32, kEdgeAlong = 64;  // of a square

void Emit(const KernelProgram&, const Kernel& kernel, DeviceWriter& out) {
  const FlatElement element = MakeFlat(kernel, {});
  const std::size_t across = *AcrossIn(kernel), along = element.indices.size() - 1;
  const std::int64_t threads = IntSetting(kernel, "block"),
                     bytes = static_cast<std::int64_t>(Bytes(kernel.target_type)),
                     pitch = kEdgeAlong + std::max<std::int64_t>(4 / bytes, 1);  // columns' words in different banks
  const auto edge = [&](std::size_t i) { return i == across ? kEdgeAcross : i == along ? kEdgeAlong : 1; };
  std::vector<IndexVar> squares = element.indices;
  for (std::size_t i = 0; i < squares.size(); ++i) squares[i].extent = CeilDiv(squares[i].extent, edge(i));
  const std::int64_t blocks = PointsOf(squares);
  out.BeginKernel("turned", threads);
  std::map<int, std::string> first;
  NamePlaces(out, kernel, squares, fmt::format("static_cast<{}>(blockIdx.x)", out.index_type()), first);
  const std::string square = out.Fresh("square");
  out.Line(fmt::format("__shared__ {} {}[{}];", DeviceType(kernel.target_type), square, kEdgeAcross * pitch));
  // Lines for each element of the square that is one of the result; neighbouring threads go along `fast`.
  const auto each = [&](std::size_t fast, const auto& lines) {
    const std::size_t slow = fast == across ? along : across;
    const std::string at = out.Fresh("at"), quick = out.Fresh("quick"), still = out.Fresh("still");
    out.Open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", at, kEdgeAcross * kEdgeAlong, threads));
    out.Line(fmt::format("const int {0} = {1} % {2}, {3} = {1} / {2};", quick, at, edge(fast), still));
    std::map<int, std::string> names = first;
    std::string inside;
    for (const auto& [i, local] : {std::pair(fast, quick), std::pair(slow, still)}) {
      const IndexVar& index = element.indices[i];
      const std::string place = out.Fresh("place");
      out.Line(fmt::format("const {} {} = {} * {} + {};", out.index_type(), place, first.at(index.id), edge(i), local));
      names[index.id] = place;
      if (index.extent % edge(i) != 0)
        inside += fmt::format("{}{} < {}", inside.empty() ? "" : " && ", place, index.extent);
    }
    if (!inside.empty()) out.Open(fmt::format("if ({})", inside));
    lines(names, fmt::format("{}[{} * {} + {}]", square, fast == across ? quick : still, pitch,
                             fast == across ? still : quick));
    if (!inside.empty()) out.Close();
    out.Close();
  };
  each(across, [&](const std::map<int, std::string>& names, const std::string& held) {
    WriteElement(out, kernel, element, names, {.to = held});
  });
  out.Line("__syncthreads();");
  each(along, [&](const std::map<int, std::string>& names, const std::string& held) {
    out.Line(fmt::format("{} = {};", TargetText(out, kernel, names), held));
  });
  out.Launch({.grid_x = blocks, .reads = OperandBuffers({&kernel, 1}), .writes = {kernel.target}});
}

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (AcrossIn(kernel)) return std::nullopt;
  return "what is read lies no closer along another index than the innermost";
}

constexpr Knob kKnobs[] = {kBlockThreadsKnob};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "turned",
    .doc = "for elements that are read across memory: a block makes a square of them, its warps along what lies close",
    .why_not = WhyNot,
    .cost = [](const Kernel&) { return std::optional<double>(1); },
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_nest_turned
