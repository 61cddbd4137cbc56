// Few rows times weights that memory holds as numbers of 8 bits, or as whole ones of 4, with scales and zeros for each
// column or for so many of K: dsl/shape/stored_weights.h. How fast the numbers can be read is all that matters, so they
// go from memory to registers as they lie, 16 bytes at a time, and pass by the first-level cache, which keeps the rows.
// There they become pairs of 16-bit reals, by the steps that the text writes and rounded at each as PyTorch rounds; the
// tensor cores multiply those (mma, 16 x 8 x 16).
//
// Where numbers lie across K, a thread reads 4, 8 or 16 neighbouring columns of 8 of K, and turns their bytes. Of words
// with eight of K each it reads one for each of its columns; of words with eight columns each one, or two, for each of
// its eight of K, and takes each column's bits of two words at once. Zeros that are columns' bits of words are taken
// away together with what the bits are too high.
//
// A block makes 16 columns of all rows, or a few times as many, which share what is read of the rows. Its warps have
// parts of K each and add up in shared memory what they have made. As matmul_rows.cc says, a sum does not care for the
// order of K: neighbours are given to an mma as they come, of rows and columns alike.
//
//   columns  of a block
//   warps    of a block: the more, the more is on its way where columns are few
//   loads    of a column, that a thread has on their way at once
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/small_float.h"
#include "dsl/cuda/nest_element.h"
#include "dsl/cuda/stored_weights_knobs.h"
#include "dsl/knobs.h"
#include "dsl/shape/stored_weights.h"
#include "dsl/way.h"

namespace hone {
extern const std::string_view kStoredRealsText;    // dsl/cuda/stored_reals.cuh
extern const std::string_view kStoredWeightsText;  // dsl/cuda/stored_weights.cuh
}  // namespace hone

namespace hone::dsl::cuda_way_nest_weights {
namespace {

constexpr std::int64_t kMostRows = 64, kLeastColumns = 64;

std::optional<std::string> WhyNot(const Kernel& kernel) {
  const auto read = StoredWeightsOf(kernel);
  if (const auto* why = std::get_if<std::string>(&read)) return *why;
  const auto& weights = std::get<StoredWeights>(read);
  if (RowsOf(weights) > kMostRows)
    return fmt::format("it holds all {} rows at once, {} are possible", RowsOf(weights), kMostRows);
  if (!IsHalf(kernel.target_type) || kernel.compute != DType::kF32) return "what it writes is not of 16 bits";
  const std::int64_t own = OwnDepth(weights), sixteen = weights.of_words ? 4 : 16;  // bytes
  if (weights.k % own != 0 || weights.bytes.offset % sixteen != 0 ||
      (!weights.across && weights.bytes.of_row % sixteen != 0) || weights.x.of_row % 8 != 0 ||
      weights.x.offset % 8 != 0)
    return "it reads 16 bytes at a time along what is summed, and an operand does not lie so";
  const std::int64_t neighbours = HasColumnsInWords(weights) ? 64 : 16;
  if (weights.across &&
      (weights.bytes.step * weights.bytes.of_rows % neighbours != 0 || weights.columns % neighbours != 0))
    return fmt::format("it reads up to {} neighbouring columns at a time, and those of its numbers do not lie so",
                       neighbours);
  if (weights.zeros && weights.zeros->words.step != 0 && weights.zeros->words.of_k % own != 0)
    return fmt::format("a zero is for {} numbers, and a thread has {} at once", weights.zeros->words.of_k, own);
  for (const auto& step : weights.steps) {
    const auto* other = std::get_if<PlaceAlongK>(&step.other);
    if (other != nullptr && other->step != 0 && other->of_k % own != 0)
      return fmt::format("a scale, or a zero, is for {} numbers, and a thread has {} at once", other->of_k, own);
  }
  return std::nullopt;
}

std::optional<double> Cost(const Kernel& kernel) {
  const auto read = StoredWeightsOf(kernel);
  const auto* weights = std::get_if<StoredWeights>(&read);
  if (weights == nullptr || weights->columns < kLeastColumns) return std::nullopt;
  return 0.3;  // before all that has an element a thread
}

class WeightsWriter {
 public:
  WeightsWriter(const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel),
        out_(out),
        weights_(std::get<StoredWeights>(StoredWeightsOf(kernel))),
        half_(kernel.operand_types[static_cast<std::size_t>(weights_.x.operand)]),
        stored_(kernel.operand_types[static_cast<std::size_t>(weights_.bytes.operand)]),
        columns_(IntSetting(kernel, "columns")),
        warps_(IntSetting(kernel, "warps")),
        loads_(IntSetting(kernel, "loads")),
        eights_(EightsOf(weights_)),
        step_(loads_ * OwnDepth(weights_) * 4),
        whole_(weights_.k % step_ == 0) {}

