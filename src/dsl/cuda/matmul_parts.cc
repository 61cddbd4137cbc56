#include "dsl/cuda/matmul_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::dsl {

MatmulInParts::Cut MatmulInParts::CutK(std::int64_t parts, std::int64_t step) {
  const std::int64_t steps = std::max<std::int64_t>((text_.shape.k.extent + step - 1) / step, 1);
  const std::int64_t each =
      (steps + std::clamp<std::int64_t>(parts, 1, steps) - 1) / std::clamp<std::int64_t>(parts, 1, steps);
  const Cut cut{.parts = (steps + each - 1) / each, .length = each * step};
  if (cut.parts > 1) {
    partial_ = out_.Scratch("parts", out_.wide() ? DType::kF64 : DType::kF32,
                            cut.parts * text_.Batches() * text_.shape.m.extent * text_.shape.n.extent);
  }
  return cut;
}

void MatmulInParts::OpenWork(std::int64_t blocks, const Cut& cut) {
  const std::string& index = text_.index;
  const std::int64_t batches = text_.Batches(), k = text_.shape.k.extent;
  out_.Line(fmt::format("const {} batch = {};", index,
                        batches == 1     ? "0"
                        : cut.parts == 1 ? fmt::format("blockIdx.x / {}", blocks)
                                         : fmt::format("blockIdx.x / {} % {}", blocks, batches)));
  if (cut.parts > 1) {
    out_.Line(fmt::format("const {} part = blockIdx.x / {};", index, blocks * batches));
    out_.Line(fmt::format("const {0} begin = part * {1}, end = min(begin + {1}, static_cast<{0}>({2}));", index,
                          cut.length, k));
  } else {
    out_.Line(fmt::format("const {} begin = 0, end = {};", index, k));
  }
}

void MatmulInParts::Finish(const Cut& cut, const std::vector<std::string>& batches, const std::string& sum) {
  if (cut.parts > 1) {
    out_.Line(fmt::format("{}[((static_cast<long>(part) * {} + batch) * {} + m) * {} + n] = {};", partial_,
                          text_.Batches(), text_.shape.m.extent, text_.shape.n.extent, sum));
  } else {
    out_.Line(fmt::format("const {} it = {};", real_, sum));
    out_.Line(fmt::format("{} = {};", text_.Target(batches, "m", "n"), text_.Result(batches, "m", "n", {"it"})));
  }
}

void MatmulInParts::Launch(std::int64_t blocks, const Cut& cut, std::int64_t static_shared_bytes) {
  DeviceWriter::LaunchShape launch;
  for (const Expr* expr : {&kernel_.inputs[0], &kernel_.inputs[1], &kernel_.epilogue}) {
    if (cut.parts > 1 && expr == &kernel_.epilogue) continue;
    for (const int buffer : BuffersOf(kernel_, *expr)) {
      if (std::find(launch.reads.begin(), launch.reads.end(), buffer) == launch.reads.end())
        launch.reads.push_back(buffer);
    }
  }
  text_.ReadChoice(launch);
  if (cut.parts > 1) {
    launch.scratch_writes = {partial_};
  } else {
    launch.writes = {kernel_.target};
  }
  launch.grid_x = blocks * text_.Batches() * cut.parts;
  launch.aside = true;
  launch.static_shared_bytes = static_shared_bytes;
  out_.Launch(launch);
  if (cut.parts > 1) text_.EmitSums(partial_, cut.parts);
}

}  // namespace hone::dsl
