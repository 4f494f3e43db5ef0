# loopc must start without LibTorch, CUDA and LLVM.
execute_process(COMMAND ldd "${EXECUTABLE}" OUTPUT_VARIABLE libraries RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "ldd ${EXECUTABLE} failed")
endif()
if(libraries MATCHES "(libtorch|libc10|libcuda|libcudart|libLLVM)[^ ]*")
  message(FATAL_ERROR "loopc loads ${CMAKE_MATCH_0}")
endif()
