#!/bin/bash
# Random programs with a planted fault each, and programs without: what breakgraph check --attach says of them. PROGRAMS, 240 if
# not set (make test: 120), is how many have a fault; half as many have none. SEED: the first one.
# needs: tests/zoo/findings
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-random "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
if ! build_cuda random -std=c++17; then
    fail attach-random "tests/cli/attach/reruns/random.cu does not build"
    exit $bad
fi
programs=${PROGRAMS:-$(sized 120 240)} seed=${SEED:-1} batch=20
printf 'seed %d\n' "$seed"

# judge FINDINGS: of wanted and run, the programs of which a wanted finding was made; findings that are not wanted come behind.
judge()
{
    awk -F '\t' '
        FILENAME == ARGV[1] { ran++; next }
        FILENAME == ARGV[2] { want[$1 FS $2 FS $3] = 1; name[$3] = 1; next }
        $2 == "note" { next }
        {
            match($6, /program-[0-9]+-[0-9]+:/)
            key = $1 FS $3 FS substr($6, RSTART, RLENGTH)
            if (key in want) found[substr($6, RSTART, RLENGTH)] = 1
            else { print "not wanted: " $1, $3, $6; }
        }
        END {
            for (program in name) if (!(program in found)) print "not found: " program
            print length(found), ran
        }' "$work/ran" "$work/wanted" "$1"
}

# try KIND CHECK COUNT: prints what was missed or not wanted; found and ran count.
try()
{
    local at judged count status
    found=0 ran=0
    for ((at = 0; at < $3; at += batch)); do
        "$OUT/breakgraph" check --attach --what="$2" --json -- sh -c "'$work/random' $1 $((seed + at)) $batch '$work/wanted' >'$work/ran'" \
            >"$work/printed.json" 2>"$work/said" </dev/null
        status=$?
        # A command that fails, or cannot look, finds nothing, too.
        if [ ! -s "$work/ran" ] || [ $status -gt 1 ] || ! grep -q '"launches":' "$work/printed.json"; then
            echo "seed $((seed + at)): exit status $status"
            cat "$work/said"
            return 1
        fi
        "$OUT/tests/zoo/findings" "$work/printed.json" >"$work/findings"
        judge "$work/findings" >"$work/judged"
        head -n -1 "$work/judged" | cut -c 1-400
        read -r judged count < <(tail -n 1 "$work/judged")
        found=$((found + judged)) ran=$((ran + count))
    done
}

if ! run_make DEVICE=host "$OUT/tests/zoo/findings" >"$work/log" 2>&1; then
    fail attach-random "tests/zoo/findings does not build"
    exit $bad
fi
# planted KIND CHECK: 99 % must be named.
planted()
{
    try "$1" "$2" $((programs / 3)) >"$work/log"
    grep -q '^not wanted' "$work/log" && fail "attach-random-$1-alone" "findings at others than the planted ones"
    if [ $ran -gt 0 ] && [ $((found * 100)) -ge $((ran * 99)) ]; then
        pass "attach-random-$1 ($found of $ran)"
    else
        fail "attach-random-$1" "$found of $ran planted faults are named"
    fi
}
# clean KIND CHECK
clean()
{
    try "$1" "$2" $((programs / 4)) >"$work/log"
    if [ $ran -gt 0 ] && [ ! -s "$work/log" ]; then
        pass "attach-random-$1 ($ran)"
    else
        fail "attach-random-$1" "programs without a fault have findings"
    fi
}
planted order replay
planted source replay
planted rows padding
clean clean replay
clean clean-rows padding
exit $bad
