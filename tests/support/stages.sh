#!/usr/bin/env bash
# Runs stages and adds up the last lines they print:
#   tests: N passed, N failed, N skipped
# A stage that prints no such line counts as one test. A line "unsteady: TEST ..."
# of a stage is repeated at the end; more than two of them fail the run.
#
# usage: tests/support/stages.sh [--clean] [--limit=MINUTES] STAGE ...
#            [--first STAGE ... --beside STAGE ...]
#
# STAGE              "NAME: COMMAND"; each name once
# --clean            removes all files that git does not track, but build/ci; the
#                    stages share what they build
# --limit=MINUTES    fails if all stages together take longer
# --first, --beside  two rows of stages that run side by side: compilers use the
#                    CPUs while the tests of the other row wait. The second row
#                    shows the output of a stage when the stage has ended.
set -u
cd "$(dirname "$0")/../.."
limit=0 unsteady_most=2 names=() first=() beside=() row=''
results=$(mktemp -d) # NAME.log: the output; NAME: exit status, seconds, CPU
trap 'rm -rf "$results"' EXIT
trap 'exit 130' INT

# Seconds as minutes with one decimal.
minutes() {
    echo $(($1 / 60)).$(($1 % 60 / 6))
}

# Sets cpu to the seconds of CPU time of all stages of this shell until now. A
# subshell would print its own times.
read_cpu() {
    local file=$results/$BASHPID.times
    times >"$file"
    cpu=$(awk 'NR == 2 {
        for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); s += t[1] * 60 + t[2] }
        printf "%d\n", s }' "$file")
}

# stage HOW STAGE: HOW is live, or whole if the output is shown at the end.
stage() {
    local name=${2%%: *} start=$SECONDS code took cpu cpu_before
    local command=(${2#*: }) log
    log=$results/$name.log
    read_cpu
    cpu_before=$cpu
    if [ "$1" = live ]; then
        echo "== $name: ${command[*]}"
        "${command[@]}" 2>&1 | tee "$log"
        code=${PIPESTATUS[0]}
    else
        "${command[@]}" >"$log" 2>&1
        code=$?
        echo "== $name: ${command[*]}"
        cat "$log"
    fi
    took=$((SECONDS - start))
    read_cpu
    echo "$code $took $((cpu - cpu_before))" >"$results/$name"
    printf '== %s: exit %d after %s minutes\n\n' "$name" "$code" \
        "$(minutes "$took")"
}

# run HOW STAGE ...
run() {
    local how=$1 one
    shift
    for one in "$@"; do
        stage "$how" "$one"
    done
}

# Both rows. The second one is a process group, which ends with this script.
run_rows() {
    set -m
    run whole "${beside[@]}" &
    set +m
    trap "kill -- -$! 2>/dev/null; rm -rf '$results'" EXIT
    run live "${first[@]}"
    wait $!
}

for argument in "$@"; do
    case $argument in
    --clean) git clean -xdfq -e build/ci && rm -rf build/ci/unsteady ;;
    --limit=*) limit=${argument#*=} ;;
    --first) row=first ;;
    --beside) row=beside ;;
    *)
        names+=("${argument%%: *}")
        case $row in
        '') stage live "$argument" ;;
        first) first+=("$argument") ;;
        beside) beside+=("$argument") ;;
        esac
        ;;
    esac
done
[ -z "$row" ] || run_rows

passed=0 failed=0 skipped=0 status=0 all_cpu=0 unsteady=()
for name in "${names[@]}"; do
    read -r code took cpu <"$results/$name"
    all_cpu=$((all_cpu + cpu))
    printf '%7s minutes %7s of CPU  %s\n' "$(minutes "$took")" \
        "$(minutes "$cpu")" "$name"
    mapfile -t -O "${#unsteady[@]}" unsteady < <(
        grep -E '^unsteady: ' "$results/$name.log")
    line=$(grep -E '^tests: [0-9]+ passed' "$results/$name.log" | tail -n 1)
    counts='^tests: ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'
    if [[ $line =~ $counts ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + BASH_REMATCH[3]))
    elif [ "$code" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    [ "$code" = 0 ] || status=1
done
printf '%7s minutes %7s of CPU  all stages\n' "$(minutes $SECONDS)" \
    "$(minutes "$all_cpu")"
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
