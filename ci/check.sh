#!/usr/bin/env bash
# Form and lints of all crates with all features; `ci/features.sh` has those without. Clippy's `incompatible_msrv` also
# finds what the standard library has only since a later release than `rust-version`.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo fmt --all --check
cargo clippy --workspace --all-targets --all-features -- -D warnings
# Those that `cargo test` does not run are not among all targets.
cargo clippy --workspace --all-features --test cluster --test soak_real_clock --test ui -- -D warnings
