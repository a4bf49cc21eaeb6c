#!/usr/bin/env bash
# The dashboard in a headless Chromium. Installs what is missing where it can. Needs Node.js. Arguments are parts of
# names of cases.
#
# The pictures are in tests/browser/shots/, to be looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
source tests/browser/prepare.sh

cargo build --quiet -p scheduler-dashboard --example for_browser
target="${CARGO_TARGET_DIR:-target}"
PROGRAM="$PWD/$target/debug/examples/for_browser" node tests/browser/run.mjs "$@"
