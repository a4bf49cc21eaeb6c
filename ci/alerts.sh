#!/usr/bin/env bash
# Tests the alert rules that the project ships.
set -euo pipefail
cd "$(dirname "$0")/../docs"

if ! type -P promtool >/dev/null; then
  apt-get update && apt-get install --yes --no-install-recommends prometheus
fi
promtool check rules prometheus-alerts.yml
promtool test rules prometheus-alerts.test.yml
# Each rule has a test in which it fires, and one in which it does not.
sed -n 's/.*- alert: //p' prometheus-alerts.yml | while read -r rule; do
  awk -v rule="$rule" '
    function count() { if (name == rule) { fired ? fires++ : silent++ } name = ""; fired = 0 }
    /eval_time:/ { count() }
    /alertname:/ { name = $2 }
    /exp_alerts:/ { fired = 1 }
    END { count(); if (!fires || !silent) { print rule " has no test that " (fires ? "is silent" : "fires"); exit 1 } }
  ' prometheus-alerts.test.yml
done
