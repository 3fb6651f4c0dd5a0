#!/bin/bash
# HOSTCUDA_THROUGH_DRIVER: programs whose runtime calls go through a library in front of the driver do what they do without,
# and the library sees the calls.
# needs: shared-programs tests/cli/command/ranges
# needs-all: plain-programs
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip through-driver "a GPU's runtime always calls the driver"
    exit 0
fi
# An address is another one in each process.
same_text() { sed -E 's/0x[0-9a-f]+/ADDRESS/g' "$1"; }

# build_forward NAMES FILE: the library that counts these names.
build_forward()
{
    awk 'NR == 1 { printf "#define NAMES" } { printf " NAME(%d, %s)", NR - 1, $1 } END { print "" }' "$1" >"$work/names.h"
    "$CC" -std=gnu11 -O1 -Wall -Wextra -Werror -shared -fPIC -include "$work/names.h" tests/cli/hostcuda/through/forward.c \
        -Wl,-soname,libcuda.so.1 -o "$2" -ldl 2>"$work/log"
}

found=$(tools/find_cuda host "${CUDA_HOME:-}")
nm -D --defined-only "$OUT/libhostcuda.so" | awk '$2 == "T" && $3 ~ /^cu[A-Z]/ { print $3 }' >"$work/names"
grep -vx cuGraphLaunch "$work/names" >"$work/fewer"
if ! build_forward "$work/names" "$work/libcuda.so.1" || ! build_forward "$work/fewer" "$work/lacking.so" ||
    ! "$CC" -std=gnu11 -Wall -Wextra -Werror -isystem "${found%%|*}/include" tests/cli/hostcuda/through/program.c -o "$work/program" \
        -L"$OUT" -lhostcuda -Wl,-rpath,"$PWD/$OUT" -ldl 2>"$work/log"; then
    fail through-driver "tests/cli/through does not build"
    exit $bad
fi

forward=$work/libcuda.so.1
# through PROGRAM...: what the library counts is then in $work/counts.
through()
{
    rm -f "$work/counts"
    env HOSTCUDA_THROUGH_DRIVER=1 FORWARD_TO="${forward_to:-$PWD/$OUT/libhostcuda.so}" FORWARD_COUNTS="$work/counts" \
        LD_PRELOAD="$forward" "$@"
}
# counted PATTERN: what was counted of the names that match.
counted() { grep -E " ($1)\$" "$work/counts" | sort -k 2; }

plain='launched: cudaSuccess
byte: 7
pitch: cudaErrorInvalidPitchValue
last: cudaErrorInvalidPitchValue'
says direct "$work/program" <<<"$plain"
says through through "$work/program" <<<"$plain"
says counted counted 'cuInit|cuMem(Alloc|Free)_v2|cuStream(Begin|End)Capture.*|cuGraph(Instantiate.*|Launch)|cuMemset.*' <<'END'
1 cuGraphInstantiateWithFlags
5 cuGraphLaunch
1 cuInit
3 cuMemAlloc_v2
3 cuMemFree_v2
1 cuMemsetD8Async
1 cuStreamBeginCapture_v2
1 cuStreamEndCapture
END

# What the library does for itself is no error of the program's.
FORWARD_MEDDLE=1 says meddling through "$work/program" <<<"$plain"
says meddled counted 'cuMemFree_v2' <<<'8 cuMemFree_v2'
says both-doors through "$work/program" doors <<<"$plain
stream: the same, allocation: the same"
# What the host device's own functions call by name is its own.
says not-interposed counted 'cuMemset.*' <<'END'
1 cuMemsetD8Async
1 cuMemsetD8_v2_ptds
END
env FORWARD_TO="$PWD/$OUT/libhostcuda.so" FORWARD_COUNTS="$work/counts" LD_PRELOAD="$forward" "$work/program" >"$work/log"
if [ -f "$work/counts" ] && [ ! -s "$work/counts" ]; then
    pass not-asked-for
else
    cp "$work/counts" "$work/log"
    fail not-asked-for "without the variable calls go through the library"
fi

# A fault has the name of the program's call, and happens once.
expect fault 1 '^cudaStreamEndCapture.*: cudaErrorNotPermitted$' \
    through env HOSTCUDA_FAIL=cudaStreamEndCapture@1=cudaErrorNotPermitted "$work/program"
expect any-fault 1 '^cudaMalloc.*: cudaErrorNotPermitted$' \
    through env 'HOSTCUDA_FAIL=*@3=cudaErrorNotPermitted' "$work/program"

# ---- whole programs, with and without ---------------------------------------------------------------------------------

