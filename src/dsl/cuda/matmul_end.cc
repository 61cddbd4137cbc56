#include "dsl/cuda/matmul_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "dsl/cuda/matmul_end_stages.h"
#include "dsl/cuda/matmul_lines_end.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/knobs.h"

namespace hone {
extern const std::string_view kTensorEndText;       // dsl/cuda/tensor_end.cuh
extern const std::string_view kTensorRotationText;  // dsl/cuda/tensor_rotation.cuh
}  // namespace hone

namespace hone::dsl {
namespace {

// Where in a box of 64 rows of 128 bytes a lane finds the i-th four matrices of its warp.
constexpr std::string_view kMatricesPlace = "row * 128 + (((i * 2 + thread % 32 / 16) ^ (row % 8)) * 16)";

// The chain is applied where the sums are; four matrices of 8 x 8 at a time go to shared memory, swizzled as the copy
// engine reads them. What the chain reads is asked for two boxes ahead, where registers are left for it.
class TilesEnd {
 public:
  explicit TilesEnd(const TensorTile& tile)
      : tile_(tile),
        out_(tile.out),
        text_(tile.text),
        tile_n_(tile.settings.tile_n),
        in_stages_(EndStagesOf(tile.kernel, tile.text.shape, tile.settings, tile.apart)) {
    std::size_t bytes = 0;  // of a pair of each
    for (const int operand : OperandsOf({tile.kernel.epilogue})) {
      if (std::ranges::count(in_stages_.operands, operand) > 0) continue;
      reads_ = true;
      if (IsOneABox(operand)) one_a_box_.push_back(operand);
      if (!InPairs(operand)) continue;
      pairs_.push_back(operand);
      bytes += 2 * Bytes(tile.kernel.operand_types[At(operand)]);
    }
    // 16 pairs a box: two more boxes of what is larger would be spilled.
    boxes_ahead_ = std::min<std::int64_t>(bytes <= 4 ? 2 : 0, tile_n_ / kEndBoxColumns - 1);
  }

  // What the first boxes of a tile read.
  void Begin() {
    for (const int operand : pairs_)
      out_.Line(fmt::format("{} {}[{}][16];", PairType(operand), Ahead(operand), boxes_ahead_ + 1));
    for (std::int64_t box = 0; box < boxes_ahead_; ++box) Ask(fmt::format("{}", box));
  }

