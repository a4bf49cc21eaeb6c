#!/bin/sh
# Makes this checkout a peer of a benchmark tree: see the README beside this file.
#     plug-in.sh TREE [NAME]
set -eu
tree=${1:?the benchmark tree}
name=${2:-scheduler}
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
rust=$tree/peers/rust

cp "$here/scheduler.rs" "$rust/peers/src/scheduler_pool.rs"
if ! grep -q '^scheduler-core' "$rust/peers/Cargo.toml"; then
    printf 'scheduler-core = { path = "%s/scheduler-core" }\n' "$project" >> "$rust/peers/Cargo.toml"
    sed -i -e 's/^mod naive_heap;/mod naive_heap;\nmod scheduler_pool;/' \
        -e "s/^\( *\)\"naive-heap\" => .*/&\n\1\"$name\" => run::<scheduler_pool::Pool>,/" \
        "$rust/peers/src/main.rs"
    sed -i -e "s/^RUST = (/RUST = (\"$name\", /" "$tree/peers/run.py"
fi
cd "$rust" && cargo update --quiet --workspace
