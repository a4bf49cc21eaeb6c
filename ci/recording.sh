#!/usr/bin/env bash
# Records seven seconds of the example `quickstart`, and Ctrl-C, as a moving SVG: docs/pictures/quickstart.svg.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet -p examples --example quickstart
program="${CARGO_TARGET_DIR:-target}/debug/examples/quickstart"
file=docs/pictures/quickstart.svg

# Each line with the seconds after which it came. A pipe makes the program's two outputs one.
record() {
  local begin now line
  begin=$(date +%s%N)
  { timeout --signal INT 7 stdbuf --output L "$program" 2>&1 || true; } | while IFS= read -r line; do
    now=$(date +%s%N)
    printf '%d.%03d\t%s\n' $(((now - begin) / 1000000000)) $(((now - begin) / 1000000 % 1000)) "$line"
  done
}

record | awk -F '\t' '
  function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
  function add(at, text, class) {
    y += 18
    if (length(text) > columns) columns = length(text)
    body = body sprintf("<text class=\"%s\" x=\"12\" y=\"%d\" style=\"animation-delay:%.1fs\">%s</text>\n", class, y, at, escaped(text))
  }
  BEGIN { y = 8; add(0, "$ cargo run", "typed") }
  {
    gsub(/\033\[[0-9;]*m/, "", $2)
    # Columns are set apart by spaces, which SVG would join.
    add($1 + 1, $2, $2 ~ /^(INFO|WARN|ERROR)/ ? "message" : $2 ~ /^scheduler / ? "head" : "said")
    lines++
  }
  END {
    if (lines < 6) { print "only " lines " lines came" > "/dev/stderr"; exit 1 }
    width = columns * 7.3 + 24
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"The output of cargo run\">\n", width, y + 14
    print "<style>rect{fill:#16181d}text{font:12px ui-monospace,monospace;fill:#d7dae0;white-space:pre;opacity:0;animation:come .1s forwards}"
    print ".typed{fill:#7fd17f}.head{fill:#fff;font-weight:bold}.message{fill:#8fb3ff}@keyframes come{to{opacity:1}}"
    print "@media(prefers-reduced-motion:reduce){text{animation:none;opacity:1}}</style>"
    printf "<rect width=\"100%%\" height=\"100%%\" rx=\"6\"/>\n%s</svg>\n", body
  }' >"$file.new"
mv "$file.new" "$file"
echo "$file $(stat --format=%s "$file") bytes"
