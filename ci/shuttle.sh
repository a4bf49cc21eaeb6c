#!/usr/bin/env bash
# A whole pool in random interleavings, and planted bugs that have to be found. `ci/shuttle.sh` takes 4×10⁴
# schedules, always the same ones; `ci/shuttle.sh deep` 4×10⁶ others (the deep tier).
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

# Each of the two samplers takes so many.
export SCHEDULER_SCHEDULES="${SCHEDULER_SCHEDULES:-$schedules}"
# The warning is about atomics weaker than SeqCst: loom, not shuttle, explores those.
export RUSTFLAGS="--cfg shuttle" SHUTTLE_SILENCE_WARNINGS=1
cargo test --release --target-dir target/shuttle \
  --config 'profile.release.package.scheduler-core.debug-assertions=true' \
  -p scheduler-core --test shuttle -- --nocapture
