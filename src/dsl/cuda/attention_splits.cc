#include "dsl/cuda/attention_splits.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/attention_held.h"
#include "dsl/cuda/expr.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {

AttentionSharedRows SharedRowsOf(const Kernel& kernel) {
  // With what scales them; of pages with where those are.
  const auto stands = [&](std::size_t input, std::size_t d) {
    bool same = true;
    Visit(kernel.inputs[input], [&](const ExprNode& node) {
      same &= node.kind != Expr::Kind::kLoad || kernel.operands[static_cast<std::size_t>(node.buffer)].strides[d] == 0;
    });
    return same;
  };
  const std::size_t inputs = ReadsPages(kernel) ? 4 : 3;
  AttentionSharedRows rows{.shared_from = AttentionBatchDims(kernel)};
  while (rows.shared_from > 0) {
    const std::size_t d = rows.shared_from - 1;
    bool shared = true;
    for (std::size_t input = 1; input < inputs; ++input) shared &= stands(input, d);
    if (kernel.space[d].extent > 1 && !shared) break;
    rows.shared_from = d;
  }
  for (std::size_t d = 0; d < rows.shared_from; ++d) rows.pairs *= kernel.space[d].extent;
  for (std::size_t d = rows.shared_from; d < AttentionBatchDims(kernel); ++d) rows.count *= kernel.space[d].extent;
  rows.count *= AttentionExtent(kernel, kAttentionM);
  return rows;
}

double AttentionBandwidth(const DeviceModel& device) {
  constexpr double kUsual = 2e12;
  const double known = device.ceilings.ReadBandwidth(std::int64_t{1} << 30);
  return known > 0 ? known : kUsual;
}

std::vector<Setting> AttentionSplitValues(const Kernel& kernel, std::int64_t items, std::int64_t resident,
                                          std::int64_t warps) {
  const std::int64_t keys = AttentionExtent(kernel, kAttentionN);
  const std::int64_t most = std::clamp<std::int64_t>(keys / 16 / warps, 1, 256);
  const std::int64_t row = AttentionExtent(kernel, kAttentionD) + AttentionExtent(kernel, kAttentionE);
  const double bytes = static_cast<double>(keys * row) * static_cast<double>(Bytes(HeldType(kernel)));
  // At its share of the memory's rate.
  const double item_us =
      bytes / AttentionBandwidth(*kernel.device) * 1e6 * static_cast<double>(std::min(items * most, resident));
  return AttentionSplitValues(kernel, items, resident, most, item_us);
}

namespace {

// Whether data say how many keys are seen, as lengths of sequences do.
bool DataLimitKeys(const Kernel& kernel) {
  const SeenKeys seen = SeenKeysOf(kernel, SharedRowsOf(kernel).shared_from);
  const auto of_data = [](const KeyLimit& limit) { return HasLoad(limit.of); };
  return !seen.or_all && (std::ranges::any_of(seen.from, of_data) || std::ranges::any_of(seen.end, of_data));
}

}  // namespace

