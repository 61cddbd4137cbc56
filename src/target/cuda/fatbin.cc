#include "target/cuda/fatbin.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include "target/cuda/elf_image.h"

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

// Nothing when it is cut off.
std::optional<std::string_view> Part(std::string_view bytes, std::uint64_t offset, std::uint64_t count) {
  if (offset > bytes.size() || bytes.size() - offset < count) return std::nullopt;
  return bytes.substr(offset, count);
}

tl::unexpected<Error> Corrupt(const char* what) { return Fail(ErrorKind::kCorrupt, what); }

Result<void> ReadContainer(std::string_view entries, std::vector<KernelFacts>& kernels) {
  while (!entries.empty()) {
    const auto entry = ValueAt<Entry>(entries, 0);
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
  const auto elf = ElfImage::Read(library);
  if (!elf) return Corrupt("this is no shared object");
  const auto holds = [&](const Elf64_Shdr& section) { return elf->Name(section) == ".nv_fatbin"; };
  const auto section = std::ranges::find_if(elf->sections(), holds);
  std::vector<KernelFacts> kernels;
  for (std::string_view rest = section == elf->sections().end() ? std::string_view() : elf->Content(*section);
       !rest.empty();) {
    const auto container = ValueAt<Container>(rest, 0);
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
