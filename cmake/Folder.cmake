# hone_folder(<name> SEES <folders...> [LINK <targets...>] [TEST_LINK <targets...>])
#
# src/<name> as the static library hone_<name>: all .cc files right in it but main.cc, *_test.cc files as the test program
# <name>_test. SEES lists exactly the folders of src/ whose headers it may include; tests/layers.py keeps it so.
function(hone_folder name)
  cmake_parse_arguments(arg "" "" "SEES;LINK;TEST_LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  if(NOT sources)  # headers only, or all sources come from a table
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cc)
    file(CONFIGURE OUTPUT ${sources} CONTENT "")
  endif()
  add_library(hone_${name} STATIC ${sources})
  hone_batch(hone_${name} ${name} ${sources})
  foreach(seen IN LISTS arg_SEES)
    target_link_libraries(hone_${name} PUBLIC hone_${seen})
  endforeach()
  target_link_libraries(hone_${name} PUBLIC ${arg_LINK} PRIVATE hone_settings)
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE hone_${name} ${arg_TEST_LINK} hone_settings GTest::gtest GTest::gtest_main)
    if(HONE_BATCHES)
      target_precompile_headers(${name}_test REUSE_FROM hone_gtest)
      target_compile_options(${name}_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # so that ccache knows what it was
    endif()
    # Each folder's gtest results go to one file, so that ./dev test can count single tests.
    add_test(NAME ${name} COMMAND ${name}_test --gtest_output=xml:${CMAKE_BINARY_DIR}/test-results/${name}.xml)
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "HONE_SOURCE=${CMAKE_SOURCE_DIR};HONE_PROGRAM=${CMAKE_BINARY_DIR}/hone;${HONE_TEST_ENVIRONMENT}")
  endif()
endfunction()

# hone_batch(<library> <name> <files...>): where HONE_BATCHES is on, the files are compiled twenty at a time: headers and
# what they instantiate are most of what a file costs. Files of a batch share their unnamed namespace, but for those of a table, each of
# which has a namespace of its own.
function(hone_batch library name)
  if(NOT HONE_BATCHES)
    return()
  endif()
  set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  list(LENGTH ARGN count)
  math(EXPR batches "(${count} + 19) / 20")
  set(at 0)
  foreach(file IN LISTS ARGN)
    math(EXPR batch "${at} * ${batches} / ${count} + 1")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${name}_${batch})
    math(EXPR at "${at} + 1")
  endforeach()
endfunction()
