#!/bin/bash
# The driver's functions linked, not fetched: nothing works before cuInit or a call of the runtime.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip linked-driver "nothing links the driver of a GPU"
    exit 0
fi
found=$(tools/find_cuda host "${CUDA_HOME:-}")
if ! "$CC" -std=c11 -Wall -Wextra -Werror -isystem "${found%%|*}/include" -pthread -o "$work/linked" tests/cli/hostcuda/linked_driver.c \
    "$OUT/libhostcuda.a" -lopenblas -lstdc++ -lm -lpthread >"$work/log" 2>&1; then
    fail linked-driver "it does not link"
    exit $bad
fi
"$work/linked" >"$work/log" 2>&1
# 3: not initialised; 1: bad flags; 500: no such memory.
if printf '%s\n' 'before cuInit: 3 3 3' 'cuInit: 1 0' 'after: 500 0 0' '1 device, units of 2097152' | cmp -s - "$work/log"; then
    pass linked-driver
else
    fail linked-driver "it says otherwise"
fi
exit $bad
