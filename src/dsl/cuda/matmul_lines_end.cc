#include "dsl/cuda/matmul_lines_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace hone::dsl {
namespace {

// In lines, a warp's sums on their way out: 16 rows of 32 columns, so many of each product, or of the product and of
// what it is rotated.
std::int64_t LineColumns(std::int64_t products) { return products == 1 ? 32 : products == 2 ? 16 : 8; }
// A result of so many bytes would only drive the operands out of L2. Measured on an H200: 32768 x 64 x 32768 takes 1.27
// ms then, not 1.50 (docs/measured/cuda_matmul.md).
constexpr std::int64_t kStreamed = 128 << 20;
// What a long chain takes hides the loop over rows, and as many copies of it as there are rows would take long to
// compile.
constexpr double kLongChain = 60;  // operations
// Of each element, what is read a part ahead: two of 16 registers each beside 128 sums.
constexpr std::size_t kAskedAhead = 4;  // bytes

// What the chain reads in vectors, other numbers for each element, is asked for a part of the columns ahead, where
// registers are left, or else as a part begins.
class LinesEnd {
 public:
  explicit LinesEnd(const TensorTile& tile)
      : tile_(tile),
        out_(tile.out),
        text_(tile.text),
        rotation_(tile.partial.empty() ? RotationOf(tile.kernel) : 0),
        products_(tile.settings.products + (rotation_ > 0 ? 1 : 0)),
        columns_(LineColumns(products_)),
        below_each_other_(tile.apart ? tile.apart->SideBySide() : 1),
        vector_(tile.apart                     ? below_each_other_
                : tile.text.shape.row % 4 == 0 ? 4
                                               : 1),
        lanes_(columns_ * below_each_other_ / vector_),
        unrolled_(OperationsPerElement(tile.kernel.epilogue) <= kLongChain) {
    if (!tile.partial.empty() || !unrolled_) return;
    std::size_t bytes = 0;  // of an element of each
    for (const int operand : OperandsOf({tile.kernel.epilogue})) {
      if (!IsOfEach(operand) || !InVectors(operand)) continue;
      ahead_.push_back(operand);
      bytes += Bytes(tile.kernel.operand_types[At(operand)]);
    }
    // Where tiles are made in parts of K, what adds them up stands between.
    asks_ahead_ = !ahead_.empty() && bytes <= kAskedAhead && !tile.settings.tail_in_parts;
  }

  // What the first columns of a tile read.
  void Begin() {
    for (const int operand : ahead_)
      out_.Line(
          fmt::format("{} {}[{}][{}];", OperandPack(operand), Ahead(operand), asks_ahead_ ? 2 : 1, RowsOfALane()));
    if (asks_ahead_) Ask("0");
  }

