#!/bin/bash
# breakgraph run --attach --break: graphs are split at chosen nodes. Each program prints what each launch computed, which
# depends on the order of all nodes: that is the same with and without the tools, also where work runs in another order.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-break "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
breakgraph=$OUT/breakgraph split=$work/split
in_depth='attach-break-(no-)?place'
if ! build_cuda split; then
    fail attach-break "tests/cli/attach/reruns/split.cu does not build"
    exit $bad
fi

# splits NAME WHAT PATTERN FLAG...: run of split WHAT computes the same, ends with 0, and says PATTERN.
splits()
{
    local name=$1 what=$2 pattern=$3
    expect "$name" 0 "$pattern" "$breakgraph" run --attach "${@:4}" -- "$split" "$what"
    [ "$(grep '^launch' "$work/log")" = "$("$split" "$what")" ] || fail "$name" "the program computes something else"
}
# ran NODES OF LAUNCHES: the line for graph#0 after six launches.
ran() { echo "^graph#0: $1 of $2 nodes? ran outside of the graph, $3 launches of them in 6 launches of the graph$"; }

# ---- names, places, indices ----------------------------------------------------------------------------------------
splits attach-break-name chain "$(ran 6 12 36)" --break=mix
splits attach-break-number chain "$(ran 1 12 6)" '--break=mix#3'
splits attach-break-graph chain "$(ran 1 12 6)" '--break=graph#0/mix#3'
splits attach-break-graphs chain "$(ran 6 12 36)" '--break=graph/t*n'
splits attach-break-index chain "$(ran 1 12 6)" '--break=graph#0/[7]'
splits attach-break-range chain "$(ran 5 12 30)" '--break=[7-]'
splits attach-break-list chain "$(ran 7 12 42)" --break='mix, graph#0/[1]'
splits attach-break-repeated chain "$(ran 2 12 12)" --break='mix#0' --break='[1]'
splits attach-break-but chain "$(ran 11 12 66)" --break='*,!mix#2'
splits attach-break-nodes chain "$(ran 12 12 72)" --nodes
printf 'mix#1\n[3-4]\n' >"$work/list"
splits attach-break-file chain "$(ran 3 12 18)" --break="@$work/list"
printf '\n!mix\r\n\t[0]\r\n' >"$work/list"
splits attach-break-file-blanks chain "$(ran 7 12 42)" --break="@$work/list"
expect attach-break-file-relative 0 "$(ran 7 12 42)" sh -c "cd '$work' && '$PWD/$breakgraph' run --attach --break=@list -- sh -c 'cd / && exec $split chain'"
# Before all that it does not depend on: an order that the graph allows, which shows a missing wait in each start.
if build_cuda order; then
    for pattern in $(sized '' ^combine#7) '*,^combine#7'; do
        expect "attach-break-first $pattern" 1 '^wrong' env HOSTCUDA_SEED=0 "$breakgraph" run --attach --break="$pattern" -- "$work/order" join
        expect "attach-break-first-allowed $pattern" 0 '^right' "$breakgraph" run --attach --break="$pattern" -- "$work/order" correct
    done
    expect attach-break-first-other 0 '^right' "$breakgraph" run --attach --break='*,^combine#6' -- "$work/order" join
    expect attach-break-first-not 0 '^right' "$breakgraph" run --attach --break='*,^combine#7,!combine#7,combine#7' -- "$work/order" join
else
    fail attach-break-first "tests/cli/attach/reruns/order.cu does not build"
fi
if ! deep; then :
elif python3 -c 'import ctypes' 2>/dev/null && build_library nodes; then
    line=$(grep -n '# here' tests/cli/attach/python/nodes.py | cut -d: -f1)
    expect attach-break-place 0 '^graph#0: 1 of [0-9]* nodes ran outside' "$breakgraph" run --attach --break="nodes.py:$line" -- \
        python3 tests/cli/attach/python/nodes.py "$work/libnodes.so" 1
    expect attach-break-no-place 0 "'s.py:$line' matches no node" "$breakgraph" run --attach --break="s.py:$line" -- \
        python3 tests/cli/attach/python/nodes.py "$work/libnodes.so" 1
else
    skip attach-break-place "it needs python3 with ctypes"
fi

# ---- nothing is chosen ---------------------------------------------------------------------------------------------
nothing="^breakgraph: BG_ATTACH_BREAK: '%s' matches no node of the graphs that were launched"
# shellcheck disable=SC2059
splits attach-break-none chain "$(printf "$nothing" 'graph#1/mix')" --break='graph#1/mix'
# shellcheck disable=SC2059
splits attach-break-one-of-two chain "$(printf "$nothing" 'flash_\*')" --break='mix,flash_*'
splits attach-break-none-ran chain '^breakgraph run: no node ran outside of a graph$' --break=flash
expect attach-break-none-strict 14 'no node ran outside of a graph' "$breakgraph" run --attach --strict --break=flash -- "$split"
expect attach-break-strict 0 "$(ran 1 12 6)" "$breakgraph" run --attach --strict --break='mix#0' -- "$split"
"$breakgraph" run --attach --break=mix -- "$split" chain >"$work/log" 2>&1
if grep -q 'matches no node' "$work/log"; then fail attach-break-met "mix matches six nodes"; else pass attach-break-met; fi
expect attach-break-status 3 'ended with status 3 before' "$breakgraph" run --attach --nodes -e HOSTCUDA_FAIL=cudaStreamEndCapture@1=1 -- "$split"

# ---- kinds of nodes, and shapes ------------------------------------------------------------------------------------
seeds='0 1 2 3'
# everywhere WHAT NODES: of that graph, each node alone, each but one, and all, under several orders of what is unordered.
everywhere()
{
    local what=$1 nodes=$2 seed i pattern
    deep || seeds=${seeds##* }
    "$split" "$what" >"$work/alone"
    for seed in $seeds; do
        for ((i = 0; i <= nodes; i++)); do
            for pattern in "[$i]" "*,![$i]" "[$i-]" "[0-$i]"; do
                if ! HOSTCUDA_SEED=$seed "$breakgraph" run --attach --break="$pattern" -- "$split" "$what" >"$work/output" 2>"$work/log" ||
                    ! cmp -s "$work/alone" "$work/output"; then
                    fail "attach-break-$what" "seed $seed, --break='$pattern': it computes something else"
                    return
                fi
            done
        done
    done
    pass "attach-break-$what"
}
everywhere forks 8
seeds=3 everywhere copies 8
seeds=3 everywhere fills 7
seeds='0 3' everywhere child 3
seeds='0 1' everywhere streams 8
seeds='1 3' everywhere set-streams 1
seeds='1 3' everywhere disabled 1
seeds='0 3' everywhere owner 3
seeds=0 everywhere cooperative 3
! deep || seeds=0 everywhere set 12
! deep || seeds=0 everywhere update 12
splits attach-break-copies copies "$(ran 8 8 48)" --nodes
splits attach-break-fills fills "$(ran 7 7 42)" --nodes
splits attach-break-cooperative cooperative "$(ran 1 3 6)" --break=shift
splits attach-break-memcpy copies "$(ran 4 8 24)" --break=memcpy
splits attach-break-host-function copies "$(ran 1 8 6)" --break='host function'
# A kernel in a child graph: all of that runs outside.
splits attach-break-child child "$(ran 9 12 54)" --break=turn
splits attach-break-child-index child "$(ran 8 12 48)" '--break=[1]'
splits attach-break-child-not child "$(ran 2 12 12)" --break='*,![1]'
splits attach-break-update update "$(ran 1 12 6)" '--break=[4]'
splits attach-break-set set "$(ran 1 12 6)" '--break=[2]'

# Another device is current at a launch, or the stream is of another one.
for flag in --nodes --break=mix --shadow '--probe=*'; do
    HOSTCUDA_DEVICES=2 expect "attach-break-device $flag" 0 '^launch 6: ' "$breakgraph" run --attach "$flag" -- "$split" device
    diff <(HOSTCUDA_DEVICES=2 "$split" device) <(grep '^launch' "$work/log") >/dev/null || fail "attach-break-device $flag" "the program computes something else"
    HOSTCUDA_DEVICES=2 expect "attach-break-other-device $flag" 0 '^launch 6: ' "$breakgraph" run --attach "$flag" -- "$split" other-device
    diff <(HOSTCUDA_DEVICES=2 "$split" other-device) <(grep '^launch' "$work/log") >/dev/null || fail "attach-break-other-device $flag" "the program computes something else"
done

# ---- cuts that cannot be made --------------------------------------------------------------------------------------
splits attach-break-pageable pageable '^note \[not-split\] memcpy#0 .* stays in' --nodes
grep -Eq "$(ran 3 4 18)" "$work/log" || fail attach-break-pageable "the others do not run outside"
splits attach-break-event event '^note \[not-split\] event record#0: it stays in its graph' --nodes
splits attach-break-memory memory '^note \[not-split\]: the graph is not split, though 5 of its nodes are chosen: CUDA cannot copy' --nodes
splits attach-break-collective collective '^note \[not-split\] ncclDevKernel_Sum#0 at ' --nodes
grep -q 'with 1 other chosen node, since' "$work/log" || fail attach-break-collective "the other one is not counted"
splits attach-break-before-collective collective "$(ran 1 6 6)" '--break=mix#0'
splits attach-break-beside-collective collective "$(ran 1 6 6)" --break=turn
"$breakgraph" run --attach --break='mix#0' -- "$split" collective >"$work/log" 2>&1
if grep -q 'not-split' "$work/log"; then fail attach-break-silent "all that was chosen is cut"; else pass attach-break-silent; fi

# ---- calls that fail -----------------------------------------------------------------------------------------------
splits attach-break-no-clone forks '^breakgraph: --break: graph#0 is launched as it is' '--break=mix#1' -e HOSTCUDA_FAIL='tools:cudaGraphInstantiateWithFlags@1=cudaErrorMemoryAllocation'
splits attach-break-no-event forks "$(ran 1 8 6)" '--break=mix#1' -e HOSTCUDA_FAIL='tools:cudaEventCreateWithFlags@2=cudaErrorMemoryAllocation'
splits attach-break-launch-again forks "$(ran 1 8 6)" '--break=mix#1' -e HOSTCUDA_FAIL='tools:cuLaunchKernel@1=cudaErrorUnknown'
both='tools:cuLaunchKernel@1=cudaErrorLaunchOutOfResources,tools:cuLaunchKernel@2=cudaErrorLaunchOutOfResources'
expect attach-break-launch-fails 3 'graph#0 was not launched to its end, and the launch fails: cudaErrorLaunchOutOfResources' \
    "$breakgraph" run --attach '--break=mix#1' -e HOSTCUDA_FAIL="$both" -- "$split" forks
grep -q 'cudaGraphLaunch.*cudaErrorLaunchOutOfResources' "$work/log" || fail attach-break-launch-fails "the program does not get the error"
# Each call of the tools, once.
count=$(HOSTCUDA_FAIL='tools:*@1000000=1' "$breakgraph" run --attach --break='mix,graph#0/[2]' -- "$split" copies 2>&1 |
    sed -n 's/^hostcuda: HOSTCUDA_FAIL: tools:\*@1000000 did not happen: there were \([0-9]*\) such calls$/\1/p')
[ "${count:-0}" -ge 100 ] || fail attach-break-sweep "the tools made ${count:-no} calls"
"$split" copies >"$work/alone"
swept=yes
for ((i = 1; i <= ${count:-0}; i += ${SWEEP_STRIDE:-$(sized 20 5)})); do
    HOSTCUDA_FAIL="tools:*@$i=cudaErrorMemoryAllocation" "$breakgraph" run --attach --break='mix,graph#0/[2]' -- "$split" copies >"$work/output" 2>"$work/log" &&
        cmp -s "$work/alone" "$work/output" && continue
    fail attach-break-sweep "call $i of $count fails: the program fails, or computes something else"
    swept=no
    break
done
[ $swept = no ] || pass attach-break-sweep

# ---- arguments -----------------------------------------------------------------------------------------------------
for wrong in '[5' '[]' '[3-1]' 'graph#0/[x]' '!' '^' '^[x]' 'mix,[-2]' "@$work/none"; do
    expect "attach-break-bad $wrong" 2 "'--break=.*': allowed are nodes like" "$breakgraph" run --attach --break="$wrong" -- "$split"
done
expect attach-break-no-attach 2 '^breakgraph run: --break needs --attach' "$breakgraph" run --break=mix -- "$split"
expect attach-break-nodes-no-attach 2 '^breakgraph run: --nodes needs --attach' "$breakgraph" run --nodes -- "$split"
expect attach-break-both 2 'exclude each other' "$breakgraph" run --attach --nodes --break=mix -- "$split"
expect attach-break-two-lists 2 '@FILE is given alone' "$breakgraph" run --attach --break=mix --break="@$work/list" -- "$split"
BG_ATTACH_SHADOW=1 expect attach-break-two-tools 5 'break and shadow exclude each other' "$breakgraph" run --attach --strict --break=mix -- "$split"
for flag in --debug=step --eager-ops=a --check=graph; do
    expect "attach-break-library $flag" 2 "is for programs that use libbreakgraph" "$breakgraph" run --attach $flag -- "$split"
done
expect attach-break-variable 2 "BG_ATTACH_BREAK=\[9': allowed are nodes" "$breakgraph" run --attach -e 'BG_ATTACH_BREAK=[9' -- "$split"
BG_ATTACH_BREAK=mix expect attach-break-step 5 'BG_ATTACH_BREAK and BG_DEBUG=step exclude each other' "$breakgraph" step --attach -- "$split"
BG_ATTACH_BREAK='[9' splits attach-break-environment chain 'the program runs without tools' -e BG_NVTX=0
exit $bad
