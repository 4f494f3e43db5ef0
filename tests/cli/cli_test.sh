#!/usr/bin/env bash
# What only a real process can show: exit statuses in a shell, terminals, unreadable files, full disks, signals passed to the runtime.
#   cli_test.sh PATH_TO_LOOPC
set -u
loopc=$1
source "$(dirname "${BASH_SOURCE[0]}")/shell.sh"

cat >good.loop <<'SPEC'
use std.optimizers.sgd

loop small {
  model = mlp(hidden: [8])
  data {
    train       = csv("rows.csv", target: "y", task: regression)
    micro_batch = 4 samples
  }
  loss = mse() per samples
  window {
    size = 2 micro_batches
    tail = flush
  }
  update { step sgd(lr: 0.1) }
  stop = 10 updates
}
SPEC
printf 'loop x {\n  seed = \n}\n' >bad.loop
escape=$(printf '\033')

# Exit statuses.
expect 0 "$loopc" --version
expect 2 "$loopc"
expect 2 "$loopc" check
expect 2 "$loopc" check missing.loop
has err.txt "missing.loop"
expect 1 "$loopc" check .
expect 2 "$loopc" plan .
has err.txt "folder"
expect 0 "$loopc" check good.loop
expect 1 "$loopc" check bad.loop
expect 1 "$loopc" check good.loop bad.loop
expect 0 "$loopc" plan good.loop
expect 1 "$loopc" plan bad.loop
expect 0 "$loopc" explain
expect 2 "$loopc" explain L000
expect 0 "$loopc" check --format json good.loop
expect 1 "$loopc" check --format json bad.loop
if command -v python3 >/dev/null; then
  python3 -m json.tool out.txt >/dev/null || fail "the JSON is not valid"
fi
if [ "$(id -u)" -ne 0 ]; then
  cp good.loop secret.loop
  chmod 000 secret.loop
  expect 2 "$loopc" check secret.loop
  has err.txt "Permission denied"
fi

# Texts that are no specs.
: >empty.loop
expect 0 "$loopc" fmt --check empty.loop
"$loopc" check empty.loop >out.txt 2>err.txt
[ $? -le 1 ] || fail "check of an empty file"
printf 'seed = "\377"\n' >bytes.loop
expect 1 "$loopc" check bytes.loop
expect 1 "$loopc" fmt bytes.loop
head -c 100000 /dev/zero | tr '\0' '(' >deep.loop
expect 1 "$loopc" check deep.loop
head -c 5000000 /dev/zero | tr '\0' ' ' >large.loop
expect 1 "$loopc" check large.loop
expect 2 "$loopc" check /dev/zero

# fmt.
printf 'loop   x{ seed=1 }\n' >untidy.loop
chmod 640 untidy.loop
expect 1 "$loopc" fmt --check untidy.loop
has out.txt "untidy.loop"
expect 1 "$loopc" fmt --diff untidy.loop
has out.txt "+++ untidy.loop"
if command -v patch >/dev/null; then
  cp untidy.loop patched.loop
  patch -s patched.loop <out.txt || fail "patch does not read the diff"
  "$loopc" fmt --check patched.loop >/dev/null || fail "the patched file is not in order"
fi
expect 0 "$loopc" fmt untidy.loop
expect 0 "$loopc" fmt --check untidy.loop
[ "$(stat -c %a untidy.loop)" = 640 ] || fail "fmt changed the permissions"
expect 1 "$loopc" fmt bad.loop
printf 'loop   x{ seed=1 }\n' | "$loopc" fmt - >out.txt || fail "fmt of standard input"
has out.txt "seed = 1"

# A full disk is said, not passed over.
if [ -w /dev/full ]; then
  "$loopc" explain >/dev/full 2>err.txt
  [ $? -eq 3 ] || fail "writing to a full disk"
  has err.txt "cannot be written"
fi

# Colours: on a terminal, not with NO_COLOR, not in a pipe.
expect 1 "$loopc" check bad.loop
lacks out.txt "$escape"
if command -v script >/dev/null; then
  env -u NO_COLOR TERM=xterm script -qec "'$loopc' check bad.loop" /dev/null >out.txt </dev/null
  has out.txt "$escape["
  NO_COLOR=1 TERM=xterm script -qec "'$loopc' check bad.loop" /dev/null >out.txt </dev/null
  lacks out.txt "$escape["
  NO_COLOR= TERM=xterm script -qec "'$loopc' check bad.loop" /dev/null >out.txt </dev/null
  has out.txt "$escape["
fi

# The runtime is the `looprun` beside loopc: here a script in its place, so that what loopc does with it is seen alone.
mkdir -p bin
cp "$loopc" bin/loopc
printf 'x,y\n1,2\n3,4\n5,6\n7,8\n' >rows.csv
LOOP_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." 2>/dev/null && pwd)
export LOOP_HOME
expect 3 bin/loopc run good.loop
has err.txt "looprun"
expect 1 bin/loopc doctor
has out.txt "WRONG"

runtime() {
  printf '#!/usr/bin/env bash\n%s\n' "$1" >bin/looprun
  chmod +x bin/looprun
}
runtime 'cat "$2" >plan.json; printf "%s\n" "$*" >arguments.txt; exit 4'
expect 4 bin/loopc run good.loop --out records
has plan.json '"format"'
has arguments.txt "--out records"
expect 1 bin/loopc run bad.loop
runtime 'exit 0'
expect 0 bin/loopc run good.loop
runtime 'kill -SEGV $$'
expect 3 bin/loopc run good.loop
has err.txt "signal"
runtime 'echo broken >&2; exit 9'
expect 1 bin/loopc doctor
has out.txt "broken"
printf 'not a program' >bin/looprun
expect 3 bin/loopc run good.loop

# A signal to loopc alone reaches the runtime, whose exit status comes back; Ctrl-C's status is 130.
for signal in INT TERM; do
  rm -f ready
  runtime 'trap "exit 130" INT TERM; : >ready; while :; do sleep 0.05; done'
  env --default-signal=INT bin/loopc run good.loop >out.txt 2>err.txt &  # a shell starts background jobs with SIGINT ignored
  child=$!
  until [ -e ready ]; do
    kill -0 $child 2>/dev/null || { fail "the runtime did not start"; cat err.txt >&2; break; }
    sleep 0.02
  done
  kill -$signal $child
  wait $child
  status=$?
  [ $status -eq 130 ] || fail "SIG$signal gave exit $status"
done

# One request to end may come as a burst of signals, to loopc and to its whole group: the runtime, to which a second one means "at once",
# gets one.
rm -f ready signals
runtime 'trap "echo x >>signals" TERM; : >ready; while [ ! -e signals ]; do sleep 0.05; done; sleep 0.3; exit 130'
setsid env bin/loopc run good.loop >out.txt 2>err.txt &
child=$!
until [ -e ready ]; do
  kill -0 $child 2>/dev/null || { fail "the runtime did not start"; cat err.txt >&2; break; }
  sleep 0.02
done
kill -TERM $child
kill -TERM -$child
wait $child
[ $? -eq 130 ] || fail "a burst of signals"
[ "$(wc -l <signals)" -eq 1 ] || fail "the runtime got $(wc -l <signals) signals for one request"

if [ $failures -gt 0 ]; then
  echo "$failures checks failed" >&2
  exit 1
fi
echo "all checks passed"
