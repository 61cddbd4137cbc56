#include "target/cuda/sass.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace hone::cuda {
namespace {

// Instructions are 128 bits. Memory and control instructions are told apart by the low 12 bits; those of the arithmetic
// units by 9, since the next 3 say where the operands come from.
struct Opcode {
  int bits;
  std::string_view name;
  Unit unit;
  bool has_width = false;
};
constexpr Opcode kWhole[] = {
    {0x981, "LDG", Unit::kGlobalLoad, true},
    {0x986, "STG", Unit::kGlobalStore, true},
    {0x980, "LD", Unit::kGlobalLoad, true},
    {0x985, "ST", Unit::kGlobalStore, true},
    {0x983, "LDL", Unit::kLocal, true},
    {0x387, "STL", Unit::kLocal, true},
    {0x984, "LDS", Unit::kShared, true},
    {0x988, "STS", Unit::kShared, true},
    {0x388, "STS", Unit::kShared, true},
    {0xfae, "LDGSTS", Unit::kBulk},
    {0x83b, "LDSM", Unit::kShared},
    {0x844, "STSM", Unit::kShared},
    {0x5b4, "UTMALDG", Unit::kBulk},
    {0x3b5, "UTMASTG", Unit::kBulk},
    {0x3ba, "UBLKCP", Unit::kBulk},
    {0x9a8, "ATOMG", Unit::kAtomic},
    {0x9a6, "REDG", Unit::kAtomic},
    {0x98e, "REDG", Unit::kAtomic},
    {0x919, "S2R", Unit::kMove},
    {0x9c3, "S2UR", Unit::kMove},
    {0x805, "CS2R", Unit::kMove},
    {0x803, "P2R", Unit::kMove},
    {0x804, "R2P", Unit::kMove},
    {0x806, "VOTE", Unit::kShuffle},
    {0x7ac, "LDCU", Unit::kMove},
    {0x2ca, "R2UR", Unit::kMove},
    {0x886, "VOTEU", Unit::kShuffle},
    {0x98f, "CCTL", Unit::kOther},  // prefetches, and what else a program may tell caches
    {0x3bc, "UBLKPF", Unit::kOther},
    {0x5b8, "UTMAPF", Unit::kOther},
    {0x9b9, "UTMACCTL", Unit::kOther},
    {0x3c6, "FENCE", Unit::kOther},
    {0x9ab, "ERRBAR", Unit::kOther},
    {0x5ab, "CGAERRBAR", Unit::kOther},
    {0x9c7, "UCGABAR", Unit::kBarrier},
    {0xdc7, "UCGABAR", Unit::kBarrier},
    {0x82d, "PREEXIT", Unit::kOther},  // griddepcontrol.launch_dependents
    {0x82e, "ACQBULK", Unit::kOther},  // griddepcontrol.wait
    {0x98c, "ATOMS", Unit::kAtomic},
    {0xb1d, "BAR", Unit::kBarrier},
    {0xf89, "SHFL", Unit::kShuffle},
    {0x589, "SHFL", Unit::kShuffle},
    {0x989, "SHFL", Unit::kShuffle},
    {0x389, "SHFL", Unit::kShuffle},
    {0x992, "MEMBAR", Unit::kOther},
    {0x9f0, "HGMMA", Unit::kTensors},
    {0x9f1, "IGMMA", Unit::kTensors},
    {0x9f3, "QGMMA", Unit::kTensors},
    {0x9c5, "WARPGROUP", Unit::kOther},
    {0x5a7, "SYNCS", Unit::kOther},
    {0x9a7, "SYNCS", Unit::kOther},
    {0x5b2, "SYNCS", Unit::kOther},
    {0x94d, "EXIT", Unit::kBranch},
    {0x947, "BRA", Unit::kBranch},
    {0x547, "BRA", Unit::kBranch},
    {0x943, "CALL", Unit::kBranch},
    {0x944, "CALL", Unit::kBranch},
    {0x950, "RET", Unit::kBranch},
    {0x918, "NOP", Unit::kOther},
    {0xb82, "LDC", Unit::kMove},
    {0xab9, "ULDC", Unit::kMove},
    {0x3c4, "REDUX", Unit::kShuffle},
    {0x945, "BSSY", Unit::kBranch},
    {0x941, "BSYNC", Unit::kBranch},
};
constexpr Opcode kArithmetic[] = {
    {0x021, "FADD", Unit::kSingleAdd},
    {0x020, "FMUL", Unit::kSingleAdd},
    {0x023, "FFMA", Unit::kSingleFused},
    {0x009, "FMNMX", Unit::kSingleOther},
    {0x00b, "FSETP", Unit::kSingleOther},
    {0x008, "FSEL", Unit::kSingleOther},
    {0x029, "DADD", Unit::kDouble},
    {0x028, "DMUL", Unit::kDouble},
    {0x02b, "DFMA", Unit::kDouble},
    {0x02a, "DSETP", Unit::kDouble},
    {0x030, "HADD2", Unit::kHalf},
    {0x031, "HFMA2", Unit::kHalf},
    {0x032, "HMUL2", Unit::kHalf},
    {0x035, "HFMA2.BF16", Unit::kHalf},
    {0x03c, "HMMA", Unit::kTensor},
    {0x037, "IMMA", Unit::kTensor},
    {0x03f, "DMMA", Unit::kTensor},
    {0x108, "MUFU", Unit::kSpecial},
    {0x104, "F2F", Unit::kConvert},
    {0x105, "F2I", Unit::kConvert},
    {0x106, "I2F", Unit::kConvert},
    {0x045, "I2FP", Unit::kInteger},
    {0x03e, "F2FP", Unit::kHalf},
    {0x010, "IADD3", Unit::kInteger},
    {0x024, "IMAD", Unit::kInteger},
    {0x025, "IMAD.WIDE", Unit::kInteger},
    {0x027, "IMAD.HI", Unit::kInteger},
    {0x012, "LOP3", Unit::kInteger},
    {0x011, "LEA", Unit::kInteger},
    {0x019, "SHF", Unit::kInteger},
    {0x00c, "ISETP", Unit::kInteger},
    {0x01c, "PLOP3", Unit::kInteger},
    {0x09c, "UPLOP3", Unit::kInteger},
    {0x016, "PRMT", Unit::kInteger},
    {0x002, "MOV", Unit::kMove},
    {0x007, "SEL", Unit::kInteger},
    {0x110, "F2F", Unit::kConvert},
    {0x111, "F2I", Unit::kConvert},
    {0x112, "I2F", Unit::kConvert},
    {0x107, "FRND", Unit::kConvert},
    {0x100, "FLO", Unit::kInteger},
    {0x109, "POPC", Unit::kInteger},
    {0x013, "IABS", Unit::kInteger},
    {0x036, "VIADD", Unit::kInteger},
    {0x046, "VIADDMNMX", Unit::kInteger},
    {0x048, "VIMNMX", Unit::kInteger},
    {0x040, "HMNMX2", Unit::kHalf},
    // Those of a warp as a whole.
    {0x090, "UIADD3", Unit::kInteger},
    {0x0a4, "UIMAD", Unit::kInteger},
    {0x0a5, "UIMAD.WIDE", Unit::kInteger},
    {0x08c, "UISETP", Unit::kInteger},
    {0x091, "ULEA", Unit::kInteger},
    {0x092, "ULOP3", Unit::kInteger},
    {0x096, "UPRMT", Unit::kInteger},
    {0x087, "USEL", Unit::kInteger},
    {0x099, "USHF", Unit::kInteger},
    {0x082, "UMOV", Unit::kMove},
};
constexpr Opcode kUnknown = {-1, "other", Unit::kOther};
constexpr Opcode kProductOfNothing = {-1, "IMAD.MOV", Unit::kMove};  // a move that the multiplier makes
constexpr std::array<std::string_view, 8> kWidths = {".U8", ".S8", ".U16", ".S16", ".32", ".64", ".128", ""};
constexpr std::array<std::uint8_t, 8> kWidthBytes = {1, 1, 2, 2, 4, 8, 16, 0};
constexpr int kZeroRegister = 255;

// The row of every value of the low 12 bits.
const Opcode& RowOf(unsigned bits) {
  static const auto rows = [] {
    std::array<const Opcode*, 4096> found;
    found.fill(&kUnknown);
    for (const auto& opcode : kArithmetic) {
      for (unsigned form = 0; form < 8; ++form) found[static_cast<unsigned>(opcode.bits) | form << 9] = &opcode;
    }
    for (const auto& opcode : kWhole) found[static_cast<unsigned>(opcode.bits)] = &opcode;
    return found;
  }();
  return *rows[bits & 0xfff];
}

constexpr unsigned Bits(std::uint64_t word, int first, int count) {
  return static_cast<unsigned>(word >> first & ((std::uint64_t{1} << count) - 1));
}

// How many words of 32 bits a branch goes from its successor on. Bits 34 to 81 hold it; since sm_90 they hold the part
// beyond the lowest 8 bits, which lie in bits 16 to 23.
std::int64_t BranchWords(std::uint64_t low, std::uint64_t high, int architecture) {
  const std::uint64_t field = low >> 34 | (high & 0x3ffff) << 30;
  const auto words = static_cast<std::int64_t>(field << 16) >> 16;  // of 48 bits, with a sign
  return architecture >= 90 ? words * 256 + Bits(low, 16, 8) : words;
}

}  // namespace

