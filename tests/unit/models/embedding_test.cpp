// loop::embed: the gradient of torch::embedding, in the arena without a temporary of the table's size.
#include "loop/embedding.h"

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include "loop/allocation_meter.h"
#include "runtime/distributed/gradient_sync.h"

using namespace loop;
using torch::Tensor;

namespace {

constexpr int64_t kRows = 40;
constexpr int64_t kWidth = 6;

enum class Lookup { ours, reference };
enum class Head { own, tied };

/// tanh(table[tokens]) with a head of its own or the table again; a second, longer-lived use of the table
/// when `twice`.
class Net : public Model {
 public:
  Net(Lookup lookup, Head head, std::optional<int64_t> padding = {}, bool twice = false)
      : lookup_(lookup), head_(head), padding_(padding), twice_(twice) {
    torch::manual_seed(3);
    table = register_parameter("table", torch::randn({kRows, kWidth}, torch::kFloat64));
    if (head_ == Head::own) weight = register_parameter("weight", torch::randn({4, kWidth}, torch::kFloat64));
  }
  Tensor forward(const Batch& batch) override {
    Tensor x = torch::tanh(look_up(batch.inputs));
    if (twice_) x = x + look_up(batch.inputs.flip(1));
    return torch::linear(x, head_ == Head::own ? weight : table);
  }
  Tensor table, weight;

 private:
  Tensor look_up(const Tensor& tokens) const {
    return lookup_ == Lookup::ours ? embed(tokens, table, padding_)
                                   : at::embedding(table, tokens, padding_.value_or(-1));
  }
  Lookup lookup_;
  Head head_;
  std::optional<int64_t> padding_;
  bool twice_;
};

struct Trained {
  std::shared_ptr<Net> net;
  gradients::Parameters parameters;
  explicit Trained(std::shared_ptr<Net> made, const std::vector<plan::Group>& groups = {})
      : net(std::move(made)), parameters(net, groups, torch::kFloat64) {}

  Tensor loss(const Tensor& tokens) {
    Batch batch;
    batch.inputs = tokens;
    return net->forward(batch).square().sum();
  }
  void backward(const Tensor& tokens) { loss(tokens).backward(); }
  bool touched(const std::string& name) {
    for (const auto& group : parameters.groups())
      for (const auto& slot : group.slots)
        if (slot.name == name) return slot.touched;
    return false;
  }
};

Tensor tokens_of(uint64_t seed, int64_t rows = 3, int64_t length = 5) {
  torch::manual_seed(seed);
  return torch::randint(kRows, {rows, length}, torch::kInt64);
}

double distance(const Tensor& a, const Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

/// Rank 0 of two that keeps what it is given to reduce.
class Recorder : public distributed::Communicator {
 public:
  std::vector<Tensor> launched;
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 2; }
  std::string backend() const override { return "test"; }
  std::unique_ptr<distributed::Pending> all_reduce(Tensor tensor, distributed::Reduction,
                                                   const std::string&) override {
    struct Done : distributed::Pending {
      void wait() override {}
    };
    launched.push_back(tensor.clone());
    return std::make_unique<Done>();
  }
  void broadcast(Tensor, const std::string&) override {}
  void training_begins() override {}
  void announce(const Error&) noexcept override {}
  distributed::CollectiveLog::Totals traffic() const override { return {}; }
};

}  // namespace

TEST_CASE("embed: the sum over micro-batches is torch::embedding's, with the table tied or used twice") {
  for (const Head head : {Head::own, Head::tied}) {
    for (const bool twice : {false, true}) {
      for (const std::optional<int64_t> padding : {std::optional<int64_t>(), std::optional<int64_t>(7)}) {
        CAPTURE(twice);
        Trained ours(std::make_shared<Net>(Lookup::ours, head, padding, twice));
        Trained reference(std::make_shared<Net>(Lookup::reference, head, padding, twice));
        for (const uint64_t seed : {1, 2, 3, 4}) {
          Tensor tokens = tokens_of(seed);
          tokens[0][0] = tokens[1][1] = 7;     // the padding, or an ordinary token
          tokens[2][0] = tokens[2][1] = seed;  // repeated
          ours.backward(tokens);
          reference.backward(tokens);
        }
        CHECK(distance(ours.parameters.flat_gradient(), reference.parameters.flat_gradient()) < 1e-14);
        CHECK(ours.touched("table"));
        if (padding && head == Head::own) CHECK(ours.net->table.grad()[7].eq(0).all().item<bool>());
        ours.parameters.check_storage();
      }
    }
  }
}

TEST_CASE("embed: no temporary of the table's size") {
  constexpr int64_t kTable = 20000;
  const auto largest = [&](Lookup lookup) {
    auto net = std::make_shared<Net>(lookup, Head::own);
    net->table.set_data(torch::randn({kTable, kWidth}, torch::kFloat64));
    Trained trained(net);
    const Tensor tokens = tokens_of(1);
    const AllocationMeter meter;
    trained.backward(tokens);
    return meter.largest_bytes();
  };
  const int64_t table_bytes = kTable * kWidth * 8;
  CHECK(largest(Lookup::reference) == table_bytes);
  CHECK(largest(Lookup::ours) < table_bytes / 100);
}

