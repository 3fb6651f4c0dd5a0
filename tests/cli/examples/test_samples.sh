#!/bin/bash
# The samples, of CUDA's own calls (examples/graphs), of the runner, of C++ and of the checks: the same text on both devices.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for sample in fork-join memory-nodes update runner two-batch-overlap draft-and-target image-embeddings adapters \
        recurrent-state pipeline-stage lambdas wrap; do skip $sample "there is no GPU"; done
    exit 0
fi

# prints NAME PROGRAM: it succeeds and prints exactly what stands on this script's standard input.
prints()
{
    local status
    cat >"$work/expected"
    "$OUT/examples/$2" >"$work/found" 2>"$work/log"
    status=$?
    if [ $status -ne 0 ]; then
        fail "$1" "exit status $status"
    elif ! diff "$work/expected" "$work/found" >>"$work/log"; then
        fail "$1" "its output differs"
    elif [ -s "$work/log" ]; then
        fail "$1" "it complains"
    else
        pass "$1"
    fi
}

prints fork-join graphs/fork_join <<'TEXT'
6 nodes, 2 of them at the start, 5 edges
launch 1: 2 14 26 38
launch 2: 4 26 48 70
launch 3: 6 38 70 102
TEXT

prints memory-nodes graphs/memory_nodes <<'TEXT'
by hand, launch 1: 1 1 1 1
by hand, launch 2: 1 1 1 1
captured: 8 nodes, 2 allocate, 2 free
captured, launch 1: 35 35 35 35
captured, launch 2: 35 35 35 35
TEXT

prints update graphs/update <<'TEXT'
pass 0: 1 (instantiated)
pass 1: 2 (updated)
pass 2: 3 (updated)
pass 3: 8 (another shape, instantiated again)
pass 4: 10 (updated)
TEXT
prints runner runner/batches <<'TEXT'
 1 rows, by a graph: 100.0 %
 3 rows, by a graph: 16.7 33.3 50.0 %
 8 rows, by a graph: 2.8 5.6 8.3 11.1 ... %
11 rows, eagerly, since 11 tokens are more than the largest bucket has; raise config.max_tokens, or add larger sizes to config.schedule: 1.5 3.0 4.5 6.1 ... %
captures: 3 (recaptures of a bucket: 0); graphs: 3, segments: 6
replays: 3 piecewise, 0 full; padding rows: 2
eager runs: 0 mode_none, 1 too_large, 0 padding, 0 veto, 0 capture_failed, 0 not_captured, 0 unsupported
TEXT
# Sizes that the example did not think of.
expect runner-larger 0 '^captures: 2 ' env BG_RUNNER_SCHEDULE=1,8192 BG_RUNNER_MAX_TOKENS=8192 "$OUT/examples/runner/batches"
prints two-batch-overlap runner/two_batch_overlap <<'TEXT'
 1 rows, 1 and 0: as in one batch
 2 rows, 1 and 1: as in one batch
 7 rows, 4 and 3: as in one batch
16 rows, 8 and 8: as in one batch
TEXT
prints draft-and-target runner/draft_and_target <<'TEXT'
1 10 9 2 17 26 25 18 1 10 9 2 17 26 25 18 1 10 9 2 17 26 25 18
23 tokens in 9 passes of the target
TEXT
prints image-embeddings runner/image_embeddings <<'TEXT'
text alone: 10 20 30
with an image: 40 5 2.5 50 60
text alone: 10 20 30
TEXT
prints adapters runner/adapters <<'TEXT'
with adapters: 2.5 4 6.25 8.5 10.25
without: 2 4 6
with adapters: 2.5 4 6.75 8.5 10.75
TEXT
prints recurrent-state runner/recurrent_state <<'TEXT'
3 requests, padded to 4: 1 has 1, 2 has 2, 3 has 3
2 requests, padded to 4: 3 has 6, 1 has 2
4 requests, padded to 4: 4 has 4, 3 has 9, 2 has 4, 1 has 3
2 requests, padded to 4: 2 has 2, 4 has 8
TEXT
prints pipeline-stage runner/pipeline_stage <<'TEXT'
3 rows: 0 60 120
8 rows: 60 120 180 240 300 360 420 480
1 rows: 120
4 rows: 180 240 300 360
6 rows: 240 300 360 420 480 540
TEXT
prints lambdas lambdas <<TEXT
10 20 30
op scale, call scale#0 at examples/lambdas.cpp:$(grep -n 'bg::eager' examples/lambdas.cpp | cut -d: -f1): the body failed: a row is negative; catch the exception there to go on
40 50 60
TEXT
prints wrap wrap <<'TEXT'
step: 1 finding
  [stack-copy] each replay reads 16 bytes on a thread's stack
  copy from and to pinned memory (cudaMallocHost) that lives as long as the graph
step, fixed: 0 findings
TEXT

exit $bad
