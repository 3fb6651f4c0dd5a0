#!/bin/bash
# Tools that run the nodes of a graph more than once, in programs where that would change what the program computes: what it
# prints stays, and a graph that was left out is named.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh
breakgraph=$PWD/$OUT/breakgraph
# The first waits for ten seconds; the others run nodes a thousand times.
in_depth='attach-again-(blocked .*|captures BG_(CHECK=.*|ATTACH_PROBE=.*)|end BG_(CHECK=poison|ATTACH_SHADOW=1)|stack BG_ATTACH_.*)'

if [ "$DEVICE" = cuda ]; then
    skip attach-again "tests/attach runs such programs on a GPU"
    exit 0
fi
if ! build_cuda again -pthread; then
    fail attach-again "tests/cli/attach/reruns/again.cu does not build"
    exit $bad
fi
export HOSTCUDA_DEVICES=2

# same CASE WHY [OPTION...]: with each tool, each of which says why it left the graph out (WHY empty: it did not).
same()
{
    local case=$1 why=$2 tool name
    shift 2
    "$work/again" "$case" >"$work/plain"
    for tool in "${tools[@]}"; do
        name="attach-again-$case ${tool#* --}"
        ! is_left_out "$name" || continue
        set -f
        # shellcheck disable=SC2086
        "$breakgraph" ${tool%% *} --attach ${tool#* } "$@" -- sh -c 'exec "$@" >"$0"' "$work/found" "$work/again" "$case" \
            >"$work/log" 2>&1
        set +f
        if ! cmp -s "$work/plain" "$work/found"; then
            fail "$name" "other output: $(tr '\n' ' ' <"$work/found")"
        elif grep -Eq '(warning|fault|note) \[' "$work/log" || ! grep -Eq "not looked at: [a-z]* of graph#0: $why" "$work/log"; then
            fail "$name" "a finding, or not left out for that reason"
        else
            pass "$name"
        fi
    done
}
tools=("check --what=orders" "check --what=poison" "run --shadow" "run --probe=*")
same peer 'it accesses memory of another device, which cannot be restored'
same variable 'its kernel count has no known parameters: what it changes, such as variables of its module'
same pinned 'memory changed in its launch that would not be restored: pinned host memory'
same next 'memory changed in its launch that would not be restored: .*or a block before one'
same registered 'it copies from or to registered host memory that does not begin at a multiple of 8 bytes'
tools=("check --what=orders" "run --shadow")
same turns 'it wrote into memory that its first launch had not changed' --snapshot-limit=7
tools=("check --what=orders")
same blocked 'work from before its launch had not ended after 10 s'

# And these are looked at.
looked()
{
    local case=$1 tool
    "$work/again" "$case" >"$work/plain"
    for tool in BG_CHECK=orders BG_CHECK=poison BG_ATTACH_SHADOW=1 "BG_ATTACH_PROBE=*"; do
        says "attach-again-$case $tool" env LD_PRELOAD="$PWD/$OUT/attach/libbreakgraph_attach.so" "$tool" \
            BG_ATTACH_DRIVER="$PWD/$OUT/libhostcuda.so" BG_ATTACH_TOOLS="$PWD/$OUT/attach/libbreakgraph_tools.so" \
            HOSTCUDA_THROUGH_DRIVER=1 bash -c "'$work/again' $case 2>/dev/null" <"$work/plain"
    done
}
looked end
looked stack
looked captures
expect attach-again-stack-looked 0 'looked at: 1 graph, 2 nodes \(orders\)' "$breakgraph" check --attach --what=orders -- "$work/again" stack

# shadow CASE: a seed with which the launch takes another order than its nodes one after the other.
shadow()
{
    local seed
    for seed in 1 2 3 4 5 6 7 8 9; do
        HOSTCUDA_SEED=$seed "$breakgraph" run --attach --shadow -- "$work/again" "$1" 2>&1 | tee "$work/shadow"
        ! grep -q 'mismatch-origin' "$work/shadow" || break
    done
}
# Of two runs that differ the program gets one, and is told that they do.
expect attach-again-run 0 'warning \[mismatch-origin\] scale#' shadow run
grep -q 'note \[not-repeatable\].* two runs of the same nodes in the same order differ in' "$work/log" ||
    fail attach-again-unrepeatable "it is not said that nodes do not repeat"
! grep -qx 'of two runs' "$work/log" || fail attach-again-one-run "memory is that of two runs"
# Not the node that writes beside what differs.
expect attach-again-word 0 'warning \[mismatch-origin\] scale#1 ' shadow word

# Where another order ends the program, that is the finding.
fault='warning \[race\].* in another order that the graph allows \(order 2 of [0-9]*\) the nodes end with cudaErrorIllegalAddress'
expect attach-again-index 1 "$fault" env HOSTCUDA_MEMORY=fence "$breakgraph" check --attach --what=orders -- "$work/again" index
exit $bad
