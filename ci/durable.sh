#!/usr/bin/env bash
# Durable jobs: what `cargo test` does a little of, at length and in an optimized build. All steps, or those that are named:
#
#   ci/durable.sh differential [10000000]   random requests to SQLite are answered as by the model: 10⁶ of them
set -euo pipefail
cd "$(dirname "$0")/.."

step_differential() {
  SCHEDULER_DIFFERENTIAL_STEPS="${1:-1000000}" \
    cargo test --release -p scheduler-sqlite --test differential -- --nocapture
}

case "${1:-}" in
  "") step_differential ;;
  *) "step_$1" "${@:2}" ;;
esac
