#!/bin/bash
# Graphs of unmodified programs that come, change and go.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip attach-life "the record of a GPU has its own (make gpu-check PART=attach)"
    exit $bad
fi
. tests/cli/attach/programs/build.sh
found=$(tools/find_cuda host "${CUDA_HOME:-}")
if ! build_program life; then
    fail attach-life "tests/cli/attach/programs/life.c does not build"
    exit $bad
fi
attached() { timeout 60 "$OUT/breakgraph" "$1" --attach -- "$work/life" "$2"; }
attached_flat() { attached "$@" 2>&1 | tr -s '\n ' ' '; return "${PIPESTATUS[0]}"; }

# A step waits for what the program's other threads do.
says attach-life-waits attached step waits <<<"waited
step: 0 findings
looked at: 1 replay, 2 nodes stepped"
expect attach-life-kept 0 '^check replay: 0 findings$' attached check kept
expect attach-life-edited 0 '^note \[not-stepped\]: graph#0 is neither checked nor stepped' attached check edited
expect attach-life-cloned 1 '\[dangling\] memcpy#0 at build_copy' attached check cloned
expect attach-life-grows 1 '\[growth\] cudaGraphInstantiate at instantiate\+.* 128 executable graphs that were made here are alive' attached_flat check grows
grep -q '^check replay: 1 finding' <(attached check grows) || fail attach-life-grows "not one finding"
for what in fewer bounded made-first; do
    expect "attach-life-$what" 0 '^check replay: 0 findings$' attached check $what
done
race='\[race\] memset#0 at use_memory\+.*:'
expect attach-life-freed-early 1 "$race nothing orders memset#0 before free#0, which frees the memory that it uses, at 0x.* check replay: 1 finding " attached_flat check freed-early
expect attach-life-used-early 1 "$race memset#0 is not ordered after allocation#0, which allocates the memory that it uses, .* check replay: 1 finding " attached_flat check used-early
expect attach-life-used-in-order 0 '^check replay: 0 findings$' attached check used-in-order
expect attach-life-cluster-lost 1 '\[attribute-lost\] add#0 at copy_kernel\+.* a cluster of 2 x 1 x 1 blocks .* check replay: 1 finding ' \
    attached_flat check cluster-lost
for what in cluster-copied no-cluster; do
    expect "attach-life-$what" 0 '^check replay: 0 findings$' attached check $what
done
expect attach-life-many 0 '^graph#0 and 999 like it, already destroyed: 1 node, launched 1000 times' attached report many
# The list is there, although the process had no time to write it at its end.
expect attach-life-killed 7 '^graph#0: 1 node, launched' attached report killed

# Python has ended when the process does.
library=$work/late.so
if ! command -v python3 >/dev/null; then
    skip attach-life-late "there is no python3"
elif ! "$CC" -std=c11 -Wall -Wextra -Werror -shared -fPIC -isystem "${found%%|*}/include" tests/cli/attach/programs/late.c "-L$OUT" -lhostcuda \
    "-Wl,-rpath,$PWD/$OUT" -o "$library" 2>"$work/log"; then
    fail attach-life-late "tests/cli/attach/programs/late.c does not build"
else
    late() { "$OUT/breakgraph" "$1" --attach -- python3 -c "import ctypes; exit(ctypes.CDLL('$library').begin())"; }
    expect attach-life-late-check 0 '^check replay: 0 findings$' late check
    says attach-life-late-step late step <<<"captured
captured
step: 0 findings
looked at: 2 replays, 2 nodes stepped"
fi
exit $bad
