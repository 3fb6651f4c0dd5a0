#!/bin/bash
# Each CUDA call that the tools make inside an unmodified program fails once: the program's answers stay what they were, and
# what the tools could not do is said. SWEEP_STRIDE: every which of these calls (make soak: all).
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-failures "HOSTCUDA_FAIL belongs to the host device"
    exit 0
fi
if ! build_program calls || ! build_program orders; then
    fail attach-failures "tests/cli/attach does not build"
    exit $bad
fi

# observe COMMAND FAULTS: what the program answered is in $work/answers, its standard error in $work/errors, and what the
# command said in $work/said. A program that hangs is ended.
observe()
{
    # shellcheck disable=SC2086
    HOSTCUDA_FAIL=$2 timeout 60 "$OUT/breakgraph" $1 --attach -- \
        sh -c '"$1/calls" >"$1/answers" 2>"$1/errors"; echo "exit status $?" >>"$1/answers"' sh "$work" >"$work/said" 2>&1
}
# counted NAME: how many such calls there were, of faults that did not happen.
counted() { sed -n "s/^hostcuda: HOSTCUDA_FAIL: $1@1000000 did not happen: there were \([0-9]*\) such calls$/\1/p" "$work/errors"; }
notes() { grep -c '^note' "$work/$1"; }
never='*@1000000=1,tools:*@1000000=1'
stride=${SWEEP_STRIDE:-$(sized 28 7)}

HOSTCUDA_FAIL=$never "$work/calls" >"$work/alone" 2>"$work/errors"
echo "exit status $?" >>"$work/alone"
calls=$(counted '\*')
codes=(cudaErrorMemoryAllocation cudaErrorNotPermitted cudaErrorInvalidValue)

# A failure that is not said may hide nothing: the list of graphs and the findings are as without it. By cudaErrorInvalidValue
# CUDA also says that there is nothing to tell, such as the name of a kernel.
sweep() # COMMAND FIRST
{
    local command=$1 number=$2 count status
    observe "$command" "$never"
    count=$(counted 'tools:\*')
    if ! cmp -s "$work/alone" "$work/answers" || [ "$(counted '\*')" != "$calls" ] || [ "${count:-0}" -lt 100 ]; then
        diff "$work/alone" "$work/answers" >"$work/log"
        fail "attach-$command-alone" "other answers, or other numbers of calls: $(counted '\*') for $calls, and $count of the tools"
        return
    fi
    cp "$work/said" "$work/whole"
    for (( ; number <= count; number += stride)); do
        observe "$command" "tools:*@$number=${codes[number % 3]}"
        status=$?
        if [ $status -gt 1 ] || ! cmp -s "$work/alone" "$work/answers"; then
            { cat "$work/said" "$work/errors"; diff "$work/alone" "$work/answers"; } >"$work/log"
            fail "attach-$command-sweep" "call $number of $count, ${codes[number % 3]}: exit status $status, or other answers"
            return
        fi
        # A graph that cannot be followed "from now on" is left out earlier, for the same reason as without the failure.
        if grep -q 'from now on' "$work/said" && diff <(grep -v '^looked at' "$work/whole") <(grep -v '^looked at' "$work/said") >"$work/log"; then continue; fi
        # What hangs is not asked here: that a graph is followed as a whole is said with its finding.
        if [ "$command" != 'check --timeout=50' ] && [ "${codes[number % 3]}" != cudaErrorInvalidValue ] && ! cmp -s "$work/whole" "$work/said" && ! grep -q '^breakgraph: ' "$work/errors" && [ "$(notes said)" -le "$(notes whole)" ]; then
            diff "$work/whole" "$work/said" >"$work/log"
            fail "attach-$command-sweep" "call $number of $count, ${codes[number % 3]}: what is missing is not said"
            return
        fi
    done
    pass "attach-$command-sweep"
}
sweep report 1
sweep check 2
sweep step 3
sweep 'check --timeout=50' 4

# What runs nodes again: the program gets its results, whatever fails. The first calls list the graph, one by one.
# By cudaErrorInvalidValue CUDA also says that memory is freed, which is then not restored.
observe_orders() # COMMAND FAULTS
{
    # shellcheck disable=SC2086
    HOSTCUDA_FAIL=$2 timeout 60 "$OUT/breakgraph" ${1%% *} --attach ${1#* } -- \
        sh -c '"$1/orders" read correct >"$1/answers" 2>"$1/errors"; echo "exit status $?" >>"$1/answers"' sh "$work" >"$work/said" 2>&1
}
sweep_launches() # COMMAND
{
    local command=$1 number count status
    observe_orders "$command" "$never"
    count=$(counted 'tools:\*')
    for number in $(seq 1 "$(sized 13 3)" 40) $(seq 41 "${SWEEP_STRIDE:-$(sized 124 31)}" "${count:=0}"); do
        observe_orders "$command" "tools:*@$number=${codes[number % 2]}"
        status=$?
        if [ "$count" -lt 50 ] || [ $status -ge 124 ] || [ "$(cat "$work/answers")" != $'1 12 123\nexit status 0' ]; then
            cat "$work/said" "$work/errors" "$work/answers" >"$work/log"
            fail "attach-$command-launches" "call $number of $count, ${codes[number % 2]}: exit status $status, or other answers"
            return
        fi
    done
    pass "attach-$command-launches"
}
set -f # a pattern is no name of files
sweep_launches 'run --probe=*'
sweep_launches 'run --shadow'
sweep_launches 'check --what=orders'
set +f

# The program's own failures are the program's, and counted as without the tools.
for command in report check step 'check --timeout=50'; do
    for fault in cudaGraphInstantiate@2 cudaGraphLaunch@3 cudaStreamEndCapture@2 cudaGraphExecUpdate@1 cudaMalloc@4; do
        HOSTCUDA_FAIL=$fault=cudaErrorNotPermitted "$work/calls" >"$work/alone" 2>&1
        echo "exit status $?" >>"$work/alone"
        observe "$command" "$fault=cudaErrorNotPermitted"
        if diff "$work/alone" "$work/answers" >"$work/log"; then pass "attach-$command-$fault"
        else fail "attach-$command-$fault" "other answers than without the tools"; fi
    done
done
exit $bad
