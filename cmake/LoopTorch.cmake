# LibTorch as the imported target loop_torch, and loop_use_torch(TARGET) with the shared precompiled header.
#
# Looked for in this order: LOOP_TORCH_PREFIX (cache or environment), CMAKE_PREFIX_PATH, the virtual environment that
# scripts/setup makes. Only libtorch_cpu and libc10 are linked: they are all that a run on the CPU needs.

set(LOOP_TORCH_PREFIX "$ENV{LOOP_TORCH_PREFIX}" CACHE PATH "Folder of LibTorch (the one with include/ and lib/)")
set(LOOP_MINIMUM_TORCH 2.11)

file(GLOB venv_torch "${CMAKE_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch")
find_path(LOOP_TORCH_ROOT_FOUND NAMES include/torch/csrc/api/include/torch/torch.h
          HINTS "${LOOP_TORCH_PREFIX}" ${CMAKE_PREFIX_PATH} ${venv_torch} PATH_SUFFIXES libtorch NO_DEFAULT_PATH)
if(NOT LOOP_TORCH_ROOT_FOUND)
  message(FATAL_ERROR "LibTorch was not found. Run scripts/setup, or name its folder: -DLOOP_TORCH_PREFIX=/path/to/libtorch "
                      "(or build the compiler alone with -DLOOP_WITH_TORCH=OFF).")
endif()
set(LOOP_TORCH_ROOT "${LOOP_TORCH_ROOT_FOUND}")

set(LOOP_TORCH_VERSION "")
file(GLOB_RECURSE version_headers "${LOOP_TORCH_ROOT}/include/torch/*version.h")
foreach(header IN LISTS version_headers)
  file(STRINGS "${header}" lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  if(lines)
    string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
    list(JOIN numbers "." LOOP_TORCH_VERSION)
    break()
  endif()
endforeach()
if(LOOP_TORCH_VERSION VERSION_LESS LOOP_MINIMUM_TORCH)
  message(FATAL_ERROR "LibTorch '${LOOP_TORCH_VERSION}' in ${LOOP_TORCH_ROOT} is older than ${LOOP_MINIMUM_TORCH}, which Loop needs.")
endif()
message(STATUS "LibTorch ${LOOP_TORCH_VERSION}: ${LOOP_TORCH_ROOT}")

add_library(loop_torch INTERFACE)
target_include_directories(loop_torch SYSTEM INTERFACE "${LOOP_TORCH_ROOT}/include"
                           "${LOOP_TORCH_ROOT}/include/torch/csrc/api/include")
target_link_libraries(loop_torch INTERFACE "${LOOP_TORCH_ROOT}/lib/libtorch_cpu.so" "${LOOP_TORCH_ROOT}/lib/libc10.so")
# The wheel's libtorch_cpu needs libraries of its neighbours (libcudart, libcupti); its own RPATH finds them at run time.
file(GLOB wheel_libraries "${LOOP_TORCH_ROOT}/../nvidia/*/lib")
foreach(folder IN LISTS wheel_libraries)
  target_link_options(loop_torch INTERFACE "-Wl,-rpath-link,${folder}")
endforeach()

function(loop_use_torch target)
  target_link_libraries(${target} PUBLIC loop_torch)
  if(NOT TARGET loop_torch_pch)
    file(WRITE "${CMAKE_BINARY_DIR}/generated/torch_pch.cpp" "// Carries the precompiled <torch/torch.h>.\n")
    add_library(loop_torch_pch OBJECT "${CMAKE_BINARY_DIR}/generated/torch_pch.cpp")
    target_link_libraries(loop_torch_pch PUBLIC loop_options loop_torch)
    target_precompile_headers(loop_torch_pch PRIVATE <torch/torch.h>)
  endif()
  # The precompiled header is made with -fPIC; an executable's -fPIE would make it unusable.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM loop_torch_pch)
endfunction()