std::vector<Instruction> Decode(std::string_view text, int architecture) {
  std::vector<Instruction> code;
  code.reserve(text.size() / 16);
  for (std::size_t at = 0; at + 16 <= text.size(); at += 16) {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, text.data() + at, 8);
    std::memcpy(&high, text.data() + at + 8, 8);
    const Opcode* row = &RowOf(Bits(low, 0, 12));
    if (row->name == "IMAD" && Bits(low, 24, 8) == kZeroRegister) row = &kProductOfNothing;
    const unsigned width = Bits(high, 9, 3);
    Instruction one{.name = row->name, .unit = row->unit};
    if (row->has_width) {
      one.width = kWidths[width];
      one.bytes = kWidthBytes[width];
    }
    one.predicated = Bits(low, 12, 3) != 7;
    if (const unsigned scoreboard = Bits(high, 46, 3); scoreboard < 6)
      one.announces = static_cast<std::int8_t>(scoreboard);
    one.waits = static_cast<std::uint8_t>(Bits(high, 52, 6));
    if (one.name == "BRA") {
      const std::int64_t target = static_cast<std::int64_t>(at) + 16 + 4 * BranchWords(low, high, architecture);
      if (target >= 0 && target % 16 == 0 && static_cast<std::size_t>(target) < text.size())
        one.target = static_cast<std::int32_t>(target / 16);
    }
    code.push_back(one);
  }
  return code;
}

