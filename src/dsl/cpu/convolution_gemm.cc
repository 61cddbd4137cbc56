// The path `gemm`: inputs packed as a matrix, a column a pixel (cpu/convolution.h).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "dsl/cpu/convolution_emitter.h"
#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/loop_text.h"

namespace hone::dsl {

void ConvEmitter::EmitGemm() {
  const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
  const std::string& real = writer_.real();
  WriteMultiply({}, 0);
  const std::int64_t image = pz.positions * py.positions * px.positions, all = conv_.batch * image;
  const std::int64_t pixels = std::min(tile_pixels_, (all + nr_ - 1) / nr_ * nr_);
  writer_.Comment("Blocks of output channels and pixels of all images, whoever is free.");
  const int loops = (conv_.groups > 1) + (pixels < all) + (tile_made_ < conv_.made);
  if (loops > 0) writer_.ParallelFor(loops, "dynamic");
  Open("group", conv_.groups);
  if (loops == 0) writer_.Open("");
  const bool made_first = tile_made_ < conv_.made;
  if (made_first) OpenTasks("o0", conv_.made, tile_made_);
  OpenTasks("p0", all, pixels);
  if (!made_first) OpenTasks("o0", conv_.made, tile_made_);
  writer_.Line(Left("columns", all, "p0", pixels));
  if (made_first) writer_.Line(Left("outputs", conv_.made, "o0", tile_made_));
  const std::string outputs = made_first ? "outputs" : fmt::format("{}", conv_.made);
  writer_.Line(fmt::format("alignas(64) {} panels[{}];", real, pixels * tile_channels_ * taps_));
  const bool parts = tile_channels_ < conv_.channels;
  if (parts) {
    writer_.Open(fmt::format("for (long c0 = 0; c0 < {}; c0 += {})", conv_.channels, tile_channels_));
    writer_.Line(Left("depth", conv_.channels, "c0", tile_channels_));
  }
  const std::string depth = parts ? "depth" : fmt::format("{}", conv_.channels);
  const std::string products = taps_ == 1 ? depth
                               : parts    ? fmt::format("depth * {}", taps_)
                                          : fmt::format("{}", conv_.channels * taps_);
  PackPixels(depth, products, all, image);
  writer_.Open(fmt::format("for (long j = 0; j < columns; j += {})", nr_));
  writer_.Line(fmt::format("const {}* panel = panels + j * {};", real, products));
  writer_.Open(fmt::format("for (long i = 0; i < {}; i += {})", outputs, mr_));
  writer_.Line(TileRows());
  writer_.Line(fmt::format("alignas(64) {} tile[{}];", real, mr_ * nr_));
  writer_.Line(fmt::format("Multiply_{}({}, {}, panel, tile);", name_, products, Weights()));
  writer_.Line(fmt::format("const long filled = columns - j < {} ? columns - j : {};", nr_, nr_));
  StorePixels(all);
  writer_.Close();
  writer_.Close();
  if (parts) writer_.Close();
  if (loops == 0) writer_.Close();
  CloseAll();
}

void ConvEmitter::PackPixels(const std::string& depth, const std::string& products, std::int64_t all,
                             std::int64_t image) {
  const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
  const std::string& real = writer_.real();
  const std::vector<int> operands = OperandsOf({kernel_.inputs[0]});
  // Places that 32 bits hold are gathered twice as fast.
  std::int64_t largest = 0;
  for (const int operand : operands) {
    const int buffer = kernel_.operands[static_cast<std::size_t>(operand)].buffer;
    largest = std::max(largest, ElementCount(program_.buffers[static_cast<std::size_t>(buffer)].shape));
  }
  const std::string whole = largest < (1L << 31) ? "int" : "long";
  writer_.Comment("The inputs under the windows, a column a pixel; columns beyond the last repeat it.");
  writer_.Open(fmt::format("for (long j = 0; j < columns; j += {})", nr_));
  writer_.Line(fmt::format("{}* to = panels + j * {};", real, products));
  const bool leaves = pz.Leaves() || py.Leaves() || px.Leaves();
  const std::string vars = "zyx";
  std::vector<std::string> arrays;
  if (conv_.batch > 1) arrays.push_back("n");
  for (std::size_t d = 0; d < 3; ++d) {
    if (phase_[d].positions > 1) arrays.push_back(vars.substr(d, 1));
  }
  std::string declared;
  for (const auto& array : arrays) declared += fmt::format("{}{}_at[{}]", declared.empty() ? "" : ", ", array, nr_);
  if (!arrays.empty()) {
    writer_.Line(fmt::format("{} {};", whole, declared));
    writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", nr_));
    writer_.Line(
        fmt::format("const {} at = static_cast<{}>(p0 + j + l < {} ? p0 + j + l : {});", whole, whole, all, all - 1));
    std::int64_t below = image;
    for (const auto& array : arrays) {
      std::string text = "at";
      if (array == "n") {
        text = image == 1 ? "at" : fmt::format("at / {}", image);
      } else {
        const std::size_t d = vars.find(array[0]);
        below = 1;
        for (std::size_t inner = d + 1; inner < 3; ++inner) below *= phase_[inner].positions;
        if (below > 1) text = fmt::format("at / {}", below);
        if (array != arrays.front()) text = fmt::format("{} % {}", text, phase_[d].positions);
        text = Scaled(text, phase_[d].in_step);
      }
      writer_.Line(fmt::format("{}_at[l] = {};", array, text));
    }
    writer_.Close();
  }
  int nested = 0;
  std::string tap = "0";
  std::array<std::string, 3> tap_of;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t taps = phase_[d].taps;
    std::string var = "0";
    if (taps > 1) {
      var = fmt::format("t{}", vars[d]);
      writer_.Open(fmt::format("for ({} {} = 0; {} < {}; ++{})", whole, var, var, taps, var));
      ++nested;
    }
    tap_of[d] = Plus(Scaled(var, phase_[d].offset_step), phase_[d].offset);
    tap = Plus(Scaled(tap, taps), var);
  }
  // Where each operand's element stands, but for the channel.
  std::vector<std::string> names;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    names.push_back(
        fmt::format("from_{}", writer_.BufferName(kernel_.operands[static_cast<std::size_t>(operands[k])].buffer)));
    for (std::size_t other = 0; other < k; ++other) {
      if (names[other] == names[k]) names[k] += fmt::format("_{}", k);
    }
    writer_.Line(fmt::format("{} {}[{}];", whole, names[k], nr_));
  }
  if (leaves) writer_.Line(fmt::format("{} inside[{}];", whole, nr_));
  writer_.Line("#pragma omp simd");
  writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", nr_));
  std::vector<std::string> conditions;
  Index at = Zeros();
  at[Conv::kN] = conv_.batch > 1 ? "n_at[l]" : "0";
  for (std::size_t d = 0; d < 3; ++d) {
    const std::string place = Plus(phase_[d].positions > 1 ? fmt::format("{}_at[l]", vars[d]) : "0", tap_of[d]);
    if (conv_.dims[d].in == 1 && !phase_[d].Leaves()) continue;
    const std::string var = fmt::format("in_{}", vars[d]);
    writer_.Line(fmt::format("const {} {} = {};", whole, var, place));
    at[Conv::kInZ + d] = var;
    if (phase_[d].Leaves()) conditions.push_back(fmt::format("({} >= 0) & ({} < {})", var, var, phase_[d].in));
  }
  if (leaves) writer_.Line(fmt::format("inside[l] = {};", fmt::join(conditions, " & ")));
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto& strides = conv_.strides[static_cast<std::size_t>(operands[k])];
    Index mine = at;
    mine[Conv::kIn] = "0";
    const std::string address = Address({mine.begin(), mine.end()}, {strides.begin(), strides.end()}, 0);
    writer_.Line(leaves ? fmt::format("{}[l] = inside[l] ? {} : 0;", names[k], address)
                        : fmt::format("{}[l] = {};", names[k], address));
  }
  writer_.Close();
  // Neighbouring pixels whose inputs are neighbours too are copied, others gathered.
  std::vector<std::string> straight;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto& strides = conv_.strides[static_cast<std::size_t>(operands[k])];
    const std::int64_t step = strides[Conv::kInX] * px.in_step;
    straight.push_back(fmt::format("({}[l] == {}[0]{})", names[k], names[k],
                                   step == 0   ? ""
                                   : step == 1 ? " + l"
                                               : fmt::format(" + l * {}", step)));
  }
  if (leaves) straight.push_back("(inside[l] != 0)");
  if (straight.empty()) straight.push_back("true");
  writer_.Line("bool straight = true;");
  writer_.Line(fmt::format("for (long l = 0; l < {}; ++l) straight &= {};", nr_, fmt::join(straight, " & ")));
  writer_.Open(fmt::format("for (long channel = 0; channel < {}; ++channel)", depth));
  writer_.Line(fmt::format("{}* row = to + {};", real, Address({"channel", tap}, {taps_ * nr_, nr_}, 0)));
  const std::string channel = Group(tile_channels_ < conv_.channels ? "c0 + channel" : "channel", conv_.channels);
  const auto element = [&](int operand, const std::string& index) {
    const auto& view = kernel_.operands[static_cast<std::size_t>(operand)];
    const DType dtype = program_.buffers[static_cast<std::size_t>(view.buffer)].dtype;
    const std::string base =
        Address({channel}, {conv_.strides[static_cast<std::size_t>(operand)][Conv::kIn]}, view.offset);
    const std::string text = base == "0" ? fmt::format("{}[{}]", writer_.BufferName(view.buffer), index)
                                         : fmt::format("({} + {})[{}]", writer_.BufferName(view.buffer), base, index);
    const std::string type = writer_.TypeName(ScalarOf(dtype));
    return type == ElementType(dtype) ? text : fmt::format("static_cast<{}>({})", type, text);
  };
  const auto copy = [&](bool gathered) {
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long l = 0; l < {}; ++l)", nr_));
    ExprWriter text(writer_, [&](const ExprNode& load) {
      const auto k =
          static_cast<std::size_t>(std::find(operands.begin(), operands.end(), load.buffer) - operands.begin());
      const std::int64_t step = conv_.strides[static_cast<std::size_t>(load.buffer)][Conv::kInX] * px.in_step;
      if (gathered) return element(load.buffer, names[k] + "[l]");
      return element(load.buffer, step == 0   ? names[k] + "[0]"
                                  : step == 1 ? names[k] + "[0] + l"
                                              : fmt::format("{}[0] + l * {}", names[k], step));
    });
    const std::string value = text.Text(kernel_.inputs[0]);
    if (gathered && leaves) {
      writer_.Line(fmt::format("const {} value = {};", real, value));
      writer_.Line("row[l] = inside[l] ? value : 0;");
    } else {
      writer_.Line(fmt::format("row[l] = {};", value));
    }
    writer_.Close();
  };
  writer_.Open("if (straight)");
  copy(false);
  writer_.Close(" else {");
  writer_.Indent();
  copy(true);
  writer_.Close();
  writer_.Close();
  for (; nested > 0; --nested) writer_.Close();
  writer_.Close();
}