  void Emit() {
    const DType target = tile_.program.buffers[At(tile_.kernel.target)].dtype;
    out_.Unroll();
    OpenBoxes();
    if (!pairs_.empty()) {
      if (boxes_ahead_ > 0) out_.Open(fmt::format("if (box + {} < {})", boxes_ahead_, tile_n_ / kEndBoxColumns));
      Ask(fmt::format("box + {}", boxes_ahead_));
      if (boxes_ahead_ > 0) out_.Close();
    }
    if (in_stages_.stages > 0) ReadStage();
    const std::string first = fmt::format("n0 + box * {}", kEndBoxColumns);
    for (const int operand : one_a_box_) {
      const std::int64_t n = text_.shape.n.extent;
      const std::string column = n % tile_n_ != 0 ? fmt::format("min({}, {})", first, n - 1) : first;
      out_.Line(fmt::format("const auto of_box_{} = {}[{}];", operand, text_.Name(operand),
                            text_.Place(operand, tile_.batches, "0", column)));
    }
    out_.Line("unsigned made[16];");
    OpenPairs("box");
    // Where one tile has all columns, none is ended behind the last.
    if (const std::int64_t n = text_.shape.n.extent; n < tile_n_ && n % kEndBoxColumns != 0) {
      out_.Line("made[i] = 0;");
      out_.Line(fmt::format("if (box * {} + i / 2 * 8 >= {}) continue;", kEndBoxColumns, n));
    }
    out_.Line("float pair[2];");
    out_.Unroll();
    out_.Open("for (int e = 0; e < 2; ++e)");
    out_.Line(fmt::format("const {} at_n = n + e;", text_.index));
    std::vector<std::string> its;
    for (std::int64_t p = 0; p < tile_.settings.products; ++p) {
      its.push_back(p == 0 ? "it" : fmt::format("it_{}", p + 1));
      out_.Line(fmt::format("const {} {} = {}[(box * {} + i / 2) * 4 + i % 2 * 2 + e{}];",
                            SumsAreWhole(tile_.settings) ? "long" : "float", its.back(), tile_.sums, kEndBoxColumns / 8,
                            p == 0 ? "" : fmt::format(" + {}", p * tile_n_ / 2)));
    }
    if (const int rotation = RotationOf(tile_.kernel); rotation > 0) {
      its.emplace_back("rotated");
      const std::string place = fmt::format("(box * {} + i / 2) * 4 + i % 2 * 2 + e", kEndBoxColumns / 8);
      out_.Line(fmt::format("const float rotated = {};", RotatedText(rotation, tile_, place)));
    }
    std::map<int, std::string> loaded;
    for (const int operand : pairs_)
      loaded[operand] = fmt::format("{}[box % {}][i].at[e]", Ahead(operand), boxes_ahead_ + 1);
    for (const int operand : one_a_box_) loaded[operand] = fmt::format("of_box_{}", operand);
    for (const int operand : in_stages_.operands) loaded[operand] = fmt::format("{}[i].at[e]", Ahead(operand));
    out_.Line(
        fmt::format("pair[e] = static_cast<float>({});", text_.CoarseValue(tile_.batches, "m", "at_n", its, loaded)));
    out_.Close();
    out_.Line(fmt::format("made[i] = {}(pair[0], pair[1]);", target == DType::kBF16 ? "BrainPair" : "HalfPair"));
    out_.Close();
    out_.Line("if (thread == 0) WaitForStores<1>();");
    out_.Line("MeetWarpgroup(warpgroup);");
    out_.Unroll();
    out_.Open("for (int i = 0; i < 4; ++i)");
    out_.Line(
        fmt::format("StoreMatrices(leaving + box_at * {} + {}, made[i * 4], made[i * 4 + 1], made[i * 4 + 2], "
                    "made[i * 4 + 3]);",
                    kEndBoxBytes, kMatricesPlace));
    out_.Close();
    out_.Line("PublishToCopies();");
    out_.Line("MeetWarpgroup(warpgroup);");
    if (!tile_.rows_end.empty()) StoreByThreads();
    out_.Open("if (thread == 0)");
    if (!tile_.rows_end.empty()) out_.Line(fmt::format("if (m0 + warpgroup * 64 + 64 <= {})", tile_.rows_end));
    const std::int64_t n = text_.shape.n.extent;
    // Behind the last rows that lie apart are those of another batch.
    if (text_.shape.row != n && n % tile_n_ != 0) out_.Line(fmt::format("if (n0 + box * {} < {})", kEndBoxColumns, n));
    const auto [column, batch] = PlaceOfBox(text_, "box");
    out_.Line(fmt::format("StoreBox(&target_map, {}, m0{}, {}, leaving + box_at * {});", column,
                          tile_.settings.turns ? "" : " + warpgroup * 64", batch, kEndBoxBytes));
    out_.Line("CommitStores();");  // of nothing, too: boxes are counted by these
    out_.Close();
    if (in_stages_.stages > 0) LeaveStage();
    out_.Line("box_at ^= 1;");
    out_.Close();
  }

 private:
  static std::size_t At(int i) { return static_cast<std::size_t>(i); }

  // Whether two neighbours of a row, the first an even one, can be read as one.
  bool InPairs(int operand) const {
    const std::vector<std::int64_t>& strides = text_.shape.strides[At(operand)];
    return text_.shape.n.strides[At(operand)] == 1 && text_.shape.head % 2 == 0 &&
           tile_.kernel.operands[At(operand)].offset % 2 == 0 &&
           std::all_of(strides.begin(), strides.end() - 2, [](std::int64_t stride) { return stride % 2 == 0; });
  }
  // Whether all of a box's elements have one number, as all columns of a head do.
  bool IsOneABox(int operand) const {
    const std::vector<std::int64_t>& strides = text_.shape.strides[At(operand)];
    return text_.shape.n.strides[At(operand)] == 0 && text_.shape.m.strides[At(operand)] == 0 &&
           !text_.shape.heads.empty() && text_.shape.head % kEndBoxColumns == 0 &&
           std::any_of(strides.begin(), strides.end() - 2, [](std::int64_t stride) { return stride != 0; });
  }
  std::string PairType(int operand) const {
    return PackType(out_, DeviceType(tile_.kernel.operand_types[At(operand)]), 2);
  }
  static std::string Ahead(int operand) { return fmt::format("ahead_{}", operand); }

