// Arenas: partition, storage, touched bits, norms and clips.
#include "runtime/gradients/parameters.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/gradients/partition.h"
#include "small_models.h"

using namespace loop;
using namespace loop::gradients;
using namespace loop::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::shared_ptr<Bag> bag(const std::vector<std::pair<std::string, std::vector<double>>>& parameters) {
  auto model = std::make_shared<Bag>();
  for (const auto& [name, numbers] : parameters) model->add(name, values(numbers));
  return model;
}

/// Makes `gradient` the gradient of the named parameter by a backward: the loss is Σ gradient·parameter.
void give_gradient(Bag& model, const std::string& name, const std::vector<double>& gradient) {
  (values(gradient).to(model[name].scalar_type()) * model[name]).sum().backward();
}

std::vector<double> numbers(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kFloat64).contiguous().flatten();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

std::vector<std::string> slot_names(const ParameterGroup& group) {
  std::vector<std::string> names;
  for (const Slot& slot : group.slots) names.push_back(slot.name);
  return names;
}

plan::Predicate ndim_at_least(int64_t ndim) {
  plan::Predicate predicate;
  predicate.kind = plan::Predicate::Kind::ndim;
  predicate.comparison = ">=";
  predicate.ndim = ndim;
  return predicate;
}

plan::Predicate combined(plan::Predicate::Kind kind, std::vector<plan::Predicate> operands) {
  plan::Predicate predicate;
  predicate.kind = kind;
  predicate.operands = std::move(operands);
  return predicate;
}

plan::Group group_where(const std::string& name, plan::Predicate predicate) {
  plan::Group group;
  group.name = name;
  group.predicate = std::move(predicate);
  return group;
}

}  // namespace

