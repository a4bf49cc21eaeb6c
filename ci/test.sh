#!/usr/bin/env bash
# All tests, those of the documentation included, with all features; `ci/features.sh` has those with fewer.
set -euo pipefail
cd "$(dirname "$0")/.."

# The contract of durable jobs with real processes, on SQLite, and on PostgreSQL where there is one. They wait most of the
# time, and so together, and beside the others.
cluster() {
  for store in sqlite postgres; do
    TEST_CLUSTER_STORE="$store" cargo test --workspace --all-features --test cluster -- --test-threads=8 || return 1
  done
}
# More of what a machine of one's own does a little of.
export TEST_ROUNDS=all TEST_NODE_SEEDS=10000 TEST_DIFFERENTIAL_STEPS=5000
cargo test --workspace --all-features --no-run
log=$(mktemp)
cluster >"$log" 2>&1 &
cluster=$!
cargo test --workspace --all-features
if ! wait "$cluster"; then
  cat "$log"
  exit 1
fi
grep 'test result' "$log"
rm "$log"
