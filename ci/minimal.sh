#!/usr/bin/env bash
# Builds all that is published with the lowest versions of dependencies.
#
# They are resolved in a copy, and built with the oldest Rust that is promised.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="$PWD/target/minimal"
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$copy"
cd "$copy"
# The switch is unstable; a cargo that is not a nightly one takes it when it is asked to like this.
RUSTC_BOOTSTRAP=1 cargo -Z direct-minimal-versions update --quiet
release="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)"
ci/toolchain.sh "$release" cargo check --workspace --all-features
