#!/usr/bin/env bash
# Every interleaving of small models of the engine, and of each a twin with a planted bug, which has to
# fail. `ci/loom.sh` explores up to 2 preemptions, `ci/loom.sh deep` up to 5 (the deep tier), where a model fails as NOT
# COMPLETE after LOOM_MAX_DURATION seconds, three hours if not said. The twins are explored up to 3 there.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-quick}" in
  quick) bound=2 ;;
  deep)
    bound=5
    # The limit is looked at after so many interleavings.
    export LOOM_MAX_DURATION="${LOOM_MAX_DURATION:-10800}" LOOM_CHECKPOINT_INTERVAL=1000
    ;;
  *) echo "usage: $0 [quick|deep]" >&2; exit 2 ;;
esac

export RUSTFLAGS="--cfg loom"
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-$bound}"

models() {
  cargo test --profile models --target-dir target/loom -p scheduler-core --test loom "$@"
}

if ((bound == 2)); then
  models -- --nocapture
  exit
fi
# The longest begins first, beside the others.
models --no-run
models -- --nocapture l8_ &
longest=$!
code=0
models -- --nocapture --skip l8_ || code=1
wait "$longest" || code=1
exit "$code"
