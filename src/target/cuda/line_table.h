// Of which line of its source each instruction of a cubin is, where it was compiled with -lineinfo: the section
// .debug_line, which is DWARF's line program of version 2 to 4.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hone::cuda {

struct LineRow {
  std::uint64_t address = 0;  // in bytes from the function's beginning; up to the next row's
  int file = 0, line = 0;     // of LineTable::files
};

struct LineTable {
  std::vector<std::string> files;  // as the compiler names them, with their folders where it knows those
  std::map<std::string, std::vector<LineRow>, std::less<>> functions;  // by symbol; rows by address
};

// `functions` says what the linker has to put in: the symbol of the function whose address stands at an offset of the
// section. What cannot be read is left out: lines are for people.
LineTable ReadLineTable(std::string_view section, const std::map<std::uint64_t, std::string>& functions);

}  // namespace hone::cuda
