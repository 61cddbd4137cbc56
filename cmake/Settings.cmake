# What our own targets compile with; never seen by dependants.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_SKIP_BUILD_RPATH ON)  # system libraries only
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What a precompiled header is made of is looked at as the headers themselves: ccache asks to be told so. Paths below the
  # source count from there, so that what one checkout compiled is known in another.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

add_library(hone_settings INTERFACE)
target_compile_features(hone_settings INTERFACE cxx_std_20)
target_include_directories(hone_settings INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/generated)
target_compile_options(hone_settings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  -Wno-missing-field-initializers)  # {.name = "x"} leaves the rest to their defaults on purpose
# Files call themselves by their place in the source: a check's message is the same whoever built it, and ccache knows a
# batch again in another checkout.
target_compile_options(hone_settings INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(HONE_WERROR)
  target_compile_options(hone_settings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 is wrong about std::optional (uninitialized members) and about std::string + "x" (overlapping copies, bounds).
  target_compile_options(hone_settings INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds)
  if(HONE_BATCHES)  # both are about who sees a name, and in a batch neighbours see each other's
    target_compile_options(hone_settings INTERFACE -Wno-shadow -Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 uses what it deprecates.
  target_compile_options(hone_settings INTERFACE -Wthread-safety -Wno-deprecated-declarations)
endif()
if(HONE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(hone_settings INTERFACE -Wno-stringop-overflow)  # as wrong as -Wrestrict, and only there
endif()
if(HONE_SANITIZE)
  target_compile_options(hone_settings INTERFACE -fsanitize=${HONE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(hone_settings INTERFACE -fsanitize=${HONE_SANITIZE})
  target_compile_definitions(hone_settings INTERFACE HONE_SANITIZED=1)
endif()
# For every test under ThreadSanitizer (CONTRIBUTING.md): a child that races ends at once, since its exit status alone
# would be nobody's business; modules run on one thread, since libgomp's barriers are not seen.
set(HONE_TEST_ENVIRONMENT "")
if(HONE_SANITIZE MATCHES "thread")
  set(HONE_TEST_ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1" "OMP_THREAD_LIMIT=1")
endif()
