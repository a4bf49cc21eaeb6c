#!/usr/bin/env bash
# Bugs that models have to find. `ci/twins/` has a file for each file of models, with a block for each bug: its name and a
# sentence, each test that has to fail for it with words of its failure, and a patch that plants it into a copy:
#
#   twin sleep-without-second-look: A worker goes to sleep without a second look at the inbox.
#   loom submission::l1_what_comes_while_a_worker_goes_to_sleep_is_run: deadlock
#   --- a/scheduler-core/src/pool/worker.rs
#
#   ci/twins.sh                 all twins
#   ci/twins.sh loom            those of one checker: `loom` and `shuttle` for the engine, `node` for the lives of processes that share
#                               a store
#   ci/twins.sh loom NAME...    some of them
#
# As much is explored as in CI. It is a fault if a twin passes or fails otherwise, if a patch does not apply any more, and if no
# patch names a test.
set -euo pipefail
cd "$(dirname "$0")/.."

# One copy for all, beside the dependencies of the models, so that only what a patch changes is built anew.
copy=target/twins
export CARGO_INCREMENTAL=1 CARGO_TERM_COLOR=never
export LOOM_MAX_PREEMPTIONS=2 TEST_SCHEDULES=20000 SHUTTLE_SILENCE_WARNINGS=1 TEST_NODE_SEEDS=3000
unset LOOM_MAX_DURATION SHUTTLE_RANDOM_SEED
log="target/twins.log"
faults=0

fault() {
  echo "$*" >&2
  faults=$((faults + 1))
}

# The packages of twins, as a workspace of their own, and the facade's file that loom has models for.
make_copy() {
  rm -rf "$copy"
  mkdir -p "$copy/src/observe" "$copy/crates"
  cp -r scheduler-core Cargo.lock "$copy"
  cp -r crates/{expr,store,node} "$copy/crates"
  cp src/observe/queue.rs "$copy/src/observe"
  sed -e '/^members = \[/,/^\]/c members = ["scheduler-core", "crates/*"]' -e '/^\[package\]/,$d' Cargo.toml >"$copy/Cargo.toml"
}

# Builds the tests of a checker in the copy, and finds their program.
build() {
  local checker="$1" tests=(--profile models -p scheduler-core --test "$1")
  [[ "$checker" != node ]] || tests=(-p scheduler-node --test simulation)
  RUSTFLAGS="--cfg $checker" cargo test --manifest-path "$copy/Cargo.toml" --target-dir "target/$checker" \
    "${tests[@]}" --no-run >"$log" 2>&1 || return 1
  program="$(sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$log")"
  [[ -x "$program" ]]
}

# A test of a twin has to fail, with these words.
expect_failure() {
  local name="$1" test="$2" words="$3" begin=$SECONDS
  if timeout 600 "$program" --exact --nocapture "$test" >"$log" 2>&1; then
    fault "$name: $test does not fail"
  elif ! grep -qF -- "$words" "$log"; then
    tail -n 20 "$log" >&2
    fault "$name: $test fails otherwise, and not with: $words"
  else
    echo "$name: $test fails in $((SECONDS - begin)) s: $words"
  fi
}

# In a container the checkout often belongs to another user, whom git would not trust.
git_apply() {
  git -c safe.directory='*' apply --directory="$copy" "$@"
}

# Plants the bug of a twin, and has each of its tests of a checker fail.
try_twin() {
  local name="$1" checker="$2" patch="target/twin.patch" lines line
  awk -v begin="twin $name:" '/^twin / { inside = index($0, begin) == 1 } inside' ci/twins/*.twins >"$patch"
  [[ -s "$patch" ]] || { fault "$name: no such twin"; return 0; }
  lines="$(sed -n '/^--- /q; s/^\(loom\|shuttle\|node\) /&/p' "$patch")"
  [[ -n "$lines" ]] || fault "$name: no test is named"
  lines="$(grep "^$checker " <<<"$lines" || true)"
  [[ -n "$lines" ]] || return 0
  git_apply "$patch" || { fault "$name: the patch does not apply any more"; return 0; }
  if build "$checker"; then
    while IFS= read -r line; do
      [[ "$line" =~ ^$checker\ ([a-z0-9_:]+):\ (.+)$ ]] || { fault "$name: no test and its words: $line"; continue; }
      expect_failure "$name" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    done <<<"$lines"
  else
    tail -n 40 "$log" >&2
    fault "$name: the twin cannot be built"
  fi
  # From the source, because a patch taken back may find another place that has its few lines of context.
  sed -n 's#^+++ b/##p' "$patch" | while IFS= read -r file; do cp "$file" "$copy/$file"; done
}

# Each test of a checker is one that a bug can fail.
check_tests() {
  local checker="$1" test
  while IFS= read -r test; do
    grep -q "^$checker $test: " ci/twins/*.twins || fault "no twin in ci/twins/ names the test $test"
  done < <("$program" --list | sed -n 's/: test$//p')
}

checkers=(loom shuttle node)
if (($# > 0)); then
  case "$1" in
    loom | shuttle | node) checkers=("$1"); shift ;;
    *) echo "usage: $0 [loom|shuttle|node [NAME...]]" >&2; exit 2 ;;
  esac
fi

make_copy
for checker in "${checkers[@]}"; do
  if (($# == 0)); then
    for name in $(sed -n 's/^twin \([^:]*\):.*/\1/p' ci/twins/*.twins); do try_twin "$name" "$checker"; done
    check_tests "$checker"
  else
    for name in "$@"; do try_twin "$name" "$checker"; done
  fi
done
((faults == 0)) || { echo "$faults faults" >&2; exit 1; }
