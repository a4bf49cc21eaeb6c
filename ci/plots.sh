#!/usr/bin/env bash
# Draws the tables of docs/performance.md as SVG: bars of each row, as long as its first numbers. `ci/plots.sh check` fails
# where a picture does not show its table.
set -euo pipefail
cd "$(dirname "$0")/.."
pictures=docs/pictures
if [[ "${1:-}" == check ]]; then
  pictures=$(mktemp -d)
  trap 'rm -r "$pictures"' EXIT
fi

# plot FILE TITLE COLUMN…: the table that has these columns, in that order.
plot() {
  local name="$1" title="$2"
  local file="$pictures/$name"
  shift 2
  awk -v title="$title" -v columns="$(printf '%s|' "$@")" '
    function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
    function trimmed(text) { gsub(/^ +| +$/, "", text); return text }
    # The first number of a cell: `2.0 / 2.9 M` is 2.0.
    function number(text) { gsub(/,/, "", text); return match(text, /[0-9]+(\.[0-9]+)?/) ? substr(text, RSTART, RLENGTH) + 0 : -1 }
    BEGIN { wanted = split(substr(columns, 1, length(columns) - 1), names, "|"); FS = "|" }
    !/^\|/ { in_table = 0; next }
    !in_table {
      in_table = 1; found = 0
      for (column = 2; column < NF; column++)
        for (name = 1; name <= wanted; name++) if (trimmed($column) == names[name]) { place[name] = column; found++ }
      next
    }
    found < wanted || /^\|[-:| ]*$/ { next }
    {
      greatest = 0; complete = 1
      for (name = 1; name <= wanted; name++) {
        value[name] = number($place[name])
        if (value[name] < 0) complete = 0
        if (value[name] > greatest) greatest = value[name]
      }
      if (!complete || greatest == 0) next
      body = body sprintf("<text class=\"row\" x=\"0\" y=\"%d\">%s</text>\n", y + 14, escaped(trimmed($2)))
      y += 22
      for (name = 1; name <= wanted; name++) {
        width = 360 * value[name] / greatest
        body = body sprintf("<text x=\"150\" y=\"%d\" text-anchor=\"end\">%s</text><rect class=\"c%d\" x=\"158\" y=\"%d\" width=\"%.1f\" height=\"11\"/><text x=\"%.1f\" y=\"%d\">%s</text>\n",
          y + 10, escaped(names[name]), name, y + 1, width, 164 + width, y + 10, escaped(trimmed($place[name])))
        y += 15
      }
      y += 8
    }
    END {
      if (y == 0) { print "no row of the table has a number in each column" > "/dev/stderr"; exit 1 }
      printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" role=\"img\" aria-label=\"%s\">\n", y, escaped(title)
      print "<style>text{font:12px sans-serif;fill:#333}.row{font-weight:bold}rect{fill:#9aa7b4}.c1{fill:#2f6fde}"
      print "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#66727f}.c1{fill:#6ea0ff}}</style>"
      printf "%s</svg>\n", body
    }' docs/performance.md >"$file"
  if [[ "$pictures" == docs/pictures ]]; then
    echo "$file $(stat --format=%s "$file") bytes"
  elif ! cmp "$file" "docs/pictures/$name"; then
    echo "help: ci/plots.sh" >&2
    return 1
  fi
}

plot engine.svg "The engine beside the JDK, a plain heap and the crate scheduled-thread-pool" ours JDK "plain heap" "the crate"
plot jobs.svg "Durable jobs beside graphile-worker" PostgreSQL graphile-worker graphile-worker-rs
