#!/usr/bin/env bash
# `loopc check` over many files: folders, settings, allowances, formats, and the commands of docs/guide/lint_in_ci.md.
#   check_test.sh PATH_TO_LOOPC SOURCE_DIR
set -u
loopc=$1
source=$2
source "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

# L807 at `size`, L204 at `backward`: notes.
spec() {
  cat <<'SPEC'
use std.optimizers.sgd

loop example {
  model = gpt(layers: 1, heads: 1, width: 8, context: 16)
  data {
    train       = lines("corpus.txt", tokenizer: byte)
    micro_batch = 8 samples
  }
  loss = cross_entropy(ignore: -100) per tokens
  window {
    size   = 32 micro_batches
    tail   = flush
    reduce = mean
  }
  micro {
    forward
    loss
    backward
  }
  update {
SPEC
  printf '%s' "${1:-}"
  printf '    normalize\n    step sgd(lr: 0.1)\n    zero_grad\n  }\n  stop = 100 updates\n}\n'
}
mkdir -p recipes/deep/er recipes/.hidden
spec >recipes/notes.loop
spec '    clip(norm: 1.0)
' >recipes/deep/er/bad.loop
printf 'loop x {' >recipes/.hidden/broken.loop
printf 'const budget = 10 updates\n' >recipes/module.loop
ln -s .. recipes/deep/circle
ln -s ../notes.loop recipes/deep/link.loop

# Folders, repetitions, order.
expect 1 "$loopc" check --format concise recipes
has out.txt "recipes/deep/er/bad.loop:21:5: error L111 clip-before-normalize: "
lacks out.txt broken
lacks out.txt L093
[ "$(grep -c 'notes.loop\|link.loop' out.txt)" -eq 2 ] || fail "a linked file is checked twice"
has out.txt "1 error, 4 notes in 2 of 3 files"
cp out.txt once.txt
expect 1 "$loopc" check --format concise recipes ./recipes recipes/notes.loop recipes/deep
cmp -s out.txt once.txt || fail "what is given twice is checked twice"
expect 0 "$loopc" check recipes/notes.loop
expect 1 "$loopc" check recipes/module.loop  # named itself, it is to be a spec
has out.txt L093
mkdir empty
expect 2 "$loopc" check empty
has err.txt "has no \`.loop\` files"

# The same bytes for any number of threads.
mkdir many
for i in $(seq 40); do spec "$( [ $((i % 3)) -eq 0 ] && printf '    clip(norm: %s.0)\\n' "$i")" | sed 's/\\n/\n/' >many/$i.loop; done
for format in text concise json sarif github; do
  expect 1 "$loopc" check --format $format --jobs 1 many recipes
  cp out.txt one.txt
  for jobs in 2 3 8 64; do
    expect 1 "$loopc" check --format $format --jobs $jobs many recipes
    cmp -s out.txt one.txt || fail "--jobs $jobs gives another output ($format)"
  done
done
expect 2 "$loopc" check --jobs 0 many
expect 2 "$loopc" check many/1.loop nowhere.loop many/2.loop
has err.txt "nowhere.loop"

# Settings.
expect 0 "$loopc" check --ignore L111 recipes
has out.txt "not shown: 1 error"
expect 0 "$loopc" check --select note --format json recipes
has out.txt '"errors": 1'
expect 1 "$loopc" check --error-on L204 recipes/notes.loop
expect 1 "$loopc" check --error-on note recipes/notes.loop
expect 0 "$loopc" check --error-on warning recipes/notes.loop
expect 2 "$loopc" check --ignore L04,nonsense recipes
has err.txt "--ignore"
expect 2 "$loopc" check --select clip-befor-normalize recipes
has err.txt 'did you mean `clip-before-normalize`?'
printf '[check]\nignore = ["L111"]\n' >recipes/deep/loop.toml
expect 0 "$loopc" check recipes
has out.txt "not shown: 1 error"
expect 1 "$loopc" check --ignore L204 recipes
printf '[check]\nignor = ["L111"]\n' >recipes/deep/loop.toml
expect 2 "$loopc" check recipes
has err.txt 'recipes/deep/loop.toml:2:1: there is no `ignor`'
expect 0 "$loopc" check recipes/notes.loop
rm recipes/deep/loop.toml

# Allowances: `check` accepts the error, `run` says so and trains; what is only ignored is never trained.
spec '    clip(norm: 1.0)   # loop: allow(L111, reason: "as in the paper")
' >allowed.loop
expect 0 "$loopc" check allowed.loop
has out.txt "1 allowed"
mkdir bin
cp "$loopc" bin/loopc
printf '#!/usr/bin/env bash\ncat "$2" >plan.json\n' >bin/looprun
chmod +x bin/looprun
export LOOP_HOME=$source
touch corpus.txt
expect 0 bin/loopc run allowed.loop
has err.txt "allowed: L111 clip-before-normalize at allowed.loop:21 (as in the paper)"
has plan.json '"format"'
printf '[check]\nignore = ["all"]\n' >loop.toml
cp recipes/deep/er/bad.loop bad.loop
expect 0 "$loopc" check bad.loop
expect 1 bin/loopc run bad.loop
has err.txt "error[L111"
rm loop.toml

# The guide's commands, in a folder like its reader's: clean recipes, then one with an error.
mkdir -p guide/recipes
spec >guide/recipes/notes.loop
commands=$(sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$source/docs/guide/lint_in_ci.md")
[ "$(wc -l <<<"$commands")" -ge 7 ] || fail "the guide's commands were not found"
mkdir path
ln -s "$loopc" path/loopc
wanted=0
for round in clean bad; do
  while read -r command; do
    (cd guide && PATH="$folder/path:$PATH" bash -c "$command") >out.txt 2>err.txt
    got=$?
    expected=$wanted
    [[ $command == *--fix* || $command == *--diff* ]] && expected=0  # every error here can be repaired
    [ "$round" = clean ] || cp bad.loop guide/recipes/bad.loop
    [ $got -eq $expected ] || { fail "the guide's '$command' ($round) exits with $got, not $expected"; cat err.txt >&2; }
  done <<<"$commands"
  cp bad.loop guide/recipes/bad.loop
  wanted=1
done
# Its settings are settings.
sed -n '/^```toml$/,/^```$/{/^```/d;p}' "$source/docs/guide/lint_in_ci.md" >guide/loop.toml
expect 1 "$loopc" check guide
lacks out.txt L807
# The hooks' commands.
while read -r entry; do
  (cd guide && PATH="$folder/path:$PATH" bash -c "$entry recipes/notes.loop") >out.txt 2>err.txt || fail "the hook '$entry'"
done < <(sed -n 's/^  entry: //p' "$source/.pre-commit-hooks.yaml")

if [ $failures -gt 0 ]; then
  echo "$failures checks failed" >&2
  exit 1
fi
echo "all checks passed"