namespace {

// What a thread may do before it waits: nothing of it reads or writes memory that others have.
bool IsOwn(const Instruction& one) {
  switch (one.unit) {
    case Unit::kShared:
    case Unit::kSingleAdd:
    case Unit::kSingleFused:
    case Unit::kSingleOther:
    case Unit::kDouble:
    case Unit::kHalf:
    case Unit::kInteger:
    case Unit::kConvert:
    case Unit::kSpecial:
    case Unit::kMove:
    case Unit::kShuffle:
    case Unit::kBarrier: return true;
    case Unit::kBranch: return one.name == "BSSY" || one.name == "BSYNC";  // where threads meet again
    case Unit::kOther: break;
    default: return false;
  }
  constexpr std::string_view kNames[] = {"NOP",       "PREEXIT", "SYNCS",    "FENCE",  "MEMBAR", "ERRBAR",
                                         "CGAERRBAR", "CCTL",    "UTMACCTL", "UBLKPF", "UTMAPF"};
  return std::find(std::begin(kNames), std::end(kNames), one.name) != std::end(kNames);
}

}  // namespace

bool WaitsFirst(std::span<const Instruction> code) {
  std::vector<bool> seen(code.size());
  std::vector<std::size_t> paths = {0};
  while (!paths.empty()) {
    std::size_t at = paths.back();
    paths.pop_back();
    for (;; ++at) {
      if (at >= code.size()) return false;
      if (seen[at]) break;
      seen[at] = true;
      const Instruction& one = code[at];
      if (one.name == "ACQBULK" && !one.predicated) break;
      if (one.name == "BRA") {  // by a predicate that stands elsewhere than of other instructions, perhaps
        if (one.target < 0) return false;
        paths.push_back(static_cast<std::size_t>(one.target));
      } else if (!IsOwn(one)) {
        return false;
      }
    }
  }
  return true;
}

std::vector<Loop> LoopsOf(std::span<const Instruction> code) {
  std::map<std::size_t, std::size_t> ends;  // several branches may lead to one beginning
  std::vector<std::size_t> exits;           // after which nothing follows but by a branch
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& one = code[i];
    if ((one.name == "EXIT" || one.name == "RET") && !one.predicated) exits.push_back(i);
    const auto target = static_cast<std::size_t>(one.target);
    if (one.target < 0 || target >= i) continue;  // the last one goes to itself: a fence behind the kernel
    const auto exit = std::lower_bound(exits.begin(), exits.end(), target);
    if (exit == exits.end()) ends[target] = std::max(ends[target], i + 1);
  }
  std::vector<Loop> loops;
  for (const auto& [begin, end] : ends) loops.push_back({.begin = begin, .end = end});
  for (auto& loop : loops) {
    for (const auto& other : loops) {
      if (&other == &loop) continue;
      if (other.begin <= loop.begin && loop.end <= other.end) ++loop.depth;
      if (loop.begin <= other.begin && other.end <= loop.end) loop.innermost = false;
    }
  }
  return loops;
}

}  // namespace hone::cuda
