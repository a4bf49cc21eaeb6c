#!/usr/bin/env bash
# The deep tier: what takes too long for every change, and is run before a release and when a module's concurrency
# has changed. `docs/reliability.md` says what each step checks and what was seen.
#
#   ci/deep.sh                  all steps, some hours
#   ci/deep.sh loom churn       some of them
#   ci/deep.sh --brief          each as short as it can be, to see that its command works
#   ci/deep.sh --list           their names
#   ci/deep.sh --allow-missing  a step whose tool is missing is no fault
#
# Goes through all steps, whatever becomes of one. Ends with 1 if one has failed; else with 3 if one was skipped
# because its tool is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

steps=(loom shuttle simulation planner lives clock clients cluster churn queue bounds fuzz asan tsan mutants)
host="$(rustc -vV | sed -n 's/^host: //p')"

# The first in the deep tier, the second with `--brief`.
size() {
  if [[ -n "${DEEP_BRIEF:-}" ]]; then echo "$2"; else echo "$1"; fi
}

# Ends the step unless a command succeeds; the rest is what is missing, and where it comes from.
needs() {
  local test="$1"
  shift
  eval "$test" >/dev/null 2>&1 || { echo "SKIPPED: no $*"; exit 3; }
}

# Runs tests that are named; there has to be one of that name. Other steps may run at the same time.
named_tests() {
  local log="target/named-tests.$$.log"
  mkdir -p target
  cargo test --release "$@" 2>&1 | tee "$log"
  grep -Eq '^running [1-9]' "$log" || { echo "no test of this name: $*" >&2; return 1; }
}

# Every interleaving of the small models, as far as the time of each reaches.
step_loom() {
  if [[ -n "${DEEP_BRIEF:-}" ]]; then
    LOOM_MAX_PREEMPTIONS=2 ci/loom.sh
  else
    ci/loom.sh deep
  fi
}

# Schedules of the whole pool: other ones each time.
step_shuttle() {
  TEST_SCHEDULES="$(size 2000000 20000)" ci/shuttle.sh deep
}

# The engine against its reference model.
step_simulation() {
  ci/simulation.sh "$(size 10000000 100000)"
}

# The planner, and a scheduled task, against the specification.
step_planner() {
  TEST_SIM_SEEDS="$(size 2000000 20000)" named_tests -p scheduler-rs --lib specification:: -- --nocapture
}

# Whole lives of tasks, against what must hold in each of them.
step_lives() {
  TEST_SIM_SEEDS="$(size 100000 3000)" named_tests -p scheduler-rs --lib simulation:: -- --nocapture
}

# The whole scheduler by the system's clock.
step_clock() {
  TEST_SOAK_SECONDS="$(size 1800 20)" \
    named_tests -p tests --test soak_real_clock -- --nocapture
}

# A task is on time beside many slow clients of the dashboard. In the real clock, for 15 seconds.
step_clients() {
  cargo test -p scheduler-dashboard --test it -- --ignored f_ht3 --nocapture
}

# The contract of durable jobs with real processes, in its full length on both stores, and half an hour of random kills and
# failures of the network. 40 minutes.
step_cluster() {
  export REQUIRE_POSTGRES=1
  needs "compgen -G '/usr/lib/postgresql/*/bin/initdb' || type -P initdb" "PostgreSQL: apt-get install postgresql pgbouncer faketime"
  ci/durable.sh processes "$(size full brief)"
  ci/durable.sh chaos "$(size 1800 20)"
}

# Tasks left after very many cancellations run on time.
step_churn() {
  TEST_CHURN_ROUNDS="$(size 1000 2)" \
    named_tests -p scheduler-core --test engine contract::churn::
}

# The queue against a map.
step_queue() {
  PROPTEST_CASES="$(size 1000000 10000)" named_tests -p scheduler-core --lib queue::tests:: -- --nocapture
}

# Work that is to take little time, in an optimized build: so many milliseconds as the rows say, where other builds have
# more. It is time of the processor.
step_bounds() {
  named_tests -p scheduler-core --test engine faults::real_clock::
  named_tests -p tests --test annotations faults_real_clock::
}

# Each target of DEEP_FUZZ, or all, DEEP_FUZZ_SECONDS long, from the kept corpus on. What is found new stays in `target/corpus`.
step_fuzz() {
  needs "cargo +nightly --version" "nightly compiler: rustup toolchain install nightly"
  needs "cargo fuzz --version" "cargo-fuzz: cargo install --locked cargo-fuzz"
  local seconds target found kept
  seconds="${DEEP_FUZZ_SECONDS:-$(size 600 5)}"
  cargo run --quiet -p corpora -- unpack target/kept
  for target in ${DEEP_FUZZ:-cron duration next placeholder queue settings zone}; do
    printf -- '-- %s\n' "$target"
    found="target/corpus/$target" kept="target/kept/$target"
    mkdir -p "$found"
    # The crates have no unsafe code, so that a sanitizer would only slow this down.
    if ! cargo +nightly fuzz run "$target" -s none "$found" "$kept" -- \
      -max_total_time="$seconds" -max_len="$(longest "$target")" -timeout=2 -print_final_stats=1 \
      >"target/fuzz-$target.log" 2>&1; then
      tail -n 40 "target/fuzz-$target.log"
      return 1
    fi
    grep -E '^(stat::number|Done)' "target/fuzz-$target.log"
  done
}

