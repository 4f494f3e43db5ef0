#include "runtime/distributed/local_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>

#include "loop/error.h"

extern char** environ;

namespace loop::distributed {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::array<int, 3> kEndingSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr int kDone = 0, kInterrupted = 130;
constexpr int kLost = static_cast<int>(ErrorKind::distributed);
constexpr auto kToEndAlone = 5s;  // after another rank has failed
constexpr auto kToEndWhenTold = 3s;

volatile std::sig_atomic_t g_asked = 0;  // the newest ending signal that has not been passed on

void note(int signal) {
  g_asked = signal;
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorKind::internal, "the ranks cannot be started: " + what + ": " + std::strerror(errno));
}

struct Child {
  pid_t id = 0;
  int errors = -1;  // its standard error, of ranks other than 0
  std::string unfinished_line;
  bool running = true;
};

class Ranks {
 public:
  Ranks(const std::vector<std::string>& command, int64_t count, int64_t port, const std::string& input)
      : command_(command), port_(port), input_(make_input(input)), children_(static_cast<size_t>(count)) {
    struct sigaction action {};
    action.sa_handler = note;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kEndingSignals.size(); ++i) ::sigaction(kEndingSignals[i], &action, &old_[i]);
  }

  ~Ranks() {
    for (Child& child : children_) {
      if (child.id > 0 && child.running) ::kill(child.id, SIGKILL);
      if (child.errors >= 0) ::close(child.errors);
    }
    ::close(input_);
    for (size_t i = 0; i < kEndingSignals.size(); ++i) ::sigaction(kEndingSignals[i], &old_[i], nullptr);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int run() {
    for (size_t rank = 0; rank < children_.size(); ++rank) start(rank);
    while (any_running()) {
      pass_on_signals();
      read_errors();
      collect();
      end_stragglers();
    }
    read_errors();
    return code_;
  }

 private:
  /// The input as a file without a name, so that every rank can open it anew at its start.
  static int make_input(const std::string& text) {
    const int descriptor = ::memfd_create("plan", MFD_CLOEXEC);
    if (descriptor < 0) fail("memfd_create");
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
      if (written < 0) fail("the plan cannot be passed on");
      done += static_cast<size_t>(written);
    }
    return descriptor;
  }

  std::vector<std::string> environment_of(size_t rank) const {
    std::map<std::string, std::string> variables;
    for (char** one = environ; *one; ++one) {
      const std::string text = *one;
      const size_t equals = text.find('=');
      if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
    const std::string size = std::to_string(children_.size());
    variables["RANK"] = variables["LOCAL_RANK"] = std::to_string(rank);
    variables["WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] = size;
    variables["MASTER_ADDR"] = "127.0.0.1";
    variables["MASTER_PORT"] = std::to_string(port_);
    variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
    std::vector<std::string> result;
    for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
    return result;
  }

  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts)
      result.push_back(const_cast<char*>(text.c_str()));  // exec only reads
    result.push_back(nullptr);
    return result;
  }

  void start(size_t rank) {
    // All memory is allocated before the fork: other threads of this process hold locks that the child would
    // wait for.
    const std::vector<std::string> environment = environment_of(rank);
    const std::vector<char*> argv = pointers(command_), variables = pointers(environment);
    const std::string input = "/proc/self/fd/" + std::to_string(input_);
    int errors[2] = {-1, -1};
    if (rank > 0 && ::pipe2(errors, O_CLOEXEC) != 0) fail("pipe");
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(kLost);
      ::setpgid(0, 0);  // a terminal's Ctrl-C comes through us, and once
      const int in = ::open(input.c_str(), O_RDONLY);
      if (in >= 0) ::dup2(in, STDIN_FILENO);
      if (rank > 0) {
        ::dup2(errors[1], STDERR_FILENO);
        const int nowhere = ::open("/dev/null", O_WRONLY);
        if (nowhere >= 0) ::dup2(nowhere, STDOUT_FILENO);
      }
      for (const int signal : kEndingSignals) ::signal(signal, SIG_DFL);
      ::execve(argv.front(), argv.data(), variables.data());
      ::_exit(kLost);
    }
    if (errors[1] >= 0) ::close(errors[1]);
    children_[rank].id = child;
    children_[rank].errors = errors[0];
  }

  bool any_running() const {
    for (const Child& child : children_)
      if (child.running) return true;
    return false;
  }

  void signal_all(int signal) const {
    for (const Child& child : children_)
      if (child.running) ::kill(child.id, signal);
  }

  void pass_on_signals() {
    const int asked = g_asked;
    if (asked == 0) return;
    g_asked = 0;
    signal_all(asked);
  }

  void read_errors() {
    std::vector<pollfd> waiting;
    std::vector<size_t> owners;
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      if (children_[rank].errors < 0) continue;
      waiting.push_back({children_[rank].errors, POLLIN, 0});
      owners.push_back(rank);
    }
    constexpr int kWait_ms = 20;
    if (::poll(waiting.data(), waiting.size(), any_running() ? kWait_ms : 0) <= 0) return;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) read_from(owners[i]);
    }
  }

  void read_from(size_t rank) {
    Child& child = children_[rank];
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(child.errors, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return;
    if (got > 0) child.unfinished_line.append(buffer.data(), static_cast<size_t>(got));
    const bool ended = got <= 0;
    if (ended && !child.unfinished_line.empty()) child.unfinished_line += '\n';
    size_t newline;
    while ((newline = child.unfinished_line.find('\n')) != std::string::npos) {
      std::cerr << "[rank " << rank << "] " << child.unfinished_line.substr(0, newline) << std::endl;
      child.unfinished_line.erase(0, newline + 1);
    }
    if (!ended) return;
    ::close(child.errors);
    child.errors = -1;
  }

  void collect() {
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      Child& child = children_[rank];
      int status = 0;
      if (!child.running || ::waitpid(child.id, &status, WNOHANG) <= 0) continue;
      child.running = false;
      int code = WIFEXITED(status) ? WEXITSTATUS(status) : kLost;
      if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        if (!told_) {
          std::cerr << "looprun: rank " << rank << " was ended by signal " << signal << " ("
                    << ::strsignal(signal) << ")" << std::endl;
        }
        if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) code = kInterrupted;
      }
      if (code == kDone) continue;
      if (code_ == kDone) code_ = code;
      if (code != kInterrupted && !failed_since_) failed_since_ = Clock::now();
    }
  }

  void end_stragglers() {
    if (!failed_since_) return;
    const auto passed = Clock::now() - *failed_since_;
    if (passed > kToEndAlone && !told_) {
      told_ = true;
      signal_all(SIGTERM);
      signal_all(SIGCONT);
    }
    if (passed > kToEndAlone + kToEndWhenTold) signal_all(SIGKILL);
  }

  const std::vector<std::string>& command_;
  int64_t port_;
  int input_;
  std::vector<Child> children_;
  std::array<struct sigaction, kEndingSignals.size()> old_{};
  int code_ = kDone;
  std::optional<Clock::time_point> failed_since_;
  bool told_ = false;
};

}  // namespace

int run_local_ranks(const std::vector<std::string>& command, int64_t ranks, int64_t port,
                    const std::string& input) {
  return Ranks(command, ranks, port, input).run();
}

}  // namespace loop::distributed