TEST_CASE("embed: bitwise the same for every number of threads") {
  const int before = at::get_num_threads();
  std::vector<Tensor> gradients;
  for (const int threads : {1, 2, 4}) {
    at::set_num_threads(threads);
    auto net = std::make_shared<Net>(Lookup::ours, Head::own);
    net->table.set_data(torch::ones({5000, 64}, torch::kFloat32));
    net->weight.set_data(torch::ones({4, 64}, torch::kFloat32));
    gradients::Parameters parameters(net, {}, torch::kFloat32);
    torch::manual_seed(5);
    Batch batch;
    batch.inputs = torch::randint(30, {4, 1000}, torch::kInt64);  // each row more than a hundred times
    const Tensor weights = torch::randn({4, 1000, 4});
    (net->forward(batch) * weights).sum().backward();
    gradients.push_back(net->table.grad().clone());
  }
  at::set_num_threads(before);
  CHECK(gradients[0].equal(gradients[1]));
  CHECK(gradients[0].equal(gradients[2]));
}

TEST_CASE("embed: touched as with torch::embedding, also by a batch without rows") {
  Trained trained(std::make_shared<Net>(Lookup::ours, Head::own));
  CHECK_FALSE(trained.touched("table"));
  trained.backward(torch::zeros({0, 5}, torch::kInt64));
  CHECK(trained.touched("table"));
  CHECK(trained.parameters.flat_gradient().eq(0).all().item<bool>());
  trained.parameters.clear_touched();
  trained.net->weight.sum().backward();
  CHECK_FALSE(trained.touched("table"));
}

TEST_CASE("embed: a frozen table gets nothing") {
  plan::Group table{.name = "table", .predicate = {}, .frozen = true, .place = {}}, others;
  table.predicate.kind = plan::Predicate::Kind::name_glob;
  table.predicate.glob = "table";
  others.name = "others";
  others.predicate.kind = plan::Predicate::Kind::others;
  Trained trained(std::make_shared<Net>(Lookup::ours, Head::own), {table, others});
  trained.backward(tokens_of(1));
  CHECK_FALSE(trained.net->table.grad().defined());
  CHECK(trained.net->weight.grad().ne(0).any().item<bool>());
}

TEST_CASE(
    "embed: gradients that are returned, differentiated again or kept elsewhere are torch::embedding's") {
  const Tensor tokens = tokens_of(1);
  const auto square = [&](Lookup lookup, Net& net) {
    return (lookup == Lookup::ours ? embed(tokens, net.table) : at::embedding(net.table, tokens))
        .pow(3)
        .sum();
  };
  Net ours(Lookup::ours, Head::own), reference(Lookup::reference, Head::own);
  // Without an arena.
  square(Lookup::ours, ours).backward();
  square(Lookup::reference, reference).backward();
  CHECK(ours.table.grad().layout() == torch::kStrided);
  CHECK(ours.table.grad().equal(reference.table.grad()));
  // Returned: `grad` stays as it is.
  const Tensor before = ours.table.grad().clone();
  const Tensor returned = torch::autograd::grad({square(Lookup::ours, ours)}, {ours.table})[0];
  CHECK(returned.equal(torch::autograd::grad({square(Lookup::reference, reference)}, {reference.table})[0]));
  CHECK(ours.table.grad().equal(before));
  // Only into some parameters.
  square(Lookup::ours, ours).backward({}, std::nullopt, false, std::vector<Tensor>{ours.weight, ours.table});
  CHECK(distance(ours.table.grad(), 2 * before) < 1e-14);
  // Second derivatives.
  const auto second = [&](Lookup lookup, Net& net) {
    const Tensor first = torch::autograd::grad({square(lookup, net)}, {net.table}, {}, std::nullopt, true)[0];
    return torch::autograd::grad({first.square().sum()}, {net.table})[0];
  };
  CHECK(distance(second(Lookup::ours, ours), second(Lookup::reference, reference)) < 1e-14);
  CHECK(distance(ours.table.grad(), 2 * before) < 1e-14);
  // Without a graph, and of a tensor that is no parameter.
  {
    const torch::NoGradGuard no_grad;
    CHECK_FALSE(embed(tokens, ours.table).requires_grad());
  }
  const Tensor sum = torch::autograd::grad({embed(tokens, ours.table * 2).sum()}, {ours.table})[0];
  CHECK(sum.sum().item<double>() == doctest::Approx(2.0 * static_cast<double>(tokens.numel() * kWidth)));
}

TEST_CASE("embed: a bucket is reduced when the rows of this backward are in it") {
  for (const Head head : {Head::own, Head::tied}) {
    Trained trained(std::make_shared<Net>(Lookup::ours, head));
    Trained reference(std::make_shared<Net>(Lookup::reference, head));
    Recorder ranks;
    distributed::GradientSync sync(trained.parameters, ranks,
                                   /*bucket_bytes=*/8);  // one bucket per parameter
    trained.backward(tokens_of(1));
    CHECK(ranks.launched.empty());
    Tensor loss = trained.loss(tokens_of(2));
    sync.begin("window 1");
    loss.backward();
    const size_t buckets = head == Head::own ? 2 : 1;
    REQUIRE(ranks.launched.size() == buckets);  // within backward: nothing is left for its end
    sync.launch_rest();
    CHECK(ranks.launched.size() == buckets);
    sync.wait();
    reference.backward(tokens_of(1));
    reference.backward(tokens_of(2));
    for (const auto& one : reference.parameters.groups()[0].slots) {
      const Tensor expected = one.parameter.grad().flatten();
      const bool found = std::any_of(ranks.launched.begin(), ranks.launched.end(), [&](const Tensor& bucket) {
        return bucket.numel() == expected.numel() && distance(bucket, expected) < 1e-14;
      });
      CHECK(found);
    }
  }
}

TEST_CASE("embed: a token outside the table is an error") {
  Net net(Lookup::ours, Head::own);
  CHECK_THROWS_AS(embed(torch::full({2}, kRows, torch::kInt64), net.table), c10::Error);
}