// What a split takes, in microseconds: as many waves of blocks as there are, each of which goes through its keys and
// needs some time to begin and to end; and the second kernel. Where data say how many keys there are, half of them are
// supposed to be: blocks are handed out as others end, and one of the longest items is still under way when all are.
std::vector<Setting> AttentionSplitValues(const Kernel& kernel, std::int64_t items, std::int64_t resident,
                                          std::int64_t most, double item_us) {
  constexpr double kBlockUs = 4, kKernelUs = 4;  // docs/measured/cuda_attention.md
  const bool varies = DataLimitKeys(kernel);
  const AttentionSharedRows rows = SharedRowsOf(kernel);
  const double sums_us = static_cast<double>(rows.pairs * rows.count * AttentionExtent(kernel, kAttentionE)) * 2 *
                         sizeof(float) / AttentionBandwidth(*kernel.device) * 1e6;
  const auto cost = [&](std::int64_t split) {
    const auto waves = static_cast<double>((items * split + resident - 1) / resident);
    const double part_us = item_us / static_cast<double>(split), end_us = split > 1 ? kKernelUs : 0;
    if (!varies) return waves * (part_us + kBlockUs) + end_us;
    const double all_us = item_us * static_cast<double>(items) / static_cast<double>(resident) / 2;
    return all_us + waves * kBlockUs + part_us / 2 + end_us + (split > 1 ? sums_us * static_cast<double>(split) : 0);
  };
  std::int64_t best = 1;
  for (std::int64_t split = 2; split <= most; ++split) {
    if (cost(split) < cost(best)) best = split;
  }
  std::vector<Setting> values = {Whole(best)};
  for (const std::int64_t other : {best * 2, best / 2, std::int64_t{1}}) {
    if (other >= 1 && other <= most && std::find(values.begin(), values.end(), Whole(other)) == values.end())
      values.push_back(Whole(other));
  }
  return values;
}
std::optional<std::string> CheckAttentionSplit(const Kernel&, const Setting& value) {
  return CheckRange(value, 1, 1024);
}

AttentionSplits::AttentionSplits(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                                 std::int64_t tile, std::int64_t warps, std::int64_t step)
    : program_(program),
      kernel_(kernel),
      out_(out),
      rows_(SharedRowsOf(kernel)),
      tile_(tile),
      tiles_((rows_.count + tile - 1) / tile),
      warps_(warps),
      step_(step),
      splits_(IntSetting(kernel, "split")),
      width_(AttentionExtent(kernel, kAttentionE)),
      score_(ScaledAttentionScoreOf(kernel)),
      seen_(SeenKeysOf(kernel, rows_.shared_from)) {}

void AttentionSplits::Begin(int blocks_a_processor) {
  if (splits_ > 1) {
    sums_ = out_.Scratch("sums", DType::kF32, rows_.pairs * rows_.count * splits_ * width_);
    statistics_ = out_.Scratch("statistics", DType::kF32, rows_.pairs * rows_.count * splits_ * 2);
  }
  out_.BeginKernel("attention", 32 * warps_, blocks_a_processor);
  out_.Line("extern __shared__ __align__(16) unsigned char memory[];");
  out_.Line(fmt::format("const int first_row = blockIdx.x % {0} * {1}, part = blockIdx.x / {0} % {2};", tiles_, tile_,
                        splits_));
  out_.Line(fmt::format("const int pair = blockIdx.x / {};", tiles_ * splits_));
  batches_ = Decomposed("pair", 0, rows_.shared_from, rows_.pairs);
  const auto parts = AttentionPartsOf(kernel_, 0);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    out_.Open(fmt::format("const auto query{} = [&](int row) -> const {}*", part == 0 ? "" : "1",
                          DeviceType(kernel_.operand_types[parts[part].operand])));
    out_.Line(fmt::format("if (row >= {}) return nullptr;", rows_.count));
    std::vector<std::string> places = PlacesOf(batches_, "row");
    places.back() = fmt::format("{}", parts[part].first);
    out_.Line(fmt::format("return {};", AttentionPointer(out_, kernel_.operands[parts[part].operand], places)));
    out_.CloseWith(";");
  }
}

void AttentionSplits::OpenKeys(std::string_view step, std::string last) {
  std::string first, steps = fmt::format("{}", (AttentionExtent(kernel_, kAttentionN) + step_ - 1) / step_);
  if (seen_.limited()) {
    std::vector<std::string> places = batches_;
    places.resize(kernel_.space.size(), "0");
    WriteSeenKeys(out_, kernel_, seen_, places, "0", fmt::format("{}", AttentionExtent(kernel_, kAttentionM) - 1));
    out_.Line(fmt::format("const int first_step = seen_from / {0}, steps = (seen_end + {1}) / {0} - first_step;", step_,
                          step_ - 1));
    first = "first_step + ", steps = "steps", last = fmt::format("min({}, seen_end)", last);
  }
  const auto before = [&](std::string_view part) {
    if (splits_ == 1) return first + (part == "part" ? "0" : steps);
    return fmt::format("{}static_cast<int>(static_cast<long>({}) * ({}) / {})", first, steps, part, splits_);
  };
  out_.Line(fmt::format("const int begin = ({} + {}) * {}, end = min(({}) * {}, {});", before("part"), step, step_,
                        before("part + 1"), step_, last));
}

