#include "runtime/distributed/process_group.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstring>

#include "runtime/distributed/nccl.h"
#include "runtime/distributed/watch.h"

namespace loop::distributed {

namespace {

using std::chrono::milliseconds;

std::string short_reason(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_torch ? of_torch->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

bool on_this_machine(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

/// A descriptor that listens on the loopback interface only: c10d's own would listen on every one.
int listen_on_loopback(int64_t port) {
  const auto fail = [](const std::string& what) {
    throw Error(ErrorKind::distributed,
                "the rendezvous store cannot be opened: " + what + ": " + std::strerror(errno),
                "choose another MASTER_PORT");
  };
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail("socket");
  const int yes = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  constexpr int kBacklog = 2048;
  if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(descriptor, kBacklog) != 0) {
    ::close(descriptor);
    fail("port " + std::to_string(port));
  }
  return descriptor;
}

int64_t port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

c10::intrusive_ptr<c10d::TCPStore> open_store(const Launch& launch, milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launch.master_port);
  options.isServer = launch.rank == 0 && !launch.store_is_hosted;
  options.numWorkers = static_cast<size_t>(launch.size);
  options.waitWorkers = false;
  options.timeout = timeout;
  if (options.isServer && on_this_machine(launch.master_address)) {
    options.masterListenFd = listen_on_loopback(launch.master_port);
  }
  try {
    return c10::make_intrusive<c10d::TCPStore>(launch.master_address, options);
  } catch (const std::exception& error) {
    throw Error(
        ErrorKind::distributed,
        "no rendezvous at " + launch.master_address + ":" + std::to_string(launch.master_port) + ": " +
            short_reason(error),
        "check MASTER_ADDR and MASTER_PORT, and that rank 0 runs; LOOP_START_TIMEOUT_S says how long to "
        "wait");
  }
}

std::shared_ptr<gloo::transport::Device> device_for(const Launch& launch) {
  using c10d::ProcessGroupGloo;
  if (on_this_machine(launch.master_address)) return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  if (const auto name = process_environment()("GLOO_SOCKET_IFNAME")) {
    return ProcessGroupGloo::createDeviceForInterface(*name);
  }
  return ProcessGroupGloo::createDefaultDevice();
}

std::string arrival_key(int64_t rank) {
  return "loop/here/" + std::to_string(rank);
}

/// After a failed start: which ranks never came.
std::string absent(c10d::Store& store, int64_t size) {
  std::string ranks;
  for (int64_t r = 0; r < size; ++r) {
    if (!store.check({arrival_key(r)})) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
  }
  return ranks;
}

class Gloo : public Communicator {
 public:
  Gloo(const Launch& launch, const Timeouts& timeouts)
      : launch_(launch),
        timeouts_(timeouts),
        store_(prefixed(open_store(launch, milliseconds(timeouts.start_ms)))),
        group_(connect()) {
    store_->setTimeout(milliseconds(5000));  // what is read from now on is there already
    watch_ = std::make_unique<Watch>(store_->clone(), launch.rank, launch.size, log_);
  }

  int64_t rank() const override { return launch_.rank; }
  int64_t size() const override { return launch_.size; }
  std::string backend() const override { return "gloo"; }

  std::unique_ptr<Pending> all_reduce(torch::Tensor tensor, Reduction how,
                                      const std::string& purpose) override {
    const bool sum = how == Reduction::sum;
    c10d::AllreduceOptions options;
    options.reduceOp = sum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
    options.timeout = timeout_;
    return start(sum ? "all-reduce sum" : "all-reduce max", tensor, purpose,
                 [&](auto& tensors) { return group_->allreduce(tensors, options); });
  }

  void broadcast(torch::Tensor tensor, const std::string& purpose) override {
    c10d::BroadcastOptions options;
    options.rootRank = 0;
    options.timeout = timeout_;
    start("broadcast", tensor, purpose, [&](auto& tensors) {
      return group_->broadcast(tensors, options);
    })->wait();
  }

  void training_begins() override { timeout_ = milliseconds(timeouts_.training_ms); }

  void announce(const Error& error) noexcept override {
    try {
      watch_->announce(*store_, error);
      // Whoever hosts the store stays a moment, so that the others can read it.
      if (launch_.rank == 0 && !launch_.store_is_hosted) std::this_thread::sleep_for(milliseconds(500));
    } catch (const std::exception&) {
      // the store is gone: the others notice by themselves
    }
  }

