#include "compiler/driver/process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "tests/support/temporary_folder.h"

using namespace loop::driver;
using namespace std::chrono_literals;

TEST_CASE("process: the child reads its input, its exit status comes back") {
  const loop::testing::TemporaryFolder folder;
  const std::string copy = folder.path("copy");
  const Ended ended = run_in_foreground({"/bin/sh", "-c", "cat > " + copy + "; exit 7"}, "a plan\n");
  CHECK(ended.status == 7);
  CHECK(ended.signal == 0);
  CHECK(folder.text("copy") == "a plan\n");
}

TEST_CASE("process: an input larger than a pipe's buffer does not block") {
  const loop::testing::TemporaryFolder folder;
  const std::string large(1 << 20, 'x');
  CHECK(run_in_foreground({"/bin/sh", "-c", "exec true"}, large).status == 0);  // never read
  CHECK(run_in_foreground({"/bin/sh", "-c", "wc -c > " + folder.path("count")}, large).status == 0);
  CHECK(std::stoi(folder.text("count")) == 1 << 20);
}

TEST_CASE("process: a child that a signal ended, a program that is not there") {
  CHECK(run_in_foreground({"/bin/sh", "-c", "kill -KILL $$"}, "").signal == SIGKILL);
  CHECK_THROWS_AS(run_in_foreground({"/nonexistent/looprun"}, ""), std::system_error);
}

TEST_CASE("process: a signal sent to this process alone is passed on, and this process lives on") {
  const loop::testing::TemporaryFolder folder;
  const std::string ready = folder.path("ready");
  struct sigaction before {};
  ::sigaction(SIGTERM, nullptr, &before);
  std::thread sender([&] {
    while (!std::filesystem::exists(ready)) std::this_thread::sleep_for(5ms);
    ::kill(::getpid(), SIGTERM);
  });
  const Ended ended = run_in_foreground(
      {"/bin/sh", "-c", "trap 'exit 42' TERM; : > " + ready + "; while :; do sleep 0.05; done"}, "");
  sender.join();
  CHECK(ended.status == 42);
  struct sigaction after {};
  ::sigaction(SIGTERM, nullptr, &after);
  const bool as_before = after.sa_handler == before.sa_handler;
  CHECK(as_before);
}

TEST_CASE("process: the answer of a tool, its errors, its absence, its silence") {
  const Answer good = ask({"sh", "-c", "echo out; echo err >&2"}, 30s);
  CHECK(good.good());
  CHECK(good.output == "out\n");
  CHECK(good.errors == "err\n");
  CHECK(ask({"cat"}, 30s, "given").output == "given");
  CHECK_FALSE(ask({"sh", "-c", "exit 3"}, 30s).good());
  CHECK_FALSE(ask({"no-such-program-anywhere"}, 30s).started);
  const Answer silent = ask({"sh", "-c", "exec sleep 600"}, 50ms);
  CHECK(silent.timed_out);
  CHECK_FALSE(silent.good());
}