void AttentionSplits::Attend() {
  OpenKeys("static_cast<int>(threadIdx.x) / 32", fmt::format("{}", AttentionExtent(kernel_, kAttentionN)));
  std::vector<std::string> places = batches_;
  places.resize(kernel_.space.size(), "0");
  out_.Line(fmt::format("constexpr float scale = {};", out_.Number(kLog2E * score_.factor)));
  Rows("key", 1, places);
  Rows("value", 2, places);
  Scales("key_scale", 1, places);
  Scales("value_scale", 2, places);
  out_.Line(
      fmt::format("warp.Attend(key, value, key_scale, value_scale, begin, end, {}, scale, score);", warps_ * step_));
  OpenMade(fmt::format("warp.template Finish<{}>(reinterpret_cast<float*>(memory), min({}, {} - first_row), scale, ",
                       warps_, tile_, rows_.count));
  out_.CloseWith(");");
}

void AttentionSplits::OpenMade(const std::string& head) {
  out_.Open(fmt::format("{}[&](int at, int e, float sum, float total, float most)", head));
  out_.Line("const int row = first_row + at;");
  if (splits_ == 1) {
    Write(batches_);
  } else {
    out_.Line(fmt::format("const {0} place = (static_cast<{0}>(pair) * {1} + row) * {2} + part;", "long", rows_.count,
                          splits_));
    // Neighbours that a thread has are written as one where that is known.
    out_.Line(
        fmt::format("static_cast<float*>(__builtin_assume_aligned({}, 16))[place * {} + e] = sum;", sums_, width_));
    out_.Open("if (e == 0)");
    out_.Line(fmt::format("{}[place * 2] = most;", statistics_));
    out_.Line(fmt::format("{}[place * 2 + 1] = total;", statistics_));
    out_.Close();
  }
}

// The function `name`, the address of the row of K or V with a number; behind the last any, which nobody reads.
void AttentionSplits::Rows(const std::string& name, std::size_t input, std::vector<std::string> places) {
  const KernelOperand& operand = kernel_.operands[AttentionPartsOf(kernel_, input)[0].operand];
  const std::size_t rank = kernel_.space.size();
  out_.Line(fmt::format("const auto* {}s = {};", name, AttentionPointer(out_, operand, places)));
  out_.Open(fmt::format("const auto {} = [&](int n)", name));
  if (!ReadsPages(kernel_)) {
    out_.Line(fmt::format("return {}s + static_cast<long>(n) * {}l;", name, operand.strides[rank - kAttentionN]));
  } else {
    OpenPage(places);
    out_.Line(fmt::format("return {}s + page * {}l + slot * {}l;", name, operand.strides[rank - kAttentionP],
                          operand.strides[rank - kAttentionS]));
  }
  out_.CloseWith(";");
}

// Lines that name the page and the place in it of key `n`; behind the last, of that.
void AttentionSplits::OpenPage(std::vector<std::string>& places) {
  const std::size_t rank = kernel_.space.size();
  const std::int64_t page = kernel_.space[rank - kAttentionS].extent;
  out_.Line(fmt::format("const int at = min(n, {}), place = at / {}, slot = at - place * {};",
                        AttentionExtent(kernel_, kAttentionN) - 1, page, page));
  places[rank - kAttentionT] = "place";
  out_.Line(fmt::format("const long page = {};", AttentionText(out_, kernel_, kernel_.inputs[3], places, "long")));
  places[rank - kAttentionP] = "page", places[rank - kAttentionS] = "slot";
}

