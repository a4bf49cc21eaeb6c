#!/usr/bin/env bash
# What rustc prints for each mistake of `tests/ui/fail` and `tests/ui/rustc`, and that each program of `tests/ui/pass`
# compiles and runs. The messages are those of one release of rustc: with another one it says that nothing was compared.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --all-features --test ui
