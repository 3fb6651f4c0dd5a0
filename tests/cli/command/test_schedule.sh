#!/bin/bash
# The schedule that breakgraph report proposes for the batches that a runner has run, and what it does when it is used.
# needs: tests/cli/command/mix
. "$(dirname "$0")/../lib.sh"
command=$OUT/breakgraph mix=$OUT/tests/cli/command/mix

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in used cover arguments no-runner no-batches none two ranks processes killed long gain formats; do skip $name "there is no GPU"; done
    exit 0
fi

# record NAME ARGUMENT...: runs the program with BG_REPORT; $counted is what it prints, $work/NAME its reports.
in_depth='used-(decode-only|max-padding|too-large|above)'
record()
{
    local name=$1
    shift
    rm -rf "${work:?}/$name" && mkdir "$work/$name"
    counted=$(BG_REPORT=$work/$name "$mix" "$@" 2>&1)
}

number() { grep -Eo "$1" "$work/log" | grep -Eo '[0-9]+' | sed -n "${2:-1}p"; }

# used NAME COVER VARIABLE=VALUE...: the schedule that is in use is judged as it was; the one that is proposed, used as it is
# printed, runs as many batches by a graph and pads as many rows as predicted, and fewer than before.
used()
{
    local name=$1 cover=$2 before line predicted graphs
    ! is_left_out "$name" || return 0
    shift 2
    (
        # shellcheck disable=SC2163
        [ $# = 0 ] || export "$@"
        record "$name" 3000 7
        before=$counted
        "$command" report --cover="$cover" "$work/$name" >"$work/log" 2>&1 || { fail "$name" "breakgraph report fails"; exit 1; }
        grep -q "now .* $(sed -E 's/.*eagerly, ([0-9]+) padding.*/\1/' <<<"$before") " "$work/log" ||
            { fail "$name" "the schedule in use is judged otherwise than '$before'"; exit 1; }
        line=$(grep '^export BG_RUNNER_SCHEDULE=' "$work/log")
        predicted=$(number 'pads [0-9]+ rows') graphs=$(grep '^    \*  ' "$work/log" | head -1 | awk '{print $6}')
        eval "$line"
        record "$name-again" 3000 7
        if [ "$counted" != "runner 0: $graphs by a graph, $((3000 - graphs)) eagerly, $predicted padding rows" ]; then
            fail "$name" "'$counted', predicted $graphs by a graph and $predicted padding rows with '$line'"
        elif [ "$predicted" -ge "$(number 'pads [0-9]+ rows instead of [0-9]+' 2)" ]; then
            fail "$name" "no padding is saved: $predicted"
        elif ! "$command" report --cover="$cover" "$work/$name-again" | grep -q 'the schedule in use is the recommended one$'; then
            fail "$name" "another schedule is proposed for the same batches once '$line' is used"
        else
            pass "$name"
        fi
        exit $bad
    ) || bad=1
}

used used-piecewise 100
used used-decode 100 BG_RUNNER_MODE=full_and_piecewise BG_RUNNER_MAX_QUERY_LEN=1,4
used used-decode-only 100 BG_RUNNER_MODE=full_decode_only BG_RUNNER_MAX_QUERY_LEN=1,4
used used-max-padding 100 BG_RUNNER_MAX_PADDING=1.9
used used-lazy 100 BG_RUNNER_LAZY=1 BG_RUNNER_SCHEDULE=vllm
used used-cover 95 BG_RUNNER_SCHEDULE=sglang
used used-too-large 100 BG_RUNNER_SCHEDULE=64,100,300
used used-above 100 BG_RUNNER_MAX_TOKENS=100

# what wrong arguments say
for cover in 0 -1 101 abc 5% nan; do
    expect "cover-'$cover'" 2 "^breakgraph report: --cover: '$cover' is not allowed; write a number above 0, up to 100$" \
        "$command" report --cover="$cover" "$work/used-lazy"
done
expect no-runner 0 '^breakgraph report: --cover: the report has no runner' "$command" report --cover=50 -- "$OUT/examples/quickstart"

# runners that nothing can be proposed for
record no-batches 0 1
expect no-batches 0 'no schedule is proposed: no batch has run yet$' "$command" report "$work/no-batches"
expect none-program 5 'no schedule is proposed: the runner has mode none, which has no buckets; choose another mode$' "$command" report -e BG_RUNNER_MODE=none -- "$mix" 20 1
expect none-reason 5 '^runner#0: 20 batches, 0 by a graph, 20 eagerly: 20 mode_none$' "$command" report -e BG_RUNNER_MODE=none -- "$mix" 20 1

# several runners, several ranks, a program that is killed
expect program 0 '^export BG_RUNNER_SCHEDULE=' "$command" report -- "$mix" 50 1
expect two 0 '^config.schedule = "[0-9,]*";   for runner#1 of process [0-9]*: ' "$command" report -- "$mix" 50 1 2
[ "$(grep -c '^runner#[01]: 50 batches' "$work/log")" = 2 ] && pass two-runners || fail two-runners "not each has its own"
expect ranks 0 'schedules for 100 batches of all ranks' "$command" report --ranks=2 --oversubscribe -- "$mix" 50 1
[ "$(grep -c '^runner#0 of rank [01]: 50 batches' "$work/log")" = 2 ] && [ "$(grep -c '^export' "$work/log")" = 1 ] && pass ranks-one ||
    fail ranks-one "not one schedule for both"
record processes 50 1
BG_REPORT=$work/processes "$mix" 50 1 >/dev/null 2>&1
expect processes 0 '^config.schedule = "[0-9,]*";   for runner#0 of process [0-9]*: ' "$command" report "$work/processes"
[ "$(grep -c '^config' "$work/log")" = 2 ] && ! grep -q '^export' "$work/log" && pass processes-each || fail processes-each "a line would set both"
record killed 3000 1 1 abort
expect killed 0 '^runner#0: 2048 batches, .* it may have run more: another thread still used it, or the process did not end by exit$' "$command" report "$work/killed"

# a schedule that is longer than any that is looked for, and pads nothing
sizes=$(seq -s, 1 600)
printf '{"breakgraph": "0", "report_version": 2, "tool": "runner", "graph": "g", "findings": [], "runners": [{"name": "runner#0", "sizes": [%s],
"mode": "piecewise", "max_tokens": 600, "batches": 600, "families": [{"query_len": 0, "mode": "piecewise", "batches": [%s]}]}]}' \
    "$sizes" "$(seq -s, 1 600 | sed -E 's/[0-9]+/[&,1,0]/g')" >"$work/long.json"
