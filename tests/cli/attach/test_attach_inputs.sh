#!/bin/bash
# breakgraph check --attach --what=inputs: what graphs read, whether others write it between launches, and results that nothing
# reads.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-inputs "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
if ! build_cuda inputs; then
    fail attach-inputs "tests/cli/attach/reruns/inputs.cu does not build"
    exit $bad
fi
breakgraph=$PWD/$OUT/breakgraph
inputs() { (cd "$work" && "$breakgraph" check --attach --what=inputs -- ./inputs "$@") 2>&1 | tr -s '\n ' ' '; return "${PIPESTATUS[0]}"; }

at='note \[inputs\] multiply#0 at forward\(\)\+[^ ]* in inputs: in 4 launches of graph#0,'
address='0x[0-9a-f]+'
expect attach-inputs-each 0 "$at others write these inputs before each: $address of multiply#0, last written by memset at write_input\(\)\+[^ ]* in inputs check" inputs 4
expect attach-inputs-once 0 "$at others do not write these inputs before each: $address of multiply#0, before 1, last written by memset at load_weight\(\)\+[^ ]* in inputs; $address of multiply#1, before none; .*; and 3 more before each launch, write" inputs 4
expect attach-inputs-carried 0 "\[inputs\] accumulate#0 at .* in 4 launches of graph#0, these are carried from launch to launch: $address of accumulate#0, before none set" inputs 4
expect attach-inputs-unread 0 "\[inputs\] multiply#1 at .*, these results were overwritten, and no read of them was seen before: $address of multiply#1, before 1 copy" inputs 4
expect attach-inputs-count 0 'check inputs: 0 findings; 4 notes looked at: 1 graph, 10 nodes \(inputs\)' inputs 4
expect attach-inputs-other 0 "$at others write these inputs before each: $address of multiply#0, last written by multiply#0 of graph#1 at prepare\(\)" inputs 4 other
expect attach-inputs-one-launch 0 'in 1 launch of graph#0, others write these inputs before each' inputs 1
expect attach-inputs-none 6 'captures, but no replay succeeds' inputs 0
exit $bad