  void Write() {
    const std::string index = out_.index_type();
    out_.Define(std::string(kStoredWeightsText));
    if (weights_.is_real) out_.Define(std::string(kStoredRealsText));
    out_.BeginKernel("weights", 32 * warps_);
    out_.Line("const int thread = threadIdx.x, warp = thread / 32, row = thread % 32 / 4, quarter = thread % 4;");
    out_.Line(fmt::format("__shared__ float sums[{}][{}][{}];", warps_, 8 * eights_, columns_ + 1));
    if (weights_.table) WriteTable();
    out_.Line(fmt::format("const {0} first = static_cast<{0}>(blockIdx.x) * {1};", index, columns_));
    out_.Line(fmt::format("const {}* x[{}];", DeviceType(half_), eights_));
    out_.Unroll();
    out_.Line(fmt::format("for (int e = 0; e < {}; ++e) x[e] = {};", eights_, RowText("row + 8 * e")));
    OpenNumbers();
    out_.Line(fmt::format("float made[{}][{}][4] = {{}};", columns_ / kColumnsOfMma, eights_));
    out_.Open(fmt::format("for (int k0 = warp * {0}; k0 < {1}; k0 += {2})", step_, weights_.k, warps_ * step_));
    // All numbers before the first product.
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < {}; ++i) load(i, k0);", loads_));
    WriteProducts();
    out_.Close();
    WriteEnd();
    out_.Launch({.grid_x = (weights_.columns + columns_ - 1) / columns_,
                 .reads = OperandBuffers({&kernel_, 1}),
                 .writes = {kernel_.target}});
  }

 private:
  std::string Buffer(int operand) const {
    return out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer);
  }
  std::string AddressText(const PlaceAlongK& place, const std::string& row) const {
    std::string text = Buffer(place.operand);
    if (place.offset != 0) text += fmt::format(" + {}", place.offset);
    if (place.of_row == 0) return text;
    const std::string at = place.of_rows == 1 ? fmt::format("({})", row) : fmt::format("({}) / {}", row, place.of_rows);
    return fmt::format("{} + {} * {}", text, at, place.of_row);
  }

  // Beyond the last row or column the last one is read again; what comes of it is not written.
  std::string Within(const std::string& wanted, std::int64_t extent, bool beyond) const {
    return beyond ? fmt::format("min({}, static_cast<{}>({}))", wanted, out_.index_type(), extent - 1) : wanted;
  }
  std::string RowText(const std::string& row) const {
    const std::int64_t m = RowsOf(weights_);
    return AddressText(weights_.x, Within(fmt::format("static_cast<{}>({})", out_.index_type(), row), m, m % 8 != 0));
  }

