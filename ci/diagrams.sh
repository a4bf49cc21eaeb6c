#!/usr/bin/env bash
# Prints a document with its mermaid diagrams as SVG: sequences, and states with a row for each transition.
#
# A forge draws mermaid by itself; the book (`ci/book.sh`) has this, which needs neither a network nor a script in the page. A
# line that it cannot draw is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

awk '
  function escaped(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); return text }
  function fail(why) { print FILENAME ":" FNR ": " why > "/dev/stderr"; failed = 1; exit 1 }
  # The number of a column. A state becomes one where it is first named.
  function place(word) {
    if (!(word in column)) {
      if (kind == "sequence") fail("`" word "` is no participant")
      column[word] = columns; title[columns++] = word == "[*]" ? "·" : word
    }
    return column[word]
  }
  # A row from one column to another. The columns are as wide as the longest label needs, as far as the page allows.
  function add(what, first, last, label,   span, needed) {
    from[rows] = first; to[rows] = last; text[rows] = label; form[rows++] = what
    span = last > first ? last - first : first - last
    needed = (length(label) * 6.4 + 16) / (what == "note" ? span + 1 : span > 0 ? span : 1)
    if (needed > wide) wide = needed
  }
  function middle(at) { return wide / 2 + at * wide }
  function draw_row(row,   x1, x2, y, ahead) {
    x1 = middle(from[row]); x2 = middle(to[row]); y = 60 + 34 * row; ahead = (x2 < x1) ? 8 : -8
    if (form[row] == "note")
      printf "<rect class=\"note\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"22\" rx=\"3\"/>", x1 - wide / 2 + 6, y - 15, x2 - x1 + wide - 12
    else {
      printf "<path class=\"%s\" d=\"M%d %dH%d\"/>", form[row], x1, y + 5, x2 + ahead
      printf "<path class=\"head\" d=\"M%d %dl%d -4v8z\"/>", x2, y + 5, ahead
    }
    printf "<text x=\"%d\" y=\"%d\">%s</text>\n", (x1 + x2) / 2, y, escaped(text[row])
  }
  function draw(   at, x, height) {
    height = 50 + 34 * rows
    if (wide * columns > 860) wide = int(860 / columns)
    printf "<div class=\"diagram\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" style=\"max-width:%dpx;width:100%%\" role=\"img\">\n", columns * wide, height, columns * wide
    print "<style>.diagram text{font:12px sans-serif;fill:currentColor;text-anchor:middle;stroke:var(--bg,#fff);stroke-width:4px;paint-order:stroke}" \
      ".diagram .name{font-weight:bold}.diagram path,.diagram .box{stroke:currentColor;fill:none}.diagram .life{opacity:.25}" \
      ".diagram .dashed{stroke-dasharray:5 3}.diagram .head{fill:currentColor}.diagram .note{fill:currentColor;fill-opacity:.1}</style>"
    for (at = 0; at < columns; at++) {
      x = middle(at)
      printf "<path class=\"life\" d=\"M%d 30V%d\"/><rect class=\"box\" x=\"%d\" y=\"4\" width=\"%d\" height=\"26\" rx=\"4\"/>", x, height - 8, x - wide / 2 + 6, wide - 12
      printf "<text class=\"name\" x=\"%d\" y=\"21\">%s</text>\n", x, escaped(title[at])
    }
    for (at = 0; at < rows; at++) draw_row(at)
    print "</svg></div>"
  }
  # The two ends of an arrow, and what stands behind the colon.
  function arrow(arrows, what,   head, ends) {
    head = $0; sub(/: .*/, "", head)
    split(head, ends, arrows)
    add(what, place(ends[1]), place(ends[2]), substr($0, length(head) + 3))
  }
  /^```mermaid$/ { inside = 1; kind = ""; rows = columns = 0; wide = 130; delete column; next }
  inside && /^```$/ { inside = 0; draw(); next }
  !inside { print; next }
  { gsub(/^ +| +$/, "") }
  $0 == "sequenceDiagram" { kind = "sequence"; next }
  $0 == "stateDiagram-v2" { kind = "state"; next }
  kind == "sequence" && /^participant [A-Za-z]+ as / { column[$2] = columns; sub(/^participant [A-Za-z]+ as /, ""); title[columns++] = $0; next }
  kind == "sequence" && /^Note over [A-Za-z]+: / { name = $3; sub(/:$/, "", name); sub(/^[^:]*: /, ""); add("note", place(name), place(name), $0); next }
  kind == "sequence" && /^[A-Za-z]+->>[A-Za-z]+: / { arrow("->>", "line"); next }
  kind == "sequence" && /^[A-Za-z]+(-->>|-\))[A-Za-z]+: / { arrow("-->>|-\\)", "dashed"); next }
  kind == "state" && /^[^ ]+ --> [^ :]+: / { arrow(" --> ", "line"); next }
  { fail("this cannot be drawn: " $0) }
  END { if (!failed && inside) { print FILENAME ": a diagram has no end" > "/dev/stderr"; exit 1 } }' "$@"
