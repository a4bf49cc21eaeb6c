#!/usr/bin/env bash
# The documentation without a warning; `ci/docs.sh private` with private items.
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTDOCFLAGS="-D warnings"
case "${1:-public}" in
  public) cargo doc --workspace --all-features --no-deps ;;
  private) cargo doc --workspace --all-features --no-deps --document-private-items ;;
  *) echo "usage: $0 [public|private]" >&2; exit 2 ;;
esac