  // What a thread has of numbers, and of what belongs to them, and what loads a part of that.
  void OpenNumbers() {
    const std::string index = out_.index_type();
    if (weights_.across) {
      const std::int64_t own = columns_ / 8;  // columns
      if (HasDepthInWords(weights_)) {
        out_.Line(fmt::format("unsigned numbers[{}][1][{}];", loads_, own));
      } else {
        out_.Line(fmt::format("unsigned numbers[{}][8][{}];", loads_,
                              std::max<std::int64_t>(1, own / (weights_.of_words ? 8 : 4))));
      }
      // Beyond the last columns the last ones are read again.
      out_.Line(fmt::format("const {} own = {};", index,
                            weights_.columns % columns_ == 0 ? fmt::format("first + row * {}", own)
                                                             : fmt::format("min(first + row * {}, static_cast<{}>({}))",
                                                                           own, index, weights_.columns - own)));
    } else {
      out_.Line(fmt::format("uint4 numbers[{}][{}];", loads_, columns_ / 8));
    }
    for (std::size_t s = 0; s < weights_.steps.size(); ++s) {
      if (std::holds_alternative<PlaceAlongK>(weights_.steps[s].other))
        out_.Line(fmt::format("{} other{}[{}][{}];", IsWide(weights_.steps[s]) ? "float" : "unsigned", s, loads_,
                              columns_ / 8));
    }
    if (weights_.zeros) out_.Line(fmt::format("unsigned zeros[{}][{}];", loads_, ZeroWords()));
    out_.Open("const auto load = [&](int i, int k0)");
    out_.Line(fmt::format("const int k = k0 + i * {} + quarter * {};", OwnDepth(weights_) * 4, OwnDepth(weights_)));
    if (weights_.across) WriteLoadAcross();
    if (weights_.zeros) WriteLoadZeros();
    const bool others = std::ranges::any_of(weights_.steps, [](const StoredWeights::Step& step) {
      return std::holds_alternative<PlaceAlongK>(step.other);
    });
    if (weights_.across && !others) {
      out_.CloseWith(";");
      return;
    }
    out_.Unroll();
    out_.Open(fmt::format("for (int c = 0; c < {}; ++c)", columns_ / 8));
    out_.Line(fmt::format("const {} n = {};", index, ColumnText("c")));
    if (!weights_.across) {
      const std::string from = fmt::format("{}({} + k / {})", loads_ == 1 ? "StreamedFromLine" : "StreamedWeights",
                                           AddressText(weights_.bytes, "n"), weights_.bytes.of_k);
      out_.Line(fmt::format("numbers[i][c] = {};", Guarded(from, "make_uint4(0, 0, 0, 0)")));
    }
    for (std::size_t s = 0; s < weights_.steps.size(); ++s) {
      const auto* other = std::get_if<PlaceAlongK>(&weights_.steps[s].other);
      if (other == nullptr) continue;
      const std::string at = AlongText(*other, "n");
      const bool wide = IsWide(weights_.steps[s]);
      std::string text = wide ? fmt::format("__ldg({})", at) : PairText(*other, at);
      if (const auto& power = weights_.steps[s].power) text = fmt::format("ldexpf(1.0f, {} + {})", text, *power);
      out_.Line(fmt::format("other{}[i][c] = {};", s, Guarded(text, wide ? "0.0f" : "0u")));
    }
    out_.Close();
    out_.CloseWith(";");
  }

