#!/usr/bin/env bash
# The oldest Rust that `Cargo.toml` promises builds all that is published, with all features, and with none.
set -euo pipefail
cd "$(dirname "$0")/.."

release="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
export CARGO_TARGET_DIR=target/msrv
ci/toolchain.sh "$release" cargo check --workspace --all-features
ci/toolchain.sh "$release" cargo check -p scheduler-rs
