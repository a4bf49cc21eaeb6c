#!/usr/bin/env bash
# Compares all that rustc prints for mistakes in annotations.
#
# They are in `tests/ui/fail` and `tests/ui/rustc`; each program of `tests/ui/pass` compiles and runs. The messages are those
# of one release of rustc, which is taken or fetched.
set -euo pipefail
cd "$(dirname "$0")/.."

release="$(sed -n 's/^channel = "\(.*\)"/\1/p' tests/ui/rust-toolchain.toml)"
ci/toolchain.sh "$release" cargo test --workspace --all-features --test ui