TEST_CASE("parameters and gradients of a group are views into one arena each") {
  const auto model = std::make_shared<Bag>();
  model->add("w", torch::arange(6, torch::kFloat32).view({2, 3}));
  model->add("b", torch::full({2}, 7.0));
  Parameters parameters(model, {}, torch::kFloat64);
  REQUIRE(parameters.groups().size() == 1);
  ParameterGroup& all = parameters.group("all");
  CHECK(slot_names(all) == std::vector<std::string>{"w", "b"});
  CHECK(parameters.trainable_elements() == 8);
  CHECK(numbers(all.parameters) == std::vector<double>{0, 1, 2, 3, 4, 5, 7, 7});
  CHECK(((*model)["w"].scalar_type() == torch::kFloat64));
  CHECK(((*model)["w"].sizes() == torch::IntArrayRef({2, 3})));
  CHECK((*model)["w"].is_leaf());

  // Backward adds into the arena; a change of the arena is a change of the model.
  ((*model)["w"].sum() + 2 * (*model)["b"].sum()).backward();
  ((*model)["w"].sum()).backward();
  CHECK(numbers(all.gradients) == std::vector<double>{2, 2, 2, 2, 2, 2, 2, 2});
  all.parameters.add_(1);
  CHECK(numbers((*model)["w"]) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(numbers(parameters.flat_gradient()) == numbers(all.gradients));
  CHECK(numbers(parameters.flat_parameters()) == numbers(all.parameters));
  parameters.check_storage();
}

TEST_CASE("B104: a model that moves its parameters after the start is found out") {
  const auto model = bag({{"w", {1, 2}}, {"b", {3}}});
  Parameters parameters(model, {}, torch::kFloat64);
  SUBCASE("converted") {
    model->to(torch::kFloat32);
    CHECK(error_of([&] { parameters.check_storage(); }).find("w") != std::string::npos);
  }
  SUBCASE("another gradient") {
    (*model)["b"].mutable_grad() = torch::zeros({1}, torch::kFloat64);
    CHECK(error_of([&] { parameters.check_storage(); }).find("Parameter b") != std::string::npos);
  }
  SUBCASE("the module's own zero_grad drops the gradient") {
    model->zero_grad(/*set_to_none=*/true);
    CHECK(error_of([&] { parameters.check_storage(); }).find("w") != std::string::npos);
  }
  SUBCASE("untouched") {
    CHECK(error_of([&] { parameters.check_storage(); }).empty());
  }
}

TEST_CASE("buffers stay buffers and follow the precision; integers stay integers") {
  const auto model = bag({{"w", {1}}});
  torch::Tensor running = model->register_buffer("running", torch::ones({3}, torch::kFloat32));
  torch::Tensor count = model->register_buffer("count", torch::tensor(5, torch::kInt64));
  Parameters parameters(model, {}, torch::kFloat64);
  CHECK((model->named_buffers()["running"].scalar_type() == torch::kFloat64));
  CHECK(model->named_buffers()["count"].item<int64_t>() == 5);
  CHECK(parameters.trainable_elements() == 1);
}

TEST_CASE("groups partition the parameters") {
  const auto model = std::make_shared<Bag>();
  model->add("embed_weight", torch::zeros({4, 2}));
  model->add("norm_weight", torch::zeros({2}));
  model->add("norm_bias", torch::zeros({2}));
  model->add("head_weight", torch::zeros({2, 4}));
  using Kind = plan::Predicate::Kind;

  SUBCASE("by dimensions and the rest") {
    Parameters parameters(model, {group_where("decayed", ndim_at_least(2)), rest("plain")}, torch::kFloat32);
    CHECK(slot_names(parameters.group("decayed")) == std::vector<std::string>{"embed_weight", "head_weight"});
    CHECK(slot_names(parameters.group("plain")) == std::vector<std::string>{"norm_weight", "norm_bias"});
  }
  SUBCASE("and, or, not") {
    const plan::Predicate head = group_of("", "head*").predicate;
    const plan::Predicate norm = group_of("", "norm*").predicate;
    Parameters parameters(
        model,
        {group_where("a",
                     combined(Kind::logical_and, {ndim_at_least(2), combined(Kind::logical_not, {head})})),
         group_where("b", combined(Kind::logical_or, {head, norm}))},
        torch::kFloat32);
    CHECK(slot_names(parameters.group("a")) == std::vector<std::string>{"embed_weight"});
    CHECK(slot_names(parameters.group("b")) ==
          std::vector<std::string>{"norm_weight", "norm_bias", "head_weight"});
  }
  SUBCASE("the rest may itself be divided") {
    plan::Predicate others;
    others.kind = Kind::others;
    Parameters parameters(
        model,
        {group_of("head", "head*"),
         group_where("matrices", combined(Kind::logical_and, {others, ndim_at_least(2)})),
         group_where("vectors",
                     combined(Kind::logical_and, {others, combined(Kind::logical_not, {ndim_at_least(2)})}))},
        torch::kFloat32);
    CHECK(slot_names(parameters.group("matrices")) == std::vector<std::string>{"embed_weight"});
    CHECK(slot_names(parameters.group("vectors")) == std::vector<std::string>{"norm_weight", "norm_bias"});
  }
  SUBCASE("a parameter in two groups") {
    const std::string error = error_of([&] {
      Parameters(model, {group_where("decayed", ndim_at_least(2)), group_of("head", "head*"), rest("x")},
                 torch::kFloat32);
    });
    CHECK(error.find("Parameter head_weight is in two groups, `decayed` and `head`") != std::string::npos);
  }
  SUBCASE("parameters in no group") {
    const std::string error =
        error_of([&] { Parameters(model, {group_where("decayed", ndim_at_least(2))}, torch::kFloat32); });
    CHECK(error.find("2 parameters are in no group: norm_weight, norm_bias") != std::string::npos);
    CHECK(error.find("others") != std::string::npos);
  }
  SUBCASE("an empty group") {
    plan::Group empty = group_of("biases", "*.biaz");
    empty.place = {"x.loop", 4, 5};
    const std::string error = error_of([&] { Parameters(model, {empty, rest("x")}, torch::kFloat32); });
    CHECK(error.find("x.loop:4:5") != std::string::npos);
    CHECK(error.find("Group `biases` has no parameter") != std::string::npos);
    CHECK(error.find("embed_weight") != std::string::npos);
  }
  SUBCASE("everything frozen") {
    CHECK(error_of([&] {
            Parameters(model, {frozen(rest("x"))}, torch::kFloat32);
          }).find("nothing to train") != std::string::npos);
  }
  SUBCASE("a group that is not there") {
    Parameters parameters(model, {}, torch::kFloat32);
    CHECK_THROWS_AS(parameters.group("decayed"), Error);
    CHECK_THROWS_AS(parameters.scale_gradients({"decayed"}, 2), Error);
  }
}

TEST_CASE("frozen parameters have no slot, no gradient, no part in the norm") {
  const auto model = bag({{"a", {1, 2}}, {"b", {3}}});
  Parameters parameters(model, {frozen(group_of("still", "a")), rest("moving")}, torch::kFloat64);
  CHECK(parameters.groups().size() == 1);
  CHECK(parameters.trainable_elements() == 1);
  CHECK(parameters.frozen_elements() == 2);
  CHECK_FALSE((*model)["a"].requires_grad());
  ((*model)["a"].sum() * (*model)["b"].sum()).backward();
  CHECK_FALSE((*model)["a"].grad().defined());
  CHECK(parameters.gradient_norm({}) == 3);
}

TEST_CASE("what the model froze itself belongs to no group") {
  const auto model = bag({{"a", {1, 2}}, {"b", {3}}});
  (*model)["a"].set_requires_grad(false);
  Parameters parameters(model, {group_of("b", "b")}, torch::kFloat64);
  CHECK(parameters.frozen_elements() == 2);
  CHECK_FALSE((*model)["a"].requires_grad());
}

TEST_CASE("B43: a tied tensor has one slot, one gradient, and counts once in the norm") {
  const torch::Tensor shared = values({1, 2});
  SUBCASE("one tensor object under two names") {
    const auto model = std::make_shared<Bag>();
    model->add("embedding", shared);
    model->register_parameter("head", (*model)["embedding"]);
    Parameters parameters(model, {}, torch::kFloat64);
    const ParameterGroup& all = parameters.group("all");
    REQUIRE(all.slots.size() == 1);
    CHECK(all.slots[0].name == "embedding");
    CHECK(all.slots[0].other_names == std::vector<std::string>{"head"});
    CHECK(all.slots[0].aliases.empty());
    const auto named = model->named_parameters();
    (named["embedding"] * values({1, 0}) + named["head"] * values({2, 4})).sum().backward();
    CHECK(numbers(all.gradients) == std::vector<double>{3, 4});
    CHECK(parameters.gradient_norm({}) == 5);
  }
  SUBCASE("two tensor objects over the same elements") {
    const auto model = std::make_shared<Bag>();
    model->add("embedding", shared);
    model->add("head", shared.detach());
    Parameters parameters(model, {}, torch::kFloat32);
    ParameterGroup& all = parameters.group("all");
    REQUIRE(all.slots.size() == 1);
    CHECK(all.slots[0].aliases.size() == 1);
    CHECK((*model)["embedding"].data_ptr() == (*model)["head"].data_ptr());
    give_gradient(*model, "head", {2, 4});
    CHECK(all.slots[0].touched);
    give_gradient(*model, "embedding", {1, 0});
    CHECK(numbers(all.gradients) == std::vector<double>{3, 4});
    CHECK(parameters.gradient_norm({}) == 5);
    parameters.check_storage();
  }
  SUBCASE("frozen, they stay tied") {
    const auto model = std::make_shared<Bag>();
    model->add("embedding", shared);
    model->add("head", shared.detach());
    model->add("w", values({1}));
    Parameters parameters(model, {frozen(group_of("still", "embedding")), rest("x")}, torch::kFloat32);
    CHECK((*model)["embedding"].data_ptr() == (*model)["head"].data_ptr());
    CHECK(parameters.frozen_elements() == 2);
  }
  SUBCASE("a group of second names only says so") {
    const auto model = std::make_shared<Bag>();
    model->add("embedding", shared);
    model->register_parameter("head", (*model)["embedding"]);
    const std::string error = error_of([&] {
      Parameters(model, {group_of("top", "head"), rest("x")}, torch::kFloat64);
    });
    CHECK(error.find("head (the same tensor as embedding)") != std::string::npos);
  }
  SUBCASE("tensors that overlap in part are refused") {
    const torch::Tensor whole = torch::zeros({4}, torch::kFloat64);
    const auto model = std::make_shared<Bag>();
    model->add("left", whole.narrow(0, 0, 3).detach());
    model->add("right", whole.narrow(0, 2, 2).detach());
    CHECK(error_of([&] { Parameters(model, {}, torch::kFloat64); }).find("share a part") !=
          std::string::npos);
  }
}

TEST_CASE("touched bits") {
  const auto model = bag({{"a", {1}}, {"b", {2}}, {"c", {3}}});
  Parameters parameters(model, {}, torch::kFloat64);
  ParameterGroup& all = parameters.group("all");
  const auto touched = [&] {
    std::string bits;
    for (const Slot& slot : all.slots) bits += slot.touched ? '1' : '0';
    return bits;
  };
  CHECK(touched() == "000");

  SUBCASE("used several times in one graph, and in several graphs") {
    torch::Tensor& a = (*model)["a"];
    (a * a * a).sum().backward();
    CHECK(touched() == "100");
    CHECK(numbers(all.gradients) == std::vector<double>{3, 0, 0});
    (a * (*model)["c"]).sum().backward();
    CHECK(touched() == "101");
    parameters.zero_gradients();
    CHECK(touched() == "101");  // a zero gradient is not an absent one
    CHECK(numbers(all.gradients) == std::vector<double>{0, 0, 0});
    parameters.clear_touched();
    CHECK(touched() == "000");
  }
  SUBCASE("B16: a loss of zero still touches what its graph reaches") {
    (0 * (*model)["b"]).sum().backward();
    CHECK(touched() == "010");
    CHECK(numbers(all.gradients) == std::vector<double>{0, 0, 0});
  }
  SUBCASE("a graph may outlive the parameters") {
    torch::Tensor loss;
    const auto other = bag({{"w", {1}}});
    {
      Parameters gone(other, {}, torch::kFloat64);
      loss = ((*other)["w"] * 2).sum();
    }
    loss.backward();
    CHECK(numbers((*other)["w"].grad()) == std::vector<double>{2});
  }
}

TEST_CASE("segments are maximal runs of touched slots with one step count") {
  const auto model = bag({{"a", {1, 1}}, {"b", {1}}, {"c", {1, 1, 1}}, {"d", {1}}, {"e", {1}}});
  Parameters parameters(model, {}, torch::kFloat64);
  ParameterGroup& all = parameters.group("all");
  CHECK(all.touched_segments().empty());
  for (const char* name : {"a", "b", "d", "e"})
    give_gradient(*model, name, std::vector<double>((*model)[name].numel(), 1.0));
  all.slots[4].step = 3;
  const std::vector<Segment> segments = all.touched_segments();
  REQUIRE(segments.size() == 3);
  CHECK(segments[0].offset == 0);
  CHECK(segments[0].size == 3);
  CHECK(segments[0].slot_count == 2);
  CHECK(segments[1].offset == 6);
  CHECK(segments[1].size == 1);
  CHECK(segments[1].first_slot == 3);
  CHECK(segments[2].offset == 7);
  CHECK(segments[2].step == 3);
}

TEST_CASE("B29: one clip of the summed gradient") {
  const auto model = bag({{"w", {0, 0}}});
  Parameters parameters(model, {}, torch::kFloat64);
  give_gradient(*model, "w", {2, 0});
  give_gradient(*model, "w", {0, 2});
  CHECK(parameters.clip_norm({}, 1.0) == doctest::Approx(std::sqrt(8.0)).epsilon(1e-15));
  const std::vector<double> clipped = numbers(parameters.flat_gradient());
  CHECK(clipped[0] == doctest::Approx(0.70710678).epsilon(1e-8));
  CHECK(clipped[1] == doctest::Approx(0.70710678).epsilon(1e-8));
}

TEST_CASE("B31: the norm of several groups is one norm") {
  const auto model = bag({{"a", {0}}, {"b", {0}}});
  Parameters parameters(model, {group_of("a", "a"), group_of("b", "b")}, torch::kFloat64);
  give_gradient(*model, "a", {3});
  give_gradient(*model, "b", {4});
  SUBCASE("together") {
    CHECK(parameters.clip_norm({"a", "b"}, 1.0) == 5);
    CHECK(numbers(parameters.flat_gradient())[0] == doctest::Approx(0.6).epsilon(1e-15));
    CHECK(numbers(parameters.flat_gradient())[1] == doctest::Approx(0.8).epsilon(1e-15));
  }
  SUBCASE("one alone") {
    CHECK(parameters.clip_norm({"b"}, 1.0) == 4);
    CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{3, 1});
  }
  SUBCASE("under the limit nothing changes") {
    CHECK(parameters.clip_norm({}, 5.0) == 5);
    CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{3, 4});
  }
}

