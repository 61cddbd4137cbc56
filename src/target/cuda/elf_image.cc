#include "target/cuda/elf_image.h"

namespace hone::cuda {

std::string_view StringAt(std::string_view table, std::size_t offset) {
  if (offset >= table.size()) return {};
  const auto text = table.substr(offset);
  return text.substr(0, text.find('\0'));
}

std::optional<ElfImage> ElfImage::Read(std::string_view image) {
  ElfImage read;
  read.image_ = image;
  const auto header = ValueAt<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  read.header_ = *header;
  for (int i = 0; i < header->e_shnum; ++i) {
    const auto section = ValueAt<Elf64_Shdr>(image, header->e_shoff + static_cast<std::size_t>(i) * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    const bool in_file = section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL;
    if (in_file && (section->sh_offset > image.size() || image.size() - section->sh_offset < section->sh_size))
      return std::nullopt;
    read.sections_.push_back(*section);
  }
  if (header->e_shstrndx >= read.sections_.size()) return std::nullopt;
  read.names_ = read.Content(read.sections_[header->e_shstrndx]);
  return read;
}

std::string_view ElfImage::Content(const Elf64_Shdr& section) const {
  return section.sh_type == SHT_NOBITS ? std::string_view() : image_.substr(section.sh_offset, section.sh_size);
}

}  // namespace hone::cuda
