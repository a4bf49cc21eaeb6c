#!/usr/bin/env bash
# The dashboard in a headless Chromium. Installs what is missing where it can: Chromium by apt-get, the client of the
# browser by npm. Needs Node.js. Arguments are parts of names of cases.
#
# The pictures are in tests/browser/shots/, to be looked at.
set -euo pipefail
cd "$(dirname "$0")/.."

chromium="${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
if [[ -z "$chromium" && "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
  apt-get install -y --no-install-recommends chromium >/dev/null
  chromium="$(command -v chromium)"
fi
[[ -n "$chromium" ]] || { echo "no browser: install chromium, or set CHROMIUM" >&2; exit 3; }
command -v node >/dev/null || { echo "no Node.js: install nodejs" >&2; exit 3; }
[[ -d tests/browser/node_modules ]] || (cd tests/browser && npm ci --no-audit --no-fund --ignore-scripts >/dev/null)

cargo build --quiet -p scheduler-dashboard --example for_browser
target="${CARGO_TARGET_DIR:-target}"
PROGRAM="$PWD/$target/debug/examples/for_browser" CHROMIUM="$chromium" node tests/browser/run.mjs "$@"