  bool IsF32(int operand) const { return kernel_.operand_types[static_cast<std::size_t>(operand)] == DType::kF32; }
  bool IsWide(const StoredWeights::Step& step) const {
    return step.power || IsF32(std::get<PlaceAlongK>(step.other).operand);
  }
  // The reals of both numbers of each byte.
  void WriteTable() {
    const bool wide = IsF32(*weights_.table);
    const auto element = [&](bool high) {
      const std::string at = fmt::format("{} + (both {})", Buffer(*weights_.table), high ? ">> 4" : "& 15");
      return wide ? fmt::format("__ldg({})", at)
                  : fmt::format("__ldg(reinterpret_cast<const unsigned short*>({}))", at);
    };
    const std::string first = element(weights_.high_first), second = element(!weights_.high_first);
    out_.Line(fmt::format("__shared__ {} table[256];", wide ? "float2" : "unsigned"));
    out_.Open(fmt::format("for (int both = thread; both < 256; both += {})", 32 * warps_));
    out_.Line(wide ? fmt::format("table[both] = make_float2({}, {});", first, second)
                   : fmt::format("table[both] = {} | {} << 16;", first, second));
    out_.Close();
    out_.Line("__syncthreads();");
  }
  // Of a thread's columns, the one of this number.
  std::string ColumnText(const std::string& c) const {
    if (weights_.across) return "own + " + c;
    return Within(fmt::format("first + row + 8 * {}", c), weights_.columns, weights_.columns % columns_ != 0);
  }
  // What belongs to so many of K.
  std::string AlongText(const PlaceAlongK& place, const std::string& row) const {
    std::string at = AddressText(place, row);
    if (place.step != 0)
      at += fmt::format(" + k / {}", place.of_k) + (place.step == 1 ? "" : fmt::format(" * {}", place.step));
    return at;
  }

  // Words of zeros that a thread's columns are in: neighbours share some.
  std::int64_t ZeroWords() const { return weights_.across ? std::max<std::int64_t>(1, columns_ / 64) : columns_ / 8; }
  void WriteLoadZeros() {
    const std::string column = weights_.across ? "own + 8 * w" : ColumnText("w");
    const std::string word = fmt::format("static_cast<unsigned>(__ldg({}))", AlongText(weights_.zeros->words, column));
    out_.Unroll();
    out_.Line(fmt::format("for (int w = 0; w < {}; ++w) zeros[i][w] = {};", ZeroWords(), Guarded(word, "0u")));
  }

  // Of eight of K, a thread's columns.
  void WriteLoadAcross() {
    const bool deep = HasDepthInWords(weights_);
    const std::string load =
        fmt::format("StreamWords(numbers[i][j], {} + static_cast<{}>({}) * {});", AddressText(weights_.bytes, "own"),
                    out_.index_type(), deep ? "k / 8" : "k + j", weights_.bytes.step);
    const std::string none = "for (unsigned& word : numbers[i][j]) word = 0;";
    out_.Unroll();
    out_.Line(fmt::format("for (int j = 0; j < {}; ++j) {}", deep ? 1 : 8,
                          whole_ ? load : fmt::format("if (k < {}) {} else {}", weights_.k, load, none)));
  }

  // Of what is loaded, all.
  void WriteProducts() {
    out_.Unroll();
    out_.Open(fmt::format("for (int i = 0; i < {}; ++i)", loads_));
    out_.Line(fmt::format("const int k = k0 + i * {} + quarter * {};", OwnDepth(weights_) * 4, OwnDepth(weights_)));
    for (std::int64_t unit = 0; unit < OwnDepth(weights_) / 8; ++unit) WriteUnit(unit);
    out_.Close();
  }
  std::string Guarded(const std::string& text, const std::string& otherwise) const {
    return whole_ ? text : fmt::format("k < {} ? {} : {}", weights_.k, text, otherwise);
  }
  // The element twice, as a pair.
  std::string PairText(const PlaceAlongK& place, const std::string& at) const {
    const DType held = kernel_.operand_types[static_cast<std::size_t>(place.operand)];
    if (IsHalf(held)) return fmt::format("__ldg(reinterpret_cast<const unsigned short*>({})) * 0x10001u", at);
    return fmt::format(
               "{}(static_cast<float>(*({}))) * 0x10001u",
               half_ == DType::kBF16 ? "__bfloat16_as_ushort(__float2bfloat16_rn" : "__half_as_ushort(__float2half_rn",
               at) +
           ")";
  }
  unsigned BitsOf(double number) const {
    return half_ == DType::kBF16 ? SmallFloat<8, 7, true>::From(number).bits
                                 : SmallFloat<5, 10, true>::From(number).bits;
  }
  std::string PairOf(double number) const { return fmt::format("0x{:08x}u", BitsOf(number) * 0x10001u); }

