#!/usr/bin/env bash
# Takes the pictures of docs/pictures/ from the example `dashboard`, in a headless Chromium.
#
# Installs what is missing where it can. Needs Node.js. Takes two minutes, in which the tasks get a history.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/browser/prepare.sh

cargo build --quiet -p examples --example dashboard
target="${CARGO_TARGET_DIR:-target}"
PROGRAM="$PWD/$target/debug/examples/dashboard" node tests/browser/pictures.mjs docs/pictures
