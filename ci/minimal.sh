#!/usr/bin/env bash
# The lowest versions that the manifests allow are enough: checked in a copy, with a nightly cargo, whose
# `-Z direct-minimal-versions` it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

target="$PWD/target/minimal"
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$copy"
cd "$copy"
cargo +nightly -Z direct-minimal-versions update
cargo check --workspace --all-features --all-targets --target-dir "$target"
