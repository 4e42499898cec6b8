#!/usr/bin/env bash
# Runs stages one after the other and adds up the last lines they print:
#   tests: N passed, N failed, N skipped
# A stage that prints no such line counts as one test. A line "unsteady: TEST ..."
# of a stage is repeated at the end; more than two of them fail the run.
#
# usage: tests/support/stages.sh [--clean] [--limit=MINUTES] "NAME: COMMAND" ...
#
# --clean            removes all files that git does not track, but build/ci; the
#                    stages share what they build
# --limit=MINUTES    fails if all stages together take longer
# --beside=COMMAND   runs beside the stages that follow, for what they leave of
#                    the CPUs; it may fail, as a stage that needs it repeats it.
#                    Its output is in build/ci/beside.log, and a stage that
#                    fails prints the end of it
set -u
cd "$(dirname "$0")/../.."
beside_log=build/ci/beside.log
limit=0 passed=0 failed=0 skipped=0 status=0 runs_beside='' report=''
unsteady=() unsteady_most=2

# Seconds as minutes with one decimal.
minutes() {
    echo $(($1 / 60)).$(($1 % 60 / 6))
}

# Sets cpu to the seconds of CPU time of all stages until now. A subshell would
# print its own times.
read_cpu() {
    times >"$scratch"
    cpu=$(awk 'NR == 2 {
        for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += t[1] * 60 + t[2] }
        printf "%d\n", s }' "$scratch")
}

# Adds the counts of a stage: its exit status and the file with its output.
add() {
    local line counts
    mapfile -t -O "${#unsteady[@]}" unsteady < <(grep -E '^unsteady: ' "$2")
    line=$(grep -E '^tests: [0-9]+ passed' "$2" | tail -n 1)
    counts='^tests: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'
    if [[ $line =~ $counts ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + BASH_REMATCH[3]))
    elif [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    [ "$1" = 0 ] || status=1
}

stage() {
    local name=${1%%: *} log start=$SECONDS code took cpu cpu_before
    local command=(${1#*: })
    read_cpu
    cpu_before=$cpu
    log=$(mktemp)
    echo "== $name: ${command[*]}"
    "${command[@]}" 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    add "$code" "$log"
    rm -f "$log"
    if [ "$code" != 0 ] && [ -n "$runs_beside" ]; then
        echo "== $beside_log ends with:"
        tail -n 40 "$beside_log"
    fi
    took=$(minutes $((SECONDS - start)))
    read_cpu
    report+=$(printf '%7s minutes %7s of CPU  %s' "$took" \
        "$(minutes $((cpu - cpu_before)))" "$name")$'\n'
    printf '== %s: exit %d after %s minutes\n\n' "$name" "$code" "$took"
}

# In a process group of its own, which ends with this script.
beside() {
    echo "== beside: $1"
    runs_beside=1
    mkdir -p build/ci
    set -m
    nice -n 19 sh -c "$1" >"$beside_log" 2>&1 &
    set +m
    trap "kill -- -$! 2>/dev/null" EXIT
}

scratch=$(mktemp)
for argument in "$@"; do
    case $argument in
    --beside=*) beside "${argument#*=}" ;;
    --clean) git clean -xdfq -e build/ci && rm -rf build/ci/unsteady ;;
    --limit=*) limit=${argument#*=} ;;
    *) stage "$argument" ;;
    esac
done
read_cpu
printf '%s%7s minutes %7s of CPU  all stages\n' "$report" \
    "$(minutes $SECONDS)" "$(minutes "$cpu")"
rm -f "$scratch"
if [ "$limit" -gt 0 ] && [ $SECONDS -gt $((limit * 60)) ]; then
    echo "the stages took longer than $limit minutes"
    status=1
fi
[ ${#unsteady[@]} = 0 ] || printf '%s\n' "${unsteady[@]}"
if [ ${#unsteady[@]} -gt "$unsteady_most" ]; then
    echo "more than $unsteady_most tests are unsteady"
    status=1
fi
echo "tests: $passed passed, $failed failed, $skipped skipped"
exit $status