  // Eight neighbours along K, of all columns and rows.
  void WriteUnit(std::int64_t unit) {
    const std::string type = half_ == DType::kBF16 ? "BrainPairs" : "HalfPairs";
    out_.Open("");
    out_.Line(fmt::format("unsigned pairs[{}][4];", columns_ / 8));
    if (weights_.across && !weights_.of_words) WriteTurn();
    out_.Unroll();
    out_.Open(fmt::format("for (int c = 0; c < {}; ++c)", columns_ / 8));
    if (weights_.bits == 8) {
      const std::string first = weights_.across ? "turned[c][0]" : fmt::format("numbers[i][c].{}", "xz"[unit]);
      const std::string second = weights_.across ? "turned[c][1]" : fmt::format("numbers[i][c].{}", "yw"[unit]);
      const std::string_view flipped = weights_.is_real || weights_.is_signed[0] ? "" : " ^ 0x80808080";
      const std::string made = !weights_.is_real ? fmt::format("BytesAsPairs<{}>", type)
                                                 : fmt::format("RealsAsPairs<{}, {}>", type,
                                                               stored_ == DType::kF8E5M2 ? "__NV_E5M2" : "__NV_E4M3");
      out_.Line(fmt::format("{0}({1}{3}, {2}{3}, pairs[c]);", made, first, second, flipped));
    } else if (weights_.table) {
      out_.Line(fmt::format("const unsigned bytes = numbers[i][c].{};", "xyzw"[unit]));
      if (!IsF32(*weights_.table)) {
        out_.Unroll();
        out_.Line(
            fmt::format("for (int p = 0; p < 4; ++p) pairs[c][p] = {};", Guarded("table[bytes >> 8 * p & 255]", "0u")));
      }
    } else {
      std::string less = Less();
      if (weights_.zeros) {
        const std::string word = weights_.across ? "zeros[i][c / 8]" : "zeros[i][c]";
        // What is taken away has the zero in its last bits, likewise.
        out_.Line(fmt::format("const unsigned less = 0x{:08x}u + ({} >> {} & 15) * 0x10001u;",
                              BitsOf(-Base() - weights_.zeros->more) * 0x10001u, word,
                              ShiftText(weights_.zeros->of_words)));
        less = "less";
      }
      if (HasColumnsInWords(weights_)) {
        out_.Line(fmt::format("ColumnAsPairs<{}>(numbers[i], c / 8, {}, {}, {}, {}, pairs[c]);", type,
                              ShiftText(*weights_.of_words), Above(), less, PairOf(1)));
      } else {
        const std::string low = weights_.across ? "numbers[i][0][c]" : fmt::format("numbers[i][c].{}", "xyzw"[unit]);
        const std::string high = low + " >> 4";
        out_.Line(fmt::format("NibblesAsPairs<{}>({}, {}, {}, {}, {}, pairs[c]);", type,
                              weights_.high_first ? high : low, weights_.high_first ? low : high, Above(), less,
                              PairOf(1)));
      }
    }
    WriteSteps(type);
    out_.Close();
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", eights_));
    const std::string from = fmt::format("__ldg(reinterpret_cast<const uint4*>(x[e] + k + {}))", 8 * unit);
    out_.Line(fmt::format("const uint4 rows = {};", Guarded(from, "make_uint4(0, 0, 0, 0)")));
    out_.Unroll();
    out_.Open(fmt::format("for (int t = 0; t < {}; ++t)", columns_ / kColumnsOfMma));
    out_.Line("const unsigned (&low)[4] = pairs[2 * t], (&high)[4] = pairs[2 * t + 1];");
    out_.Line(fmt::format("{}::Multiply(made[t][e], low[0], high[0], low[1], high[1], rows.x, rows.y);", type));
    out_.Line(fmt::format("{}::Multiply(made[t][e], low[2], high[2], low[3], high[3], rows.z, rows.w);", type));
    out_.Close();
    out_.Close();
    out_.Close();
  }