# The longest input of a target, in bytes.
longest() {
  case "$1" in
    queue) echo 1024 ;;
    placeholder | settings) echo 512 ;;
    *) echo 72 ;;
  esac
}

# The tests of both crates with what finds misuse of memory, and leaks: there is no unsafe code, but there are
# dependencies, and values that could keep each other alive.
step_asan() {
  sanitize asan -Zsanitizer=address
  engine_tests
  facade_tests -p scheduler-rs --features testing --lib --
  facade_tests -p tests --test facade --test annotations --test annotated --test running -- --skip examples:: \
    --skip faults_real_clock:: --skip simulated_
}

# The same with what finds data races. It sees what is compiled with it, which the standard library is not: the
# locks of the engine and of the tests are others in this build, and ci/tsan.supp has what is left.
step_tsan() {
  sanitize tsan -Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer --cfg=tsan
  export TSAN_OPTIONS="suppressions=$PWD/ci/tsan.supp"
  # The backtraces of two panics at a time: what they share is behind a lock of the standard library's, which is not seen.
  export RUST_BACKTRACE=0
  # The lock of what the test runner captures is not seen.
  engine_tests --nocapture
  facade_tests -p scheduler-rs --features testing --lib -- --nocapture
  races
}

# Plain memory that tasks share: no report where a pool promises an order, and one where two run at the same time.
races() {
  local program="$CARGO_TARGET_DIR/$host/debug/races" report="$CARGO_TARGET_DIR/planted.txt"
  cargo build -p races
  "$program" ordered
  echo "what a pool promises to order is ordered"
  if "$program" planted >"$report" 2>&1 || ! grep -q 'ThreadSanitizer: data race' "$report"; then
    cat "$report"
    echo "the planted race was not reported" >&2
    return 1
  fi
  echo "the planted race is reported"
}

# From here on cargo builds with a sanitizer, in a folder of its own. These switches are unstable; a compiler that
# is not a nightly one takes them when it is asked to like this.
sanitize() {
  export CARGO_TARGET_DIR="target/$1" CARGO_BUILD_TARGET="$host" RUSTC_BOOTSTRAP=1
  shift
  export RUSTFLAGS="$*"
}

# Units, and the rows of the contract and of the faults. Those that are left out measure the memory of the process,
# which is the sanitizer's here; one overflows a stack, whose signal a sanitizer takes for itself.
engine_tests() {
  local tests=(--lib --test engine)
  if [[ -n "${DEEP_BRIEF:-}" ]]; then tests=(--test engine contract::workers::); fi
  cargo test -p scheduler-core --no-fail-fast "${tests[@]}" -- --skip conformance:: --skip cron_properties:: \
    --skip idle_cpu:: --skip ec_e4_ten_million --skip ec_o11_a_million_armings --skip f_as2_a_storm_of_wakes \
    --skip f_ex5_a_stack_overflow "$@"
}

# Of the facade what is named. Its simulation is long, and has one thread.
facade_tests() {
  if [[ -n "${DEEP_BRIEF:-}" ]]; then return; fi
  cargo test --no-fail-fast "$@" --skip task::tests::simulation --skip task::tests::specification
}

# Mutation tests: a sample of the mutants, another one each day.
step_mutants() {
  needs "cargo mutants --version" "cargo-mutants: cargo install --locked cargo-mutants@27.1.0"
  if [[ -n "${DEEP_BRIEF:-}" ]]; then export MUTANTS_SHARD=0/400; fi
  ci/mutants.sh
}

if [[ "${1:-}" == --step ]]; then
  "step_$2"
  exit
fi

chosen=()
allow_missing=
for argument in "$@"; do
  case "$argument" in
    --list) printf '%s\n' "${steps[@]}"; exit ;;
    --brief) export DEEP_BRIEF=1 ;;
    --allow-missing) allow_missing=1 ;;
    *)
      [[ " ${steps[*]} " == *" $argument "* ]] || { echo "no step $argument; there are: ${steps[*]}" >&2; exit 2; }
      chosen+=("$argument")
      ;;
  esac
done
if ((${#chosen[@]} == 0)); then chosen=("${steps[@]}"); fi

summary=()
has_failed= is_missing=
for step in "${chosen[@]}"; do
  printf '\n== %s\n' "$step"
  start=$SECONDS
  code=0
  # In a process of its own, so that its first fault ends it.
  "ci/deep.sh" --step "$step" || code=$?
  case "$code" in
    0) result=passed ;;
    3) result=SKIPPED is_missing=1 ;;
    *) result="FAILED with $code" has_failed=1 ;;
  esac
  summary+=("$(printf '%-12s %-16s %6d s' "$step" "$result" $((SECONDS - start)))")
done

printf '\n== summary\n'
printf '%s\n' "${summary[@]}"
if [[ -n "$has_failed" ]]; then exit 1; fi
if [[ -n "$is_missing" && -z "$allow_missing" ]]; then exit 3; fi
