#!/bin/bash
# Programs whose allocator keeps what is freed: CUDA sees no free, and only the program knows that the memory in its graph
# is another tensor's.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip attach-blocks "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
elif ! command -v python3 >/dev/null; then
    skip attach-blocks "there is no python3"
    exit 0
fi

checked() { LD_LIBRARY_PATH=$PWD/$OUT "$OUT/breakgraph" check --attach -- python3 tests/cli/attach/python/allocator.py "$@"; }
# found MODULE CASE COUNT PATTERN: so many findings, and one is that.
found()
{
    expect "attach-$1-$2" 1 "$4" checked "$1" "$2"
    grep -Eq "^check replay: $3 findings?\$" "$work/log" || fail "attach-$1-$2" "there are not $3 findings"
}
silent() { expect "attach-$1-$2" 0 '^check replay: 0 findings$' checked "$1" "$2"; }

line() { echo ".*/allocator.py:$(grep -n "# $1\$" tests/cli/attach/python/allocator.py | cut -d: -f1)"; }
for module in torch cupy; do
    case $module in
    torch) block="a tensor of 4096 bytes at 0x[0-9a-f]+ that was freed" scratch="a tensor at 0x[0-9a-f]+ that was freed" ;;
    cupy) block="an array of 4096 bytes at 0x[0-9a-f]+ that was freed" scratch=$block ;;
    esac
    launched="memcpy#0 at $(line launched): the node's source is 0x[0-9a-f]+, in"
    given=', and whose memory the allocator has given to another one$'

    silent $module none
    found $module freed 1 "fault \\[freed\\] $launched $block after the capture, at $(line $module-freed)\$"
    silent $module elsewhere
    # Given out again: in the middle of it, and from before it until behind it; but not where it ends before.
    found $module inside 1 "fault \\[reused\\] $launched $block after the capture.*$given"
    found $module covered 1 "fault \\[reused\\] $launched $block after the capture.*$given"
    found $module below 1 "fault \\[freed\\] $launched $block after the capture, at [^ ,]*\$"
    # A graph that no longer uses it, since it was destroyed or has another tensor.
    silent $module destroyed
    silent $module set
    found $module set-freed 1 "fault \\[freed\\] $launched $block after"
    # Freed while the graph was captured; and where the memory was another's when the node was made.
    found $module replaced 1 "fault \\[freed\\] $launched $block during the capture, at $(line $module-freed)\$"
    found $module scratch 1 "fault \\[freed\\] memcpy#0, memcpy#1 at $(line launched): .* $scratch during the capture"
    silent $module before-use
    found $module given-out 1 "fault \\[reused\\] $launched $block during the capture.*$given"
    found $module given-later 1 "fault \\[reused\\] $launched $block during the capture.*$given"
done

# In a pool that graphs have to themselves freed memory is used again: within a graph, and by graphs that are launched
# one after the other. It is a fault where one is launched between those that fill and read what it overwrites.
silent torch private-scratch
silent torch private-input
alias="memcpy#0 at $(line launched): graph#2 has overwritten what graph#1 reads here: a tensor of 4096 bytes at 0x[0-9a-f]+, which \
graph#0 fills; it was freed, at $(line torch-freed), and its memory given to graph#2, whose memcpy#0, at $(line launched) points there"
found torch alias 1 "fault \\[pool-alias\\] $alias"
found torch alias-late 1 "fault \\[pool-alias\\] $alias"
found torch alias-after-failure 2 "fault \\[pool-alias\\] $alias" # the other one is that capture
for innocent in again before kept outside; do
    silent torch alias-$innocent
done
exit $bad
