// The path `direct`: taps read a copy of the inputs (cpu/convolution.h).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsl/cpu/convolution_emitter.h"
#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/loop_text.h"

namespace hone::dsl {

void ConvEmitter::EmitDirect() {
  const Phase &pz = phase_[0], &py = phase_[1], &px = phase_[2];
  const DirectBlock block(phase_, tile_pixels_);
  const std::string& real = writer_.real();
  // Taps in the order of the weights.
  std::vector<std::int64_t> places;
  const auto relative = [](const Phase& phase, std::int64_t t) {
    return phase.offset + t * phase.offset_step - phase.Low();
  };
  for (std::int64_t tz = 0; tz < pz.taps; ++tz) {
    for (std::int64_t ty = 0; ty < py.taps; ++ty) {
      for (std::int64_t tx = 0; tx < px.taps; ++tx) {
        const std::int64_t y = relative(py, ty), x = relative(px, tx);
        places.push_back(tz * block.plane + (y % py.in_step * block.phases_x + x % px.in_step) * block.part +
                         y / py.in_step * block.pitch + x / px.in_step);
      }
    }
  }
  WriteMultiply(places, block.cube);

  writer_.Comment(fmt::format("Blocks of {} x {} outputs of an image, whoever is free.", block.rows, block.columns));
  const int loops = (conv_.batch > 1) + (conv_.groups > 1) + (pz.positions > 1) + (block.rows < py.positions) +
                    (block.columns < px.positions) + (tile_made_ < conv_.made);
  if (loops > 0) writer_.ParallelFor(loops, "dynamic");
  const std::string n = Open("image", conv_.batch), g = Open("group", conv_.groups), z = Open("oz", pz.positions);
  // The loops that collapse come first, then the lines between them.
  std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> tasks = {
      {"y0", {py.positions, block.rows}}, {"x0", {px.positions, block.columns}}, {"o0", {conv_.made, tile_made_}}};
  std::stable_sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
    return (a.second.second < a.second.first) > (b.second.second < b.second.first);
  });
  if (loops == 0) writer_.Open("");
  for (const auto& [var, extent] : tasks) OpenTasks(var, extent.first, extent.second);
  writer_.Line(Left("rows", py.positions, "y0", block.rows));
  writer_.Line(Left("columns", px.positions, "x0", block.columns));
  if (tile_made_ < conv_.made) writer_.Line(Left("outputs", conv_.made, "o0", tile_made_));
  const std::string outputs = tile_made_ < conv_.made ? "outputs" : fmt::format("{}", conv_.made);
  const std::int64_t count = block.Count(tile_channels_, nr_);
  writer_.Line(fmt::format("alignas(64) {} block[{}];", real, count));
  writer_.Comment("What the last vectors read beyond the block is never stored.");
  writer_.Line(fmt::format("__builtin_memset(block + {}, 0, {} * sizeof({}));", tile_channels_ * block.cube,
                           count - tile_channels_ * block.cube, real));
  const bool parts = tile_channels_ < conv_.channels;
  if (parts) {
    writer_.Open(fmt::format("for (long c0 = 0; c0 < {}; c0 += {})", conv_.channels, tile_channels_));
    writer_.Line(Left("depth", conv_.channels, "c0", tile_channels_));
  }
  const std::string depth = parts ? "depth" : fmt::format("{}", conv_.channels);

  writer_.Comment("The inputs that the block needs, with zeros outside of the image.");
  int copies = 0;
  const auto loop = [&](const std::string& var, const std::string& extent) {
    if (extent == "1") return std::string("0");
    writer_.Open(fmt::format("for (long {} = 0; {} < {}; ++{})", var, var, extent, var));
    ++copies;
    return var;
  };
  const std::string c = loop("channel", depth), tz = loop("tz", fmt::format("{}", pz.taps)),
                    fy = loop("fy", fmt::format("{}", block.phases_y)),
                    fx = loop("fx", fmt::format("{}", block.phases_x)),
                    line = loop("line", block.lines == 1 ? "1" : Plus("rows", block.lines - block.rows));
  writer_.Line(
      fmt::format("{}* to = block + {};", real,
                  Address({c, tz, fy, fx, line},
                          {block.cube, block.plane, block.phases_x * block.part, block.part, block.pitch}, 0)));
  Index at = Zeros();
  at[Conv::kN] = n;
  at[Conv::kIn] = Group(parts ? Plus("c0", c) : c, conv_.channels);
  std::vector<std::string> inside;
  const auto place = [&](std::size_t d, const std::string& value) {
    if (phase_[d].in == 1 && !phase_[d].Leaves()) return;
    const std::string var = fmt::format("in_{}", "zyx"[d]);
    writer_.Line(fmt::format("const long {} = {};", var, value));
    at[Conv::kInZ + d] = var;
    // Of a stride's rows the last may stand below the image: no tap meets them.
    const bool spare = d == 1 && phase_[d].in_step > 1;
    if (phase_[d].Leaves() || spare) inside.push_back(fmt::format("{} >= 0 && {} < {}", var, var, phase_[d].in));
  };
  place(0, Plus(Plus(Scaled(z, pz.in_step), Scaled(tz, pz.offset_step)), pz.offset));
  place(1, Plus(Plus(Scaled(Plus("y0", line), py.in_step), fy), py.Low()));
  const std::string width = Plus("columns", block.pitch - block.columns);
  writer_.Line(fmt::format("const long in_x = {};", Plus(Plus(Scaled("x0", px.in_step), fx), px.Low())));
  const std::string up = px.in_step > 1 ? fmt::format(" + {}) / {}", px.in_step - 1, px.in_step) : ")";
  writer_.Line(fmt::format("const long room = in_x < {} ? ({} - in_x{} : 0;", px.in, px.in, up));
  writer_.Line(fmt::format("const long high = {}room < {} ? room : {};",
                           inside.empty() ? "" : fmt::format("!({}) ? 0 : ", fmt::join(inside, " && ")), width, width));
  writer_.Line(fmt::format("const long start = in_x < 0 ? (-in_x{} : 0;", up));
  writer_.Line("const long low = start < high ? start : high;");
  at[Conv::kInX] = Plus("in_x", Scaled("ix", px.in_step));
  writer_.Line("for (long ix = 0; ix < low; ++ix) to[ix] = 0;");
  writer_.Line("#pragma omp simd");
  writer_.Open("for (long ix = low; ix < high; ++ix)");
  ExprWriter text(writer_, [&](const ExprNode& load) { return Element(load.buffer, at); });
  const std::string value = text.Text(kernel_.inputs[0]);
  writer_.Line(fmt::format("to[ix] = {};", value));
  writer_.Close();
  writer_.Line(fmt::format("for (long ix = high; ix < {}; ++ix) to[ix] = 0;", width));
  for (; copies > 0; --copies) writer_.Close();

  writer_.Open(fmt::format("for (long i = 0; i < {}; i += {})", outputs, mr_));
  writer_.Line(TileRows());
  // Outputs row after row as the copy's rows lie: what stands between them is computed and dropped.
  // Single pixels need not be neighbours: rows are then taken one by one and nothing is dropped.
  const bool by_row = channels_along_ && block.rows > 1;
  const bool one_row = block.rows == 1 || by_row;
  if (by_row) writer_.Open("for (long oy = 0; oy < rows; ++oy)");
  const std::string flat_count = one_row ? "columns" : fmt::format("(rows - 1) * {} + columns", block.pitch);
  writer_.Open(fmt::format("for (long at = 0; at < {}; at += {})", flat_count, nr_));
  writer_.Line(fmt::format("alignas(64) {} tile[{}];", real, mr_ * nr_));
  writer_.Line(fmt::format("Multiply_{}({}, {}, block + {}at, tile);", name_, depth, Weights(),
                           by_row ? fmt::format("oy * {} + ", block.pitch) : ""));
  const auto store = [&](const std::string& begin, const std::string& y, const std::string& x) {
    Index spot = Zeros();
    spot[Conv::kN] = n;
    spot[Conv::kO] = Group("o0 + i + r", conv_.made);
    spot[Conv::kZ] = Out(0, z);
    spot[Conv::kY] = Out(1, y);
    spot[Conv::kX] = Out(2, x);
    StoreSums(begin, "end", Target(spot), [&] { return Epilogue(spot, "total"); });
  };
  if (one_row) {
    writer_.Line(fmt::format("const long end = columns - at < {} ? columns - at : {};", nr_, nr_));
    store("0", by_row ? "y0 + oy" : "y0", "x0 + at + l");
  } else {
    writer_.Open(fmt::format("for (long oy = at / {}, begin = 0; oy < rows && begin < {}; ++oy)", block.pitch, nr_));
    writer_.Comment("The part of row oy that is among these pixels.");
    writer_.Line(fmt::format("const long ox = at + begin - oy * {};", block.pitch));
    writer_.Line(fmt::format("const long end = begin + columns - ox < {} ? begin + columns - ox : {};", nr_, nr_));
    writer_.Line("const long shift = ox - begin;");
    store("begin", "y0 + oy", "x0 + shift + l");
    writer_.Line(fmt::format("begin = (oy + 1) * {} - at;", block.pitch));
    writer_.Close();
  }
  writer_.Close();
  if (by_row) writer_.Close();
  writer_.Close();
  if (parts) writer_.Close();
  if (loops == 0) writer_.Close();
  CloseAll();
}

}  // namespace hone::dsl
