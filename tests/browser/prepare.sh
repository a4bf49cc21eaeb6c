# Sourced by scripts that drive a browser: sets CHROMIUM, and installs what is missing.
#
# Chromium comes by apt-get where that is there and the user is root, the client of the browser by npm.

CHROMIUM="${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
if [[ -z "$CHROMIUM" && "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
  apt-get update >/dev/null && apt-get install -y --no-install-recommends chromium >/dev/null
  CHROMIUM="$(command -v chromium)"
fi
[[ -n "$CHROMIUM" ]] || { echo "no browser: install chromium, or set CHROMIUM" >&2; exit 3; }
command -v node >/dev/null || { echo "no Node.js: install nodejs" >&2; exit 3; }
[[ -d tests/browser/node_modules/axe-core ]] || (cd tests/browser && npm ci --no-audit --no-fund --ignore-scripts >/dev/null)
export CHROMIUM
