// The sections of an ELF file for 64 bits, as cubins and shared objects are. The bytes outlive it.
#pragma once

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace hone::cuda {

// Nothing where it is cut off.
template <class T>
std::optional<T> ValueAt(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
std::string_view StringAt(std::string_view table, std::size_t offset);

class ElfImage {
 public:
  // Nothing when it is no such file, or cut short.
  static std::optional<ElfImage> Read(std::string_view image);

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view Content(const Elf64_Shdr& section) const;  // empty where the file has none of it
  std::string_view Name(const Elf64_Shdr& section) const { return StringAt(names_, section.sh_name); }

 private:
  std::string_view image_, names_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace hone::cuda
