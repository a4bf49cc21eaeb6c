#!/usr/bin/env bash
# The documentation, for users and with private items, without a warning.
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTDOCFLAGS="-D warnings"
cargo doc --workspace --all-features --no-deps
cargo doc --workspace --all-features --no-deps --document-private-items
