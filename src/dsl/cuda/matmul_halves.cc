#include "dsl/cuda/matmul_halves.h"

#include <fmt/format.h>

#include "dsl/cuda/matmul_end_stages.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kRows = kSplitRows, kDepth = kSplitDepth;
constexpr std::int64_t kRawLine = kTensorRowBytes / 4;  // of a swizzled box of what lies along K

// x[64], the thread's row: of what lies across K neighbours read neighbours, of the rest rows are swizzled.
void ReadRow(DeviceWriter& out, const Splitter& splitter) {
  out.Line(fmt::format("float x[{}];", kDepth));
  if (splitter.lies == OperandLayout::kAcrossK) {
    out.Line(
        fmt::format("const float* const from = reinterpret_cast<const float*>(ring + {}) + thread;", splitter.raw_at));
    out.Unroll();
    out.Line(fmt::format("for (int i = 0; i < {}; ++i) x[i] = from[i * {}];", kDepth, kRows));
    return;
  }
  out.Line(fmt::format("const unsigned char* const from = ring + {} + thread * {};", splitter.raw_at, kTensorRowBytes));
  out.Unroll();
  out.Open(fmt::format("for (int i = 0; i < {}; ++i)", kDepth / 4));
  out.Line(
      fmt::format("const float4 four = *reinterpret_cast<const float4*>(from + i / 8 * {} + (i % 8 ^ thread % 8) * "
                  "16);",
                  kRows * kTensorRowBytes));
  for (int e = 0; e < 4; ++e) out.Line(fmt::format("x[i * 4 + {}] = four.{};", e, "xyzw"[e]));
  out.Close();
}

// The row as halves to the stage, swizzled as wgmma wants it.
void WriteRow(DeviceWriter& out, const TensorSettings& settings, const Splitter& splitter) {
  const bool two = TensorParts(settings) == 2;
  out.Line(fmt::format("unsigned char* const to = ring + stage * kStageBytes + {} + thread * {};", splitter.tile_at,
                       kTensorRowBytes));
  out.Unroll();
  out.Open("for (int i = 0; i < 8; ++i)");
  out.Line(fmt::format("unsigned high[4]{};", two ? ", low[4]" : ""));
  out.Unroll();
  out.Line(
      fmt::format("for (int j = 0; j < 4; ++j) high[j] = {}(x[i * 8 + j * 2] * scale, x[i * 8 + j * 2 + 1] * "
                  "scale{});",
                  two ? "SplitPair" : "HalfPair", two ? ", low[j]" : ""));
  for (int part = 0; part < (two ? 2 : 1); ++part)
    out.Line(
        fmt::format("*reinterpret_cast<uint4*>(to + {0} + (i ^ thread % 8) * 16) = make_uint4({1}[0], {1}[1], "
                    "{1}[2], {1}[3]);",
                    part * kRows * kTensorRowBytes, part == 0 ? "high" : "low"));
  out.Close();
}

// A function that asks for the next tile as it lies: the next block of K, or the next item's first.
void DeclareAsking(DeviceWriter& out, const Splitter& splitter) {
  out.Line(fmt::format("NextTile& next = next_tiles[{}];", splitter.input));
  out.Open("const auto ask = [&]");
  out.Open("if (next.block == next.end)");
  out.Line("const int item = next.item;");
  out.Line(fmt::format("if (item >= {}) return;", splitter.items));
  splitter.places();
  out.Line(fmt::format("next = {{item + static_cast<int>(gridDim.x), first_step, last_step, {}, {}}};", splitter.batch,
                       splitter.row0));
  out.Close();
  out.Line(fmt::format("const unsigned barrier = SharedAddress(&raw[{}]);", splitter.input));
  out.Line(fmt::format("ExpectBytes(barrier, {});", kSplitRawBytes));
  const RawBox box = RawBoxOf(splitter.lies);
  for (std::int64_t i = 0; i < box.boxes; ++i) {
    const std::string k = fmt::format("next.block * {}{}", kDepth, i > 0 ? fmt::format(" + {}", i * box.line) : "");
    out.Line(fmt::format("CopyBox(stages + {}, &{}_map, {}, next.batch, 0, barrier);",
                         splitter.raw_at + i * box.lines * box.line * 4, splitter.input == 0 ? "a" : "b",
                         splitter.lies == OperandLayout::kAcrossK ? "next.row, " + k : k + ", next.row"));
  }
  out.Line("++next.block;");
  out.CloseWith(";");
}

}  // namespace

OperandLayout RawLayoutOf(const Kernel& kernel, const MatmulShape& shape, std::size_t input) {
  return LayoutOf(kernel, shape, input, DType::kF32, true);
}

RawBox RawBoxOf(OperandLayout lies) {
  if (lies == OperandLayout::kAcrossK) return {.lines = kDepth, .line = kRows};
  return {.lines = kRows, .line = kRawLine, .boxes = kDepth / kRawLine, .swizzle = static_cast<int>(kTensorRowBytes)};
}

void EmitSplitter(DeviceWriter& out, const TensorSettings& settings, const Splitter& splitter) {
  const std::string sync = fmt::format("SyncSplitter({}, inverse);", splitter.input);
  DeclareAsking(out, splitter);
  out.Open("if (thread == 0)");
  out.Line("FetchMap(&a_map);");
  out.Line("FetchMap(&b_map);");
  out.Line("next = {static_cast<int>(blockIdx.x), 0, 0, 0, 0};");
  out.Line("ask();");
  out.Close();
  out.Line("unsigned raw_phase = 0;");
  out.Open(fmt::format("for (int item = blockIdx.x; item < {}; item += gridDim.x)", splitter.items));
  splitter.places();
  out.Open("for (int block = first_step; block < last_step; ++block)");
  out.Line(fmt::format("WaitFor(SharedAddress(&raw[{}]), raw_phase);", splitter.input));
  out.Line("raw_phase ^= 1;");
  ReadRow(out, splitter);
  out.Line("float largest[4] = {};");
  out.Unroll();
  out.Line(fmt::format("for (int i = 0; i < {}; ++i) largest[i % 4] = fmaxf(largest[i % 4], fabsf(x[i]));", kDepth));
  out.Line("float inverse;");
  out.Line(
      "const float scale = ScaleFor(fmaxf(fmaxf(largest[0], largest[1]), fmaxf(largest[2], largest[3])), inverse);");
  // All rows are in registers: the copy engine may write over them.
  out.Line(sync);
  out.Line("if (thread == 0) ask();");
  out.Line("WaitFor(SharedAddress(&empty[stage]), phase);");
  out.Line("const unsigned scales_at = kStages * kStageBytes + scales * kScaleBytes;");
  if (splitter.copy_another) {
    out.Open("if (thread == 0)");
    splitter.copy_another();
    out.Close();
  }
  WriteRow(out, settings, splitter);
  out.Line(fmt::format("reinterpret_cast<float*>(ring + scales_at + {})[thread] = inverse;", splitter.scales_at));
  out.Line("if (++scales == kScales) scales = 0;");
  out.Line("PublishToCopies();");
  out.Line(sync);
  out.Line("if (thread == 0) Arrive(SharedAddress(&full[stage]));");
  NextStage(out);
  out.Close();
  out.Close();
}

}  // namespace hone::dsl