TEST_CASE("B32: a norm that is not finite is reported and hides nothing") {
  const auto model = bag({{"a", {0, 0}}, {"b", {0}}});
  Parameters parameters(model, {group_of("first", "a"), group_of("second", "b")}, torch::kFloat64);
  CHECK_FALSE(parameters.first_nonfinite());
  SUBCASE("infinite") {
    give_gradient(*model, "a", {3, 4});
    give_gradient(*model, "b", {kInfinity});
    for (const double limit : {1.0, kInfinity}) {
      CHECK(parameters.clip_norm({}, limit) == kInfinity);
      CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{3, 4, kInfinity});
    }
    CHECK(parameters.first_nonfinite().parameter == "b");
    CHECK(parameters.first_nonfinite().group == "second");
    CHECK(parameters.gradient_norm({"first"}) == 5);
  }
  SUBCASE("NaN") {
    give_gradient(*model, "a", {3, std::nan("")});
    give_gradient(*model, "b", {kInfinity});
    CHECK(std::isnan(parameters.clip_norm({}, 1.0)));
    CHECK(numbers(parameters.flat_gradient())[0] == 3);
    CHECK(parameters.first_nonfinite().parameter == "a");
  }
  SUBCASE("clip by value leaves it to the step's verdict") {
    give_gradient(*model, "a", {3, -kInfinity});
    give_gradient(*model, "b", {std::nan("")});
    CHECK(parameters.clip_value({}, 1.0) == 1);
    CHECK(numbers(parameters.flat_gradient())[0] == 1);
    CHECK(numbers(parameters.flat_gradient())[1] == -kInfinity);
    CHECK(std::isnan(numbers(parameters.flat_gradient())[2]));
  }
}

