# hone_table(<library> <folder> <type> <prefix> <accessor> <header> [<namespace>])
#
# Every .cc file (tests apart) in <folder> defines one constant `kRow` of <type> (base/row.h), in the namespace
# `<namespace>::<prefix>_<file name>` (hone::...), which is the file's own. This compiles them all into <library> and writes <accessor>, a
# function that gives them sorted by file name. A new file is picked up by the next build: there is no list to keep, no registration at
# start-up and nothing that a linker can drop.
function(hone_table library folder type prefix accessor header)
  set(space hone ${ARGN})
  list(GET space -1 space)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  list(SORT files)
  set(declarations "")
  set(references "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    string(APPEND declarations "namespace ${prefix}_${name} {\nextern const ${type} kRow;\n}\n")
    string(APPEND references "    &${prefix}_${name}::kRow,\n")
  endforeach()
  list(LENGTH files count)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_table.cc)
  file(CONFIGURE OUTPUT ${table} CONTENT "// Generated from the files of ${folder}/.
#include \"${header}\"

#include <array>

namespace @space@ {
@declarations@
namespace {
constexpr std::array<const ${type}*, @count@> kTable = {
@references@};
}  // namespace
std::span<const ${type}* const> ${accessor}() { return kTable; }
}  // namespace @space@
" @ONLY)
  target_sources(${library} PRIVATE ${files} ${table})
  hone_batch(${library} ${prefix} ${files})
endfunction()
