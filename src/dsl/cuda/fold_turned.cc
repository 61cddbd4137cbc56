#include "dsl/cuda/fold_turned.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda/fold_writer.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kLeastRows = 16;                       // side by side: fewer are not worth the way round
constexpr std::int64_t kLeastLanes = 4, kMostLanes = 16;      // 64 to 16 rows a block: two of 16 bits to a sector
constexpr std::int64_t kMostTileBytes = 40 << 10;             // that every block may have, and what else it needs
constexpr std::int64_t kTileBytes = 32 << 10, kTileWord = 4;  // of a block, where several are to be on a multiprocessor
constexpr std::int64_t kUnrolledTurns = 16, kFewerTurns = 8;

std::int64_t ElementBytesOf(const Kernel& kernel, int operand) {
  return static_cast<std::int64_t>(Bytes(kernel.operand_types[static_cast<std::size_t>(operand)]));
}

std::int64_t TileBytesOf(const Kernel& kernel, const Loops& loops, const std::vector<int>& operands,
                         std::int64_t lanes) {
  std::int64_t bytes = 0;
  for (const int operand : operands) {
    const std::int64_t element = ElementBytesOf(kernel, operand);
    bytes += kTurnedThreads / lanes * TurnedPitch(loops.dims.back().extent, element) * element;
  }
  return bytes;
}

}  // namespace

std::vector<int> TurnedOperands(const Kernel& kernel, const Loops& loops) {
  const auto& dims = loops.dims;
  std::vector<int> operands;
  if (!kernel.family->keeps_axes || dims.size() < 2 || !dims.back().reduced || loops.Count(true) != dims.back().extent)
    return operands;
  const LoopDim &row = dims.back(), &beside = dims[dims.size() - 2];
  if (beside.extent < kLeastRows) return operands;
  for (std::size_t o = 0; o < kernel.operands.size(); ++o) {
    const std::int64_t bytes = ElementBytesOf(kernel, static_cast<int>(o));
    if (row.strides[o] > 1 && beside.strides[o] == 1 && (bytes == 2 || bytes == 4))
      operands.push_back(static_cast<int>(o));
  }
  return operands;
}

std::int64_t TurnedPitch(std::int64_t row, std::int64_t element_bytes) {
  const std::int64_t a_word = kTileWord / element_bytes;
  return ((row + a_word - 1) / a_word | 1) * a_word;
}

bool TurnedFits(const Kernel& kernel, const Loops& loops, const std::vector<int>& operands, std::int64_t lanes) {
  return lanes >= kLeastLanes && lanes <= kMostLanes && TileBytesOf(kernel, loops, operands, lanes) <= kMostTileBytes;
}

std::int64_t TurnedLanes(const Kernel& kernel) {
  static const KernelProgram kNone;
  const Loops loops(kNone, kernel);
  const auto operands = TurnedOperands(kernel, loops);
  if (operands.empty() || !TurnedFits(kernel, loops, operands, kMostLanes)) return 0;
  // Fewer lanes leave longer pieces of memory to a block, more of them blocks for all multiprocessors.
  constexpr std::int64_t kLanes = kMostLanes / 2;
  const bool fills = loops.Count(false) >= kernel.device->multiprocessors * (kTurnedThreads / kLanes);
  return fills && TileBytesOf(kernel, loops, operands, kLanes) <= kTileBytes ? kLanes : kMostLanes;
}

void FoldWriter::FindTurned() {
  if (!rows_ || !keep_ || split_ * cluster_ * team_ * ahead_ != 1) return;
  const auto operands = TurnedOperands(kernel_, loops_);
  if (operands.empty() || !TurnedFits(kernel_, loops_, operands, lanes_)) return;
  for (const int operand : operands) turned_[operand];
}

// Elements of neighbouring rows that are read as one: a word, where all begin at a word's beginning.
std::int64_t FoldWriter::TurnedWord(int operand) const {
  const std::int64_t word = kTileWord / ElementBytes(operand);
  const auto strides = loops_.Strides(operand);
  bool whole = kernel_.operands[static_cast<std::size_t>(operand)].offset % word == 0;
  for (std::size_t d = 0; d < strides.size(); ++d)
    whole &= d + 2 == strides.size() ? loops_.dims[d].extent % word == 0 : strides[d] % word == 0;
  return whole ? word : 1;
}

void FoldWriter::LoadTurned() {
  const std::int64_t row = loops_.dims.back().extent;
  for (auto& [operand, own] : turned_) {
    const std::string& from = out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer);
    const std::string type = TurnedType(operand), tile = out_.Fresh(from + "_rows");
    const std::int64_t pitch = TurnedPitch(row, ElementBytes(operand)), word = TurnedWord(operand);
    out_.Line(fmt::format("__shared__ __align__(16) {} {}[{}];", type, tile, RowsABlock() * pitch));
    own = out_.Fresh(from + "_own");
    LoadTurned(operand, tile, pitch, word);
    out_.Line(fmt::format("const {}* const {} = {} + threadIdx.x / {} * {};", type, own, tile, lanes_, pitch));
  }
  out_.Line("__syncthreads();");
}

