# What the build was made with, for `loopc doctor`.
function(loop_write_versions target)
  set(LOOP_GIT_REVISION "unknown")
  find_package(Git QUIET)
  if(Git_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short HEAD WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                    OUTPUT_VARIABLE LOOP_GIT_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT LOOP_TORCH_VERSION)
    set(LOOP_TORCH_VERSION "")
  endif()
  configure_file("${CMAKE_SOURCE_DIR}/cmake/versions.h.in" "${CMAKE_BINARY_DIR}/generated/loop_versions.h" @ONLY)
  target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}/generated")
endfunction()
