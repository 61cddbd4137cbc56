#include "dsl/cpu/matmul_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/index_text.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/cpu/matmul_panels.h"

namespace hone::dsl {
namespace {

class TileEmitter : MatmulPanels {
 public:
  using MatmulPanels::MatmulPanels;

  void Emit() {
    const auto tile = TupleSetting(kernel_, "tile");
    const std::int64_t m = shape_.m.extent, n = shape_.n.extent, k = Units();
    const std::string& real = writer_.real();
    const auto up = [](std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; };
    const std::int64_t rows = std::min(tile[0], up(m, mr_)), columns = std::min(tile[1], up(n, nr_)),
                       depth = std::min(pairs() ? tile[2] / 2 : tile[2], k);
    const std::string pack = kernel_.settings.contains("pack") ? WordSetting(kernel_, "pack") : "both";
    pack_a_ = pack == "both" || pack == "a" || Converts(kernel_.inputs[0]);
    pack_b_ = pack == "both" || pack == "b" || Converts(kernel_.inputs[1]);
    const int b_operand = OperandOf(kernel_.inputs[1]);

    const std::string panels = pack_b_ ? PackedB() : "";
    WriteMultiply(in_blocks_ ? std::min(depth, BlockUnits()) : depth,
                  {.a_packed = pack_a_, .b_packed = pack_b_, .may_be_nothing = in_segments_});
    if (pack_a_ && Turns()) WriteTurn();
    if (in_groups_ || in_segments_) WriteEnds();

    // Blocks that threads take one after the other, whoever is free.
    writer_.ParallelFor(SharedLoops(2), "dynamic");
    OpenBatches();
    writer_.Open(fmt::format("for (long {0} = 0; {0} < {1}; {0} += {2})", in_groups_ ? "t0" : "i0", m, rows));
    writer_.Open(fmt::format("for (long j0 = 0; j0 < {}; j0 += {})", n, columns));
    if (in_groups_)
      WriteRowsOfGroup(m, rows);
    else
      writer_.Line(Left("rows", m, "i0", rows));
    writer_.Line(Left("columns", n, "j0", columns));
    const bool parts = depth < k;  // whose sums meet in the target, or beside it where that would round them
    if (parts && kernel_.target_type != kernel_.compute)
      sums_ = writer_.Scratch("sums", real, ElementCount(kernel_.result));
    if (pack_a_) writer_.Line(fmt::format("alignas(64) {} a_panels[{}];", UnitType(), rows * depth + kPanelSlack));
    if (in_segments_) {
      OpenTermsOfSegment(k, depth);
    } else {
      writer_.Open(fmt::format("for (long k0 = 0; k0 < {}; k0 += {})", k, depth));
      writer_.Line(Left("depth", k, "k0", depth));
    }
    if (pack_a_) WritePackA(in_groups_ || m % mr_ != 0);
    writer_.Open(fmt::format("for (long j = 0; j < columns; j += {})", nr_));
    std::string b_text, b_step;
    if (pack_b_) {
      b_text = fmt::format("{} + {}", panels, BAddress("j0 + j", "k0"));
      b_step = fmt::format("{}", nr_);
    } else {
      b_text = "&" + Element(b_operand, shape_.Index("0", "j0 + j", "k0"));
      b_step = fmt::format("{}", shape_.k.strides[static_cast<std::size_t>(b_operand)]);
    }
    writer_.Line(fmt::format("const {}* b_panel = {};", UnitType(), b_text));
    writer_.Open(fmt::format("for (long i = 0; i < rows; i += {})", mr_));
    writer_.Line(fmt::format("alignas(64) {} tile[{}];", real, mr_ * nr_));
    const bool edge_columns = n % nr_ != 0 || columns % nr_ != 0;
    WriteStore(parts, k, depth);
    const auto block = [&](std::int64_t block_rows) {
      const std::string lines = fmt::format("for (long r = 0; r < {}; ++r) __builtin_prefetch(", block_rows);
      writer_.Comment("The lines of the result come while it is computed.");
      for (std::int64_t c = 0; c < nr_; c += writer_.wide() ? 8 : 16)
        writer_.Line(
            fmt::format("{}&{}, 1);", lines, Target("i0 + i + r", c ? fmt::format("j0 + j + {}", c) : "j0 + j")));
      std::string a_text = "a_panels + i * depth";
      if (!pack_a_) {
        const int a_operand = OperandOf(kernel_.inputs[0]);
        writer_.Line(fmt::format("const {}* a_rows[{}];", real, block_rows));
        writer_.Line(fmt::format("for (long r = 0; r < {}; ++r) a_rows[r] = &{};", block_rows,
                                 Element(a_operand, shape_.Index("i0 + i + r", "0", "k0"))));
        a_text = fmt::format("a_rows, {}", shape_.k.strides[static_cast<std::size_t>(a_operand)]);
      }
      if (in_blocks_)
        MultiplyBlocks(block_rows);
      else
        writer_.Line(fmt::format("Multiply_{}<{}>(depth, {}, b_panel, {}, tile);", writer_.TargetName(), block_rows,
                                 a_text, b_step));
      writer_.Line(fmt::format(
          "store({}, {});",
          in_groups_ ? Lesser("rows - i", fmt::format("{}", block_rows)) : fmt::format("{}", block_rows),
          edge_columns ? fmt::format("columns - j < {} ? columns - j : {}", nr_, nr_) : fmt::format("{}", nr_)));
    };
    if (in_groups_) {
      // How many rows a group has is seen when it runs: the last ones are made by as few more as there is a block for.
      for (std::int64_t few = 1; few < mr_; few *= 2) {
        writer_.Open(fmt::format("if (rows - i <= {})", few));
        block(few);
        writer_.Close(" else {");
        writer_.Indent();
      }
      block(mr_);
      for (std::int64_t few = 1; few < mr_; few *= 2) writer_.Close();
    } else if (m % mr_ == 0) {
      block(mr_);
    } else if (m < mr_) {
      block(m);
    } else {
      writer_.Open(fmt::format("if (i + {} <= rows)", mr_));
      block(mr_);
      writer_.Close(" else {");
      writer_.Indent();
      block(m % mr_);
      writer_.Close();
    }
    writer_.Close();
    writer_.Close();
    writer_.Close();
    writer_.Close();
    writer_.Close();
    CloseBatches();
  }

