#!/usr/bin/env bash
# The words a person writes can be judged in a browser, too. The target has to be installed:
# `rustup target add wasm32-unknown-unknown`.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo check -p scheduler-expr --target wasm32-unknown-unknown
