#!/bin/bash
# Programs of plain CUDA (tests/programs): each prints tests/programs/golden/NAME.txt, on a GPU and on the host device, there
# in any order of the work and with any memory. GOLDEN=write writes that file.
# make test runs these, make test-all every program, and under seeds:
# needs: tests/programs/block_collectives tests/programs/stream_ordered tests/programs/child_graphs
# needs: tests/programs/graph_memory tests/programs/callbacks
# needs-all: plain-programs
. "$(dirname "$0")/../lib.sh"
unset "${!HOSTCUDA_@}"
all=$(basename -s .cu tests/programs/*.cu) golden=tests/programs/golden folder=$OUT/tests/programs
programs=$all
deep || programs=$(sed -n 's/^# needs: //p' "tests/cli/hostcuda/${0##*/}" | tr ' ' '\n' | sed 's|.*/||')

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in $programs; do skip "$name" "there is no GPU"; done
    exit 0
fi

# prints NAME VARIABLE...: under these settings it succeeds, and prints what it must; or the log says what is wrong.
prints()
{
    local name=$1 status
    shift
    env "$@" timeout 300 "$folder/$name" >"$work/found" 2>&1 </dev/null
    status=$?
    { [ $status -eq 0 ] && cmp -s "$golden/$name.txt" "$work/found"; } && return
    { printf '%s: exit status %s\n' "$*" $status; diff "$golden/$name.txt" "$work/found"; } >"$work/log" 2>&1
    return 1
}

# Each seed with ordinary memory and with hostile memory, whose addresses are used again as soon or as late as can be.
prints_under_seeds() # name, variable...
{
    local seed memory name=$1
    shift
    for seed in {1..20}; do
        [ $((seed % 2)) -eq 0 ] && memory=poison,fence,never || memory=poison,fence,reuse
        prints "$name" "$@" HOSTCUDA_SEED="$seed" && prints "$name" "$@" HOSTCUDA_SEED="$seed" HOSTCUDA_MEMORY=$memory || return 1
    done
}

for name in $programs; do
    [ "${GOLDEN:-}" != write ] || "$OUT/tests/programs/$name" >"$golden/$name.txt"
    if prints "$name"; then pass "$name"; else fail "$name" "it fails or prints something else than $golden/$name.txt"; fi
    [ "$DEVICE" = host ] || continue
    settings=()
    # The host waits without a call of CUDA: with a seed a second long each time, until work is done without calls.
    case $name in callbacks | producer_consumer) settings=(HOSTCUDA_PROGRESS=5) ;; esac
    if prints "$name" HOSTCUDA_MEMORY=poison,fence,reuse && prints "$name" HOSTCUDA_MEMORY=poison,fence,never; then
        pass "$name-memory"
    else
        fail "$name-memory" "it fails or prints something else in hostile memory"
    fi
    deep || continue
    if prints_under_seeds "$name" "${settings[@]}"; then
        pass "$name-seeds"
    else
        fail "$name-seeds" "it fails or prints something else under a seed"
    fi
done

# Make builds the programs with one compiler; what it accepts must not stop the other.
folder=$work/programs
mkdir "$folder"
for compiler in g++ clang++; do
    [ "$DEVICE" = host ] && deep || break
    command -v $compiler >/dev/null || { skip "reduction-$compiler" "$compiler is not installed"; continue; }
    if "$OUT/hostcuda-cc" -ccbin $compiler -O2 -Wall -Wextra -Werror -Iinclude -I. tests/programs/reduction.cu \
        -o "$folder/reduction" >"$work/log" 2>&1 && prints reduction && prints reduction HOSTCUDA_SEED=1 HOSTCUDA_MEMORY=poison,fence; then
        pass "reduction-$compiler"
    else
        fail "reduction-$compiler" "it does not build, or prints something else than $golden/reduction.txt"
    fi
done

# A text without a program would be one that nothing looks at.
basename -s .txt $golden/*.txt | diff - <(printf '%s\n' "$all") >"$work/log" && pass golden || fail golden "texts and programs differ"
exit $bad
