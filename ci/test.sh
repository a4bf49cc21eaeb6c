#!/usr/bin/env bash
# All tests, those of the documentation included.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --all-features
