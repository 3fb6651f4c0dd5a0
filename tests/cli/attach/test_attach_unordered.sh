#!/bin/bash
# breakgraph check --attach: work around a graph that uses its memory, and that nothing orders ("unordered"); staging memory that
# is written too early ("host-source-changed"). What is ordered, or cannot be judged, is silent.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-unordered "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
if ! build_cuda unordered; then
    fail attach-unordered "tests/cli/attach does not build"
    exit $bad
fi
breakgraph=$PWD/$OUT/breakgraph
check() { (cd "$work" && "$breakgraph" check --attach "$@"); }

at='\[unordered\] scale#0 at forward\(CUstream_st\*\)\+.* in unordered: scale#0 of graph#0 \(launched into stream 0x[0-9a-f]+\) and'
squeeze() { check "$@" 2>&1 | tr -s '\n ' ' '; return "${PIPESTATUS[0]}"; }
# finds WHAT PATTERN: one finding, with the node, its place, the other work, its place and what each does.
finds()
{
    expect "attach-unordered-$1" 1 "$at $2" squeeze -- ./unordered "$1"
    grep -Eq 'check replay: 1 finding' "$work/log" || fail "attach-unordered-$1" "not one finding"
}
finds written-before 'fill \(launched before it at written_before\(\)\+.* in unordered into stream 0x[0-9a-f]+\) use the same memory, and nothing orders them: scale#0 reads 0x[0-9a-f]+, which fill writes'
finds read-after 'scale \(launched after it at read_after\(\)\+.*\) use the same memory, and nothing orders them: scale#0 writes 0x[0-9a-f]+, which scale reads'
finds overwritten 'memcpy \(launched after it at overwritten\(\)\+.*\) use the same memory, and nothing orders them: scale#0 reads 0x[0-9a-f]+, which memcpy writes'
finds cleared 'memset \(launched after it at cleared\(\)\+.* into the default stream\) use the same memory, and nothing orders them: scale#0 writes 0x[0-9a-f]+, which memset writes'
finds event-too-early 'fill \(launched before it .*\) use the same memory, and nothing orders them: scale#0 reads 0x[0-9a-f]+, which fill writes'
finds other-event 'fill \(launched before it .*\) use the same memory, and nothing orders them: scale#0 reads 0x[0-9a-f]+, which fill writes'
finds rows 'memcpy \(launched after it at rows\(\)\+.*\) use the same memory, and nothing orders them: scale#0 reads 0x[0-9a-f]+, which memcpy writes'
finds read-back 'memcpy \(launched after it at read_back\(\)\+.*\) use the same memory, and nothing orders them: scale#0 writes 0x[0-9a-f]+, which memcpy reads'
finds in-the-middle 'memset \(launched after it at in_the_middle\(\)\+.*\) use the same memory, and nothing orders them: scale#0 writes 0x[0-9a-f]+, which memset writes'
finds slices 'memcpy \(launched after it at slices\(\)\+.*\) use the same memory, and nothing orders them: scale#0 reads 0x[0-9a-f]+, which memcpy writes'
finds new-event 'fill \(launched before it at new_event\(\)\+.*\) use the same memory, and nothing orders them: scale#0 reads 0x[0-9a-f]+, which fill writes'
expect attach-unordered-two-graphs 1 'scale#0 of graph#1 .* and scale#0 of graph#0 \(launched before it at forward.* nothing orders them' squeeze -- ./unordered two-graphs

for what in one-stream events through-a-third stream-waited event-waited event-polled legacy copied-and-waited only-read other-memory \
    itself host-function allocated-anew event-node unknown-pointers refilled-waited not-refilled callback-tells node-tells node-waits node-asks \
    kernel-sets node-sets function-asks parameters-set updated columns other-slot read-by-struct streams-made bounced; do
    expect "attach-ordered-$what" 0 '^check replay: 0 findings$' check -- ./unordered $what
done

expect attach-host-source-changed 1 '\[host-source-changed\] memcpy#0 at copy_in\(CUstream_st\*\)\+.*: memcpy#0 of graph#[01] copies 1024 bytes from host memory' squeeze -- ./unordered refilled
if command -v python3 >/dev/null; then
    check --json -- ./unordered written-before >"$work/json" 2>"$work/log"
    if python3 - "$work/json" <<'END' 2>"$work/log"; then pass attach-unordered-json; else fail attach-unordered-json "not what is there"; fi
import json, sys
finding, = [f for r in json.load(open(sys.argv[1]))["reports"] for f in r["findings"]]
assert finding["kind"] == "unordered" and finding["severity"] == "warning" and finding["call"] == "scale#0", finding
assert finding["file"].startswith("forward("), finding
END
else
    skip attach-unordered-json "there is no python3"
fi
# No launcher: what launches graphs in the program's place orders them itself.
expect attach-unordered-orders 0 '^check orders: 0 findings$' check --what=orders -- ./unordered written-before
expect attach-unordered-not-run-alone 14 'not looked at: orders of graph#0: it has a kernel with a pointer to volatile or atomic memory' \
    check --what=orders -- ./unordered node-waits
exit $bad