std::string AttentionSplits::Scaled() {
  if (ScaleOfRows(kernel_, 1) != ScaleOf::kAll) return "";
  std::vector<std::string> places = batches_;
  places.resize(kernel_.space.size(), "0");
  out_.Line(fmt::format("const float all_keys_scale = {};",
                        AttentionText(out_, kernel_, HeldRowsOf(kernel_, 1)->scale, places, "long")));
  return " * all_keys_scale";
}

// The function `name`, what scales the row of K or V with a number, 0 where it is not there; where each has none, 1.
void AttentionSplits::Scales(const std::string& name, std::size_t input, std::vector<std::string> places) {
  out_.Open(fmt::format("const auto {} = [&](int n, bool there)", name));
  if (ScaleOfRows(kernel_, input) == ScaleOf::kEach) {
    out_.Line("if (!there) return 0.0f;");
    if (ReadsPages(kernel_)) {
      OpenPage(places);
    } else {
      places[kernel_.space.size() - kAttentionN] = "n";
    }
    out_.Line(
        fmt::format("return {};", AttentionText(out_, kernel_, HeldRowsOf(kernel_, input)->scale, places, "long")));
  } else {
    out_.Line("return 1.0f;");
  }
  out_.CloseWith(";");
}

void AttentionSplits::End(std::int64_t shared_bytes, std::vector<std::pair<std::string, TensorMapArgument>> maps,
                          std::int64_t cluster) {
  DeviceWriter::LaunchShape launch;
  for (std::size_t input = 0; input < (maps.empty() ? 3 : 1); ++input) {
    for (const int buffer : BuffersOf(kernel_, kernel_.inputs[input])) AddRead(launch, buffer);
  }
  if (ReadsPages(kernel_)) {
    for (const int buffer : BuffersOf(kernel_, kernel_.inputs[3])) AddRead(launch, buffer);
  }
  launch.maps = std::move(maps);
  launch.cluster_x = cluster;
  for (const int buffer : BuffersOf(kernel_, score_.score)) AddRead(launch, buffer);
  if (splits_ == 1) {
    for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) AddRead(launch, buffer);
    launch.writes = {kernel_.target};
  } else {
    launch.scratch_writes = {sums_, statistics_};
  }
  launch.grid_x = rows_.pairs * tiles_ * splits_;
  launch.shared_bytes = shared_bytes;
  out_.Launch(launch);
  if (splits_ > 1) PutTogether();
}

// A thread an element: the parts' sums over the largest score of them all.
void AttentionSplits::PutTogether() {
  out_.BeginKernel("together", 128);
  const std::string at = out_.OpenThreads("at", rows_.pairs * rows_.count * width_);
  out_.Line(fmt::format("const int e = {0} % {1}, row = {0} / {1} % {2}, pair = {0} / {3};", at, width_, rows_.count,
                        width_ * rows_.count));
  const std::vector<std::string> batches = Decomposed("pair", 0, rows_.shared_from, rows_.pairs);
  out_.Line(fmt::format("const long place = (static_cast<long>(pair) * {} + row) * {};", rows_.count, splits_));
  out_.Line("float most = -__int_as_float(0x7f800000), sum = 0, total = 0;");
  out_.Line("#pragma unroll 8");
  out_.Line(fmt::format("for (int part = 0; part < {}; ++part) most = fmaxf(most, {}[(place + part) * 2]);", splits_,
                        statistics_));
  out_.Line("#pragma unroll 8");
  out_.Open(fmt::format("for (int part = 0; part < {}; ++part)", splits_));
  out_.Line(fmt::format("const float own = {}[(place + part) * 2];", statistics_));
  out_.Line("const float by = own == -__int_as_float(0x7f800000) ? 0.0f : Exp2(own - most);");
  out_.Line(fmt::format("sum = fmaf({}[(place + part) * {} + e], by, sum);", sums_, width_));
  out_.Line(fmt::format("total = fmaf({}[(place + part) * 2 + 1], by, total);", statistics_));
  out_.Close();
  Write(batches);
  DeviceWriter::LaunchShape launch;
  for (const int buffer : BuffersOf(kernel_, kernel_.epilogue)) AddRead(launch, buffer);
  if (ScaleOfRows(kernel_, 2) == ScaleOf::kAll) {
    for (const int buffer : BuffersOf(kernel_, HeldRowsOf(kernel_, 2)->scale)) AddRead(launch, buffer);
  }
  launch.writes = {kernel_.target};
  launch.scratch_reads = {sums_, statistics_};
  launch.grid_x = (rows_.pairs * rows_.count * width_ + 127) / 128;
  out_.Launch(launch);
}