  CollectiveLog::Totals traffic() const override { return log_.totals(); }

 private:
  class Work : public Pending {
   public:
    Work(Gloo& owner, c10::intrusive_ptr<c10d::Work> work, CollectiveRecord record,
         std::vector<at::Tensor> tensors)
        : owner_(owner), work_(std::move(work)), record_(std::move(record)), tensors_(std::move(tensors)) {}
    void wait() override {
      try {
        work_->wait();
      } catch (const std::exception& error) {
        owner_.watch_->explain(*owner_.store_, record_, short_reason(error));
      }
    }

   private:
    Gloo& owner_;
    c10::intrusive_ptr<c10d::Work> work_;
    CollectiveRecord record_;
    std::vector<at::Tensor> tensors_;  // their memory is written until the work is done
  };

  template <class Start>
  std::unique_ptr<Pending> start(const std::string& operation, const torch::Tensor& tensor,
                                 const std::string& purpose, const Start& start) {
    const int64_t bytes = tensor.numel() * static_cast<int64_t>(tensor.element_size());
    const int64_t sequence = log_.start(operation, bytes, purpose);
    CollectiveRecord record{sequence, operation, bytes, purpose};
    std::vector<at::Tensor> tensors = {tensor};
    try {
      return std::make_unique<Work>(*this, start(tensors), record, tensors);
    } catch (const std::exception& error) {
      watch_->explain(*store_, record, short_reason(error));
    }
  }

  c10::intrusive_ptr<c10d::Store> prefixed(c10::intrusive_ptr<c10d::Store> store) const {
    return c10::make_intrusive<c10d::PrefixStore>("loop/attempt/" + std::to_string(launch_.attempt), store);
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> connect() {
    const auto begun = std::chrono::steady_clock::now();
    try {
      const std::string here = "1";
      store_->set(arrival_key(launch_.rank), std::vector<uint8_t>(here.begin(), here.end()));
      std::vector<std::string> all;
      for (int64_t r = 0; r < launch_.size; ++r) all.push_back(arrival_key(r));
      store_->wait(all, milliseconds(timeouts_.start_ms));
      auto options = c10d::ProcessGroupGloo::Options::create(milliseconds(timeouts_.start_ms));
      options->devices.push_back(device_for(launch_));
      return c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(launch_.rank),
                                                         static_cast<int>(launch_.size), options);
    } catch (const std::exception& error) {
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
      std::string missing;
      try {
        missing = absent(*store_, launch_.size);
      } catch (const std::exception&) {
        // the store is gone: its own message says so
      }
      throw Error(ErrorKind::distributed,
                  missing.empty() ? "the ranks cannot be connected: " + short_reason(error)
                                  : "rank " + missing + " did not arrive within " +
                                        std::to_string(std::lround(waited.count())) + " s of the start",
                  "check that every rank was started, and that their machines reach each other "
                  "(GLOO_SOCKET_IFNAME names the interface); LOOP_START_TIMEOUT_S says how long to wait");
    }
  }

  Launch launch_;
  Timeouts timeouts_;
  CollectiveLog log_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  milliseconds timeout_{timeouts_.start_ms};
  std::unique_ptr<Watch> watch_;
};

}  // namespace

std::shared_ptr<Communicator> join(const Launch& launch, const Timeouts& timeouts, bool cuda) {
  if (launch.size == 1) return alone();
  if (cuda && !nccl_available()) {
    throw Error(ErrorKind::distributed, "ranks on GPUs need NCCL, which this build does not have",
                "train on the CPU: device = cpu");
  }
  return std::make_shared<Gloo>(launch, timeouts);
}

struct StoreHost::Store {
  int64_t port;
  c10::intrusive_ptr<c10d::TCPStore> store;
};

StoreHost::StoreHost() {
  const int descriptor = listen_on_loopback(0);
  c10d::TCPStoreOptions options;
  const int64_t port = port_of(descriptor);
  options.port = static_cast<uint16_t>(port);
  options.isServer = true;
  options.waitWorkers = false;
  options.masterListenFd = descriptor;
  store_ = std::make_unique<Store>(Store{port, c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options)});
}

StoreHost::~StoreHost() = default;

int64_t StoreHost::port() const {
  return store_->port;
}

}  // namespace loop::distributed
