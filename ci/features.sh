#!/usr/bin/env bash
# Combinations of features, each without a warning of rustc or clippy: none and each by itself, or with
# `ci/features.sh deep` all of them. (All at once is what the other jobs build.) Then the tests of the crate and of whole
# programs without any feature, but for simulations, and those with async bodies without Tokio.
set -euo pipefail
cd "$(dirname "$0")/.."

# Little of this is built with the features of anything else, so that it waits for no other build.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/features"
features=(tokio tracing opentelemetry log metrics testing serde durable)
# These only add a store to `durable`, so that `deep` does not combine them.
stores=(sqlite sqlite-system postgres tls)
crates=(scheduler-api scheduler-expr scheduler-core scheduler-store scheduler-node)
# Those with default features, without.
bare=(scheduler-sqlite scheduler-cli scheduler-monitors)

check() {
  printf '%s\n' "$*"
  cargo clippy --quiet "$@" -- -D warnings
}

case "${1:-quick}" in
  quick)
    check -p scheduler-rs
    for feature in "${features[@]}" "${stores[@]}"; do
      check -p scheduler-rs --features "$feature"
    done
    ;;
  deep)
    crates+=(scheduler-macros scheduler-dashboard)
    for ((set = 0; set < 1 << ${#features[@]}; set++)); do
      chosen=()
      for i in "${!features[@]}"; do
        ((set >> i & 1)) && chosen+=("${features[i]}")
      done
      check -p scheduler-rs --features "$(IFS=,; echo "${chosen[*]}")"
    done
    ;;
  *) echo "usage: $0 [quick|deep]" >&2; exit 2 ;;
esac
# By themselves, without what the facade switches on.
for crate in "${crates[@]}"; do
  check -p "$crate"
done
for crate in "${bare[@]}"; do
  check -p "$crate" --no-default-features
done

cargo test -p scheduler-rs --lib -- --skip simulation:: --skip specification::
cargo test -p programs
async=(annotated annotations facade running)
cargo test -p tests --no-default-features "${async[@]/#/--test=}" -- --skip examples:: --skip many_tasks:: \
  --skip faults_real_clock:: --skip simulated_