expect long 0 'none is recommended: the schedule in use runs more batches by a graph than any of these, or pads fewer rows$' \
    "$command" report "$work/long.json"
grep -q '^export\|\*' "$work/log" && fail long-none "one is recommended" || pass long-none

# what improves comes first
printf '{"breakgraph": "0", "report_version": 2, "tool": "runner", "graph": "g", "findings": [], "runners": [{"name": "runner#0",
"sizes": [4], "mode": "piecewise", "max_tokens": 8, "batches": 9, "families": [{"query_len": 0, "mode": "piecewise",
"batches": [[%s]]}]}]}' '3, 4, 0], [8, 5, 0' >"$work/gain.json"
expect gain 0 'the recommended one runs 9 batches by a graph instead of 4, and pads 0 rows instead of 4; ' "$command" report "$work/gain.json"

# the other formats
expect json 0 '"recommended":[[:space:]]*true' "$command" report --json "$work/used-decode"
"$command" report --json="$work/all.json" "$work/used-decode" >/dev/null 2>&1
expect json-again 0 '^export BG_RUNNER_SCHEDULE=' "$command" report "$work/all.json"
expect json-cover 0 'sizes that cover 50 % of them' "$command" report --cover=50 "$work/all.json"
expect html 0 '"runners":' "$command" report --html "$work/used-decode"

exit $bad