 private:
  // Of K, that share a scale.
  std::int64_t BlockUnits() const {
    const std::int64_t depth = std::min(BlockOf(kernel_).depth, shape_.k.extent);
    return pairs() ? (depth + 1) / 2 : depth;
  }

  // The tile is the sum of what each block of K gives times its scale. Nothing is scaled before it is summed: scales
  // need not be a row's times a column's, and B's panels stay as they are when scales change.
  void MultiplyBlocks(std::int64_t rows) {
    const ScaleBlock block = BlockOf(kernel_);
    const std::int64_t units = BlockUnits();
    const std::string& real = writer_.real();
    // Columns of a panel have one scale unless blocks of them end within.
    const bool one = block.columns % nr_ == 0 || block.columns >= shape_.n.extent;
    const auto place = [](const std::string& at, std::int64_t size) { return size > 1 ? Quotient(at, size) : at; };
    const auto read_scale = [&](const std::string& column) {
      const std::string scale = ScaleText({place("i0 + i + r", block.rows), place(column, block.columns), "l"});
      writer_.Line(fmt::format("const {} scale = {};", real, scale));
    };
    writer_.Line(fmt::format("for (long at = 0; at < {}; ++at) tile[at] = 0;", rows * nr_));
    writer_.Open("for (long from = 0, to = 0; from < depth; from = to)");
    writer_.Line(fmt::format("const long l = (k0 + from) / {0}, end = (l + 1) * {0} - k0;", units));
    writer_.Line(fmt::format("to = {};", Lesser("end", "depth")));
    writer_.Line(fmt::format("alignas(64) {} sums[{}];", real, rows * nr_));
    writer_.Line(
        fmt::format("Multiply_{}<{}>(to - from, a_panels + i * depth + from * {}, b_panel + from * {}, {}, sums);",
                    writer_.TargetName(), rows, mr_, nr_, nr_));
    writer_.Open(fmt::format("for (long r = 0; r < {}; ++r)", rows));
    if (one)
      read_scale("j0 + j");
    else
      writer_.Line(Left("width", "columns", "j", nr_));
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long c = 0; c < {}; ++c)", one ? fmt::format("{}", nr_) : "width"));
    if (!one) read_scale("j0 + j + c");
    writer_.Line(fmt::format("tile[r * {0} + c] += scale * sums[r * {0} + c];", nr_));
    writer_.Close();
    writer_.Close();
    writer_.Close();
  }
  // A block's scale, by the block of rows, of columns and of K.
  std::string ScaleText(const std::vector<std::string>& block) {
    ExprWriter text(writer_, [&](const ExprNode& load) {
      const KernelOperand& operand = kernel_.operands[static_cast<std::size_t>(load.buffer)];
      return ElementText(program_, kernel_, writer_, load.buffer, block,
                         {operand.strides.begin(), operand.strides.begin() + 3}, operand.offset);
    });
    return text.Text(kernel_.lets[0].body);
  }

