#!/usr/bin/env bash
# Packages every crate, and builds and runs a program against the packages.
#
# Each has to be small and complete. The program uses all features. `ci/package.sh newest` takes the newest dependencies,
# which users get, in place of those of `Cargo.lock`.
set -euo pipefail
cd "$(dirname "$0")/.."

bytes_max=1000000
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
packed="$CARGO_TARGET_DIR/package" unpacked="$CARGO_TARGET_DIR/unpacked"
names=() excluded=()
for manifest in $(git ls-files 'Cargo.toml' '*/Cargo.toml' ':!fuzz'); do
  name="$(sed -n 's/^name = "\(.*\)"/\1/p;T;q' "$manifest")"
  if grep -q '^publish = false' "$manifest"; then excluded+=(--exclude "$name"); else names+=("$name"); fi
done

rm -rf "$packed"/*.crate "$unpacked"
mkdir -p "$unpacked/program/src"
cargo package --workspace --no-verify --allow-dirty --quiet "${excluded[@]}"
for name in "${names[@]}"; do
  file="$(echo "$packed/$name"-[0-9]*.crate)"
  mkdir "$unpacked/$name"
  # The files in it are dated 2006, so that cargo would take what it has built of an earlier package.
  tar --extract --touch --gzip --strip-components=1 --directory "$unpacked/$name" --file "$file"
  bytes="$(stat --format=%s "$file")"
  printf '%-22s %4d KB, %3d files\n' "$name" $(((bytes + 999) / 1000)) "$(find "$unpacked/$name" -type f | wc -l)"
  ((bytes <= bytes_max)) || { echo "$file: more than $bytes_max bytes" >&2; exit 1; }
  for text in README.md LICENSE-APACHE LICENSE-MIT; do
    [[ -s "$unpacked/$name/$text" ]] || { echo "$name has no $text" >&2; exit 1; }
  done
  for key in repository documentation keywords categories; do
    grep -q "^$key = " "$unpacked/$name/Cargo.toml" || { echo "$name has no $key" >&2; exit 1; }
  done
done

# Each package with all its features, by version as on crates.io; the patch says where they lie instead.
{
  printf '[package]\nname = "stranger"\nversion = "0.0.0"\nedition = "2024"\npublish = false\n\n[workspace]\n\n[dependencies]\n'
  echo 'tokio = { version = "1", features = ["time"] }'
  for name in "${names[@]}"; do
    features="$(sed -n '/^\[features\]/,/^\[[^f]/s/^\([a-z][a-z-]*\) = .*/"\1",/p' "$unpacked/$name/Cargo.toml")"
    version="$(sed -n 's/^version = \(".*"\)/\1/p;T;q' "$unpacked/$name/Cargo.toml")"
    echo "$name = { version = $version, features = [${features//$'\n'/ }] }"
  done
  printf '\n[patch.crates-io]\n'
  for name in "${names[@]}"; do echo "$name = { path = \"../$name\" }"; done
} >"$unpacked/program/Cargo.toml"
cp ci/package/main.rs "$unpacked/program/src/main.rs"
if [[ "${1:-}" != newest ]]; then cp Cargo.lock "$unpacked/program/Cargo.lock"; fi
cd "$unpacked/program"
cargo run --quiet
