#!/bin/bash
# run --attach --shadow and --probe: what a launch leaves in memory, beside its nodes one after the other, and within it.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh
breakgraph=$PWD/$OUT/breakgraph

if [ "$DEVICE" = cuda ]; then
    skip attach-beside "tests/attach runs such programs on a GPU"
    exit 0
fi
if ! build_program orders || ! build_program stepped || ! build_program beside; then
    fail attach-beside "tests/cli/attach does not build"
    exit $bad
fi
run() { HOSTCUDA_SEED=1 "$breakgraph" run --attach "$@"; } # the seed runs the second branch first

origin='warning \[mismatch-origin\] add#1 at read_b.* add#1 left other bytes in a launch of the graph'
expect attach-shadow 0 "$origin" run --shadow -- "$work/orders" read
expect attach-shadow-values 0 '\(110.0\) in the graph, 0x42de0000 \(111.0\) alone' run --shadow -- "$work/orders" read
expect attach-shadow-strict 1 "$origin" run --shadow --strict -- "$work/orders" read
expect attach-shadow-limits 0 'what was frozen at capture is not seen' run --shadow -- "$work/orders" read correct
expect attach-shadow-looked 0 'looked at: 1 graph, 2 nodes \(shadow\)' run --shadow --strict -- "$work/orders" read correct
for case in read write copy child chains; do
    run --shadow -- "$work/orders" $case correct >"$work/found" 2>"$work/log"
    if "$work/orders" $case correct | cmp -s - "$work/found" && ! grep -q warning "$work/log"; then
        pass "attach-shadow-$case-correct"
    else
        fail "attach-shadow-$case-correct" "a finding, or other output"
    fi
done
expect attach-shadow-learned 0 "$origin" run --shadow --snapshot-limit=7 -- "$work/orders" large
expect attach-shadow-limit 14 'not looked at: shadow of graph#0: .*--snapshot-limit' \
    run --shadow --strict --snapshot-limit=1 -- "$work/orders" large

expect attach-probe 0 'graph#0/add#0, 0x[0-9a-f]*\+4096: 2 launches, 0 of them with NaN, 0 with infinities; 1 change; last digest' \
    run --probe='*' -- "$work/orders" read correct
expect attach-probe-one 0 'looked at: 1 graph, 2 nodes \(probe\)' run --probe='graph#0/[1]' -- "$work/orders" read correct
differs='warning \[mismatch-origin\] add#1 .* left other bytes in launch 1 of the graph'
HOSTCUDA_SEED=7 expect attach-probe-differs 1 "$differs" "$breakgraph" run --attach --probe='*' --strict -- "$work/orders" read
nan='warning \[nan-seen\] add#0 at main.* add#0 left 1 NaN and 0 infinities of type f32 in the 4096 bytes'
expect attach-probe-nan 1 "$nan" run --probe=add --strict -- "$work/stepped" correct
# Each launch is read, however many there are.
expect attach-probe-many 0 'graph#0/add#0, .*: 600 launches' run --probe='add#0' -- "$work/orders" many correct
expect attach-probe-nobody 14 "'flash_\*' matches no node" run --probe='flash_*' --strict -- "$work/orders" read correct
expect attach-probe-memory-nodes 14 'not looked at: probe of graph#0: it has memory nodes' \
    run --probe='*' --strict -- "$work/orders" memory-nodes

# Correct programs whose memory a host function, another node, another thread or the host uses, too: what they print stays, and
# nothing is found. What cannot be run again is named.
for case in host gap page threads captures neighbours sums updates; do
    "$work/beside" $case >"$work/plain"
    for tool in "check --what=orders" "check --what=poison" "run --shadow" "run --probe=*"; do
        name="attach-beside-$case ${tool#* --}"
        set -f
        # shellcheck disable=SC2086
        HOSTCUDA_SEED=1 "$breakgraph" ${tool%% *} --attach ${tool#* } -- sh -c 'exec "$@" >"$0"' "$work/found" "$work/beside" $case \
            >"$work/log" 2>&1
        set +f
        if cmp -s "$work/plain" "$work/found" && ! grep -Eq '(warning|fault|note) \[' "$work/log"; then
            pass "$name"
        else
            fail "$name" "a finding, or other output"
        fi
    done
done
# Of floats side by side each is looked at alone, and of a memset its bytes.
expect attach-probe-neighbours 0 'copy_rows#1, 0x[0-9a-f]*4\+4: 3 launches, 0 of them with NaN' run --probe='*' -- "$work/beside" neighbours
expect attach-probe-bytes 0 'memset#0, 0x[0-9a-f]*9\+2: 3 launches' run --probe='*' -- "$work/beside" neighbours
expect attach-probe-shared 0 'add#1, .*: 3 launches, NaN not counted \(other nodes may write there\)' \
    run --probe='*' -- "$work/beside" sums
expect attach-probe-shared-one 0 'add#1, .*: 3 launches, NaN not counted \(other nodes may write there\)' \
    run --probe='add#1' -- "$work/beside" sums
# An update changes the graph, not what was seen of it before.
expect attach-probe-updates 0 'add#0, .*: 5 launches, .*; 0 changes; last digest' run --probe='*' -- "$work/beside" updates
expect attach-probe-updates-looked 0 'looked at: 1 graph, 2 nodes \(probe\)' run --probe='*' -- "$work/beside" updates
expect attach-orders-updates-looked 0 'looked at: 1 graph, 2 nodes \(orders\)' \
    "$breakgraph" check --attach --what=orders -- "$work/beside" updates
expect attach-probe-learned 0 'add#1, .*: 1 launch,' run --probe='*' --snapshot-limit=7 -- "$work/orders" large correct
expect attach-probe-child 0 'no node that --probe names was seen to change memory that its parameters point to' \
    run --probe='*' -- "$work/orders" child correct
expect attach-probe-leaves 14 'what the probes have seen is unknown' run --probe='*' --strict -- "$work/beside" leaves
expect attach-beside-host-left 0 'not looked at: shadow of graph#0: it has host functions' run --shadow -- "$work/beside" host
expect attach-beside-page-left 14 'not looked at: orders of graph#0: it copies into pageable host memory' \
    "$breakgraph" check --attach --what=orders -- "$work/beside" page

expect attach-beside-two 2 'with --attach, --probe and --shadow exclude each other' run --shadow --probe='*' -- "$work/orders"
expect attach-shadow-calls 2 'with --attach, --shadow takes no value' run --shadow=calls -- "$work/orders"
expect attach-probe-needs-attach 2 'probe needs --attach' "$breakgraph" run --probe='*' -- "$work/orders"
exit $bad
