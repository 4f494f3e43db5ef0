# The ANTLR tool turns grammar/*.g4 into C++ at build time; the runtime library comes from the system.
find_program(LOOP_ANTLR antlr4 REQUIRED)
find_path(LOOP_ANTLR_INCLUDE antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(LOOP_ANTLR_LIBRARY NAMES antlr4-runtime REQUIRED)
