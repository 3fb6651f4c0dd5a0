#!/bin/bash
# The host device on its own: a CUDA program that knows nothing of breakgraph, against what make install installed.
. "$(dirname "$0")/../lib.sh"
unset HOSTCUDA_SEED HOSTCUDA_MEMORY HOSTCUDA_DEVICES HOSTCUDA_FAIL
right='^sum of the squares of 1 to 1024: 358438400, right$'

if [ "$DEVICE" != host ]; then
    gpu=$("$BUILD/find_gpu" 2>/dev/null) || gpu=
    if [ -n "$gpu" ]; then
        expect sample-on-a-gpu 0 "$right" "$OUT/examples/hostcuda/missing_join" --join
    else
        skip sample-on-a-gpu "there is no GPU"
    fi
    exit $bad
fi

# Every seed from 1 to N ends with exit status 0.
seeds() # name, N, program...
{
    local name=$1 count=$2 seed
    shift 2
    for ((seed = 1; seed <= count; seed++)); do
        HOSTCUDA_SEED=$seed "$@" >"$work/log" 2>&1 && continue
        fail "$name" "HOSTCUDA_SEED=$seed $* fails"
        return
    done
    pass "$name"
}

# One of the seeds finds the mistake, and it finds the same each time.
found_by_a_seed() # name, N, program
{
    local seed round first again
    for ((seed = 1; seed <= $2; seed++)); do
        first=$(HOSTCUDA_SEED=$seed "$3" 2>&1) && continue
        for ((round = 0; round < 10; round++)); do
            again=$(HOSTCUDA_SEED=$seed "$3" 2>&1)
            [ "$first" = "$again" ] || { fail "$1" "HOSTCUDA_SEED=$seed gives '$first', then '$again'"; return; }
        done
        case $first in
        'sum of the squares of 1 to 1024: '*', wrong') pass "$1" ;;
        *) fail "$1" "HOSTCUDA_SEED=$seed gives '$first'" ;;
        esac
        return
    done
    fail "$1" "no seed of $2 finds it"
}

