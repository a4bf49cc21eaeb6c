#!/usr/bin/env bash
# What rustc prints for each mistake, and that each program of `tests/ui/pass` compiles and runs. `ci/ui.sh quick`, which
# every change has to pass, leaves out what the macro reports: a unit test compares the texts of those. The messages
# are those of one release of rustc: with another one it says that nothing was compared.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-all}" in
  quick) export SCHEDULER_UI=quick ;;
  all) ;;
  *) echo "usage: $0 [quick]" >&2; exit 2 ;;
esac
cargo test --workspace --all-features --test ui
