#!/usr/bin/env bash
# Durable jobs: what `cargo test` does a little of, at length and in an optimized build. All steps, or the one that is named:
#
#   ci/durable.sh lives [1000000 [FIRST]]  nodes that share a store in simulated lives, and small worlds in all their states
#   ci/durable.sh differential [1000000]   random requests to both stores are answered as by the model
#   ci/durable.sh processes [brief]        the contract with real processes on both stores, in its full length
#   ci/durable.sh ticks [SECONDS]          how soon each tick of a schedule starts in four processes: a measurement
#   ci/durable.sh outage                   jobs of two processes through an outage of two leases: a measurement
#   ci/durable.sh limits [SECONDS]         limits and turns of four processes under kills, judged in the database at each commit
#   ci/durable.sh chaos [SECONDS [SEED]]   random kills, freezes, failures of the network and restarts of PostgreSQL, judged
#                                          from the journals
#
# A life that fails prints the command that replays it.
set -euo pipefail
cd "$(dirname "$0")/.."

step_lives() {
  TEST_NODE_SEEDS="${1:-1000000}" TEST_NODE_FIRST="${2:-0}" TEST_NODE_SMALL=900 \
    cargo test --release -p scheduler-node --test simulation -- --nocapture
}

step_differential() {
  export TEST_DIFFERENTIAL_STEPS="${1:-1000000}"
  cargo test --release -p scheduler-sqlite --test sqlite differential:: -- --nocapture
  cargo test --release -p scheduler-postgres --test postgres random_requests -- --nocapture
}

step_processes() {
  if [[ "${1:-}" != brief ]]; then export TEST_CLUSTER_FULL=1; fi
  for store in sqlite postgres; do
    TEST_CLUSTER_STORE="$store" cargo test --release -p cluster --test cluster -- --test-threads=8
  done
}

step_ticks() {
  TEST_TICK_SECONDS="${1:-300}" TEST_CLUSTER_STORE="${TEST_CLUSTER_STORE:-postgres}" \
    cargo test --release -p cluster --test cluster -- --ignored --nocapture ticks_start_soon
}

step_outage() {
  TEST_CLUSTER_STORE=postgres cargo test --release -p cluster --test cluster -- --ignored --nocapture how_long
}

step_limits() {
  TEST_CLUSTER_STORE=postgres TEST_LIMITS_SECONDS="${1:-600}" \
    cargo test --release -p cluster --test cluster -- --ignored --nocapture limits_and_turns
}

step_chaos() {
  TEST_CLUSTER_STORE=postgres TEST_CHAOS_SECONDS="${1:-1800}" TEST_CHAOS_SEED="${2:-1}" \
    cargo test --release -p cluster --test cluster -- --ignored --nocapture chaos
}

case "${1:-}" in
  "")
    step_lives
    step_differential
    step_processes
    step_ticks
    step_outage
    step_limits
    step_chaos
    ;;
  *) "step_$1" "${@:2}" ;;
esac
