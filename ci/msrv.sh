#!/usr/bin/env bash
# The oldest Rust that `Cargo.toml` promises builds everything. Its toolchain has to be installed:
# `rustup toolchain install 1.88 --profile minimal`.
set -euo pipefail
cd "$(dirname "$0")/.."

version="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
cargo "+$version" check --workspace --all-features --all-targets --target-dir target/msrv
