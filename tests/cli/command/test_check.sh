#!/bin/bash
# breakgraph check without --what: programs of the zoo and their correct twins. Each fault is found by another check; the
# last lines tell what was looked at.
# needs: tests/zoo/ops/join_skipped tests/zoo/ops/padded_metadata tests/zoo/ops/padding_unwritten tests/zoo/ops/rebound_state
# needs: tests/zoo/ops/freed_input_ledger tests/zoo/plain/freed_input
. "$(dirname "$0")/../lib.sh"
command=$OUT/breakgraph
zoo=$OUT/tests/zoo/ops
cases='join_skipped padded_metadata padding_unwritten rebound_state freed_input_ledger'

if [ ! -x "$zoo/join_skipped" ] || { [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; }; then
    for name in $cases; do skip "$name" "the zoo is not built, or there is no GPU"; done
    exit 0
fi

finds() # NAME PATTERN [VARIABLE...]: the program gives a finding and status 1, and its twin none and status 0
{
    expect "$1" 1 "$2" env "${@:3}" "$command" check -- "$zoo/$1"
    [ "$(grep -c '^looked at: ' "$work/log")" = 1 ] && pass "$1-looked" || fail "$1-looked" "it does not say what was looked at"
    expect "$1-twin" 0 '^check graph, replay, recapture, poison, padding: 0 findings$' env "${@:3}" "$command" check -- "$zoo/$1" --correct
    expect "$1-twin-next" 0 '^next: breakgraph run --shadow=calls -- .* --correct$' "$command" check -- "$zoo/$1" --correct
}
finds join_skipped '^warning \[race\] fused_add#0 at .*join_skipped.c:38: ' HOSTCUDA_SEED=1
finds padding_unwritten '^fault \[unwritten-output\] attention#0 at '
finds rebound_state '^fault \[unstable-pointer\] cell#0 at '
finds freed_input_ledger '^fault \[(freed|reused)\] sum#0 at '
# What the two starts find, and what two checks of one start do, is printed once.
finds padded_metadata '^check graph, replay, recapture, poison, padding: 1 finding$' HOSTCUDA_MEMORY=poison,fence
if [ "$DEVICE" = host ]; then
    expect after-fault 1 '^fault \[out-of-range\] attention#0 at ' env HOSTCUDA_MEMORY=poison,fence "$command" check -- "$zoo/padded_metadata"
    expect after-fault-not 1 '^not looked at: poison of graph: cudaStreamSynchronize failed ' \
        env HOSTCUDA_MEMORY=poison,fence "$command" check -- "$zoo/padded_metadata"
fi
# A crash says nothing on what the second start looks at.
crash() { expect "$1" "$2" "$3" "$command" check -- sh -c "'$zoo/rebound_state' $4; kill -ABRT \$\$"; }
crash crash-explained 1 '^fault \[unstable-pointer\] cell#0 at ' ''
crash crash-explained-looked 1 '^looked at: .*; 1 graph captured again' ''
crash crash-clean 7 '^check graph, replay, recapture, poison, padding: 0 findings$' --correct
[ "$(grep -c 'signal SIGABRT' "$work/log")" = 1 ] && pass crash-once || fail crash-once "the crash of both starts is not said once"
crash crash-next 7 '^next, if that finds nothing: breakgraph step -- ' --correct
expect hang-looked 8 '^not looked at: recapture,poison,padding: it needs another start' "$command" check --timeout=2 -- sh -c "'$zoo/rebound_state' --correct; sleep 20"
expect output-shown 4 '^  what failed$' "$command" check -- sh -c 'echo what failed; exit 3'
expect found-and-failed 1 "^breakgraph check: 'sh' ended with status 3$" "$command" check --what=graph -- sh -c '"$0"; exit 3' "$zoo/join_skipped"
expect hang-not-linked 8 '--attach names the graph in which it hangs' "$command" check --timeout=1 -- sleep 60
expect one-check 1 '^check graph: 1 finding$' "$command" check --what=graph -- "$zoo/join_skipped"
expect one-check-looked 1 '^looked at: 1 graph, 3 calls, 3 nodes$' "$command" check --what=graph -- "$zoo/join_skipped"
expect other-checks 0 '^looked at: 1 graph captured again; 1 graph replayed with poison$' \
    "$command" check --what=poison --what=recapture -- "$zoo/join_skipped" --correct
[ "$DEVICE" = cuda ] || expect attached 0 '^looked at: 1 graph, 1 node; 1 replay compared$' \
    "$command" check --attach -- "$zoo/../plain/freed_input" --correct
exit $bad
