#!/bin/bash
# --timeout: which graph of an unmodified program hangs, and in which node.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip attach-hang "it is tried over the host device"
    exit 0
fi
. tests/cli/attach/programs/build.sh
if ! build_program hang; then
    fail attach-hang "tests/cli/attach/programs/hang.c does not build"
    exit 1
fi
# One of each way to wait; each takes the time limit.
in_depth='attach-hangs-(behind|grid|set|whole|same|elsewhere|orders|poison|late|step-host|step-slow|off)'
command=$PWD/$OUT/breakgraph
check() { COLUMNS=10000 "$command" check --attach --timeout=3 -- "$work/hang" "$1"; }
waits='; thread [0-9]+ \(hang\) waits in cudaStreamSynchronize at main\+0x[0-9a-f]+ in hang; there was no progress for the last [1-9]'

# The node, its place, what is behind it, and who waits.
hangs()
{
    ! is_left_out "attach-hangs-$1" || return 0
    expect "attach-hangs-$1" 8 "$2$waits" check "$1"
    grep -q '^check replay: 1 finding$' "$work/log" || fail "attach-hangs-$1" "it is not the only finding"
    grep -q "ran longer than 3 s and was killed" "$work/log" || fail "attach-hangs-$1" "the end is not told"
}
kernel='^fault \[hang\] wait_for#0 at launch_wait\+0x[0-9a-f]+ in hang: launch 3 of graph#0 does not get beyond this kernel: 1 of its 4 nodes ended, 2 wait for it'
hangs kernel "$kernel"
hangs behind "$kernel"
hangs grid "$kernel; of its 1048576 blocks 64 fit on the device at once: if they wait for each other, they wait for ever"
hangs host '^fault \[hang\] host function#0 at capture_wait\+0x[0-9a-f]+ in hang: launch 3 of graph#0 does not get beyond this host function: 1 of its 4 nodes ended, 2 wait for it'
hangs branch '^fault \[hang\] .*wait_for#0.* launch 3 of graph#0 does not get beyond one of these, such as this kernel: 1 of its 5 nodes ended, 2 wait for it; 1 other waits for no node either: .*'
hangs set "$kernel"
hangs before '^fault \[hang\]: launch 3 of graph#0 does not begin: what was launched before it in its stream, .* has not ended'
hangs whole '^fault \[hang\]: launch 3 of graph#0 does not end; which node is not known \(CUDA cannot copy it\)'

# What takes long, and ends; and what is killed where no graph hangs.
expect attach-hangs-slow 0 '^check replay: 0 findings$' env COLUMNS=10000 "$command" check --attach --timeout=60 -- "$work/hang" slow
! deep || "$command" check --attach --timeout=60 -- sh -c "'$work/hang' slow >'$work/attached'" >"$work/log" 2>&1
says attach-hangs-same cat "$work/attached" <<<"launched 4"
expect attach-hangs-elsewhere 8 'at the time limit no graph hung' \
    "$command" check --attach --timeout=4 -- sh -c "'$work/hang' slow; sleep 100"
deep && grep -q '\[hang\]' "$work/log" && fail attach-hangs-elsewhere "a graph that had ended is said to hang"
# A check that launches in the program's place follows no launch, and acquits no graph.
for what in orders poison; do
    expect attach-hangs-$what 8 "launches are not followed with --what=$what: leave it out to see which graph hangs" \
        "$command" check --attach --what=$what --timeout=2 -- "$work/hang" branch
    deep && grep -q 'no graph hung' "$work/log" && fail attach-hangs-$what "a graph that hangs is acquitted"
done

expect attach-hangs-late 8 'at the time limit no graph hung' check late
deep && grep -q '\[hang\]' "$work/log" && fail attach-hangs-late "a launch that waits since half a second is said to hang"

# step runs the nodes alone, and names the one that it waits for.
step() { COLUMNS=10000 "$command" step --attach --timeout=3 -- "$work/hang" "$1"; }
alone='graph#0 runs node by node, and does not get beyond this'
expect attach-hangs-step 8 "^fault \\[hang\\] wait_for#0 at launch_wait\\+0x[0-9a-f]+ in hang: $alone kernel, which runs alone; there was no progress" \
    step kernel
expect attach-hangs-step-host 8 "^fault \\[hang\\] host function#0 at capture_wait\\+0x[0-9a-f]+ in hang: $alone host function" step host
expect attach-hangs-step-slow 0 '^step: 0 findings$' env COLUMNS=10000 "$command" step --attach --timeout=60 -- "$work/hang" slow

# Without --timeout nothing is followed, and a value that is none is refused.
expect attach-hangs-off 0 '' "$command" check --attach -- sh -c "'$work/hang' slow && test -z \"\$BG_HANG\""
expect attach-hangs-on 0 '' "$command" check --attach --timeout=60 -- sh -c "'$work/hang' slow && test \"\$BG_HANG\" = 1"
expect attach-hangs-value 5 "BG_HANG.*the program runs without tools" \
    "$command" report --attach -- sh -c "BG_HANG=2 '$work/hang' slow; exit 1"
exit $bad
