#include "target/cuda/cubin.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "target/cuda/elf_image.h"
#include "target/cuda/line_table.h"

namespace hone::cuda {
namespace {

// Records of .nv.info: format, attribute, size or value. Only what we read has a name.
enum Attribute : int {
  kMaxThreads = 0x05,     // three extents
  kFrameSize = 0x11,      // symbol, bytes
  kParameterInfo = 0x17,  // index (4), ordinal (2), offset (2), flags with the size in bits 18 and up (4)
  kRegisterCount = 0x2f,  // symbol, registers
  kBarriers = 0x4c,
  kSpills = 0x55,  // pairs (1, offset of a spilling instruction)
};
constexpr int kSizedPayload = 4;
constexpr int kReservedShared = 1024;

class Reader {
 public:
  explicit Reader(std::string_view image) : image_(image) {}

  Result<std::vector<KernelFacts>> Run() {
    if (!ReadSections()) return Fail(ErrorKind::kCorrupt, "this is not a cubin: no ELF file for 64 bits, or cut short");
    for (const auto& section : elf_.sections()) {
      if (elf_.Name(section).starts_with(".text.")) {
        KernelFacts facts;
        facts.name = elf_.Name(section).substr(6);
        CountInstructions(section, facts);
        kernels_.push_back(std::move(facts));
      }
    }
    for (const auto& section : elf_.sections()) {
      const auto name = elf_.Name(section);
      if (name.starts_with(".nv.shared.")) {
        if (auto* facts = Find(name.substr(11)))
          facts->static_shared_bytes = std::max(0, static_cast<int>(section.sh_size) - kReservedShared);
      } else if (name == ".nv.info") {
        EachRecord(section, [&](int attribute, std::string_view payload, int) { ReadShared(attribute, payload); });
      } else if (name.starts_with(".nv.info.")) {
        if (auto* facts = Find(name.substr(9)))
          EachRecord(section, [&](int attribute, std::string_view payload, int value) {
            ReadOwn(attribute, payload, value, *facts);
          });
      }
    }
    ReadLines();
    for (auto& facts : kernels_) {
      std::sort(facts.parameters.begin(), facts.parameters.end(),
                [](const KernelParameter& a, const KernelParameter& b) { return a.offset < b.offset; });
    }
    return std::move(kernels_);
  }

 private:
  bool ReadSections() {
    auto elf = ElfImage::Read(image_);
    if (!elf) return false;
    elf_ = std::move(*elf);
    const Elf64_Ehdr& header = elf_.header();
    // CUDA 13 writes version 8 of the format, which has the architecture eight bits higher.
    architecture_ =
        static_cast<int>((header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 : header.e_flags) & 0xff);
    for (const auto& section : elf_.sections()) {
      if (section.sh_type != SHT_SYMTAB || section.sh_link >= elf_.sections().size()) continue;
      const auto strings = elf_.Content(elf_.sections()[section.sh_link]);
      for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym))
        symbols_.push_back(StringAt(strings, ValueAt<Elf64_Sym>(image_, section.sh_offset + at)->st_name));
    }
    return true;
  }

  KernelFacts* Find(std::string_view name) {
    const auto it =
        std::find_if(kernels_.begin(), kernels_.end(), [&](const KernelFacts& facts) { return facts.name == name; });
    return it == kernels_.end() ? nullptr : &*it;
  }

  template <class Visit>
  void EachRecord(const Elf64_Shdr& section, const Visit& visit) const {
    std::string_view rest = elf_.Content(section);
    while (rest.size() >= 4) {
      const int format = static_cast<unsigned char>(rest[0]), attribute = static_cast<unsigned char>(rest[1]);
      const int value = static_cast<unsigned char>(rest[2]) | static_cast<unsigned char>(rest[3]) << 8;
      rest.remove_prefix(4);
      std::string_view payload;
      if (format == kSizedPayload) {
        payload = rest.substr(0, static_cast<std::size_t>(value));
        rest.remove_prefix(payload.size());
      }
      visit(attribute, payload, value);
    }
  }

