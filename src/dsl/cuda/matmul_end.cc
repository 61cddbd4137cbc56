#include "dsl/cuda/matmul_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "dsl/cuda/matmul_end_stages.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/knobs.h"

namespace hone {
extern const std::string_view kTensorEndText;       // dsl/cuda/tensor_end.cuh
extern const std::string_view kTensorRotationText;  // dsl/cuda/tensor_rotation.cuh
}  // namespace hone

namespace hone::dsl {
namespace {

// In lines, a warp's sums on their way out: 16 rows of 32 columns, so many of each product, or of the product and of
// what it is rotated.
std::int64_t LineColumns(std::int64_t products) { return products == 1 ? 32 : products == 2 ? 16 : 8; }
// What stands at a place of a thread's sums where pairs of columns are rotated.
std::string RotatedText(int distance, const TensorTile& tile, const std::string& place) {
  tile.out.Define(std::string(kTensorRotationText));
  return fmt::format("Rotated<{}>({}, {}, thread)", distance, tile.sums, place);
}
// A result of so many bytes would only drive the operands out of L2. Measured on an H200: 32768 x 64 x 32768 takes 1.27
// ms then, not 1.50 (docs/measured/cuda_matmul.md).
constexpr std::int64_t kStreamed = 128 << 20;
// What a long chain takes hides the loop over rows, and as many copies of it as there are rows would take long to
// compile.
constexpr double kLongChain = 60;  // operations

// Where in a box of 64 rows of 128 bytes a lane finds the i-th four matrices of its warp.
constexpr std::string_view kMatricesPlace = "row * 128 + (((i * 2 + thread % 32 / 16) ^ (row % 8)) * 16)";

class LinesEnd {
 public:
  explicit LinesEnd(const TensorTile& tile)
      : tile_(tile), out_(tile.out), text_(tile.text), rotation_(tile.partial.empty() ? RotationOf(tile.kernel) : 0) {}

  // As wgmma leaves them, a warp would write 32 bytes a row; they go through shared memory, so that it reads and writes
  // whole lines.
  void Emit() {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent,
                       products = tile_.settings.products + (rotation_ > 0 ? 1 : 0);
    const std::string& index = text_.index;
    const bool splits = !tile_.partial.empty();
    const DType target = tile_.program.buffers[static_cast<std::size_t>(tile_.kernel.target)].dtype;
    const bool whole = SumsAreWhole(tile_.settings);
    const std::string type = splits ? (whole ? "int" : "float") : DeviceType(target);
    // A thread's: neighbours of a row, or what neighbouring rows have in a column where that lies side by side.
    const std::int64_t columns = LineColumns(products), below_each_other = tile_.apart ? tile_.apart->SideBySide() : 1,
                       vector = tile_.apart                ? below_each_other
                                : text_.shape.row % 4 == 0 ? 4
                                                           : 1,
                       lanes = columns * below_each_other / vector, at_a_time = 32 / lanes,
                       rows = 16 / at_a_time / below_each_other;
    out_.Unroll();
    out_.Open(fmt::format("for (int part_n = 0; part_n < {}; ++part_n)", tile_.settings.tile_n / columns));
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", columns / 8));
    for (std::int64_t p = 0; p < products; ++p) {
      for (const int half : {0, 1}) {
        const std::string to = p == 0 ? "" : fmt::format(" + {}", p * columns);
        const std::string from = p == 0 ? "" : fmt::format(" + {}", p * tile_.settings.tile_n / 2);
        // Whole numbers go as the bits that they are.
        const auto sum = [&](int e) {
          if (p == tile_.settings.products)
            return RotatedText(rotation_, tile_, fmt::format("(part_n * {} + i) * 4 + {}", columns / 8, e));
          const std::string text = fmt::format("{}[(part_n * {} + i) * 4 + {}{}]", tile_.sums, columns / 8, e, from);
          return whole ? fmt::format("__int_as_float({})", text) : text;
        };
        out_.Line(fmt::format(
            "*reinterpret_cast<float2*>(mine + (thread % 32 / 4 + {}) * {} + i * 8 + column{}) = make_float2({}, {});",
            half * 8, kEndLineStride, to, sum(half * 2), sum(half * 2 + 1)));
      }
    }
    out_.Close();
    out_.Line("__syncwarp();");
    out_.Line(fmt::format("const {} n = n0 + part_n * {} + thread % {} * {};", index, columns, lanes,
                          vector / below_each_other));
    if (tile_.apart) tile_.apart->OpenColumn(out_, text_, tile_.batches);
    out_.Line(OperationsPerElement(tile_.kernel.epilogue) > kLongChain ? "#pragma unroll 1" : "#pragma unroll");
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", rows));
    out_.Line(fmt::format("const int below = (i * {} + thread % 32 / {}) * {};", at_a_time, lanes, below_each_other));
    out_.Line(fmt::format("const {} m = row0 + below;", index));
    std::string guard;
    if (!tile_.rows_end.empty())
      guard = "m < " + tile_.rows_end;
    else if (m % (tile_.settings.tile_m * tile_.settings.cluster) != 0)
      guard = fmt::format("m < {}", m);
    if (n % tile_.settings.tile_n != 0) guard += fmt::format("{}n < {}", guard.empty() ? "" : " && ", n);
    const std::string there = tile_.apart ? tile_.apart->IsThere("m") : "";
    if (!there.empty()) guard += (guard.empty() ? "" : " && ") + there;
    out_.Open(guard.empty() ? "" : fmt::format("if ({})", guard));
    for (std::int64_t p = 0; p < products; ++p) Read(p, columns, vector, lanes, below_each_other);
    out_.Line(fmt::format("{} made;", PackType(out_, type, vector)));
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", vector));
    if (splits) {
      out_.Line(whole ? "made.at[e] = __float_as_int(its[e]);" : "made.at[e] = its[e];");
    } else {
      out_.Line(fmt::format("const {} at_n = n{};", index, below_each_other == 1 ? " + e" : ""));
      std::vector<std::string> its;
      for (std::int64_t p = 0; p < products; ++p) {
        its.push_back(Numbered("it", p));
        const std::string its_text = Numbered("its", p);
        out_.Line(whole ? fmt::format("const long {} = __float_as_int({}[e]);", its.back(), its_text)
                        : fmt::format("const float {} = {}[e];", its.back(), its_text));
      }
      std::map<int, std::string> loaded;
      if (tile_.apart) {
        for (const int operand : OperandsOf({tile_.kernel.epilogue})) {
          if (auto element = tile_.apart->Element(out_, tile_.kernel.operands[static_cast<std::size_t>(operand)],
                                                  operand, tile_.batches, below_each_other == 1 ? "m" : "(m + e)"))
            loaded[operand] = std::move(*element);
        }
      }
      out_.Line(fmt::format(
          "made.at[e] = {};",
          text_.Result(tile_.batches, tile_.apart ? tile_.apart->OutputOf("m") : "m", "at_n", its, loaded)));
    }
    out_.Close();
    const std::string to = splits        ? fmt::format("{}[((static_cast<long>(part) * {} + batch) * {} + m) * {} + n]",
                                                       tile_.partial, text_.Batches(), m, n)
                           : tile_.apart ? tile_.apart->Target(out_, tile_.batches, "m")
                                         : text_.Target(tile_.batches, "m", "n");
    const std::int64_t bytes = text_.ResultBatches() * m * n * static_cast<std::int64_t>(Bytes(target));
    if (type == "float" && vector == 4 && !tile_.apart && bytes >= kStreamed) {
      out_.Line(fmt::format("__stcs(reinterpret_cast<float4*>(&{}), *reinterpret_cast<float4*>(&made));", to));
    } else {
      out_.Line(fmt::format("*reinterpret_cast<Pack<{}, {}>*>(&{}) = made;", type, vector, to));
    }
    out_.Close();
    out_.Close();
    out_.Line("__syncwarp();");
    out_.Close();
  }

