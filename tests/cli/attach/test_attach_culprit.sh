#!/bin/bash
# What broke a capture of an unmodified program, and what was launched beside one: the call, its place, the rule.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip attach-culprit "it is tried over the host device"
    exit 0
fi
found=$(tools/find_cuda host "${CUDA_HOME:-}")
cuda=${found%%|*}
in_depth=attach-hang # it waits for an alarm
for program in culprit culprit_race leak; do
    if ! "$CC" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -isystem "$cuda/include" tests/cli/attach/*/"$program.c" -rdynamic "-L$OUT" \
        -lhostcuda -pthread "-Wl,-rpath,$PWD/$OUT" -o "$work/$program" 2>"$work/log"; then
        fail attach-culprit "tests/cli/attach/$program.c does not build"
        exit 1
    fi
done
check() { COLUMNS=10000 "$OUT/breakgraph" check --attach -- "$work/$program" "$@"; }

# broken NAME PATTERN CASE...: that is the only finding.
broken()
{
    local name=$1 pattern=$2
    shift 2
    expect "attach-$name" 1 "^fault \\[capture-broken\\] $pattern" check "$@"
    grep -q '^check replay: 1 finding$' "$work/log" || fail "attach-$name" "it is not the only finding"
}

# legal NAME CASE...: no finding; the program instantiates no graph.
legal()
{
    local name=$1
    shift
    expect "attach-$name" 5 'captures no graph in this run' check "$@"
    ! grep -q -e capture-broken -e leak "$work/log" || fail "attach-$name" "a finding"
}

program=culprit
unsupported='returned cudaErrorStreamCaptureUnsupported and invalidated the capture of stream 0x[0-9a-f]+ that began at main\+0x[0-9a-f]+ in culprit in mode'
capturing='the capturing thread, [0-9]+ \(culprit\), made the call$'
other='thread [0-9]+ \(worker\) made the call, not the capturing thread, [0-9]+ \(culprit\)$'
here='at misuse\+0x[0-9a-f]+ in culprit:'
broken malloc "cudaMalloc $here cuMemAlloc_v2 \\(cudaMalloc\\) $unsupported global: a thread that captures may not make this call; $capturing" malloc
broken malloc-local "cudaMalloc $here cuMemAlloc_v2 .* in mode thread-local: a thread that captures may not" malloc local
broken malloc-thread "cudaMalloc $here cuMemAlloc_v2 .* in mode global: while a capture in mode global is open, no thread .*$other" malloc global thread
broken malloc-driver "cuMemAlloc $here cuMemAlloc_v2 \\(cudaMalloc\\) $unsupported global" malloc-driver # the program's own word for it
legal malloc-relaxed malloc relaxed
legal malloc-thread-local malloc local thread
legal malloc-nowhere nowhere # it fails, and harms nobody
broken query "cudaStreamQuery $here cuStreamQuery .* in mode relaxed: a capturing stream cannot be queried .*$capturing" query relaxed
broken query-thread "cudaStreamQuery $here cuStreamQuery .* in mode local: a capturing stream|cudaStreamQuery $here cuStreamQuery .*a capturing stream.*$other" query local thread
broken device "cudaDeviceSynchronize $here cuCtxSynchronize \\(cudaDeviceSynchronize\\) .* in mode relaxed: no thread may wait for a device .*$other" device relaxed thread
broken no-event "cudaStreamWaitEvent $here cuStreamWaitEvent .* returned cudaErrorInvalidResourceHandle and invalidated .*: a call that fails can" no-event
broken outside "cudaStreamWaitEvent $here cuStreamWaitEvent .* returned cudaErrorStreamCaptureIsolation .* recorded outside of the capture" outside
broken host "cudaEventSynchronize $here cuEventSynchronize .* returned cudaErrorCapturedEvent .* relaxed: an event that was recorded in a capture" host relaxed
broken legacy "cudaMemcpyAsync $here cuMemcpyDtoDAsync_v2 .* returned cudaErrorStreamCaptureImplicit .* the legacy default stream" legacy
broken default "cudaStreamBeginCapture $here cuStreamBeginCapture_v2 .* returned cudaErrorStreamCaptureUnsupported: the legacy default stream \\(stream 0\\) cannot capture" default
broken again "cudaStreamBeginCapture $here cuStreamBeginCapture_v2 .* returned cudaErrorIllegalState: this stream is capturing already, as part of the capture" again
broken unjoined "memset#1 $here the work launched here into stream 0x[0-9a-f]+ is not joined at the end of the capture .*cuStreamEndCapture .* \
returned cudaErrorStreamCaptureUnjoined at main" fork
legal joined fork-join
broken end-fork "cudaStreamEndCapture $here cuStreamEndCapture .* returned cudaErrorStreamCaptureUnmatched .* on the stream on which it began" fork-end
broken end-thread "cudaStreamEndCapture $here cuStreamEndCapture .* returned cudaErrorStreamCaptureWrongThread .* by the thread that began it; $other" end global thread
legal end-thread-relaxed end relaxed thread
legal destroyed destroy
# Of two captures, the inner one is broken; the program ends the other well.
broken nested "cudaStreamQuery $here cuStreamQuery .* that began at misuse\\+0x[0-9a-f]+ in culprit in mode relaxed" nest
says attach-nested-end grep -c 'end cudaSuccess' <<<1 <("$work/culprit" nest)

# A question that says "not yet", about a stream that does not capture.
legal not-ready query-b relaxed
grep -q '^  query cudaErrorNotReady$' "$work/log" || fail attach-not-ready "the stream has no work"

# A node behind one of another graph.
for way in other data; do
    call=cudaGraphAddEmptyNode
    [ $way = other ] || call=cudaGraphAddNode
    expect "attach-nodes-$way" 1 "^fault \\[other-graph\\] $call at add_nodes\\+.*: $call returned cudaErrorInvalidValue and added no node: \
dependency 0 is a node of another graph, made at add_nodes\\+" check "nodes-$way"
    grep -q '^check replay: 1 finding$' "$work/log" || fail "attach-nodes-$way" "it is not the only finding"
done
legal nodes-same nodes-same

# A program that ends in its capture, long after it has launched something there; or at once.
expect attach-hang 1 '^warning \[capture-not-ended\] .*at main\+0x[0-9a-f]+ in culprit: the program ended inside the capture that began at main' \
    check hang
expect attach-exit 5 'status 3 before it had an executable graph' check exit
! grep -q capture-not-ended "$work/log" || fail attach-exit "a finding"

# A program that fails because of it ends with the finding, too.
expect attach-then-fails 1 '^fault \[capture-broken\] cudaMalloc at ' "$OUT/breakgraph" check --attach -- sh -c "'$work/culprit' malloc; exit 3"

# Calls of other threads that fail meanwhile are not blamed.
program=culprit_race
broken race 'cudaMalloc at main\+0x[0-9a-f]+ in culprit_race: cuMemAlloc_v2 .* cudaErrorStreamCaptureUnsupported'

# The program's results stay as they are.
for way in malloc query fork fork-join nest; do
    "$OUT/breakgraph" check --attach -- sh -c "'$work/culprit' $way >'$work/attached'" >"$work/log" 2>&1
    says "attach-same-$way" cat "$work/attached" <<<"$("$work/culprit" "$way")"
done

program=leak
leaks()
{
    expect "attach-leak-$1" 1 "$2" check "$1"
    grep -q '^check replay: 1 finding$' "$work/log" || fail "attach-leak-$1" "it is not the only finding"
}
leaks memset '^warning \[leak\] cuMemsetD8Async at work\+0x[0-9a-f]+ in leak: cuMemsetD8Async goes into stream 0x[0-9a-f]+, .* captures stream 0x[0-9a-f]+ \(begun at main'
leaks copy '^warning \[leak\] cuMemcpyDtoH_v2 at work\+0x'
for innocent in none relaxed fork 'memset thread' 'copy thread' 'memset relaxed' 'copy relaxed'; do
    # shellcheck disable=SC2086
    expect "attach-leak-${innocent/ /-}" 0 '^check replay: 0 findings$' check $innocent
done

# Kernels whose module is gone.
for kind in module library; do
    set --
    [ "$kind" = module ] || set -- -DLIBRARIES
    if ! "$CC" -std=c11 -Wall -Wextra -Werror -fPIC -shared -isystem "$cuda/include" "$@" tests/cli/attach/programs/modules.c "-L$OUT" \
        -Wl,--no-as-needed -lhostcuda "-Wl,-rpath,$PWD/$OUT" -o "$work/$kind.so" 2>"$work/log" ||
        ! "$OUT/hostcuda-cc" -ccbin "$CXX" -Wall -Wextra -Werror -Iinclude tests/cli/attach/programs/unloaded.cu -rdynamic -ldl \
            -o "$work/kernels" 2>"$work/log"; then
        fail "attach-unloaded-$kind" "tests/cli/attach does not build"
        continue
    fi
    modules() { COLUMNS=10000 "$OUT/breakgraph" check --attach -- env "BG_ATTACH_DRIVER=$work/$kind.so" "$work/kernels" "$1"; }
    expect "attach-unloaded-$kind" 1 "^fault \\[unloaded\\] used#0 at .*: the graph launches used, whose $kind was unloaded after \
the graph was made, at unload\\+0x" modules "used-$kind"
    grep -q '^check replay: 1 finding$' "$work/log" || fail "attach-unloaded-$kind" "it is not the only finding"
    for innocent in none other twice set; do
        expect "attach-unloaded-$kind-$innocent" 0 '^check replay: 0 findings$' modules "$innocent-$kind"
    done
done

program=kernels
leaks leak '^warning \[leak\] other at .*: other goes into the default stream, which does not capture, '
expect attach-leak-kernels 0 '^check replay: 0 findings$' check none

# A program that fails before it has a graph.
expect attach-failed-before 5 "leak' ended with status 1 before it had an executable graph" \
    env HOSTCUDA_FAIL=cudaGraphInstantiate@1=cudaErrorMemoryAllocation "$OUT/breakgraph" check --attach -- "$work/leak" none
exit $bad
