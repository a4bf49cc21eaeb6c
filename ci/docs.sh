#!/usr/bin/env bash
# Builds the documentation of what is published, and looks at its links; plots have to show their tables, and diagrams to be such
# as the book draws.
#
# rustdoc does not see those in Markdown. `ci/docs.sh private` adds private items, and does not look at links.
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTDOCFLAGS="-D warnings"
pages="${CARGO_TARGET_DIR:-target}/doc"
published=()
for manifest in Cargo.toml scheduler-*/Cargo.toml crates/*/Cargo.toml; do
  published+=(-p "$(sed -n 's/^name = "\(.*\)"/\1/p;T;q' "$manifest")")
done

# The pages and places to which the links of all pages lead, and those that there are, as `scheduler/struct.Run.html#name`.
links_and_places() {
  grep --recursive --only-matching --extended-regexp --include='*.html' '(href|id)="[^"]*"' scheduler scheduler_* |
    # Blanket implementations come with links of other crates.
    grep --extended-regexp --invert-match '"(dispatcher#|Context"|.*TryFuture)' |
    awk '
      {
        split($0, line, "\"")
        page = line[1]; sub(/:(href|id)=$/, "", page)
        if (line[1] ~ /:id=$/) { print "place " page "#" line[2]; next }
        target = line[2]; sub(/\?.*$/, "", target)
        sub(/#$/, "", target)
        if (target ~ /^[a-z]+:|^$|\$/) next
        path = target; sub(/#.*$/, "", path)
        place = target ~ /#/ ? substr(target, index(target, "#")) : ""
        folder = page; sub(/[^\/]*$/, "", folder)
        whole = path == "" ? page : folder path
        while (sub(/[^\/]+\/\.\.\//, "", whole)) {}
        gsub(/\/\.\//, "/", whole)
        print "link " whole place
      }'
  find scheduler scheduler_* src static.files -type f | sed 's/^/place /'
  find . -maxdepth 1 -type f -printf 'place %f\n'
}

# Places in sources are lines, which a page names when it is opened; some pages lead on to the same place of another.
check_links() {
  local found dead
  found="$(mktemp)"
  links_and_places | sed 's/\(\.rs\.html\)#.*/\1/' | sort --unique >"$found"
  dead="$(comm -23 <(sed -n 's/^link //p' "$found") <(sed -n 's/^place //p' "$found") |
    grep --invert-match --fixed-strings --file=<(grep --recursive --files-with-matches 'http-equiv="refresh"' . | sed 's/^..//; s/$/#/') || true)"
  rm "$found"
  if [[ -n "$dead" ]]; then printf 'a link leads to %s, which is not there\n' $dead >&2; return 1; fi
}

case "${1:-public}" in
  public)
    # Pages of items that are gone stay there.
    rm -rf "$pages"
    # A link leads to a crate whose folder is there, whichever is documented first. The folder of one is away for a moment as it is
    # documented, so they take turns.
    mkdir -p "$pages"/{scheduler,scheduler_{api,cli,core,dashboard,expr,macros,monitors,node,postgres,sqlite,store}}
    cargo check --all-features "${published[@]}"
    cargo doc --jobs 1 --all-features --no-deps "${published[@]}"
    (cd "$pages" && export LC_ALL=C && check_links)
    ci/plots.sh check
    ci/diagrams.sh docs/how-it-works.md >/dev/null
    ;;
  private) cargo doc --all-features --no-deps --document-private-items "${published[@]}" ;;
  *) echo "usage: $0 [public|private]" >&2; exit 2 ;;
esac
