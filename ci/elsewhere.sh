#!/usr/bin/env bash
# Runs the tests on systems without PostgreSQL for them: Windows, macOS.
#
# Real processes that share a store are run on Linux only, by `ci/test.sh`.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --all-features --exclude cluster --exclude postgres-server --exclude scheduler-postgres
