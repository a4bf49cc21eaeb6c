#!/usr/bin/env bash
# Nodes that share a store, in an optimized build: 10⁶ simulated lives, or as many as are named (`ci/durable.sh 10000000`),
# from a first seed if one is named; the lives from which a rule was taken away; all states of small worlds. A failing seed
# prints the command that replays it.
set -euo pipefail
cd "$(dirname "$0")/.."

SCHEDULER_NODE_SEEDS="${1:-1000000}" SCHEDULER_NODE_FIRST="${2:-0}" SCHEDULER_NODE_SMALL=900 \
  cargo test --release -p scheduler-node --lib -- --nocapture