# The commands of docs/hostcuda.md.
prefix=$work/prefix
run_make DEVICE=host install PREFIX="$prefix" >"$work/log" 2>&1 || { fail install "make install"; exit 1; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
flags=$(pkg-config --cflags hostcuda) libs=$(pkg-config --libs hostcuda) shim=$(pkg-config --variable=shim hostcuda)
mkdir "$work/program"
cp examples/hostcuda/* "$work/program"
build() # name, libraries...
{
    local name=$1
    shift
    # shellcheck disable=SC2086
    (cd "$work/program" && $CC -std=c11 -Wall -Wextra -Werror -c missing_join.c $flags &&
        $CXX -std=c++17 -Wall -Wextra -Werror -ffp-contract=off -x c++ -include "$shim" -c squares.cu $flags &&
        $CXX -o "$name" missing_join.o squares.o "$@" "-Wl,-rpath,$prefix/lib") >"$work/log" 2>&1 &&
        pass "build-$name" || fail "build-$name" "does not build"
}
# shellcheck disable=SC2086
build shared $libs
# shellcheck disable=SC2046
build static $(pkg-config --libs --static hostcuda | sed 's/-lhostcuda/-l:libhostcuda.a/')

for name in shared static; do
    program=$work/program/$name
    expect "$name-order-of-issue-hides-it" 0 "$right" "$program"
    found_by_a_seed "$name-found-by-a-seed" 20 "$program"
    seeds "$name-correct-twin" 100 "$program" --join
    for memory in poison fence poison,fence poison,reuse never,fence; do
        expect "$name-$memory" 0 "$right" env HOSTCUDA_MEMORY=$memory "$program" --join
    done
done
expect bad-seed 2 'HOSTCUDA_SEED is "x"; allowed are 0' env HOSTCUDA_SEED=x "$program"
expect bad-memory 2 'HOSTCUDA_MEMORY has the word "x"; allowed are poison' env HOSTCUDA_MEMORY=x "$program"
expect bad-devices 2 'HOSTCUDA_DEVICES is "x"; allowed are 1 to' env HOSTCUDA_DEVICES=x "$program"
expect bad-fault 2 'fault "x" of "x": @N, the number of the call, is missing' env HOSTCUDA_FAIL=x "$program"
expect fault 2 ': cudaMalloc[(].*: out of memory$' env HOSTCUDA_FAIL=cudaMalloc@3=CUDA_ERROR_OUT_OF_MEMORY "$program" --join
expect later-fault 2 'missing_join.c:56: cudaMemcpyAsync[(].*[)]: an illegal memory access was encountered$' \
    env HOSTCUDA_FAIL=cudaMemsetAsync@1~cudaErrorIllegalAddress HOSTCUDA_SEED=2 HOSTCUDA_MEMORY=poison,fence "$program" --join
# What kernels cannot do does not compile, and the compiler says why.
refused() # name, message, statement of a kernel
{
    printf '#include <cooperative_groups.h>\n__global__ void kernel() { cooperative_groups::%s; }\n' "$3" >"$work/program/refused.cu"
    # shellcheck disable=SC2086
    expect "$1" 1 "hostcuda: $2" $CXX -std=c++17 -fsyntax-only -x c++ -include "$shim" "$work/program/refused.cu" $flags
}
refused grid-sync 'a grid cannot wait for all its blocks' 'this_grid().sync()'
refused cluster 'clusters of blocks are not supported' 'this_cluster()'
refused large-tile 'tiles of more than 32 threads are not supported' 'tiled_partition<64>(cooperative_groups::this_thread_block())'
variables=$(grep -rhoE 'getenv\("HOSTCUDA_[A-Z_]*"' hostcuda/src | cut -d'"' -f2 | sort -u)
if [ -n "$variables" ]; then pass variables; else fail variables "the sources read no variable: where are they?"; fi
for variable in $variables; do
    for page in docs/environment.md docs/hostcuda.md; do
        grep -q "$variable" $page && pass "$variable-in-${page##*/}" || fail "$variable-in-${page##*/}" "it is missing"
    done
done
if ldd "$work/program/shared" | grep -q breakgraph; then fail alone "it needs breakgraph"; else pass alone; fi

nm -D --defined-only "$prefix/lib/libhostcuda.so" | awk '{ print $3 }' |
    grep -Ev '^((cuda|cublas|cu[A-Z]|nccl|hostcuda_).*|threadIdx|blockIdx|blockDim|gridDim)$' >"$work/log"
if [ -s "$work/log" ]; then fail exports "the library shows other names"; else pass exports; fi
# The list of functions in docs/hostcuda.md, and the table of those that are not whole. Each page has one mistake.
check_page() # name, status, pattern, sed script
{
    sed "$4" docs/hostcuda.md >"$work/page.md"
    expect "functions-$1" "$2" "$3" tools/hostcuda-functions check "$prefix/lib/libhostcuda.so" "$work/page.md"
}
if [ -e "$OUT/libbreakgraph_nccl.a" ]; then
    check_page listed 0 'page.md lists what ' ''
    check_page stale 1 'type: tools/hostcuda-functions write' '/cudaGraphClone/d'
    check_page moved 1 'type: tools/hostcuda-functions write' '/^| `cudaMallocManaged`/s/| refused |/| part |/'
    check_page whole 1 'type: tools/hostcuda-functions write' '/^| `cudaMemset3D`/d'
    check_page unknown 1 'table of calls names cudaMemset4D, which is not a function of the library' \
        's/^| `cudaMemset3D`/| `cudaMemset4D`/'
    check_page short 1 'table of calls names cudaMemset3D\.\.\., which is not' 's/^| `cudaMemset3D`/| `cudaMemset3D...`/'
    check_page word 1 'has "most" for `cudaMallocManaged`.*; allowed are part and refused' 's/| refused |/| most |/'
    check_page bare 1 'table of calls names no function in cudaMemset3D' 's/^| `cudaMemset3D`, `cudaMemset3DAsync`/| cudaMemset3D/'
    check_page both 1 'names cudaMemset3D as part and as refused' 's/^| `cudaMallocManaged`/| `cudaMemset3D`/'
    check_page there 1 'text on what is not there names cudaMemcpy[*], which is' 's/`cudaMemAdvise`/`cudaMemcpy*`/'
    check_page marks 2 "has no line '<!-- end of limits -->'" '/end of limits/d'
    expect functions-refused 0 '^Refused: `cudaMallocManaged`' \
        tools/hostcuda-functions list "$prefix/lib/libhostcuda.so" docs/hostcuda.md
else
    skip functions "there is no NCCL, whose functions are listed, too"
fi
exit $bad