// Neighbouring threads have neighbouring rows, a word of them each, and a word of what is in each row side by side.
void FoldWriter::LoadTurned(int operand, const std::string& tile, std::int64_t pitch, std::int64_t word) {
  const std::string& from = out_.BufferName(kernel_.operands[static_cast<std::size_t>(operand)].buffer);
  const std::string type = TurnedType(operand);
  const std::int64_t row = loops_.dims.back().extent, rows = RowsABlock(), words = rows / word;
  const std::int64_t deep = row % (kTileWord / ElementBytes(operand)) == 0 ? kTileWord / ElementBytes(operand) : 1;
  const std::int64_t step = kTurnedThreads / words * deep, turns = (row + step - 1) / step;
  const std::vector<std::string> outside = places_;
  out_.Open("");
  const std::string place = out_.Fresh("place"), first = out_.Fresh("first"), at = out_.Fresh("at"),
                    turn = out_.Fresh("turn"), column = out_.Fresh("column");
  const auto times = [](std::int64_t n) { return n == 1 ? "" : fmt::format(" * {}", n); };
  out_.Line(fmt::format("const int {} = threadIdx.x % {}{}, {} = threadIdx.x / {}{};", place, words, times(word), first,
                        words, times(deep)));
  std::string wanted = fmt::format("static_cast<{}>(blockIdx.x) * {} + {}", index(), rows, place);
  if (row_count_ % rows != 0) {
    const std::string whole = out_.Fresh("wanted");
    out_.Line(fmt::format("const {} {} = {};", index(), whole, wanted));
    wanted = fmt::format("{0} < {1} ? {0} : {2}", whole, row_count_, row_count_ - word);
  }
  out_.Line(fmt::format("const {} {} = {};", index(), at, wanted));
  NamePlaces(kept_, at, 1);
  out_.Line(fmt::format("#pragma unroll {}", turns <= kUnrolledTurns ? turns : kFewerTurns));
  out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", turn, turns));
  out_.Line(fmt::format("const int {} = {} * {} + {};", column, turn, step, first));
  if (row % step != 0) out_.Line(fmt::format("if ({} == {} && {} >= {}) break;", turn, turns - 1, column, row));
  std::vector<std::string> loaded;
  for (std::int64_t n = 0; n < deep; ++n) {
    places_[reduced_[0]] = n == 0 ? column : fmt::format("{} + {}", column, n);
    const std::string address = loops_.OperandAddress(operand, places_);
    loaded.push_back(out_.Fresh("loaded"));
    const std::string wide = word > 1 ? dsl::PackType(out_, type, word) : type;
    out_.Line(fmt::format("const {} {} = {};", wide, loaded.back(),
                          word > 1 ? PackText(wide, from, address) : fmt::format("{}[{}]", from, address)));
  }
  for (std::int64_t w = 0; w < word; ++w) {
    std::string values;
    for (const auto& name : loaded)
      values += (values.empty() ? "" : ", ") + (word > 1 ? fmt::format("{}.at[{}]", name, w) : name);
    const std::string to = w == 0 ? fmt::format("{} * {} + {}", place, pitch, column)
                                  : fmt::format("({} + {}) * {} + {}", place, w, pitch, column);
    out_.Line(deep > 1 ? fmt::format("*reinterpret_cast<{0}*>({1} + {2}) = {0}{{{{{3}}}}};",
                                     dsl::PackType(out_, type, deep), tile, to, values)
                       : fmt::format("{}[{}] = {};", tile, to, values));
  }
  out_.Close();
  out_.Close();
  places_ = outside;
}

std::string FoldWriter::TurnedType(int operand) const {
  return DeviceType(kernel_.operand_types[static_cast<std::size_t>(operand)]);
}

// A pack of this thread's row, out of whole words.
std::string FoldWriter::TurnedPack(int operand) {
  const std::string &own = turned_.at(operand), &at = places_[reduced_[0]], type = TurnedType(operand);
  const std::int64_t word = std::min(kTileWord / ElementBytes(operand), pack_ % 2 == 0 ? 2 : std::int64_t{1});
  std::string values;
  for (std::int64_t n = 0; n < pack_; n += word) {
    const std::string address = n == 0 ? at : fmt::format("{} + {}", at, n);
    std::string name;
    if (word > 1) {
      const std::string wide = dsl::PackType(out_, type, word);
      name = out_.Fresh("two");
      out_.Line(fmt::format("const {} {} = {};", wide, name, PackText(wide, own, address)));
    }
    for (std::int64_t w = 0; w < word; ++w)
      values += (values.empty() ? "" : ", ") +
                (word > 1 ? fmt::format("{}.at[{}]", name, w) : fmt::format("{}[{}]", own, address));
  }
  return fmt::format("{{{{{}}}}}", values);
}

}  // namespace hone::dsl
