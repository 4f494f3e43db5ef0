# What the tests of the executable share. Sourced after `set -u`: makes a folder of its own, enters it, removes it at the end.
folder=$(mktemp -d)
trap 'chmod -R u+rwX "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

# expect STATUS command…: its output is left in out.txt and err.txt
expect() {
  local wanted=$1
  shift
  "$@" >out.txt 2>err.txt
  local got=$?
  [ "$got" -eq "$wanted" ] || { fail "expected exit $wanted, got $got: $*"; cat out.txt err.txt >&2; }
}

has() { grep -qF -- "$2" "$1" || { fail "$1 has no '$2'"; cat "$1" >&2; }; }
lacks() { ! grep -qF -- "$2" "$1" || { fail "$1 has '$2'"; cat "$1" >&2; }; }
