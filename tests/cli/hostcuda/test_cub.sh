#!/bin/bash
# The host device's own headers of cub: each compiles alone, what is not there says so, and mistakes show. What they compute is
# what tests/programs/block_collectives.cu and warp_collectives.cu are about.
. "$(dirname "$0")/../lib.sh"
unset "${!HOSTCUDA_@}"
[ "$DEVICE" = host ] || { skip cub "cub is the toolkit's"; exit 0; }
flags="-Wall -Wextra -Werror -Iinclude -I."

# ---- headers ----
for compiler in g++ clang++; do
    deep || break
    command -v $compiler >/dev/null || { skip "headers-$compiler" "$compiler is not installed"; continue; }
    failed=
    # What one compiler finds alone, the other finds, too; of the language it may not take all.
    headers=$(cd hostcuda/include/hostcuda && find cub -name '*.cuh' ! -name config.cuh)
    [ $compiler = "${CXX##*/}" ] || headers=cub/cub.cuh
    for header in $headers; do
        # shellcheck disable=SC2086
        echo "#include <$header>" | "$OUT/hostcuda-cc" -ccbin $compiler $flags -x cu -fsyntax-only - >>"$work/log" 2>&1 || failed="$failed $header"
    done
    [ -z "$failed" ] && pass "headers-$compiler" || fail "headers-$compiler" "these do not compile alone:$failed"
done

# As NVIDIA's: its first line includes the configuration.
mkdir -p "$work/toolkit/cub/device"
echo '#include <cub/config.cuh>' >"$work/toolkit/cub/device/device_reduce.cuh"
echo '#include <cub/device/device_reduce.cuh>' >"$work/absent.cu"
# shellcheck disable=SC2086
expect absent-header 1 'error: "?hostcuda: of cub there are Block|error: .*"hostcuda: of cub there are Block' "$OUT/hostcuda-cc" -ccbin "$CXX" $flags -isystem "$work/toolkit" \
    -fsyntax-only "$work/absent.cu"

# ---- mistakes, and the same without them ----
# shellcheck disable=SC2086
if ! "$OUT/hostcuda-cc" -ccbin "$CXX" $flags -O2 tests/cli/hostcuda/cub.cu -o "$work/cub" >"$work/log" 2>&1; then
    fail mistakes "tests/cli/hostcuda/cub.cu does not build"
    exit $bad
fi
for kernel in reduce scan everywhere more less; do
    expect "$kernel-right" 0 '^right$' "$work/cub" $kernel right
done
for kernel in reduce scan everywhere; do
    expect "$kernel-wrong" 1 'and must be 96096$' "$work/cub" $kernel
done
expect more-wrong 1 '^hostcuda: cub::BlockReduce for 192 threads in a block of 96x1x1' "$work/cub" more
expect less-wrong 1 '^hostcuda: cub::BlockReduce for 48 threads in a block of 96x1x1' "$work/cub" less
exit $bad