TEST_CASE("clip by value") {
  const auto model = bag({{"a", {0, 0, 0, 0}}, {"b", {0}}});
  Parameters parameters(model, {group_of("a", "a"), group_of("b", "b")}, torch::kFloat32);
  give_gradient(*model, "a", {-3, 0.25, 0.5, 7});
  give_gradient(*model, "b", {9});
  CHECK(parameters.clip_value({"a"}, 0.5) == 2);
  CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{-0.5, 0.25, 0.5, 0.5, 9});
}

TEST_CASE("a gradient of zero has norm zero and is not divided by it") {
  const auto model = bag({{"a", {1, 2}}});
  Parameters parameters(model, {}, torch::kFloat64);
  give_gradient(*model, "a", {0, 0});
  CHECK(parameters.clip_norm({}, 1.0) == 0);
  CHECK(parameters.clip_norm({}, 0.0) == 0);
  CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{0, 0});
}

TEST_CASE("an untouched parameter is out of the norm and of clips") {
  const auto model = bag({{"a", {0}}, {"b", {0}}});
  Parameters parameters(model, {}, torch::kFloat64);
  give_gradient(*model, "a", {3});
  give_gradient(*model, "b", {4});
  parameters.clear_touched();
  give_gradient(*model, "a", {0});
  CHECK(parameters.gradient_norm({}) == 3);
  CHECK(parameters.clip_value({}, 1) == 1);
  CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{1, 4});
}

