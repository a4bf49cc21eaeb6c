#!/usr/bin/env bash
# Licences, sources and versions of all dependencies, by `deny.toml`, and with `ci/deny.sh deep` what is known to
# be unsafe in them, which needs the network. Needs `cargo install cargo-deny`.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-quick}" in
  quick) checks=(bans licenses sources) ;;
  deep) checks=(advisories bans licenses sources) ;;
  *) echo "usage: $0 [quick|deep]" >&2; exit 2 ;;
esac
cargo deny --workspace check --hide-inclusion-graph "${checks[@]}"
