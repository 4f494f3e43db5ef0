#include <iostream>

#include "compiler/driver/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return loop::driver::run_command(args, std::cin, std::cout, std::cerr);
}