  // After so many columns the chain reads the same again, as in another head.
  std::int64_t Period() const {
    const std::vector<int> operands = OperandsOf({tile_.kernel.epilogue});
    std::int64_t period = text_.shape.n.extent;
    for (std::size_t d = 0; d < text_.shape.heads.size(); ++d) {
      const std::size_t at = text_.shape.batch.size() + d;
      if (std::any_of(operands.begin(), operands.end(), [&](int o) { return text_.shape.strides[At(o)][at] != 0; }))
        break;
      period /= text_.shape.heads[d].extent;
    }
    return period;
  }
  // A loop over boxes. Those that read the same follow one another: else what they share is kept meanwhile, and
  // spilled. What is asked for ahead is in the order of the columns.
  void OpenBoxes() {
    const std::int64_t boxes = tile_n_ / kEndBoxColumns, period = Period(), times = tile_n_ / period;
    if (!reads_ || in_stages_.stages > 0 || times < 2 || tile_n_ % period != 0 || period % kEndBoxColumns != 0 ||
        boxes_ahead_ > 0)
      return out_.Open(fmt::format("for (int box = 0; box < {}; ++box)", boxes));
    out_.Open(fmt::format("for (int number = 0; number < {}; ++number)", boxes));
    out_.Line(fmt::format("const int box = number / {0} + number % {0} * {1};", times, period / kEndBoxColumns));
  }

  // A box's elements of what comes in stages, as the sums have them.
  void ReadStage() {
    const std::int64_t box_bytes = tile_.settings.tile_m * kEndRowBytes,
                       operands = static_cast<std::int64_t>(in_stages_.operands.size());
    const std::string at = in_stages_.boxes == 1 ? "0" : fmt::format("box % {}", in_stages_.boxes);
    if (in_stages_.boxes > 1) out_.Line(fmt::format("if ({} == 0)", at));
    out_.Line("WaitFor(SharedAddress(&full[stage]), phase);");
    out_.Line(fmt::format("const unsigned beside = stages + stage * kStageBytes + {} * {}{};", at, operands * box_bytes,
                          tile_.settings.turns ? "" : fmt::format(" + warpgroup * {}", kEndBoxBytes)));
    for (std::int64_t i = 0; i < operands; ++i) {
      const int operand = in_stages_.operands[At(i)];
      out_.Line(fmt::format("{} {}[16];", PairType(operand), Ahead(operand)));
      out_.Unroll();
      out_.Line(fmt::format("for (int i = 0; i < 4; ++i) LoadMatrices(beside + {} + {}, {} + i * 4);", i * box_bytes,
                            kMatricesPlace, Ahead(operand)));
    }
  }
  void LeaveStage() {
    const std::int64_t boxes = tile_n_ / kEndBoxColumns;
    if (in_stages_.boxes == 1)
      out_.Open("");
    else
      out_.Open(fmt::format("if (box % {} == {} || box == {})", in_stages_.boxes, in_stages_.boxes - 1, boxes - 1));
    ReleaseStage(out_, tile_.settings, "", "stage");
    NextStage(out_);
    out_.Close();
  }

  // A box that reaches into rows of others, sixteen bytes at a time.
  void StoreByThreads() {
    out_.Open(fmt::format("if (m0 + warpgroup * 64 + 64 > {})", tile_.rows_end));
    out_.Unroll();
    out_.Open("for (int i = 0; i < 4; ++i)");
    out_.Line("const int below = i * 16 + thread / 8, piece = thread % 8;");
    out_.Line(fmt::format("const {} m = m0 + warpgroup * 64 + below, n = n0 + box * {} + piece * 8;", text_.index,
                          kEndBoxColumns));
    out_.Line(
        fmt::format("if (m < {} && n < {}) *reinterpret_cast<int4*>(&{}) = ReadShared(leaving + box_at * {} + "
                    "below * 128 + ((piece ^ (below % 8)) * 16));",
                    tile_.rows_end, text_.shape.n.extent, text_.Target(tile_.batches, "m", "n"), kEndBoxBytes));
    out_.Close();
    out_.Close();
  }

