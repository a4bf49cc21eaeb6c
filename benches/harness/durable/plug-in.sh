#!/bin/sh
# Makes this checkout two peers of a benchmark tree for durable jobs: see the README one folder up.
#     plug-in.sh TREE
set -eu
tree=${1:?the benchmark tree}
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../../.." && pwd)

for store in postgres sqlite; do
    name=scheduler-$store crate=$tree/durable/rust/scheduler-$store
    mkdir -p "$crate/src"
    cp "$here/main.rs" "$crate/src/main.rs"
    sed "s#@NAME@#$name#; s#@PROJECT@#$project#" "$here/Cargo.toml.in" > "$crate/Cargo.toml"
    (cd "$crate" && cargo update --quiet --workspace)
done
if ! grep -q '"scheduler-postgres"' "$tree/durable/run.py"; then
    states="state in ('ready', 'running')"
    sed -i "s/^PEERS = {/&\n    \"scheduler-postgres\": Peer(\"rust\", \"select count(*) from scheduler.job where $states\"),\n    \"scheduler-sqlite\": Peer(\"rust\", \"select count(*) from scheduler_job where $states\", lite=True),/" "$tree/durable/run.py"
fi