 private:
  static std::string Numbered(std::string_view name, std::int64_t product) {
    return product == 0 ? std::string(name) : fmt::format("{}_{}", name, product + 1);
  }
  void Read(std::int64_t product, std::int64_t columns, std::int64_t vector, std::int64_t lanes,
            std::int64_t below_each_other) {
    const std::string its = Numbered("its", product);
    const std::string from = product == 0 ? "" : fmt::format(" + {}", product * columns);
    if (below_each_other > 1) {
      std::string values;
      for (std::int64_t e = 0; e < vector; ++e)
        values += fmt::format("{}mine[(below + {}) * {} + thread % {}{}]", e == 0 ? "" : ", ", e, kEndLineStride, lanes,
                              from);
      out_.Line(fmt::format("const float {}[{}] = {{{}}};", its, vector, values));
    } else if (vector == 4) {
      const std::string four = Numbered("four", product);
      out_.Line(
          fmt::format("const float4 {} = *reinterpret_cast<const float4*>(mine + below * {} + thread % {} * 4{});",
                      four, kEndLineStride, lanes, from));
      out_.Line(fmt::format("const float {0}[4] = {{{1}.x, {1}.y, {1}.z, {1}.w}};", its, four));
    } else {
      out_.Line(
          fmt::format("const float {}[1] = {{mine[below * {} + thread % {}{}]}};", its, kEndLineStride, lanes, from));
    }
  }

  const TensorTile& tile_;
  DeviceWriter& out_;
  const MatmulText& text_;
  const int rotation_;
};

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
  if (tile.settings.end == TensorEnd::kTiles) TilesEnd(tile).Begin();
}

void EmitTileEnd(const TensorTile& tile) {
  if (tile.settings.end == TensorEnd::kTiles) return TilesEnd(tile).Emit();
  if (tile.settings.end == TensorEnd::kRows) return EmitRowsEnd(tile);
  LinesEnd(tile).Emit();
}

void CloseTileEnd(DeviceWriter& out, const TensorSettings& settings) {
  // Shared memory stays until it has been read.
  if (settings.end == TensorEnd::kTiles) out.Line("if (thread == 0) WaitForStores<0>();");
}

}  // namespace hone::dsl
