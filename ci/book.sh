#!/usr/bin/env bash
# Builds the guides as a book in target/book, and checks its links. Their programs are tests of the documentation.
#
# Not part of CI: it installs mdbook, which takes some minutes to build, and the tests check links of the sources anyway.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.4.52
target="${CARGO_TARGET_DIR:-$PWD/target}"
sources="$target/book-sources" book="$target/book"
repository="$(sed -n 's/^repository = "\(.*\)"/\1/p;T;q' Cargo.toml)/blob/main"
mdbook="$(type -P mdbook || echo "$target/tools/bin/mdbook")"
if [[ ! -x "$mdbook" ]]; then
  cargo install mdbook --version "$version" --locked --no-default-features --root "$target/tools"
fi

rm -rf "$sources" "$book"
mkdir -p "$sources"
cp -r docs "$sources/src"
cp scheduler-macros/src/manual.md "$sources/src/scheduled.md"
sed 's#: manual\.md#: scheduled.md#' scheduler-macros/src/job.md >"$sources/src/job.md"
cp crates/monitors/src/manual.md "$sources/src/monitors.md"
sed 's#](docs/#](#g' CHANGELOG.md >"$sources/src/changelog.md"
# Pages of other folders are pages of the book; other files are links into the repository. `up` leads from a page to the
# root of the book, `out` from there to the root of the repository.
relink() {
  local up="$1" out="$2"
  shift 2
  sed -i -E \
    -e "s#${out}scheduler-macros/src/manual\.md#${up}scheduled.md#g; s#${out}scheduler-macros/src/job\.md#${up}job.md#g" \
    -e "s#${out}crates/monitors/src/manual\.md#${up}monitors.md#g; s#${out}CHANGELOG\.md#${up}changelog.md#g" \
    -e "s#(\]\(|\]: )${out}([A-Za-z.][^) ]*)#\1$repository/\2#g" \
    -e "s#^(\[[a-z]+\]: )([a-z]+\.rs)\$#\1$repository/crates/monitors/src/\2#" "$@"
}
relink "" "\.\./" "$sources"/src/*.md
relink "../" "\.\./\.\./" "$sources"/src/*/*.md
# Diagrams that a forge draws are pictures here.
grep --files-with-matches --recursive '^```mermaid' "$sources/src" | while IFS= read -r page; do
  ci/diagrams.sh "$page" >"$page.drawn"
  mv "$page.drawn" "$page"
done
cat >"$sources/book.toml" <<END
[book]
title = "scheduler"
[build]
build-dir = "$book"
[output.html]
git-repository-url = "${repository%/blob/main}"
END
"$mdbook" build "$sources"

# Each relative link of a page leads to a file.
code=0
while IFS=: read -r page link; do
  path="${link#*\"}"
  path="${path%%[#\"?]*}"
  if [[ -n "$path" && ! -e "$(dirname "$page")/$path" ]]; then
    echo "${page#"$book"/}: $path leads nowhere" >&2
    code=1
  fi
done < <(grep --recursive --only-matching --extended-regexp --include='*.html' '(href|src)="[^":]*"' "$book")
echo "$book/index.html"
exit "$code"
