#!/usr/bin/env bash
# Whether a test notices when the code of `scheduler-expr` or `scheduler-core` is changed: mutation with cargo-mutants.
#
#   ci/mutants.sh                               a sample, another one each day: each 24th mutant, half an hour
#   MUTANTS_SHARD=3/24 ci/mutants.sh            the fourth of these samples
#   MUTANTS_SHARD=0/1 ci/mutants.sh             every mutant, which takes many hours
#   MUTANTS_ROOMS="expr queue" ci/mutants.sh    those of some rooms
#
# Fails if a mutant goes unnoticed that `ci/mutants-missed.txt` does not list, if a line there is no mutant's any
# more, and, where every one was tried, if the score of a room is below what is asked of it. What is left alone, and
# why, is in `.cargo/mutants.toml`.
set -euo pipefail
cd "$(dirname "$0")/.."

shard="${MUTANTS_SHARD:-$(($(date +%s) / 86400 % 24))/24}"
rooms="${MUTANTS_ROOMS:-expr trigger time queue task pool rest}"
out=target/mutants
known=ci/mutants-missed.txt
# What a test has noticed needs no other one: the test runner's switch for that is unstable.
export RUSTC_BOOTSTRAP=1
fail_fast=(-- -Z unstable-options --fail-fast)

# The files of a room.
files_of() {
  case "$1" in
    expr) echo scheduler-expr/src/ ;;
    rest) echo 'scheduler-core/src/([^/]+\.rs|observe/|sync/)' ;;
    trigger | time | queue | task | pool) echo "scheduler-core/src/$1/" ;;
    *) echo "no room $1; there are: expr trigger time queue task pool rest" >&2; return 2 ;;
  esac
}

# How many of a hundred mutants of a room are to be noticed.
asked_of() {
  case "$1" in expr | trigger | queue) echo 95 ;; *) echo 85 ;; esac
}

mutants() {
  cargo mutants --package scheduler-expr --package scheduler-core "$@"
}

# Names without the place in the file, which other changes move.
unplaced() {
  sed -E 's/^([^:]+):[0-9]+:[0-9]+: /\1: /'
}

# Tries the mutants whose names come in, with what is given to `cargo test`; the lists of what became of them are
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
      --output "$folder" -- "$@" "${fail_fast[@]}" || result=$?
  fi
  # What did not happen has no list. 2 says that some were missed, 3 that some never ended.
  touch "$folder"/mutants.out/{caught,missed,timeout,unviable}.txt
  [[ "$result" == [023] ]]
}

# What became so of the mutants of some files, in either try.
became() {
  local files="$1" fate
  shift
  for fate in "$@"; do cat "$out"/*/mutants.out/"$fate.txt"; done | grep -E "^$files" || true
}

# The score of a room.
judge() {
  local room="$1" files noticed missed least
  files="$(files_of "$room")" least="$(asked_of "$room")"
  noticed="$(became "$files" caught timeout | wc -l)"
  missed="$(grep -cE "^$files" "$out/missed" || true)"
  echo "$room: $noticed of $((noticed + missed)) are noticed; of all, $least % are to be"
  [[ "$shard" != */1 ]] || ((noticed * 100 >= least * (noticed + missed)))
}

# Whether each line of the list is a mutant's, and each mutant that was missed has one.
compare() {
  local code=0 line
  sed -E '/^(#|$)/d; s/[][\\.*^$()+?{}|]/\\&/g; s/…/.*/g; s/.*/^&$/' "$known" >"$out/known"
  while read -r line; do
    unplaced <"$out/all" | grep -qE -- "$line" || { echo "$known has a line that is no mutant's: $line"; code=1; }
  done <"$out/known"
  unplaced <"$out/missed" | grep -vEf "$out/known" >"$out/news" || true
  sed "s|^|nothing notices, and $known does not list: |" "$out/news"
  [[ ! -s "$out/news" ]] && return "$code"
}

mkdir -p "$out"
mutants --list >"$out/all"
files="$(for room in $rooms; do files_of "$room"; done | paste -sd '|')"
grep -E "^($files)" "$out/all" | awk -v k="${shard%/*}" -v n="${shard#*/}" 'NR % n == k' >"$out/chosen"
echo "$(wc -l <"$out/chosen") of $(wc -l <"$out/all") mutants: MUTANTS_SHARD=$shard MUTANTS_ROOMS=\"$rooms\""

# Most are noticed by a test beside the code. A mutant is tried against the tests of its own crate only.
try units --lib <"$out/chosen"
{ grep '^scheduler-core/' "$out/units/mutants.out/missed.txt" || true; } |
  try contract --test 'contract_*' --test 'faults_*' --test 'cron_*' --test conformance --test simulation \
    --test wall_clock --test worker_death
{ grep '^scheduler-expr/' "$out/units/mutants.out/missed.txt" || true; } |
  cat - "$out/contract/mutants.out/missed.txt" >"$out/missed"

code=0
for room in $rooms; do judge "$room" || code=1; done
compare || code=1
exit "$code"