void ConvEmitter::StorePixels(std::int64_t all) {
  const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
  // n, z, y, x as the store's operands see the positions; neighbours merge where all continue.
  std::vector<std::vector<std::int64_t>> strides;  // an operand, then the target
  std::vector<std::int64_t> offsets;
  const std::vector<int> operands = OperandsOf({kernel_.epilogue});
  const auto add = [&](const std::array<std::int64_t, Conv::kDims>& of) {
    std::vector<std::int64_t> mine = {of[Conv::kN]};
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      mine.push_back(of[Conv::kZ + d] * phase_[d].out_step);
      offset += of[Conv::kZ + d] * phase_[d].out_start;
    }
    mine.push_back(of[Conv::kO]);
    strides.push_back(std::move(mine));
    offsets.push_back(offset);
  };
  for (const int operand : operands) add(conv_.strides[static_cast<std::size_t>(operand)]);
  add(conv_.target);
  std::vector<std::int64_t> extents = {conv_.batch, pz.positions, py.positions, px.positions};
  for (std::size_t d = extents.size() - 1; d-- > 0;) {
    bool merges = true;
    for (const auto& mine : strides) merges &= mine[d] == mine[d + 1] * extents[d + 1];
    if (extents[d + 1] != 1 && extents[d] != 1 && !merges) continue;
    const bool keep_outer = extents[d + 1] == 1;
    extents[d] *= extents[d + 1];
    for (auto& mine : strides) {
      if (!keep_outer) mine[d] = mine[d + 1];
      mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    }
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(d) + 1);
  }
  const std::string o = Group("o0 + i + r", conv_.made);
  std::vector<std::string> index;
  std::string begin = "0", end = "filled";
  const bool runs = extents.size() > 1;
  if (runs) {
    const std::int64_t run = extents.back();
    writer_.Open("for (long begin = 0; begin < filled;)");
    writer_.Line("const long at = p0 + j + begin;");
    writer_.Line(fmt::format("const long shift = at % {} - begin;", run));
    writer_.Line(fmt::format("const long end = {} - shift < filled ? {} - shift : filled;", run, run));
    std::int64_t below = run;
    for (std::size_t d = extents.size() - 1; d-- > 0;) {
      index.insert(index.begin(),
                   d == 0 ? fmt::format("at / {}", below) : fmt::format("at / {} % {}", below, extents[d]));
      below *= extents[d];
    }
    for (std::size_t d = 0; d < index.size(); ++d) {
      writer_.Line(fmt::format("const long at_{} = {};", d, index[d]));
      index[d] = fmt::format("at_{}", d);
    }
    index.push_back("shift + l");
    begin = "begin";
    end = "end";
  } else {
    index.push_back("p0 + j + l");
  }
  HONE_CHECK(all > 0, "pixels of nothing");
  index.push_back(o);

  const std::string to = fmt::format("{}[{}]", writer_.TargetName(), Address(index, strides.back(), offsets.back()));
  StoreSums(begin, end, to, [&] {
    ExprWriter text(writer_, [&](const ExprNode& load) -> std::string {
      if (load.kind == Expr::Kind::kValue) return "total";
      const auto k =
          static_cast<std::size_t>(std::find(operands.begin(), operands.end(), load.buffer) - operands.begin());
      return ElementText(program_, kernel_, writer_, load.buffer, index, strides[k],
                         offsets[k] + kernel_.operands[static_cast<std::size_t>(load.buffer)].offset);
    });
    return text.Text(kernel_.epilogue);
  });
  if (runs) {
    writer_.Line("begin = end;");
    writer_.Close();
  }
}

}  // namespace hone::dsl
