#include "dsl/cuda/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/nest_groups.h"
#include "dsl/cuda/sequence.h"
#include "dsl/element.h"

namespace hone::dsl {
namespace {

void EmitElements(const Kernel& kernel, DeviceWriter& out) {
  std::int64_t count = PointsOf(kernel.space);
  if (count == 0) return;
  const FlatElement element = MakeFlat(kernel, {});
  const std::int64_t threads = IntSetting(kernel, "block"), results = IntSetting(kernel, "results"),
                     pack = IntSetting(kernel, "pack");
  std::vector<IndexVar> indices = element.indices;
  const bool group = pack > 1 && pack > indices.back().extent;
  if (group) {
    indices[indices.size() - 2].extent /= pack / indices.back().extent;
    indices.pop_back();
  } else if (pack > 1) {
    indices.back().extent /= pack;
  }
  count /= pack;
  IndexVar* shared = results > 1 ? &indices[indices.size() - 2] : nullptr;
  if (shared) {
    shared->extent /= results;
    count /= results;
  }
  out.BeginKernel("nest", threads);
  const std::string at = out.OpenThreads("at", count);
  std::map<int, std::string> names;
  NamePlaces(out, kernel, indices, at, names);
  if (shared) {
    const std::string result = out.Fresh("result"), place = out.Fresh("place");
    out.Unroll();
    out.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", result, results));
    out.Line(
        fmt::format("const {} {} = {} * {} + {};", out.index_type(), place, names.at(shared->id), results, result));
    names[shared->id] = place;
  }
  if (group)
    WriteGroup(out, kernel, element, names, pack);
  else if (pack > 1)
    WriteNeighbours(out, kernel, element, names, pack);
  else
    WriteElement(out, kernel, element, names);
  if (shared) out.Close();
  LaunchNest(out, kernel, count, threads);
}

}  // namespace

void EmitNestCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  if (!kernel.attributes.contains("sequence")) return EmitElements(kernel, out);
  const auto first = static_cast<std::size_t>(&kernel - program.kernels.data());
  EmitSequence({&kernel, SequenceEnd(program, first) - first}, out);
}

}  // namespace hone::dsl
