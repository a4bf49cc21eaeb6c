#!/usr/bin/env bash
# Every interleaving of small models of the engine. `ci/loom.sh` explores up to 2 preemptions, `ci/loom.sh deep` up to 5 (the
# deep tier), where a model fails as NOT COMPLETE after LOOM_MAX_DURATION seconds, three hours if not said. `ci/twins.sh`
# has the models fail.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-quick}" in
  quick) bound=2 level=0 ;;
  deep)
    bound=5 level=3
    # The limit is looked at after so many interleavings.
    export LOOM_MAX_DURATION="${LOOM_MAX_DURATION:-10800}" LOOM_CHECKPOINT_INTERVAL=1000
    ;;
  *) echo "usage: $0 [quick|deep]" >&2; exit 2 ;;
esac

export RUSTFLAGS="--cfg loom"
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-$bound}"
cargo test --profile models --target-dir target/loom \
  --config "profile.models.package.scheduler-core.opt-level=$level" \
  -p scheduler-core --test loom -- --nocapture
