#!/bin/bash
# check --attach --what=orders: the two nodes that lack an order, and nothing in a graph that has it.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh
breakgraph=$PWD/$OUT/breakgraph

if [ "$DEVICE" = cuda ]; then
    skip attach-orders "tests/attach runs such programs on a GPU"
    exit 0
fi
if ! build_program orders; then
    fail attach-orders "tests/cli/attach/reruns/orders.c does not build"
    exit $bad
fi
orders() { "$breakgraph" check --attach --what=orders "$@"; }

# A program with the pair, and its twin with the wait; what both print is what they print by themselves.
pair()
{
    local case=$1 finding=$2
    expect "attach-orders-$case" 1 "warning \[race\] $finding" orders -- "$work/orders" "$case"
    expect "attach-orders-$case-correct" 0 '^check orders: 0 findings$' orders -- "$work/orders" "$case" correct
    "$work/orders" "$case" >"$work/plain"
    says "attach-orders-$case-output" env LD_PRELOAD="$PWD/$OUT/attach/libbreakgraph_attach.so" BG_CHECK=orders \
        BG_ATTACH_DRIVER="$PWD/$OUT/libhostcuda.so" BG_ATTACH_TOOLS="$PWD/$OUT/attach/libbreakgraph_tools.so" \
        HOSTCUDA_THROUGH_DRIVER=1 bash -c "'$work/orders' $case 2>/dev/null" <"$work/plain"
}
reads='which one runs first: add#0 writes, and add#1 may read, 4096 bytes, the first at .*, kernel parameter 0 of add#0, kernel parameter 1 of add#1 '
pair read "add#1 at read_b.* add#1 and add#0 at write_b.* have no order in the graph.*$reads"
pair write 'memset#0 at clear_b.* memset#0 and add#0 at write_b.* both write 4096 bytes'
pair copy 'memcpy#0 at copy_b.* memcpy#0 and add#0 at write_b.* memcpy#0 may read, 4096 bytes'
pair child 'child graph#0 at add_child.* kernel add in child graph#0, node 1 and kernel add in child graph#0, node 0 '
# One node of each branch among two hundred.
pair chains 'add#201 at read_b.* add#201 and add#100 at write_b.*kernel parameter 0 of add#100, kernel parameter 1 of add#201'

# Sums in two orders differ by rounding, and are nobody's fault.
expect attach-orders-sums 0 'note \[race\] add#1 at add_to_b.* depends on which one runs first, by rounding alone, which is right if' orders -- "$work/orders" sums

# Where there is no copy of all memory, the first launch tells what is written; of that there has to be one.
expect attach-orders-learned 1 'warning \[race\] add#1 at read_b' orders --snapshot-limit=7 -- "$work/orders" large
expect attach-orders-limit 14 'not looked at: orders of graph#0: a copy of what it writes does not fit .*--snapshot-limit' \
    orders --snapshot-limit=1 -- "$work/orders" large
expect attach-orders-memory-nodes 14 'not looked at: orders of graph#0: it has memory nodes' orders -- "$work/orders" memory-nodes
# A rerun would disturb the capture.
for kind in orders poison shadow probe; do
    case $kind in
    shadow) command="run --attach --shadow --strict" ;;
    probe) command="run --attach --probe=*" ;;
    *) command="check --attach --what=$kind" ;;
    esac
    expect "attach-$kind-beside-capture" "$([ $kind = probe ] && echo 0 || echo 14)" "not looked at: $kind of graph#0: whenever it was launched, a stream was captured" \
        "$breakgraph" $command -- "$work/orders" beside-capture
done
expect attach-orders-looked 0 '^looked at: 1 graph, 2 nodes \(orders\)$' orders -- "$work/orders" read correct
# The branches' own orders find what two hundred seeds do not; without them nothing does.
few='not looked at: orders of graph#0: it has 2 branches, and 1 of them were tried in another order \(--orders=3 tries all\)'
expect attach-orders-few 14 "$few" orders --orders=2 -- "$work/orders" chains

expect attach-orders-unused 2 '^breakgraph check: --orders needs --attach and --what=orders' "$breakgraph" check --attach --orders=3 -- "$work/orders"
expect attach-limit-unused 2 '^breakgraph check: --snapshot-limit needs --attach' "$breakgraph" check --snapshot-limit=3 -- "$work/orders"
expect attach-orders-needs-attach 2 'what=orders needs --attach' "$breakgraph" check --what=orders -- "$work/orders"
expect attach-orders-range 2 "'--orders=-1': allowed are whole numbers from 0 to 1000" orders --orders=-1 -- "$work/orders"
expect attach-orders-both 1 'check replay, orders: 1 finding' orders --what=replay -- "$work/orders" read
exit $bad
