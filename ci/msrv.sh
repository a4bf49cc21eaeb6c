#!/usr/bin/env bash
# Builds all that is published with the oldest Rust that is promised.
set -euo pipefail
cd "$(dirname "$0")/.."

release="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
export CARGO_TARGET_DIR=target/msrv
ci/toolchain.sh "$release" cargo check --workspace --all-features
ci/toolchain.sh "$release" cargo check -p scheduler-rs
