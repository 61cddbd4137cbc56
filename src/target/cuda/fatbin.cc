#include "target/cuda/fatbin.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>

namespace hone::cuda {
namespace {

constexpr std::uint32_t kMagic = 0xba55ed50;

struct Container {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // behind the header
};

struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  // behind the header, padding included
  std::uint32_t compressed_bytes;
};
constexpr std::uint16_t kCubin = 2;

template <class T>
std::optional<T> At(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Nothing when it is cut off.
std::optional<std::string_view> Part(std::string_view bytes, std::uint64_t offset, std::uint64_t count) {
  if (offset > bytes.size() || bytes.size() - offset < count) return std::nullopt;
  return bytes.substr(offset, count);
}

// Empty where there is no such section; nothing when it is no shared object.
std::optional<std::string_view> Section(std::string_view library, std::string_view wanted) {
  const auto header = At<Elf64_Ehdr>(library, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  const auto at = [&](std::uint64_t number) {
    return At<Elf64_Shdr>(library, header->e_shoff + number * sizeof(Elf64_Shdr));
  };
  const auto naming = at(header->e_shstrndx);
  const auto names = naming ? Part(library, naming->sh_offset, naming->sh_size) : std::nullopt;
  if (!names) return std::nullopt;
  for (std::uint64_t number = 0; number < header->e_shnum; ++number) {
    const auto section = at(number);
    if (!section) return std::nullopt;
    if (section->sh_name >= names->size() || section->sh_type == SHT_NOBITS) continue;
    const std::string_view name = names->substr(section->sh_name);
    if (name.substr(0, name.find('\0')) == wanted) return Part(library, section->sh_offset, section->sh_size);
  }
  return std::string_view();
}

tl::unexpected<Error> Corrupt(const char* what) { return Fail(ErrorKind::kCorrupt, what); }

Result<void> ReadContainer(std::string_view entries, std::vector<KernelFacts>& kernels) {
  while (!entries.empty()) {
    const auto entry = At<Entry>(entries, 0);
    if (!entry || entry->header_bytes < sizeof(Entry)) return Corrupt("an entry of a fatbin is cut off");
    const auto content = Part(entries, entry->header_bytes, entry->bytes);
    if (!content) return Corrupt("an entry of a fatbin is cut off");
    entries.remove_prefix(entry->header_bytes + entry->bytes);
    if (entry->kind != kCubin) continue;
    if (entry->compressed_bytes != 0) return Corrupt("a cubin in a fatbin is compressed");
    auto read = HONE_TRY(ReadCubin(*content));
    kernels.insert(kernels.end(), std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
  }
  return {};
}

}  // namespace

Result<std::vector<KernelFacts>> ReadKernelsOfLibrary(std::string_view library) {
  const auto section = Section(library, ".nv_fatbin");
  if (!section) return Corrupt("this is no shared object");
  std::vector<KernelFacts> kernels;
  for (std::string_view rest = *section; !rest.empty();) {
    const auto container = At<Container>(rest, 0);
    if (!container || container->magic != kMagic) {
      rest.remove_prefix(std::min<std::size_t>(rest.size(), 8));  // containers begin at multiples of eight bytes
      continue;
    }
    const auto entries = Part(rest, container->header_bytes, container->bytes);
    if (!entries) return Corrupt("a fatbin is cut off");
    HONE_TRY(ReadContainer(*entries, kernels));
    rest.remove_prefix(container->header_bytes + container->bytes);
  }
  return kernels;
}

}  // namespace hone::cuda