# compare NAME COUNTED PROGRAM...: the same status and output; COUNTED are names that the library has counted.
compare()
{
    local name=$1 counted=$2 status seed
    ! is_left_out "$name" || return 0
    shift 2
    for seed in $(sized 7 '0 7'); do
        HOSTCUDA_SEED=$seed "$@" >"$work/direct" 2>&1 </dev/null
        status=$?
        HOSTCUDA_SEED=$seed through "$@" >"$work/found" 2>&1 </dev/null
        if [ $? -ne $status ]; then
            cp "$work/found" "$work/log"
            fail "$name" "seed $seed: another exit status than $status"
            return
        fi
        if ! diff <(same_text "$work/direct") <(same_text "$work/found") >"$work/log"; then
            fail "$name" "seed $seed: it prints something else"
            return
        fi
    done
    cp "$work/counts" "$work/log"
    for counted in $counted; do
        grep -q " $counted\$" "$work/counts" || { fail "$name" "no call of $counted was counted"; return; }
    done
    pass "$name"
}
shared=$OUT/shared
in_depth='capture-rules|faults|program-.*' # seconds each
compare capture-rules 'cuStreamBeginCapture_v2 cuStreamWaitEvent cuEventRecord cuLaunchKernel cuLaunchKernelEx' \
    "$shared/tests/conformance/test_capture_rules"
compare runtime 'cuMemHostAlloc cuMemAllocAsync cuMemcpy2D_v2' "$shared/tests/conformance/test_runtime"
compare graphs 'cuGraphAddKernelNode_v2 cuGraphExecMemcpyNodeSetParams' "$shared/tests/conformance/test_graphs"
compare threads 'cuEventSynchronize' "$shared/tests/conformance/test_threads"
compare cublas 'cuLaunchKernel' "$shared/tests/conformance/test_cublas"
compare entries 'cuGetProcAddress_v2 cuMemFreeAsync' "$shared/tests/unit/hostcuda/driver/test_hostcuda_entries"
compare faults 'cuMemAlloc_v2' "$shared/tests/unit/hostcuda/runtime/test_hostcuda_faults"
compare pitched 'cuMemAllocPitch_v2 cuMemsetD2D8_v2 cuMemsetD2D8Async' "$shared/tests/unit/hostcuda/memory/test_pitched_memory"
compare pools 'cuMemPoolCreate cuMemAllocFromPoolAsync cuDeviceGetGraphMemAttribute' "$shared/tests/unit/hostcuda/memory/test_memory_pools"
compare symbols 'cuMemcpy2D_v2 cuMemcpy2DAsync_v2 cuGraphExecMemcpyNodeSetParams' "$shared/tests/unit/hostcuda/memory/test_symbols"
compare attributes 'cuFuncSetAttribute cuGraphKernelNodeSetAttribute' "$shared/tests/unit/hostcuda/kernel/test_attributes"
compare occupancy 'cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags' "$shared/tests/unit/hostcuda/kernel/test_occupancy"
compare peers 'cuCtxEnablePeerAccess cuMemcpyPeerAsync' "$shared/tests/unit/hostcuda/runtime/test_peers"
compare reset 'cuDevicePrimaryCtxReset_v2' "$shared/tests/unit/hostcuda/runtime/test_device_reset"
compare quickstart 'cuMemAlloc_v2 cuGraphInstantiateWithFlags cuGraphLaunch cuLaunchKernelEx' "$OUT/examples/quickstart"
compare missing-join 'cuMemAlloc_v2 cuLaunchKernelEx' "$OUT/examples/hostcuda/missing_join"
for source in tests/programs/*.cu; do
    program=$(basename "$source" .cu)
    compare "program-$program" '' "$OUT/tests/programs/$program"
done

# ---- libraries that are none of this host device -----------------------------------------------------------------------

# refuses NAME WHY COMMAND...: the first call fails, and a line says why.
refuses()
{
    local name=$1 why=$2
    shift 2
    expect "$name" 1 "^hostcuda: HOSTCUDA_THROUGH_DRIVER=1: libcuda\.so\.1 $why; link the program" "$@"
    if [ "$(grep -c ^hostcuda: "$work/log")" -ne 1 ] ||
        ! grep -q '^cudaStreamCreate.*: cudaErrorInsufficientDriver$' "$work/log"; then
        fail "$name" "it says so more than once, or the call does not fail"
    fi
}
refuses no-library '(cannot be opened|lacks .*|fails in cuInit|calls a host device other .*)' \
    env HOSTCUDA_THROUGH_DRIVER=1 "$work/program"
cp "$OUT/libhostcuda.so" "$work/other.so"
forward_to=$work/other.so refuses another-copy 'calls a host device other than the program.s own, .*libhostcuda.so.*' through "$work/program"
forward=$work/lacking.so refuses lacking 'lacks cuGraphLaunch' through "$work/program"
expect static 1 "calls a host device other" through "$OUT/tests/cli/command/ranges"
expect bad-value 1 'hostcuda: HOSTCUDA_THROUGH_DRIVER is "2"; allowed are 0 and 1' \
    env HOSTCUDA_THROUGH_DRIVER=2 "$work/program"
exit $bad