TEST_CASE("B33, B34: gradients add up until they are zeroed, and start from zero afterwards") {
  const auto model = bag({{"w", {5}}});
  Parameters parameters(model, {}, torch::kFloat64);
  for (const double g : {3.0, 5.0, 2.0}) give_gradient(*model, "w", {g});
  CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{10});
  parameters.zero_gradients();
  give_gradient(*model, "w", {2});
  CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{2});
  CHECK((*model)["w"].grad().data_ptr() == parameters.group("all").gradients.data_ptr());
}

TEST_CASE("scaling by group") {
  const auto model = bag({{"a", {0}}, {"b", {0}}});
  Parameters parameters(model, {group_of("a", "a"), group_of("b", "b")}, torch::kFloat64);
  give_gradient(*model, "a", {3});
  give_gradient(*model, "b", {4});
  parameters.scale_gradients({"b"}, 0.25);
  CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{3, 1});
  parameters.scale_gradients({}, 2);
  CHECK(numbers(parameters.flat_gradient()) == std::vector<double>{6, 2});
}

TEST_CASE("B102: the norm equals an FP64 sum and does not depend on the number of threads") {
  for (const torch::Dtype dtype : {torch::kFloat32, torch::kFloat64}) {
    const auto model = std::make_shared<Bag>();
    // Sizes around the chunk size, and enough elements for several threads.
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal(0, 3);
    std::vector<std::vector<double>> gradients;
    int index = 0;
    for (const int64_t size : {1, 3, 16383, 16384, 16385, 400001, 2}) {
      model->add("p" + std::to_string(index++), torch::zeros({size}, torch::kFloat64));
      gradients.emplace_back();
      for (int64_t i = 0; i < size; ++i) gradients.back().push_back(normal(random));
    }
    Parameters parameters(model, {}, dtype);
    long double sum = 0;
    for (size_t i = 0; i < gradients.size(); ++i) {
      give_gradient(*model, "p" + std::to_string(i), gradients[i]);
      for (const double g : gradients[i]) {
        const double stored = dtype == torch::kFloat32 ? static_cast<double>(static_cast<float>(g)) : g;
        sum += static_cast<long double>(stored) * stored;
      }
    }
    const double expected = static_cast<double>(std::sqrt(sum));
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    const double alone = parameters.gradient_norm({});
    CHECK(std::abs(alone - expected) / expected < 1e-14);
    for (const int count : {2, 3, 8}) {
      at::set_num_threads(count);
      for (int repeat = 0; repeat < 20; ++repeat) REQUIRE(parameters.gradient_norm({}) == alone);
    }
    parameters.group("all").gradients[440000] = std::nan("");
    for (int repeat = 0; repeat < 20; ++repeat) REQUIRE(parameters.first_nonfinite().parameter == "p5");
    at::set_num_threads(threads);
  }
}

TEST_CASE("squares that leave the range of FP64 do not spoil the norm") {
  const auto model = bag({{"a", {0, 0}}});
  for (const double scale : {1e200, 1e-200, 1e308, 4.9406564584124654e-324}) {
    Parameters parameters(model, {}, torch::kFloat64);
    give_gradient(*model, "a", {0.6 * scale, 0.8 * scale});
    const double expected = std::hypot(0.6 * scale, 0.8 * scale);
    CHECK(parameters.gradient_norm({}) == doctest::Approx(expected).epsilon(1e-12));
    CHECK_FALSE(parameters.first_nonfinite());
  }
}
