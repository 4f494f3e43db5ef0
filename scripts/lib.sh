# Shared by the scripts: where things are, how many jobs to build with, and plain messages. Sourced, not run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=${LOOP_BUILD_DIR:-$root/build}
venv=$root/.deps/venv
jobs=${LOOP_JOBS:-$(n=$(nproc); [ "$n" -gt 8 ] && n=8; echo "$n")}

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 3; }
