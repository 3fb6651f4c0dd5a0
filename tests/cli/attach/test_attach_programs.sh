#!/bin/bash
# Programs that know nothing of breakgraph, each with a mistake of a real kind, which a command with --attach must name: what
# is wrong, the node, the function that made it and the one that freed its memory. Their correct twins stay without a finding.
# needs: shared/llama_faults
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-programs "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
for program in memory shapes indices loops; do
    build_program $program && continue
    fail attach-programs "tests/cli/attach/$program.c does not build"
    exit $bad
done
breakgraph=$OUT/breakgraph
export HOSTCUDA_MEMORY=never # what is freed is nobody else's, so that a program which uses it goes on

# found PROGRAM CASE PATTERN: the one finding of the program matches, and the twin has none.
found()
{
    local name=attach-$1-$2
    "$breakgraph" check --attach -- "$work/$1" "$2" >"$work/log" 2>&1
    if [ "$(grep -c '^check replay: 1 finding$' "$work/log")" -ne 1 ] || ! grep -Eq "^$3" "$work/log"; then
        fail "$name" "not one finding: $3"
    else
        pass "$name"
    fi
    expect "$name-correct" 0 '^check replay: 0 findings$' "$breakgraph" check --attach -- "$work/$1" "$2" correct
    says "$name-stepped" step_attached -- "$work/$1" "$2" correct <<<"done
step: 0 findings"
}
for memory in device reused async host mapped; do
    found memory $memory 'fault \[dangling\] add#0 at capture_sum\+.* in memory: kernel parameter 1 is .* was freed after the capture, at give_back\+.*node 1'
done
for shape in built set updated; do
    found shapes $shape 'fault \[dangling\] add#0 at build_sum\+.*: kernel parameter 1 is .* freed after the capture, at release\+'
done
found shapes fill "fault \\[dangling\\] memset#0 at build_fill\\+.*: the node's destination is .* freed after the capture, at release\\+"
found shapes child 'fault \[dangling\] .* at build_parent\+.*: kernel parameter 1 is .* freed after the capture, at release\+.*child node 0, kernel add'
found shapes host "fault \\[dangling\\] memcpy#0 at capture_copy\\+.*: the node's source is .* freed after the capture, at release\\+"
found shapes frame 'fault \[stack-copy\] memcpy#0 at capture_copy\+.*: each replay reads 4096 bytes on a thread.s stack, in the frame of a function that has returned'

# A kernel of ten leaves its memory; without the tools nobody knows which.
export HOSTCUDA_MEMORY=fence
expect attach-indices 1 '^fault \[fault\] gather#0 at look_up\+.*node 6 \(kernel gather.*cudaErrorIllegalAddress' \
    "$breakgraph" step --attach -- "$work/indices"
grep -q '^cudaErrorIllegalAddress$' "$work/log" || fail attach-indices "the program gets another error than without the tools"
says attach-indices-correct step_attached -- "$work/indices" correct <<<"cudaSuccess
step: 0 findings"
unset HOSTCUDA_MEMORY

# How often a graph is made, and launched.
expect attach-loops 0 '^graph#0 and 19 like it, already destroyed: 1 node, launched 20 times, updated 0 times$' \
    "$breakgraph" report --attach -- "$work/loops"
grep -q '^    1 add; instantiated at instantiate+' "$work/log" || fail attach-loops "the place is missing"
expect attach-loops-correct 0 '^graph#0: 1 node, launched 20 times, updated 19 times$' "$breakgraph" report --attach -- "$work/loops" correct

# ---- the example ------------------------------------------------------------------------------------------------------
# Its own tools are off: to those of --attach it is a program with plain graphs. Of the mistakes that can be planted they see a copy
# from pageable memory, launches into a stream that does not capture, and NaN. All others are wrong values in memory
# that stays allocated, and no address, launch, order or error tells. docs/attach.md lists them all, and what the library's own tools
# say (test_llama_faults.sh).
program=$OUT/shared/llama_faults
in_depth='attach-llama-.*-step' # three seconds each
seed=${BREAKGRAPH_SEED:-3}
plant()
{
    case $1 in
        none) ;;
        pair) echo --plant-faults pair:3 ;; # one of the two is "leaked"; other seeds have others
        *) echo --plant-faults "$1:$seed" ;;
    esac
}
# wanted KIND-COMMAND: the finding that is warned of; nothing: there is none.
wanted()
{
    case $1 in
        host-copy-check) echo 'pageable-copy\] memcpy#[0-9]+ at run_host_copy_fault\+' ;;
        temporary-check* | leaked-check* | pair-check*) echo 'leak\] fill at bgk_fill\+' ;;
        nan-step) echo 'nan-origin\] fill#0 at bgk_fill\+' ;;
    esac
}
try_attached()  # KIND, WORD that stands for the command, COMMAND...
{
    local name=attach-llama-$1-$2 finding kind=$1 status
    ! is_left_out "$name" || return 0
    finding=$(wanted "$1-$2")
    shift 2
    # shellcheck disable=SC2046,SC2016
    "$breakgraph" "$@" --attach -- sh -c 'exec "$@" >"$0" 2>/dev/null' "$work/other" "$program" $(plant "$kind") --tokens 3 \
        >"$work/log" 2>&1
    status=$?
    if ! cmp -s "$work/text" "$work/other"; then
        fail "$name" "the text is another one"
    elif [ -z "$finding" ] && { [ $status -ne 0 ] || ! grep -q ': 0 findings$' "$work/log"; }; then
        fail "$name" "there are findings"
    elif [ -n "$finding" ] && { [ $status -ne 1 ] || [ "$(grep -c '^\(warning\|fault\)' "$work/log")" -ne 1 ] ||
        ! grep -Eq "^warning \[$finding" "$work/log"; }; then
        fail "$name" "the mistake is not the only finding"
    else
        pass "$name"
    fi
}
for kind in none branch counter leaked temporary skipped host-copy cached beside position nan pair cancel varies; do
    # shellcheck disable=SC2046
    "$program" $(plant $kind) --tokens 3 >"$work/text" 2>"$work/log" || fail "attach-llama-$kind" "it fails without the tools"
    try_attached $kind check check
    try_attached $kind step step
    try_attached $kind check-orders check --what=orders
    [ $kind != none ] || try_attached none report report
done
exit $bad
