#!/usr/bin/env bash
# Tests the alert rules that the project ships.
set -euo pipefail
cd "$(dirname "$0")/../docs"

if ! type -P promtool >/dev/null; then
  apt-get update && apt-get install --yes --no-install-recommends prometheus
fi
promtool check rules prometheus-alerts.yml
promtool test rules prometheus-alerts.test.yml
