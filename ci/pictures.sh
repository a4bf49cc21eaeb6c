#!/usr/bin/env bash
# Takes the pictures of docs/pictures/ from the example `dashboard`, and one of an outage, in a headless Chromium.
#
# Installs what is missing where it can. Needs Node.js. Takes two minutes, in which the tasks get a history.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/browser/prepare.sh

cargo build --quiet -p examples --example dashboard
cargo build --quiet -p scheduler-dashboard --example for_browser
target="${CARGO_TARGET_DIR:-target}"
EXAMPLE="$PWD/$target/debug/examples/dashboard" PROGRAM="$PWD/$target/debug/examples/for_browser" node tests/browser/pictures.mjs docs/pictures
