# One folder is one static library. Its sources are the folder's *.cpp files, so a new rule, source or model is one new
# file and no edit here.
#
#   loop_library(NAME SEES other… [LINKS external…])
#
# SEES names the only project libraries the folder may include; tests/layers checks the includes against the same list.
function(loop_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SEES;LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE loop_options ${ARG_SEES} ${ARG_LINKS})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC loop_options ${ARG_SEES} ${ARG_LINKS})
  if(ARG_TORCH)
    loop_use_torch(${name})
  endif()
  if(LOOP_COVERAGE)
    target_compile_options(${name} PRIVATE --coverage)
    target_link_options(${name} PUBLIC --coverage)
  endif()
endfunction()
