#!/usr/bin/env bash
# Mutation tests of `scheduler-expr` and `scheduler-core`, with cargo-mutants.
#
#   ci/mutants.sh                               a sample, another one each day: each 24th mutant, twenty minutes
#   MUTANTS_SHARD=3/24 ci/mutants.sh            the fourth of these samples
#   MUTANTS_SHARD=0/1 ci/mutants.sh             every mutant, which takes many hours
#   MUTANTS_MODULES="expr queue" ci/mutants.sh    those of some modules
#
# Fails if a mutant goes unnoticed that `ci/mutants-missed.txt` does not list, if a line there is no mutant's any
# more, and, where every one was tried, if the score of a module is below what is asked of it. What is left alone, and
# why, is in `.cargo/mutants.toml`.
set -euo pipefail
cd "$(dirname "$0")/.."

shard="${MUTANTS_SHARD:-$(($(date +%s) / 86400 % 24))/24}"
modules="${MUTANTS_MODULES:-expr trigger queue state shutdown time task pool rest}"
out=target/mutants
known=ci/mutants-missed.txt
# The first failing test is enough: the test runner's switch for that is unstable.
export RUSTC_BOOTSTRAP=1
fail_fast=(-- -Z unstable-options --fail-fast)

# The files of a module; a file is of the first module that has it.
files_of() {
  case "$1" in
    expr) echo 'crates/expr/src/' ;;
    state) echo 'scheduler-core/src/task/(state|spec|header)\.rs' ;;
    shutdown) echo 'scheduler-core/src/pool/shutdown\.rs' ;;
    rest) echo 'scheduler-core/src/((error|lib|observe|unwind)\.rs|sync/)' ;;
    queue) echo 'scheduler-core/src/queue/' ;;
    trigger | time | task | pool) echo "scheduler-core/src/$1/" ;;
    *) echo "no module $1; there are: expr trigger queue state shutdown time task pool rest" >&2; return 2 ;;
  esac
}

# The names of a module's mutants, of those that come in.
of_module() {
  local files
  files="$(files_of "$1")"
  case "$1" in
    task) { grep -E "^$files" || true; } | { grep -vE "^$(files_of state)" || true; } ;;
    pool) { grep -E "^$files" || true; } | { grep -vE "^$(files_of shutdown)" || true; } ;;
    *) grep -E "^$files" || true ;;
  esac
}

# The percentage of a module's mutants that the tests have to notice.
asked_of() {
  case "$1" in expr | trigger | queue | state | shutdown) echo 95 ;; *) echo 85 ;; esac
}

mutants() {
  cargo mutants --package scheduler-expr --package scheduler-core "$@"
}

# Names without the place in the file, which other changes move.
unplaced() {
  sed -E 's/^([^:]+):[0-9]+:[0-9]+: /\1: /'
}

# Tries the mutants whose names come in, with what is given to cargo; the lists of what became of them are
# in the folder of that name. A program that hangs is stopped, and counts as noticed.
try() {
  local folder="$out/$1" result=0
  shift
  rm -rf "$folder"
  mkdir -p "$folder/mutants.out"
  cat >"$folder/names"
  # All others are given out for known: an expression for names lets mutants through that it does not match.
  grep -vxFf "$folder/names" "$out/all" >"$folder/mutants.out/previously_caught.txt" || true
  if [[ -s "$folder/names" ]]; then
    mutants --iterate --jobs "${MUTANTS_JOBS:-2}" --timeout-multiplier 4 --minimum-test-timeout 20 \
      "${@/#/--cargo-arg=}" --output "$folder" -- "${fail_fast[@]}" || result=$?
  fi
  # A list without mutants may be absent. The code 2 means that some were missed, 3 that some never ended.
  touch "$folder"/mutants.out/{caught,missed,timeout,unviable}.txt
  [[ "$result" == [023] ]]
}

# The score of a module: printed for a sample, and checked where every mutant was tried.
judge() {
  local module="$1" noticed missed least
  noticed="$(cat "$out"/{units,others}/mutants.out/{caught,timeout}.txt | of_module "$module" | wc -l)"
  missed="$(of_module "$module" <"$out/missed" | wc -l)" least="$(asked_of "$module")"
  echo "$module: $noticed of $((noticed + missed)) are noticed; of all, $least % are to be"
  [[ "$shard" != 0/1 ]] || ((noticed * 100 >= least * (noticed + missed)))
}

# Checks that each line of the list is a mutant's, and that each missed mutant has one. Prints those that are noticed in
# spite of it.
compare() {
  local code=0 line
  sed -E '/^(#|$)/d; s/[][\\.*^$()+?{}|]/\\&/g; s/…/.*/g; s/.*/^&$/' "$known" >"$out/known"
  unplaced <"$out/all" >"$out/names"
  while read -r line; do
    grep -qE -- "$line" "$out/names" || { echo "$known has a line that is no mutant's: $line"; code=1; }
  done <"$out/known"
  cat "$out"/{units,others}/mutants.out/caught.txt | unplaced | { grep -Ef "$out/known" || true; } |
    sed "s|^|$known lists, but a test has noticed: |"
  unplaced <"$out/missed" | { grep -vEf "$out/known" || true; } >"$out/news"
  sed "s|^|nothing notices, and $known does not list: |" "$out/news"
  [[ ! -s "$out/news" ]] && return "$code"
}

mkdir -p "$out"
mutants --list >"$out/all"
for module in $modules; do files_of "$module" >/dev/null; done
[[ "$shard" =~ ^([0-9]+)/([0-9]+)$ ]] && ((BASH_REMATCH[1] < BASH_REMATCH[2])) ||
  { echo "no sample $shard; MUTANTS_SHARD is 0/24 to 23/24, or of any other number" >&2; exit 2; }
for module in $modules; do of_module "$module" <"$out/all"; done |
  awk -v k="${shard%/*}" -v n="${shard#*/}" 'NR % n == k' >"$out/chosen"
echo "$(wc -l <"$out/chosen") of $(wc -l <"$out/all") mutants: MUTANTS_SHARD=$shard MUTANTS_MODULES=\"$modules\""
[[ -s "$out/chosen" ]] || { echo "no mutant was tried" >&2; exit 2; }

# Most are noticed by a test beside the code. A mutant is tried against the tests of its own crate only.
try units --lib <"$out/chosen"
{ grep '^scheduler-core/' "$out/units/mutants.out/missed.txt" || true; } |
  try others --test engine --test simulation
{ grep -E "^crates/expr/" "$out/units/mutants.out/missed.txt" || true; } |
  cat - "$out/others/mutants.out/missed.txt" >"$out/missed"

code=0
for module in $modules; do judge "$module" || code=1; done
compare || code=1
exit "$code"
