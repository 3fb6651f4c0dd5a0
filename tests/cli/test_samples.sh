#!/bin/bash
# The samples of CUDA's own calls, examples/graphs: the same text on both devices.
. "$(dirname "$0")/lib.sh"

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for sample in fork-join memory-nodes update; do skip $sample "there is no GPU"; done
    exit 0
fi

# prints NAME PROGRAM: it succeeds and prints exactly what stands on this script's standard input.
prints()
{
    local status
    cat >"$work/expected"
    "$OUT/examples/graphs/$2" >"$work/found" 2>"$work/log"
    status=$?
    if [ $status -ne 0 ]; then
        fail "$1" "exit status $status"
    elif ! diff "$work/expected" "$work/found" >>"$work/log"; then
        fail "$1" "its output differs"
    elif [ -s "$work/log" ]; then
        fail "$1" "it complains"
    else
        pass "$1"
    fi
}

prints fork-join fork_join <<'TEXT'
6 nodes, 2 of them at the start, 5 edges
launch 1: 2 14 26 38
launch 2: 4 26 48 70
launch 3: 6 38 70 102
TEXT

prints memory-nodes memory_nodes <<'TEXT'
by hand, launch 1: 1 1 1 1
by hand, launch 2: 1 1 1 1
captured: 8 nodes, 2 allocate, 2 free
captured, launch 1: 35 35 35 35
captured, launch 2: 35 35 35 35
TEXT

prints update update <<'TEXT'
pass 0: 1 (instantiated)
pass 1: 2 (updated)
pass 2: 3 (updated)
pass 3: 8 (another shape, instantiated again)
pass 4: 10 (updated)
TEXT
exit $bad