  // A loop over the pairs of a thread's elements of a box: two rows of each eight columns.
  void OpenPairs(const std::string& box) {
    // What is beyond the end is not written, but must not be read either: the last pair is.
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent;
    const auto within = [&](const std::string& place, bool goes_beyond, std::int64_t last) {
      return reads_ && goes_beyond ? fmt::format("min({}, {})", place, last) : place;
    };
    out_.Unroll();
    out_.Open("for (int i = 0; i < 16; ++i)");
    out_.Line(fmt::format(
        "const {} m = {};", text_.index,
        within("row0 + thread % 32 / 4 + i % 2 * 8",
               !tile_.rows_end.empty() || m % (tile_.settings.tile_m * tile_.settings.cluster) != 0, m - 1)));
    out_.Line(fmt::format(
        "const {} n = {};", text_.index,
        within(fmt::format("n0 + ({}) * {} + i / 2 * 8 + column", box, kEndBoxColumns), n % tile_n_ != 0, n - 2)));
  }
  void Ask(const std::string& box) {
    if (pairs_.empty()) return;
    OpenPairs(box);
    for (const int operand : pairs_)
      out_.Line(
          fmt::format("{}[({}) % {}][i] = {};", Ahead(operand), box, boxes_ahead_ + 1,
                      PackText(PairType(operand), text_.Name(operand), text_.Place(operand, tile_.batches, "m", "n"))));
    out_.Close();
  }

  const TensorTile& tile_;
  DeviceWriter& out_;
  const MatmulText& text_;
  const std::int64_t tile_n_;
  std::vector<int> pairs_;      // operands of the chain that are read two elements at a time
  std::vector<int> one_a_box_;  // those of which a box reads one
  std::int64_t boxes_ahead_ = 0;
  const EndStages in_stages_;
  bool reads_ = false;  // what does not come in stages
};

}  // namespace

std::string RotatedText(int distance, const TensorTile& tile, const std::string& place) {
  tile.out.Define(std::string(kTensorRotationText));
  return fmt::format("Rotated<{}>({}, {}, thread)", distance, tile.sums, place);
}

std::optional<std::string> CheckTiles(const Kernel& kernel) {
  if (!IsHalf(kernel.target_type)) return "tiles are of 16-bit results; try lines";
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  if (shape.row == 0) return "no column leaves; try lines";
  if (shape.row % 8 != 0) return "rows of the result do not begin at multiples of 16 bytes; try lines";
  if (shape.row != shape.n.extent && shape.row % kEndBoxColumns != 0)
    return fmt::format("tiles leave in {} columns of one head, which are no multiple; try lines", kEndBoxColumns);
  // The rows of a map's batches lie one behind the other.
  std::int64_t step = shape.row;
  bool dense = shape.m.extent == 1 || shape.m.target_stride == step;
  step *= shape.m.extent;
  std::int64_t apart = shape.n.extent / shape.row;
  for (const LoopDim& head : shape.heads) {
    if (apart == 1) break;
    apart /= head.extent;
    dense &= head.target_stride == step * apart;
  }
  step *= shape.n.extent / shape.row;
  for (std::size_t d = shape.batch.size(); d-- > 0;) {
    if (shape.batch[d].reduced) continue;
    dense &= shape.batch[d].target_stride == step;
    step *= shape.batch[d].extent;
  }
  if (!dense) return "rows of several batches lie side by side; try lines";
  return std::nullopt;
}

void OpenTileEnd(DeviceWriter& out, const TensorSettings& settings) {
  if (settings.end == TensorEnd::kTiles) {
    out.Define(std::string(kTensorEndText));
    out.Line(fmt::format("const unsigned leaving = stages + {} + warpgroup * {};", TensorRingBytes(settings),
                         2 * kEndBoxBytes));
    out.Line("const int row = thread / 32 * 16 + thread % 16;");
    out.Line("unsigned box_at = 0;");
    return;
  }
  if (settings.end == TensorEnd::kRows && settings.precision != TensorPrecision::kF32x3) return;
  out.Line("unsigned char* const ring = tiles + (stages - SharedAddress(tiles));");
  if (settings.end == TensorEnd::kRows) return;
  out.Line(fmt::format("float* const mine = reinterpret_cast<float*>(ring + {}) + threadIdx.x / 32 * {};",
                       TensorRingBytes(settings), 16 * kEndLineStride));
}

void BeginTileEnd(const TensorTile& tile) {
  if (tile.settings.end == TensorEnd::kTiles) return TilesEnd(tile).Begin();
  if (tile.settings.end == TensorEnd::kLines) BeginLinesEnd(tile);
}

void EmitTileEnd(const TensorTile& tile) {
  if (tile.settings.end == TensorEnd::kTiles) return TilesEnd(tile).Emit();
  if (tile.settings.end == TensorEnd::kRows) return EmitRowsEnd(tile);
  EmitLinesEnd(tile);
}

void CloseTileEnd(DeviceWriter& out, const TensorSettings& settings) {
  // Shared memory stays until it has been read.
  if (settings.end == TensorEnd::kTiles) out.Line("if (thread == 0) WaitForStores<0>();");
}

}  // namespace hone::dsl
