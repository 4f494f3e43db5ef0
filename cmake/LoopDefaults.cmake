# Language level, output folders, warnings and sanitizers for every target of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(LOOP_CCACHE ccache)
if(LOOP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A precompiled header and clones in several folders share one cache only with these settings.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" ${LOOP_CCACHE})
endif()

add_library(loop_options INTERFACE)
target_include_directories(loop_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(loop_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies and bounds that are not there inside std::string's own members once they are inlined.
  target_compile_options(loop_options INTERFACE -fpch-preprocess -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                         -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12's stable_sort uses what it deprecates itself.
  target_compile_options(loop_options INTERFACE -Wno-deprecated-declarations)
endif()
if(LOOP_WERROR)
  target_compile_options(loop_options INTERFACE -Werror)
endif()
if(LOOP_SANITIZE)
  target_compile_options(loop_options INTERFACE -fsanitize=${LOOP_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(loop_options INTERFACE -fsanitize=${LOOP_SANITIZE})
endif()
if(LOOP_COVERAGE)
  target_compile_options(loop_options INTERFACE --coverage)
  target_link_options(loop_options INTERFACE --coverage)
endif()
if(LOOP_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "LOOP_FUZZ needs clang: configure with the preset `fuzz` or -DCMAKE_CXX_COMPILER=clang++-19")
  endif()
  # A null or a bad pointer ends under AddressSanitizer as well. UBSan's own compares for each access are traced by libFuzzer
  # like the program's, and were a third of the time; the build `asan-ubsan` has them.
  target_compile_options(loop_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
                         -fno-sanitize=null,alignment,object-size,vptr -fno-omit-frame-pointer)
  target_compile_definitions(loop_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(loop_options INTERFACE -fsanitize=address,undefined)
endif()
