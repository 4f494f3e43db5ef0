// What a person may write behind each key.
#include <map>

#include "tests/generated/spec_source.h"

namespace loop::generated {

const std::vector<std::string>& values_of(const std::string& key) {
  static const std::map<std::string, std::vector<std::string>> values = {
      {"seed", {"0", "1337", "1_000_000", "seed_of_all"}},
      {"device", {"auto", "cpu", "cuda"}},
      {"ranks", {"1", "2", "16"}},
      {"dtype", {"fp32", "fp64", "bf16(master: fp32)"}},
      {"accumulate", {"fp32", "fp64"}},
      {"memory", {"2 GiB", "512 MiB", "1 KiB"}},
      {"init", {"random", R"(weights("start.safetensors"))"}},
      {"batch_norm", {"per_micro", "across_ranks", "frozen"}},
      {"amp",
       {"off", "bf16", "fp16", "fp16(init_scale: 65536)",
        "fp16(init_scale: 2 ^ 16, growth_factor: 2.0, backoff_factor: 0.5, growth_interval: 2000, min_scale: "
        "1)"}},
      {"stop",
       {"1000 updates", "budget", "2 epochs", "90 epochs or 10 h",
        "100 updates or no_better(held_out.loss, for: 10 evaluations)", "1_000_000 tokens or 30 min",
        "5 * 100 updates"}},
      {"resume", {"never", "auto", R"("runs/a/ckpt")"}},
      {"check_replicas", {"1000 updates", "off", "50 updates"}},
      {"log", {"on", "off"}},
      {"checkpoint", {"off"}},
      {"average", {"ema(decay: 0.999)", "ema(decay: 0.9, buffers: true)", "ema(decay: 99%)"}},
      {"model",
       {"gpt(layers: 2, heads: 2, width: 32, context: 16)",
        "gpt(layers: 1, heads: 1, width: 8, context: 4, dropout: 0.1, tied: true)",
        "gpt(layers: 2, heads: 2, width: 32, context: 16, recompute: blocks)",
        "mlp(hidden: [32, 16], activation: gelu)", "mlp(hidden: [8], batch_norm: true)",
        "cnn(channels: [8, 16], hidden: 32, batch_norm: true)", "cnn(channels: [8])", "linear()",
        "linear(outputs: 4)", "my_own_model(size: 3, \"a\")"}},
      {"loss",
       {"cross_entropy() per tokens", "cross_entropy(ignore: -100, label_smoothing: 0.1) per tokens",
        "cross_entropy() per samples", "mse() per samples", "0.5 * mse(ignore: -1) per positions",
        "bce_with_logits(pos_weight: 2) per samples", "l1() per boxes(at_least: ranks)",
        "cross_entropy(weights: [1, 2, 0.5]) per class_weight", "mse() per 64", "mse() per window",
        "info_nce(temperature: 0.1, negatives: window) per samples", "moe_balance() per micro_batch",
        "1e-4 * z_loss() per tokens"}},
      {"data.train",
       {R"(text("corpus.txt", tokenizer: char))", R"(text("corpus.txt", tokenizer: byte, take: first(90%)))",
        R"(lines("lines.txt", tokenizer: char, length: 32, long: cut))",
        R"(bin("shards/*.bin", length: 16, vocabulary: 256))",
        R"(idx(images: "x.gz", labels: "y.gz", mean: 0.28, std: 0.35))",
        R"(csv("rows.csv", target: "y", task: classification))",
        R"(csv("rows.csv", target: ["y", "z"], task: regression, header: yes))",
        R"(npy(inputs: "x.npy", targets: "y.npy"))"}},
      {"data.micro_batch", {"auto", "8 samples", "1 sample", "512 samples", "4 * 2 samples"}},
      {"data.order", {"shuffled", "sequential"}},
      {"data.short", {"keep", "drop", "pad"}},
      {"data.uneven", {"error", "drop", "pad_empty"}},
      {"window.size",
       {"4 micro_batches", "1 micro_batch", "32 samples", "16_384 tokens", "4096 positions",
        "ramp(1 -> 8 micro_batches, over: 1000 updates)", "ramp(64 -> 1024 samples, over: 2 epochs)"}},
      {"window.sync", {"last", "every", "manual"}},
      {"window.reduce", {"sum", "mean"}},
      {"window.compress", {"none", "bf16"}},
      {"window.tail", {"flush", "carry", "drop"}},
      {"window.empty", {"skip", "error"}},
      {"window.oom", {"error", "halve"}},
      {"nonfinite.action", {"skip", "stop"}},
      {"nonfinite.limit", {"50", "1"}},
      {"evaluate.on", {"valid", "train"}},
      {"evaluate.every", {"200 updates", "1 epoch", "200 updates or 10 min"}},
      {"evaluate.limit", {"100 micro_batches", "1 micro_batch"}},
      {"evaluate.metrics", {"[loss]", "[loss, accuracy]", "[loss, perplexity,]", "[]"}},
      {"evaluate.also", {"[start]", "[start, end]", "[]"}},
      {"evaluate.with", {"model", "slow"}},
      {"checkpoint.path", {R"("runs/a/ckpt")"}},
      {"checkpoint.every", {"500 updates", "500 updates or 10 min", "1 epoch"}},
      {"checkpoint.keep", {"last(3)", "best(held_out.loss)", "last(3) + best(held_out.loss)"}},
      {"checkpoint.on_signal", {"true", "false"}},
      {"log.path", {R"("runs/a")", R"("runs/ü b")"}},
      {"log.every", {"10 updates", "1 min"}},
      {"params",
       {"ndim >= 2", "others", R"("*.bias")", R"(["*.weight", "head.*"])", R"(not "*norm*" and ndim == 1)",
        R"(frozen("token_embedding.*"))", R"(frozen(ndim < 2 or "*.bias"))"}},
  };
  static const std::vector<std::string> none;
  const auto found = values.find(key);
  return found == values.end() ? none : found->second;
}

}  // namespace loop::generated