  // As wgmma leaves them, a warp would write 32 bytes a row; they go through shared memory, so that it reads and writes
  // whole lines.
  void Emit() {
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent, parts = tile_.settings.tile_n / columns_;
    const bool splits = !tile_.partial.empty();
    const DType target = tile_.program.buffers[At(tile_.kernel.target)].dtype;
    const bool whole = SumsAreWhole(tile_.settings);
    const std::string type = splits ? (whole ? "int" : "float") : DeviceType(target);
    out_.Unroll();
    out_.Open(fmt::format("for (int part_n = 0; part_n < {}; ++part_n)", parts));
    if (asks_ahead_) {
      out_.Open(fmt::format("if (part_n + 1 < {})", parts));
      Ask("part_n + 1");
      out_.Close();
    } else if (!ahead_.empty()) {
      Ask("part_n");
    }
    Leave();
    OpenColumns("part_n");
    OpenRows();
    for (std::int64_t p = 0; p < products_; ++p) Read(p);
    out_.Line(fmt::format("{} made;", PackType(out_, type, vector_)));
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", vector_));
    if (splits) {
      out_.Line(whole ? "made.at[e] = __float_as_int(its[e]);" : "made.at[e] = its[e];");
    } else {
      out_.Line(fmt::format("const {} at_n = n{};", text_.index, below_each_other_ == 1 ? " + e" : ""));
      std::vector<std::string> its;
      for (std::int64_t p = 0; p < products_; ++p) {
        its.push_back(Numbered("it", p));
        const std::string its_text = Numbered("its", p);
        out_.Line(whole ? fmt::format("const long {} = __float_as_int({}[e]);", its.back(), its_text)
                        : fmt::format("const float {} = {}[e];", its.back(), its_text));
      }
      std::map<int, std::string> loaded;
      for (const int operand : OperandsOf({tile_.kernel.epilogue})) {
        if (std::ranges::count(ahead_, operand) > 0)
          loaded[operand] = fmt::format("{}[{}][i].at[e]", Ahead(operand), asks_ahead_ ? "part_n % 2" : "0");
        else if (tile_.apart && tile_.apart->ReadsPixels(operand))
          loaded[operand] = fmt::format("{}[{}]", text_.Name(operand),
                                        tile_.apart->Place(tile_.kernel.operands[At(operand)], operand, tile_.batches,
                                                           below_each_other_ == 1 ? "m" : "(m + e)"));
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
    if (type == "float" && vector_ == 4 && !tile_.apart && bytes >= kStreamed) {
      out_.Line(fmt::format("__stcs(reinterpret_cast<float4*>(&{}), *reinterpret_cast<float4*>(&made));", to));
    } else {
      out_.Line(fmt::format("*reinterpret_cast<Pack<{}, {}>*>(&{}) = made;", type, vector_, to));
    }
    CloseRows();
    out_.Line("__syncwarp();");
    out_.Close();
  }

 private:
  static std::size_t At(int i) { return static_cast<std::size_t>(i); }
  static std::string Ahead(int operand) { return fmt::format("ahead_{}", operand); }
  static std::string Numbered(std::string_view name, std::int64_t product) {
    return product == 0 ? std::string(name) : fmt::format("{}_{}", name, product + 1);
  }

  // Rows of a part of the columns that a warp's lanes have at a time, and that one of them has.
  std::int64_t RowsAtATime() const { return 32 / lanes_; }
  std::int64_t RowsOfALane() const { return 16 / RowsAtATime() / below_each_other_; }

  // Whether the operand has a number for each element of the product.
  bool IsOfEach(int operand) const {
    if (tile_.apart) return tile_.apart->ReadsPixels(operand) && text_.shape.m.strides[At(operand)] != 0;
    return text_.shape.m.strides[At(operand)] != 0 && text_.shape.n.strides[At(operand)] != 0;
  }
  // Whether what a lane has of a row can be read as one. Of single elements the places alone would take more registers
  // than there are.
  bool InVectors(int operand) const {
    if (vector_ == 1) return false;
    if (tile_.apart) return tile_.apart->LiesSideBySide(tile_.kernel.operands[At(operand)], operand);
    const std::vector<std::int64_t>& strides = text_.shape.strides[At(operand)];
    return text_.shape.n.strides[At(operand)] == 1 && tile_.kernel.operands[At(operand)].offset % vector_ == 0 &&
           std::all_of(strides.begin(), strides.end() - 2, [&](std::int64_t stride) { return stride % vector_ == 0; });
  }
  std::string OperandPack(int operand) const {
    return PackType(out_, DeviceType(tile_.kernel.operand_types[At(operand)]), vector_);
  }
  // Where the operand's element beside a lane's first of a row is.
  std::string FirstPlace(int operand) const {
    return tile_.apart ? tile_.apart->Place(tile_.kernel.operands[At(operand)], operand, tile_.batches, "m")
                       : text_.Place(operand, tile_.batches, "m", "n");
  }

  // What the chain reads beside a part of the columns.
  void Ask(const std::string& part) {
    out_.Open("");
    OpenColumns(part);
    OpenRows();
    for (const int operand : ahead_) {
      const std::string to =
          fmt::format("{}[{}][i]", Ahead(operand), asks_ahead_ ? fmt::format("({}) % 2", part) : "0");
      out_.Line(fmt::format("{} = {};", to, PackText(OperandPack(operand), text_.Name(operand), FirstPlace(operand))));
    }
    CloseRows();
    out_.Close();
  }

  // The sums of a part of the columns, to shared memory.
  void Leave() {
    const bool whole = SumsAreWhole(tile_.settings);
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", columns_ / 8));
    for (std::int64_t p = 0; p < products_; ++p) {
      for (const int half : {0, 1}) {
        const std::string to = p == 0 ? "" : fmt::format(" + {}", p * columns_);
        const std::string from = p == 0 ? "" : fmt::format(" + {}", p * tile_.settings.tile_n / 2);
        // Whole numbers go as the bits that they are.
        const auto sum = [&](int e) {
          if (p == tile_.settings.products)
            return RotatedText(rotation_, tile_, fmt::format("(part_n * {} + i) * 4 + {}", columns_ / 8, e));
          const std::string text = fmt::format("{}[(part_n * {} + i) * 4 + {}{}]", tile_.sums, columns_ / 8, e, from);
          return whole ? fmt::format("__int_as_float({})", text) : text;
        };
        out_.Line(fmt::format(
            "*reinterpret_cast<float2*>(mine + (thread % 32 / 4 + {}) * {} + i * 8 + column{}) = make_float2({}, {});",
            half * 8, kEndLineStride, to, sum(half * 2), sum(half * 2 + 1)));
      }
    }
    out_.Close();
    out_.Line("__syncwarp();");
  }

  // A lane's columns of a part: neighbours of a row, or one, where what neighbouring rows have in it lies side by side.
  void OpenColumns(const std::string& part) {
    out_.Line(fmt::format("const {} n = n0 + {} * {} + thread % {} * {};", text_.index,
                          part == "part_n" ? part : fmt::format("({})", part), columns_, lanes_,
                          vector_ / below_each_other_));
    if (tile_.apart) tile_.apart->OpenColumn(out_, text_, tile_.batches);
  }
  // A loop over a lane's rows that are there.
  void OpenRows() {
    out_.Line(unrolled_ ? "#pragma unroll" : "#pragma unroll 1");
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", RowsOfALane()));
    out_.Line(
        fmt::format("const int below = (i * {} + thread % 32 / {}) * {};", RowsAtATime(), lanes_, below_each_other_));
    out_.Line(fmt::format("const {} m = row0 + below;", text_.index));
    const std::int64_t m = text_.shape.m.extent, n = text_.shape.n.extent;
    std::string guard;
    const auto where = [&](const std::string& condition) {
      if (!condition.empty()) guard += (guard.empty() ? "" : " && ") + condition;
    };
    if (!tile_.rows_end.empty())
      where("m < " + tile_.rows_end);
    else if (m % (tile_.settings.tile_m * tile_.settings.cluster) != 0)
      where(fmt::format("m < {}", m));
    if (n % tile_.settings.tile_n != 0) where(fmt::format("n < {}", n));
    if (tile_.apart) where(tile_.apart->IsThere("m"));
    out_.Open(guard.empty() ? "" : fmt::format("if ({})", guard));
  }
  void CloseRows() {
    out_.Close();
    out_.Close();
  }

  void Read(std::int64_t product) {
    const std::string its = Numbered("its", product);
    const std::string from = product == 0 ? "" : fmt::format(" + {}", product * columns_);
    if (below_each_other_ > 1) {
      std::string values;
      for (std::int64_t e = 0; e < vector_; ++e)
        values += fmt::format("{}mine[(below + {}) * {} + thread % {}{}]", e == 0 ? "" : ", ", e, kEndLineStride,
                              lanes_, from);
      out_.Line(fmt::format("const float {}[{}] = {{{}}};", its, vector_, values));
    } else if (vector_ == 4) {
      const std::string four = Numbered("four", product);
      out_.Line(
          fmt::format("const float4 {} = *reinterpret_cast<const float4*>(mine + below * {} + thread % {} * 4{});",
                      four, kEndLineStride, lanes_, from));
      out_.Line(fmt::format("const float {0}[4] = {{{1}.x, {1}.y, {1}.z, {1}.w}};", its, four));
    } else {
      out_.Line(
          fmt::format("const float {}[1] = {{mine[below * {} + thread % {}{}]}};", its, kEndLineStride, lanes_, from));
    }
  }

  const TensorTile& tile_;
  DeviceWriter& out_;
  const MatmulText& text_;
  const int rotation_;
  const std::int64_t products_;          // and one for what is rotated
  const std::int64_t columns_;           // of a part
  const std::int64_t below_each_other_;  // rows whose elements lie side by side in the target
  const std::int64_t vector_;            // elements of a row that a lane has at a time
  const std::int64_t lanes_;             // that share a row
  const bool unrolled_;                  // the loop over rows
  std::vector<int> ahead_;               // operands of the chain that have a number for each element
  bool asks_ahead_ = false;
};

}  // namespace

void BeginLinesEnd(const TensorTile& tile) { LinesEnd(tile).Begin(); }
void EmitLinesEnd(const TensorTile& tile) { LinesEnd(tile).Emit(); }

}  // namespace hone::dsl