  void ReadLines() {
    std::map<std::uint64_t, std::string> functions;  // by where their addresses go in .debug_line
    std::string_view lines;
    for (const auto& section : elf_.sections()) {
      if (elf_.Name(section) == ".debug_line") lines = elf_.Content(section);
      if (elf_.Name(section) != ".rela.debug_line") continue;
      for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela)) {
        const auto one = ValueAt<Elf64_Rela>(image_, section.sh_offset + at);
        if (one && ELF64_R_SYM(one->r_info) < symbols_.size())
          functions[one->r_offset] = symbols_[ELF64_R_SYM(one->r_info)];
      }
    }
    const LineTable table = ReadLineTable(lines, functions);
    for (KernelFacts& facts : kernels_) {
      const auto rows = table.functions.find(facts.name);
      if (rows == table.functions.end()) continue;
      auto next = rows->second.begin();
      SourcePlace place;
      for (std::size_t i = 0; i < facts.code.size(); ++i) {
        for (; next != rows->second.end() && next->address <= 16 * i; ++next) {
          place.line = next->line;
          place.file = next->file < 0 ? "" : table.files[static_cast<std::size_t>(next->file)];
        }
        facts.places.push_back(place);
      }
    }
  }

  template <class T>
  static T In(std::string_view payload, std::size_t offset) {
    T value{};
    if (offset + sizeof value <= payload.size()) std::memcpy(&value, payload.data() + offset, sizeof value);
    return value;
  }

  void ReadShared(int attribute, std::string_view payload) {
    const auto symbol = In<std::uint32_t>(payload, 0);
    auto* facts = symbol < symbols_.size() ? Find(symbols_[symbol]) : nullptr;
    if (facts == nullptr) return;
    if (attribute == kRegisterCount) facts->registers = In<std::int32_t>(payload, 4);
    if (attribute == kFrameSize) facts->stack_bytes = In<std::int32_t>(payload, 4);
  }

  void ReadOwn(int attribute, std::string_view payload, int value, KernelFacts& facts) const {
    switch (attribute) {
      case kMaxThreads:
        facts.max_threads = In<std::int32_t>(payload, 0) * In<std::int32_t>(payload, 4) * In<std::int32_t>(payload, 8);
        break;
      case kParameterInfo:
        facts.parameters.push_back(
            {In<std::uint16_t>(payload, 6), static_cast<int>(In<std::uint32_t>(payload, 8) >> 18)});
        break;
      case kBarriers: facts.barriers = value & 0xff; break;
      case kSpills:
        for (std::size_t at = 0; at + 8 <= payload.size(); at += 8)
          CountSpill(In<std::uint32_t>(payload, at + 4), facts);
        break;
      default: break;
    }
  }

  static void CountSpill(std::uint32_t offset, KernelFacts& facts) {
    if (offset / 16 >= facts.code.size()) return;
    Instruction& one = facts.code[offset / 16];
    one.spill = true;
    if (one.name == "LDL") facts.spill_load_bytes += one.bytes;
    if (one.name == "STL") facts.spill_store_bytes += one.bytes;
  }

  void CountInstructions(const Elf64_Shdr& section, KernelFacts& facts) const {
    facts.code = Decode(elf_.Content(section), architecture_);
    for (const auto& one : facts.code) {
      if (one.name != "NOP") ++facts.instructions[std::string(one.name) + std::string(one.width)];
    }
  }

  std::string_view image_;
  ElfImage elf_;
  int architecture_ = 0;  // 90 of sm_90a
  std::vector<std::string_view> symbols_;
  std::vector<KernelFacts> kernels_;
};

}  // namespace

Result<std::vector<KernelFacts>> ReadCubin(std::string_view image) { return Reader(image).Run(); }

}  // namespace hone::cuda