  // By how much a word of eight columns is shifted for the bits of column c, if there is such a column.
  std::string ShiftText(const NibblesOfWord& of_words) const {
    const std::string column = !weights_.across ? "row"
                               : columns_ >= 64 ? "c % 8"
                                                : fmt::format("(row * {} + c) % 8", columns_ / 8);
    if (of_words == kNibblesInOrder) return fmt::format("4 * ({})", column);
    unsigned table = 0;
    for (std::size_t c = 8; c-- > 0;) table = table << 4 | static_cast<unsigned>(of_words[c]);
    return fmt::format("4 * (0x{:08x}u >> 4 * ({}) & 7)", table, column);
  }

  // The bytes of eight of K as two words for each column.
  void WriteTurn() {
    out_.Line(fmt::format("unsigned turned[{}][2];", columns_ / 8));
    out_.Unroll();
    out_.Line(
        fmt::format("for (int w = 0; w < {}; ++w) for (int h = 0; h < 2; ++h) TurnBytes(numbers[i][4 * h][w], "
                    "numbers[i][4 * h + 1][w], numbers[i][4 * h + 2][w], numbers[i][4 * h + 3][w], turned[4 * w][h], "
                    "turned[4 * w + 1][h], turned[4 * w + 2][h], turned[4 * w + 3][h]);",
                    columns_ / 32));
  }

  // Behind which exponent numbers of 4 bits stand, and what is then too much of them, or too little.
  double Base() const { return half_ == DType::kBF16 ? 128 : 1024; }
  std::string Above() const {
    const unsigned exponent = half_ == DType::kBF16 ? 0x4300 : 0x6400;
    return fmt::format("0x{:04x}{:04x}u", exponent + (weights_.is_signed[1] ? 8 : 0),
                       exponent + (weights_.is_signed[0] ? 8 : 0));
  }
  std::string Less() const {
    unsigned pair = 0;
    for (const std::size_t part : {1u, 0u}) {
      pair = pair << 16 | BitsOf(weights_.more[part] - Base() - (weights_.is_signed[part] ? 8 : 0));
    }
    return fmt::format("0x{:08x}u", pair);
  }

  // What is done to the numbers of column c, pair by pair.
  void WriteSteps(const std::string& type) {
    const int more = weights_.bits == 4 || weights_.is_real ? 0 : weights_.more[0] + (weights_.is_signed[0] ? 0 : 128);
    bool wide = weights_.table && IsF32(*weights_.table);  // from here on
    if (more == 0 && weights_.steps.empty() && !wide) return;
    const std::string one = PairOf(1), minus = PairOf(-1), none = PairOf(-0.0), it = "pairs[c][p]";
    out_.Unroll();
    out_.Open("for (int p = 0; p < 4; ++p)");
    if (wide)
      out_.Line(fmt::format("float2 wide = {};", Guarded("table[bytes >> 8 * p & 255]", "make_float2(0.0f, 0.0f)")));
    const auto step = [&](const std::string& a, const std::string& b, const std::string& c) {
      out_.Line(fmt::format("{} = {}::Fma({}, {}, {});", it, type, a, b, c));
    };
    if (more != 0) step(it, one, PairOf(more));
    for (std::size_t s = 0; s < weights_.steps.size(); ++s) {
      const StoredWeights::Step& made = weights_.steps[s];
      const auto* number = std::get_if<double>(&made.other);
      if (!wide && number == nullptr && IsWide(made)) {
        out_.Line(fmt::format("float2 wide = {}::Wide({});", type, it));
        wide = true;
      }
      if (wide) {
        WriteWideStep(made, s, type);
        continue;
      }
      const std::string other = number != nullptr ? PairOf(*number) : fmt::format("other{}[i][c]", s);
      if (made.op == BinaryOp::kMul) {
        step(it, other, none);
      } else if (made.op == BinaryOp::kAdd) {
        step(it, one, other);
      } else if (made.reversed) {
        step(it, minus, other);
      } else {
        step(other, minus, it);
      }
    }
    if (wide) out_.Line(fmt::format("{} = {}::Narrow(wide);", it, type));
    out_.Close();
  }

