#!/bin/bash
# Tools that run the nodes of a graph more than once, in programs where that would change what the program computes: what it
# prints stays, and a graph that was left out is named.
. "$(dirname "$0")/lib.sh"
. tests/cli/attach/build.sh
breakgraph=$PWD/$OUT/breakgraph

if [ "$DEVICE" = cuda ]; then
    skip attach-again "tests/attach runs such programs on a GPU"
    exit 0
fi
if ! build_cuda again -pthread; then
    fail attach-again "tests/cli/attach/again.cu does not build"
    exit $bad
fi
export HOSTCUDA_DEVICES=2

# What the program prints stays.
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
looked captures
exit $bad
