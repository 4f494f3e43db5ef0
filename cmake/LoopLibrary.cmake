# One folder is one static library. Its sources are the folder's *.cpp files, so a new rule, source or model is one new
# file and no edit here. What it links of the project is what cmake/LoopLayers.txt lets the folder see, nothing else.
#
#   loop_library(NAME [TORCH] [OWN_FLAGS] [LINKS external…])
#
# TORCH folders share a precompiled <torch/torch.h>, the others one of JSON and the standard library; OWN_FLAGS keeps a folder
# whose compile flags differ from using either.

# The library of a folder: loop_<last part>, with two exceptions.
function(loop_library_of folder result)
  if(folder STREQUAL "compiler/plan")
    set(${result} loop_planner PARENT_SCOPE)
  elseif(folder STREQUAL "runtime/include")
    set(${result} loop_api PARENT_SCOPE)
  else()
    get_filename_component(last "${folder}" NAME)
    set(${result} loop_${last} PARENT_SCOPE)
  endif()
endfunction()

# The libraries that the current folder may see.
function(loop_visible_libraries result)
  file(RELATIVE_PATH own "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  file(STRINGS "${CMAKE_SOURCE_DIR}/cmake/LoopLayers.txt" line REGEX "^${own}:")
  if(NOT line)
    message(FATAL_ERROR "${own} is not listed in cmake/LoopLayers.txt")
  endif()
  string(REGEX REPLACE "^[^:]+:" "" folders "${line}")
  string(STRIP "${folders}" folders)
  string(REPLACE " " ";" folders "${folders}")
  set(libraries "")
  foreach(folder IN LISTS folders)
    loop_library_of("${folder}" library)
    list(APPEND libraries ${library})
  endforeach()
  set(${result} "${libraries}" PARENT_SCOPE)
endfunction()

function(loop_use_std_pch target)
  if(NOT TARGET loop_std_pch)
    file(WRITE "${CMAKE_BINARY_DIR}/generated/std_pch.cpp" "// Carries the precompiled standard headers.\n")
    add_library(loop_std_pch OBJECT "${CMAKE_BINARY_DIR}/generated/std_pch.cpp")
    target_link_libraries(loop_std_pch PUBLIC loop_options nlohmann_json::nlohmann_json)
    target_precompile_headers(loop_std_pch PRIVATE <algorithm> <filesystem> <functional> <map> <memory> <nlohmann/json.hpp>
                              <optional> <ostream> <set> <string> <variant> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM loop_std_pch)
endfunction()

function(loop_library name)
  cmake_parse_arguments(ARG "TORCH;OWN_FLAGS" "" "LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  loop_visible_libraries(visible)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC loop_options ${visible} ${ARG_LINKS})
  if(ARG_TORCH)
    loop_use_torch(${name})
  elseif(NOT ARG_OWN_FLAGS)
    loop_use_std_pch(${name})
  endif()
endfunction()
