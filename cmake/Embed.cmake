# hone_embed(<library> <symbol> <files...>): the text of the files, one after the other, as `extern const std::string_view
# hone::<symbol>`, declared by whoever uses it. Follows the files: a change is picked up by the next build.
function(hone_embed library symbol)
  set(text "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} one)
    string(APPEND text "${one}")
  endforeach()
  # A raw string literal may hold 64 KiB at most by the standard's minimum; compilers take more, adjacent pieces are safe.
  string(LENGTH "${text}" length)
  set(pieces "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 12000 piece)
    string(APPEND pieces "R\"hone~(${piece})hone~\"\n")
    math(EXPR at "${at} + 12000")
  endwhile()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embed_${symbol}.cc)
  file(GENERATE OUTPUT ${output} CONTENT "#include <string_view>
namespace hone {
extern const std::string_view ${symbol};
const std::string_view ${symbol} =
${pieces};
}
")
  target_sources(${library} PRIVATE ${output})
endfunction()