  // A step in f32.
  void WriteWideStep(const StoredWeights::Step& made, std::size_t s, const std::string& type) {
    const auto* number = std::get_if<double>(&made.other);
    std::string other = number != nullptr ? fmt::format("{:.1f}f", *number) : fmt::format("other{}[i][c]", s);
    if (number == nullptr && !IsWide(made)) other = fmt::format("{}::Wide({}).x", type, other);
    const char op = made.op == BinaryOp::kMul ? '*' : made.op == BinaryOp::kAdd ? '+' : '-';
    for (const char* half : {"wide.x", "wide.y"}) {
      out_.Line(made.reversed ? fmt::format("{0} = {1} {2} {0};", half, other, op)
                              : fmt::format("{0} = {0} {2} {1};", half, other, op));
    }
  }

  void WriteEnd() {
    const std::int64_t m = RowsOf(weights_), n = weights_.columns;
    // A thread has columns `row` and `row` + 8 of two neighbouring rows of x; where numbers lie across K, two
    // neighbours.
    const std::string column = weights_.across ? fmt::format("row * {} + 2 * t + i / 2", columns_ / 8)
                                               : std::string("16 * t + row + i / 2 * 8");
    out_.Unroll();
    out_.Open(fmt::format("for (int t = 0; t < {}; ++t)", columns_ / kColumnsOfMma));
    out_.Unroll();
    out_.Open(fmt::format("for (int e = 0; e < {}; ++e)", eights_));
    out_.Unroll();
    out_.Line(fmt::format("for (int i = 0; i < 4; ++i) sums[warp][8 * e + quarter * 2 + i % 2][{}] = made[t][e][i];",
                          column));
    out_.Close();
    out_.Close();
    out_.Line("__syncthreads();");
    out_.Open(fmt::format("for (int place = thread; place < {}; place += {})", columns_ * m, 32 * warps_));
    const std::string index = out_.index_type();
    out_.Line(fmt::format("const {0} m = place / {1}, column = first + place % {1};", index, columns_));
    if (n % columns_ != 0) out_.Line(fmt::format("if (column >= {}) continue;", n));
    out_.Line("float total = 0;");
    out_.Unroll();
    out_.Line(fmt::format("for (int w = 0; w < {}; ++w) total += sums[w][m][place % {}];", warps_, columns_));
    std::map<int, std::string> names;
    std::int64_t inner = 1;
    for (std::size_t d = weights_.n.size(); d-- > 0; inner *= weights_.n[d].extent) {
      std::string name = inner == 1 ? "column" : fmt::format("column / {}", inner);
      if (d > 0) name += fmt::format(" % {}", weights_.n[d].extent);
      names[weights_.n[d].id] = weights_.n.size() == 1 ? name : fmt::format("({})", name);
    }
    if (weights_.m) names[weights_.m->id] = "m";
    WriteElement(out_, kernel_, weights_.element, names, {.made = "total"});
    out_.Close();
  }

  const Kernel& kernel_;
  DeviceWriter& out_;
  const StoredWeights weights_;
  const DType half_, stored_;
  const std::int64_t columns_, warps_, loads_, eights_, step_;
  const bool whole_;
};

}  // namespace

HONE_ROW(Way){
    .family = "nest",
    .name = "weights",
    .doc =
        "for few rows of 16 bits times numbers of 8, or whole ones of 4, as bytes or words have them: those are read "
        "as they lie",
    .why_not = WhyNot,
    .cost = Cost,
    .multiplies = true,
    .knobs = kStoredWeightsKnobs,
    .emit_cuda = [](const KernelProgram&, const Kernel& kernel,
                    DeviceWriter& out) { WeightsWriter(kernel, out).Write(); },
};

}  // namespace hone::dsl::cuda_way_nest_weights
