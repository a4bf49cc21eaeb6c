#!/usr/bin/env bash
# Runs a command with a release of Rust: `ci/toolchain.sh 1.88 cargo check`.
#
# Takes one that is installed, or has rustup fetch it. Ends with 3 where neither works.
set -euo pipefail

release="$1"
shift

# The command prints the version of this release.
prints_release() {
  [[ "$("$@" --version 2>/dev/null)" == "rustc $release"[.\ ]* ]]
}

if prints_release rustc; then exec "$@"; fi
if type -P rustup >/dev/null; then
  # By version, because a release may be installed by another name: 1.88 as 1.88.0.
  for name in $(rustup toolchain list --quiet); do
    if prints_release rustup run "$name" rustc; then exec rustup run "$name" "$@"; fi
  done
  if rustup toolchain install --no-self-update --profile minimal "$release" >&2; then exec rustup run "$release" "$@"; fi
fi
echo "no Rust $release, and rustup cannot fetch it: rustup toolchain install --profile minimal $release" >&2
exit 3