  // `store`, from the tile to the target: adds what earlier parts of K left there, and applies the epilogue after the
  // last.
  void WriteStore(bool parts, std::int64_t k, std::int64_t depth) {
    const auto loops = [&](const std::function<void()>& body) {
      writer_.Open("for (long r = 0; r < tile_rows; ++r)");
      writer_.Line("#pragma omp simd");
      writer_.Open("for (long c = 0; c < tile_columns; ++c)");
      body();
      writer_.Close();
      writer_.Close();
    };
    const std::string sum = fmt::format("tile[r * {} + c]", nr_), row = "i0 + i + r", column = "j0 + j + c";
    const auto finish = [&](const std::string& it) {
      loops([&] {
        std::string value = it;
        if (!IsValue(kernel_.epilogue, kIt)) {
          if (it.find(' ') != std::string::npos && it != sum) {
            writer_.Line(fmt::format("const {} product = {};", writer_.real(), it));
            value = "product";
          }
        }
        value = Text(kernel_.epilogue, shape_.Index(row, column, "0"), value);
        writer_.Line(fmt::format("{} = {};", Target(row, column), value));
      });
    };
    writer_.Open("const auto store = [&](long tile_rows, long tile_columns)");
    if (!parts) {
      finish(sum);
    } else {
      std::string before = Target(row, column);
      if (!sums_.empty()) before.replace(0, writer_.TargetName().size(), sums_);
      if (in_segments_) {
        writer_.Open(fmt::format("if (k0 == k_begin && k0 + {} >= k_end)", depth));
        finish(sum);
        writer_.Close(" else if (k0 == k_begin) {");
        writer_.Indent();
      } else {
        writer_.Open("if (k0 == 0)");
      }
      loops([&] { writer_.Line(fmt::format("{} = {};", before, sum)); });
      writer_.Close(fmt::format(" else if (k0 + {} < {}) {{", depth, in_segments_ ? "k_end" : fmt::format("{}", k)));
      writer_.Indent();
      loops([&] { writer_.Line(fmt::format("{} += {};", before, sum)); });
      writer_.Close(" else {");
      writer_.Indent();
      finish(fmt::format("{} + {}", before, sum));
      writer_.Close();
    }
    writer_.Close(";");
  }

  // Where groups or segments end, before all else. A row's group is how many ends are at or before it, in whatever
  // order they come, so those of groups are put in order.
  void WriteEnds() {
    const std::int64_t count = kernel_.space[0].extent;
    ends_ = writer_.Scratch("ends", "long", count);
    OpenBatches();  // none, where there is one segment
    writer_.Line(fmt::format("const long end = {};", Text(kernel_.inputs[2], shape_.Index("0", "0", "0"))));
    if (in_groups_) {
      writer_.Line(fmt::format("long at = {};", Group()));
      writer_.Line(fmt::format("for (; at > 0 && {0}[at - 1] > end; --at) {0}[at] = {0}[at - 1];", ends_));
    }
    writer_.Line(fmt::format("{}[{}] = end;", ends_, in_groups_ ? "at" : Group()));
    CloseBatches();
  }
  std::string Group() const { return shape_.batch.empty() ? "0" : shape_.batch[0].var; }

  // Rows i0 to i0 + rows are those from the group's t0th on; rows behind all ends are of the last group.
  void WriteRowsOfGroup(std::int64_t m, std::int64_t rows) {
    const std::string g = Group(), last = fmt::format("{}", shape_.groups() - 1), all = fmt::format("{}", m);
    writer_.Line(fmt::format("const long i0 = ({0} > 0 && {1}[{0} - 1] > 0 ? {1}[{0} - 1] : 0) + t0;", g, ends_));
    writer_.Line(fmt::format("const long i_end = {0} < {2} && {1}[{0}] < {3} ? {1}[{0}] : {3};", g, ends_, last, all));
    writer_.Line("if (i0 >= i_end) continue;");
    writer_.Line(Left("rows", "i_end", "i0", rows));
  }

  // Terms k_begin to k_end are of the segment, a depth of them at a time; once where there are none.
  void OpenTermsOfSegment(std::int64_t k, std::int64_t depth) {
    const std::string g = Group();
    if (g == "0")
      writer_.Line("const long k_begin = 0;");
    else
      writer_.Line(fmt::format("const long before = {0} > 0 && {1}[{0} - 1] > 0 ? {1}[{0} - 1] : 0, k_begin = {2};", g,
                               ends_, Lesser("before", fmt::format("{}", k))));
    writer_.Line(fmt::format("const long k_end = {};", Lesser(fmt::format("{}[{}]", ends_, g), fmt::format("{}", k))));
    writer_.Open(fmt::format("for (long k0 = k_begin; k0 == k_begin || k0 < k_end; k0 += {})", depth));
    writer_.Line(fmt::format("const long left = k_end > k0 ? k_end - k0 : 0, depth = {};",
                             Lesser("left", fmt::format("{}", depth))));
  }

  const bool in_groups_ = shape_.groups() > 0, in_segments_ = HasSegments(kernel_), in_blocks_ = HasBlocks(kernel_);
  std::string ends_;
  bool pack_a_ = true, pack_b_ = true;
  std::string sums_;  // of parts of K, as the target lies; empty where it holds them itself
};

}  // namespace

void EmitMatmulTile(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  TileEmitter(program, kernel, writer, PanelUnit::kNumber).Emit();
}
void EmitMatmulPairs(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  TileEmitter(program, kernel, writer, PanelUnit::kPair).Emit();
}

}  // namespace hone::dsl
