#!/bin/bash
# Host functions of graphs of an unmodified program: CUDA calls in them, and a program that ends in one. And memory that its
# graphs leave behind.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip attach-host "it is tried over the host device"
    exit 0
fi
found=$(tools/find_cuda host "${CUDA_HOME:-}")
cuda=${found%%|*}
for program in host_function kept_memory; do
    if ! "$CC" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -isystem "$cuda/include" tests/cli/attach/*/"$program.c" -rdynamic "-L$OUT" \
        -lhostcuda -pthread "-Wl,-rpath,$PWD/$OUT" -o "$work/${program%_*}" 2>"$work/log"; then
        fail attach-host "tests/cli/attach/$program.c does not build"
        exit 1
    fi
done
check() { COLUMNS=10000 "$OUT/breakgraph" check --attach -- "$work/host" "$@"; }

# The call, where it is, and the node.
within()
{
    expect "attach-host-$1" 1 "^fault \\[host-function\\] $2 at misuse\\+0x[0-9a-f]+ in host: $2 is called inside of host function#0 of graph#0, \
launched at .*: a host function may not call CUDA" check "$1"
    grep -q '^check replay: 1 finding$' "$work/log" || fail "attach-host-$1" "it is not the only finding"
}
within free cudaFree
within malloc cudaMalloc
within wait cudaEventSynchronize
within launch cudaGraphLaunch

# Also where --timeout launches a copy of the graph.
expect attach-host-followed 1 '^fault \[host-function\] cudaFree at misuse' "$OUT/breakgraph" check --attach --timeout=60 -- "$work/host" free
expect attach-host-followed-crash 1 'work, with userData 0x[0-9a-f]+; it had run 1 time before' \
    env COLUMNS=10000 "$OUT/breakgraph" check --attach --timeout=60 -- "$work/host" crash
expect attach-host-followed-none 0 '^check replay: 0 findings$' "$OUT/breakgraph" check --attach --timeout=60 -- "$work/host" none

# A program that ends there, by a signal or before the function does.
node='^warning \[host-function\] host function#0 at '
expect attach-host-crash 1 "${node}.* in host: signal SIGABRT ended the program while this host function of graph#0 ran: \
work, with userData 0x[0-9a-f]+; it had run 1 time before" check crash
expect attach-host-long 1 "${node}.* in host: this host function of graph#0 had not ended when the program did, [1-9][0-9]*\\.[0-9] s after it began: \
work, with userData 0x" check long
expect attach-host-fatal 1 '^fault \[host-function\] cudaFree at ' "$OUT/breakgraph" check --attach --fatal -- "$work/host" free
! grep -q 'ended the program while' "$work/log" || fail attach-host-fatal "the tool's own end is told as a crash"

# Right ones. The program's own function is called, and what the program reads of its graph is its own.
for way in none short set; do
    expect "attach-host-$way" 0 '^check replay: 0 findings$' check $way
    "$OUT/breakgraph" check --attach -- sh -c "'$work/host' $way >'$work/attached'" >"$work/log" 2>&1
    says "attach-host-same-$way" cat "$work/attached" <<<"$("$work/host" $way)"
done

# Memory of allocation nodes.
kept() { COLUMNS=10000 "$OUT/breakgraph" check --attach -- "$work/kept" "$@"; }
expect attach-kept 1 '^warning \[never-freed\] allocation#0 at main\+.* in kept: 3 graphs .* never freed, 3145728 bytes in all' \
    kept none 3
expect attach-kept-one 0 '^check replay: 0 findings$' kept none 1
for way in inside before after end graph; do
    expect "attach-kept-$way" 0 '^check replay: 0 findings$' kept $way 3
done
expect attach-kept-alive 0 '^check replay: 0 findings$' kept alive 3
expect attach-kept-unused 6 'no replay succeeds' kept unused 3
exit $bad
