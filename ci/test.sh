#!/usr/bin/env bash
# All tests, those of the documentation included, with all features. Then those of the crate and of whole programs
# without any feature, and those of the facade without Tokio.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --all-features
# The contract of durable jobs with real processes, once more on PostgreSQL, where there is one. It waits most of the time,
# and so runs beside the others.
log=$(mktemp)
SCHEDULER_CLUSTER_STORE=postgres cargo test -p cluster >"$log" 2>&1 &
cluster=$!
cargo test -p scheduler --lib
cargo test -p programs
cargo test -p tests --no-default-features
if ! wait "$cluster"; then
  cat "$log"
  exit 1
fi
grep 'test result' "$log"
rm "$log"
