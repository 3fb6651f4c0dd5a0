#!/bin/bash
# check --attach --what=poison: nodes that read what no node has written, in memory that the program's allocator has as free.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh
breakgraph=$PWD/$OUT/breakgraph

if [ "$DEVICE" = cuda ]; then
    skip attach-poison "tests/attach runs such programs on a GPU"
    exit 0
fi
if ! build_program poison; then
    fail attach-poison "tests/cli/attach/reruns/poison.c does not build"
    exit $bad
fi
poison() { "$breakgraph" check --attach --what=poison "$@"; }

attached() # CASE...
{
    env LD_PRELOAD="$PWD/$OUT/attach/libbreakgraph_attach.so" BG_CHECK=poison BG_ATTACH_DRIVER="$PWD/$OUT/libhostcuda.so" \
        BG_ATTACH_TOOLS="$PWD/$OUT/attach/libbreakgraph_tools.so" HOSTCUDA_THROUGH_DRIVER=1 "$work/poison" "$@" 2>"$work/errors"
}
# unchanged CASE...: the program prints what it prints by itself.
unchanged()
{
    "$work/poison" "$@" >"$work/plain"
    says "attach-poison-$1-output" attached "$@" <"$work/plain"
}

# A program that reads what it has not written, and its twin.
read_unwritten()
{
    local case=$1 finding=$2
    expect "attach-poison-$case" 1 "fault \[reads-unwritten\] $finding" poison -- "$work/poison" "$case"
    expect "attach-poison-$case-one" 1 '^check poison: 1 finding$' poison -- "$work/poison" "$case"
    expect "attach-poison-$case-correct" 0 '^check poison: 0 findings$' poison -- "$work/poison" "$case" correct
    unchanged "$case"
}
reads='reads memory that no node of the graph has written before it: of 4096 bytes at .*has as free'
read_unwritten part "add#0 at read_part.* add#0 $reads, kernel parameter 1 of add#0; up to 2048 bytes of the graph"
read_unwritten freed "add#0 at read_part.* add#0 $reads, kernel parameter 1 of add#0"
read_unwritten chain "add#0 at read_chain.* add#0 $reads, kernel parameter 1 of add#0"
read_unwritten place "memcpy#0 at read_in_place.* memcpy#0 $reads; up to 4096 bytes"
read_unwritten struct "sum#0 at read_struct.* sum#0 $reads"
read_unwritten copy "memcpy#0 at read_copy.* memcpy#0 $reads; up to 2048 bytes"
# Integers are 0 or 1.
read_unwritten index 'gather#0 at read_index.* gather#0 reads memory .* kernel parameter 2 of gather#0; up to'

# What nobody reads, and what a graph keeps from launch to launch.
expect attach-poison-state 0 '^looked at: 1 graph, 6 nodes \(poison\)$' poison -- "$work/poison" state
unchanged state

not='not looked at: poison of graph#0: '
expect attach-poison-nothing 14 "${not}no allocator tells which memory is free when it begins" poison -- "$work/poison" plain
expect attach-poison-memory-nodes 14 "${not}it has memory nodes" poison -- "$work/poison" memory-nodes
expect attach-poison-limit 14 "${not}a copy of what it reaches does not fit .*--snapshot-limit" \
    poison --snapshot-limit=1 -- "$work/poison" large
expect attach-poison-large 1 'add#0 at read_part' poison -- "$work/poison" large
expect attach-poison-both 1 'check replay, poison: [0-9]+ findings?$' poison --what=replay -- "$work/poison" part

# What a launch reads before it is written is there from the launch before; the host device has such an order under seeds.
early='warning \[race\] copy_rows#1 at read_early.* a node reads memory before another one has written it: .* up to 4096 bytes'
expect attach-poison-early 1 "$early" poison -e HOSTCUDA_SEED=3 -- "$work/poison" early
expect attach-poison-plain-early 1 "$early" poison -e HOSTCUDA_SEED=3 -- "$work/poison" plain-early
for seed in 1 2 3 4; do
    expect "attach-poison-early-correct-$seed" 0 '^check poison: 0 findings$' \
        poison -e HOSTCUDA_SEED=$seed -- "$work/poison" early correct
    expect "attach-poison-plain-early-correct-$seed" 14 '^check poison: 0 findings$' \
        poison -e HOSTCUDA_SEED=$seed -- "$work/poison" plain-early correct
done
unchanged early correct
# A host function is called as often as the program launches.
expect attach-poison-host 14 "${not}its nodes ran with patterns .* but not its launch" poison -- "$work/poison" host correct
unchanged host correct

# Where a CUDA call of the tools fails, memory is what it was all the same.
"$work/poison" chain >"$work/plain"
HOSTCUDA_FAIL='tools:*@1000000=2' attached chain >/dev/null
calls=$(sed -n 's/.*there were \([0-9]*\) such calls$/\1/p' "$work/errors")
changed=
for ((i = 1; i <= ${calls:-0}; i += 13)); do
    HOSTCUDA_FAIL="tools:*@$i=2" attached chain | cmp -s - "$work/plain" || changed+=" $i"
done
if [ "${calls:-0}" -gt 100 ] && [ -z "$changed" ]; then
    pass attach-poison-failures
else
    fail attach-poison-failures "of ${calls:-no} calls, these change what the program prints:$changed"
fi

# Temporaries of PyTorch's pools of graphs, whose sizes nobody tells; a tensor that is kept, or that another graph has left there,
# may hold something.
if ! command -v python3 >/dev/null; then
    skip attach-poison-torch "there is no python3"
    exit $bad
fi
tensors() { LD_LIBRARY_PATH=$PWD/$OUT poison -- python3 tests/cli/attach/python/allocator.py torch "$1"; }
launched="/allocator.py:$(grep -n "# launched\$" tests/cli/attach/python/allocator.py | cut -d: -f1): "
expect attach-poison-torch 1 "reads-unwritten\] memcpy#1 at .*${launched}memcpy#1 reads memory .* of [0-9]+ bytes at" tensors unwritten
expect attach-poison-torch-written 0 '^looked at: 1 graph, 4 nodes \(poison\)$' tensors written
expect attach-poison-torch-kept 0 '^check poison: 0 findings$' tensors unwritten-kept
expect attach-poison-torch-left 0 '^looked at: 2 graphs, 2 nodes \(poison\)$' tensors left
expect attach-poison-torch-shared 1 'reads-unwritten\] memcpy#1' tensors unwritten-shared
exit $bad
