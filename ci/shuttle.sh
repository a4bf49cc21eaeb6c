#!/usr/bin/env bash
# A whole pool in random interleavings. `ci/shuttle.sh` takes 10⁵ schedules, always the same ones; `ci/shuttle.sh deep` 10⁷
# others (the deep tier). `ci/twins.sh` has them fail.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-quick}" in
  quick) schedules=20000 ;;
  deep)
    schedules=2000000
    export SHUTTLE_RANDOM_SEED="${SHUTTLE_RANDOM_SEED:-$(date +%s)}"
    echo "SHUTTLE_RANDOM_SEED=$SHUTTLE_RANDOM_SEED"
    ;;
  *) echo "usage: $0 [quick|deep]" >&2; exit 2 ;;
esac

# Each of the five tests takes so many.
export TEST_SCHEDULES="${TEST_SCHEDULES:-$schedules}"
# The warning is about atomics weaker than SeqCst: loom, not shuttle, explores those.
export RUSTFLAGS="--cfg shuttle" SHUTTLE_SILENCE_WARNINGS=1
cargo test --profile models --target-dir target/shuttle \
  --config 'profile.models.package.scheduler-core.opt-level=3' \
  -p scheduler-core --test shuttle -- --nocapture