void AttentionSplits::Write(const std::vector<std::string>& batches) {
  std::vector<std::string> places = PlacesOf(batches, "row");
  places[places.size() - kAttentionE] = "e";
  std::string it = AttentionResult(kernel_, "sum", "total");
  if (ScaleOfRows(kernel_, 2) == ScaleOf::kAll)
    it = fmt::format("({}) * ({})", it, AttentionText(out_, kernel_, HeldRowsOf(kernel_, 2)->scale, places, "long"));
  out_.Line(fmt::format("const float it = {};", it));
  WriteRowSum(out_, kernel_, "most", "total");
  const DType stored = program_.buffers[static_cast<std::size_t>(kernel_.target)].dtype;
  std::string to = fmt::format("(static_cast<long>(pair) * {} + row) * {} + e", rows_.count, width_);
  if (kernel_.attributes.at("heads")[0] > 0) to = AttentionPlace(kernel_, places);
  out_.Line(fmt::format("{}[{}] = {};", out_.TargetName(), to,
                        DeviceExpr::Stored(AttentionText(out_, kernel_, kernel_.epilogue, places, "long"),
                                           kernel_.epilogue->type, stored)));
}

std::string AttentionSplits::ScoreAt(const std::string& row, const std::string& key) {
  std::vector<std::string> places = PlacesOf(batches_, row);
  places[places.size() - kAttentionN] = key;
  return AttentionScoreText(out_, kernel_, score_.score, places, "long");
}

std::vector<std::string> AttentionSplits::Decomposed(const std::string& of, std::size_t first, std::size_t end,
                                                     std::int64_t count) {
  std::vector<std::string> names(end - first, "0");
  std::int64_t step = 1;
  for (std::size_t d = end; d-- > first;) {
    const std::int64_t extent = kernel_.space[d].extent;
    if (extent == 1) continue;
    std::string text = step == 1 ? of : fmt::format("{} / {}", of, step);
    if (step * extent < count) text += fmt::format(" % {}", extent);
    names[d - first] = out_.Fresh("batch");
    out_.Line(fmt::format("const int {} = {};", names[d - first], text));
    step *= extent;
  }
  return names;
}

std::vector<std::string> AttentionSplits::PlacesOf(const std::vector<std::string>& batches, const std::string& row) {
  const std::int64_t queries = AttentionExtent(kernel_, kAttentionM);
  std::vector<std::string> places = batches;
  const std::string head = queries == 1 ? row : fmt::format("{} / {}", row, queries);
  const auto shared = Decomposed(queries == 1 ? row : "(" + head + ")", rows_.shared_from, AttentionBatchDims(kernel_),
                                 rows_.count / queries);
  places.insert(places.end(), shared.begin(), shared.end());
  places.resize(kernel_.space.size() - kAttentionM, "0");
  places.push_back(queries == 1 ? "0" : rows_.count == queries ? row : fmt::format("({} % {})", row, queries));
  places.resize(kernel_.space.size(), "0");
  return places;
}

}  // namespace hone::dsl
