#!/bin/bash
# --timeout: in which step of a program of ops a replay hangs, and in which node.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip hang "it is tried on the host device"
    exit 0
fi
found=$(tools/find_cuda host "${CUDA_HOME:-}")
if ! "$CC" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -isystem "${found%%|*}/include" tests/cli/command/hang.c "-L$OUT" -lbreakgraph \
    -lhostcuda -lstdc++ "-Wl,-rpath,$PWD/$OUT" -o "$work/hang" 2>"$work/log"; then
    fail hang "tests/cli/command/hang.c does not build"
    exit 1
fi
command=$PWD/$OUT/breakgraph
in_depth='hang-(captured|eager)' # each waits for the time limit
start() { COLUMNS=10000 "$command" "$1" --timeout="${limit:-3}" "${@:3}" -- "$work/hang" "$2"; }
since='there was no progress for the last [1-9]'

expect hang-captured 8 "^fault \\[hang\\] first#0 at tests/cli/command/hang.c:[0-9]+: launch 3 of segment 0 of graph does not get beyond this host function: 1 of its 2 nodes ended, none waits for it; $since" \
    start check captured --what=replay
expect hang-later 8 "^fault \\[hang\\] last#0 at tests/cli/command/hang.c:[0-9]+: launch 3 of segment 1 of graph does not get beyond this host function: 2 of its 3 nodes ended, none waits for it; $since" \
    start check later --what=replay
expect hang-eager 8 "^fault \\[hang\\] middle#0 at tests/cli/command/hang.c:[0-9]+: run 3 of call middle#0 .* does not end, or what it launched does not; $since" \
    start check eager --what=replay
expect hang-step 8 '^fault \[hang\] last#0 at tests/cli/command/hang.c:[0-9]+: graph runs node by node, and does not get beyond this host function, which runs alone' \
    start step later

# What ends is not told, and computes the same: write-backs too.
limit=60 expect hang-slow 0 '^check replay: 0 findings$' start check slow --what=replay
"$work/hang" slow >"$work/alone"
says hang-same env BG_REPORT="$work" BG_HANG=1 "$work/hang" slow <"$work/alone"
expect hang-value 3 'BG_HANG is "2"; allowed are 0, 1' env BG_HANG=2 "$work/hang" slow
exit $bad
