#!/usr/bin/env bash
# `loopc verify` end to end: its report against golden text, for a right spec and for three whose cause it has to name.
#   verify_test.sh PATH_TO_LOOPC GOLDEN_FOLDER      LOOP_UPDATE_GOLDEN=1 rewrites the folder
set -u
loopc=$1 golden=$2
source "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

for i in $(seq 1 22); do echo "line $i $(printf 'x%.0s' $(seq 1 $((i % 7))))"; done > lines.txt
{ echo "a,b,c,y"; for i in $(seq 1 26); do echo "$((i * 7 % 11)).5,$((i * 5 % 13)),$((i % 3)),$((i * i % 17))"; done; } > rows.csv

cat > right.loop <<'SPEC'
use std.optimizers.sgd

loop right {
  model = gpt(layers: 1, heads: 2, width: 16, context: 16, dropout: 0.1)
  data {
    train       = lines("lines.txt", tokenizer: byte)
    micro_batch = 2 samples
  }
  loss = cross_entropy() per tokens
  window {
    size = 3 micro_batches
    tail = flush
  }
  update {
    normalize
    clip(norm: 1.0)
    step sgd(lr: 0.1)
    zero_grad
  }
  stop = 1 epochs
}
SPEC
sed 's/loop right/loop wrong_count/; s/    normalize/    scale_grad(1 \/ micro_batches)/' right.loop > wrong_count.loop
sed 's/loop right/loop mean_of_means/; s/  update {/  micro { sync_on(last) { forward; loss(mean); backward } }\n&/; s/    normalize/    scale_grad(1 \/ micro_batches)/' \
  right.loop > mean_of_means.loop
cat > batch_norm.loop <<'SPEC'
use std.optimizers.sgd

loop batch_norm {
  model = mlp(hidden: [8], batch_norm: true)
  batch_norm = per_micro
  data {
    train       = csv("rows.csv", target: "y", task: regression)
    micro_batch = 4 samples
    short       = drop
  }
  loss = mse() per samples
  window {
    size = 2 micro_batches
    tail = flush
  }
  update { step sgd(lr: 0.1) }
  stop = 1 epochs
}
SPEC

# What is rounding and nothing else differs from processor to processor.
# How much a sum's order rounds, or whether it does, is the processor's.
readable() { sed -E 's/[0-9]+[.][0-9]+e-1[0-9]/(rounding)/g; s/(micro-batch alone .* differ by) 0$/\1 (rounding)/'; }

# report NAME STATUS arguments…
report() {
  local name=$1 wanted=$2
  shift 2
  expect "$wanted" "$loopc" verify "$@"
  readable < out.txt > "$name.txt"
  if [ "${LOOP_UPDATE_GOLDEN:-}" = 1 ]; then
    cp "$name.txt" "$golden/$name.txt"
  elif ! diff -u "$golden/$name.txt" "$name.txt" >&2; then
    fail "verify $*"
  fi
}

report right 0 right.loop
report right_tail 0 right.loop --ranks 3 --window tail
report right_tokens 0 right.loop --set 'window.size=100 tokens'
sed 's/loop right {/loop automatic {\n  memory = 1 GiB/; s/= 2 samples/= auto/; s/= 3 micro_batches/= 6 samples/' right.loop > automatic.loop
report automatic 0 automatic.loop
report wrong_count 1 wrong_count.loop --ranks 1
report mean_of_means 1 mean_of_means.loop --ranks 2
report batch_norm 1 batch_norm.loop --ranks 1

expect 0 "$loopc" verify right.loop --json
has out.txt '"equal": true'
expect 1 "$loopc" verify wrong_count.loop
has err.txt L302
expect 2 "$loopc" verify right.loop --window last
has err.txt "'last'"
expect 2 "$loopc" verify missing.loop
printf 'loop x {\n  seed = \n}\n' > bad.loop
expect 1 "$loopc" verify bad.loop

[ "$failures" -eq 0 ] || { echo "$failures failures" >&2; exit 1; }
echo "verify: all as expected"
