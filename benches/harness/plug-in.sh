#!/bin/sh
# Makes this checkout a peer of a benchmark tree: see the README beside this file.
#     plug-in.sh TREE
set -eu
tree=${1:?the benchmark tree}
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
rust=$tree/peers/rust

cp "$here/scheduler.rs" "$rust/peers/src/scheduler_pool.rs"
if ! grep -q '^scheduler-core' "$rust/peers/Cargo.toml"; then
    printf 'scheduler-core = { path = "%s/scheduler-core" }\n' "$project" >> "$rust/peers/Cargo.toml"
    sed -i 's/^mod naive_heap;/mod naive_heap;\nmod scheduler_pool;/' "$rust/peers/src/main.rs"
    for peer in scheduler:Plain scheduler-slack:Slack scheduler-precise:Precise; do
        name=${peer%:*} waiting=${peer#*:}
        line="run::<scheduler_pool::Pool<scheduler_pool::$waiting>>"
        sed -i "s/^\( *\)\"naive-heap\" => .*/&\n\1\"$name\" => $line,/" "$rust/peers/src/main.rs"
        sed -i "s/^RUST = (/RUST = (\"$name\", /" "$tree/peers/run.py"
    done
fi
cd "$rust" && cargo update --quiet --workspace
