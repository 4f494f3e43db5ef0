#include "compiler/driver/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <system_error>

extern char** environ;

namespace loop::driver {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::vector<char*> arguments(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));  // exec does not write to them
  argv.push_back(nullptr);
  return argv;
}

Ended wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

// All that a signal handler can reach.
volatile std::sig_atomic_t g_child = 0;
volatile std::sig_atomic_t g_shares_terminal = 0;  // what the terminal sends reaches the child by itself
volatile std::sig_atomic_t g_last_passed_s = -2;

void pass_on(int signal, siginfo_t* info, void*) {
  const bool from_terminal = info->si_code > 0;  // sent by the kernel
  if (g_child <= 0 || (from_terminal && g_shares_terminal)) return;
  // Who ends a job often signals both the process and its group (as `timeout` does): to the child that is one
  // request, since a second one means "at once".
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto second = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (second - g_last_passed_s > 1) ::kill(static_cast<pid_t>(g_child), signal);
  g_last_passed_s = second;
}

/// True when this process' group is the one that a terminal's keys act on.
bool in_foreground_of_terminal() {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  const bool foreground = ::tcgetpgrp(terminal) == ::getpgrp();
  ::close(terminal);
  return foreground;
}

constexpr std::array<int, 3> kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

/// While it lives, signals that ask to end are passed on instead of ending this process.
class PassingSignals {
 public:
  PassingSignals() {
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kEndingSignals.size(); ++i) {
      ::sigaction(kEndingSignals[i], nullptr, &old_[i]);
      const bool ignored = (old_[i].sa_flags & SA_SIGINFO) == 0 && old_[i].sa_handler == SIG_IGN;
      if (!ignored) ::sigaction(kEndingSignals[i], &action, nullptr);  // `nohup` stays `nohup`
    }
  }
  PassingSignals(const PassingSignals&) = delete;
  PassingSignals& operator=(const PassingSignals&) = delete;
  ~PassingSignals() {
    g_child = 0;
    g_last_passed_s = -2;
    for (size_t i = 0; i < kEndingSignals.size(); ++i) ::sigaction(kEndingSignals[i], &old_[i], nullptr);
  }

 private:
  std::array<struct sigaction, kEndingSignals.size()> old_{};
};

/// Blocks the ending signals, so that none is lost between fork and the moment the child's id is known.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : kEndingSignals) sigaddset(&ending, signal);
    ::sigprocmask(SIG_BLOCK, &ending, &old_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { restore(); }
  void restore() const { ::sigprocmask(SIG_SETMASK, &old_, nullptr); }

 private:
  sigset_t old_{};
};

/// A file without a name that holds `text`, read from its start; it is gone when it is closed, whatever
/// happens.
std::unique_ptr<std::FILE, int (*)(std::FILE*)> nameless_file(const std::string& text) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  if (!file) fail("a temporary file cannot be made");
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
  if (!written || std::fseek(file.get(), 0, SEEK_SET) != 0) fail("a temporary file cannot be written");
  ::lseek(::fileno(file.get()), 0, SEEK_SET);
  return file;
}

}  // namespace

Ended run_in_foreground(const std::vector<std::string>& command, const std::string& input) {
  const auto file = nameless_file(input);
  const std::vector<char*> argv = arguments(command);
  int report[2];  // the child writes why it could not start; closed by a successful exec
  if (::pipe2(report, O_CLOEXEC) != 0) fail("pipe");
  const bool shares_terminal = in_foreground_of_terminal();
  g_shares_terminal = shares_terminal ? 1 : 0;
  const PassingSignals passing;
  pid_t child = 0;
  {
    const BlockedSignals blocked;
    const pid_t parent = ::getpid();
    child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(127);  // it died before we could ask to be told
      if (!shares_terminal) ::setpgid(0, 0);    // signals to our group then come through us, and once
      blocked.restore();                        // handlers are reset by exec, the mask is not
      ::dup2(::fileno(file.get()), STDIN_FILENO);
      ::execv(argv.front(), argv.data());
      const int error = errno;
      const ssize_t ignored = ::write(report[1], &error, sizeof error);
      ::_exit(ignored > 0 ? 127 : 126);
    }
    if (child > 0) g_child = child;
  }
  ::close(report[1]);
  if (child < 0) {
    ::close(report[0]);
    fail("fork");
  }
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report[0], &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  ::close(report[0]);
  const Ended ended = wait_for(child);
  if (got == sizeof error) throw std::system_error(error, std::generic_category(), command.front());
  return ended;
}

Answer ask(const std::vector<std::string>& command, std::chrono::milliseconds limit,
           const std::string& input) {
  Answer answer;
  const auto file = nameless_file(input);
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0) fail("pipe");
  if (::pipe2(err, O_CLOEXEC) != 0) fail("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(file.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  pid_t child = 0;
  answer.started = ::posix_spawnp(&child, command.front().c_str(), &actions, nullptr,
                                  arguments(command).data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::array<pollfd, 2> open = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  std::array<std::string*, 2> texts = {&answer.output, &answer.errors};
  while (answer.started && (open[0].fd >= 0 || open[1].fd >= 0)) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    answer.timed_out = left.count() <= 0;
    if (answer.timed_out) {
      ::kill(child, SIGKILL);
      break;
    }
    if (::poll(open.data(), open.size(), static_cast<int>(left.count())) <= 0) continue;
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(open[i].fd, buffer, sizeof buffer);
      if (got > 0) texts[i]->append(buffer, static_cast<size_t>(got));
      if (got == 0 || (got < 0 && errno != EINTR)) open[i].fd = -1;  // poll passes over negative descriptors
    }
  }
  ::close(out[0]);
  ::close(err[0]);
  if (answer.started) answer.ended = wait_for(child);
  return answer;
}

}  // namespace loop::driver
