#!/bin/bash
# The host device's fibers: the context switch by hand and the portable one, each plain, under ASan and under valgrind.
# needs-all: tests/unit/hostcuda/kernel/test_hostcuda_kernels
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip fibers "fibers belong to the host device"
    exit 0
fi
case $(uname -m) in x86_64) native=assembly ;; *) native=ucontext ;; esac
found=$(tools/find_cuda host "${CUDA_HOME:-}")
portable=-DHOSTCUDA_PORTABLE_FIBERS

# build NAME FLAG...: the fibers and their program. valgrind 3.19 cannot read the DWARF 5 that clang writes.
build()
{
    local name=$1
    shift
    "$CC" -std=c11 -O1 -gdwarf-4 -Wall -Wextra -Werror -D_GNU_SOURCE -I. "$@" -o "$work/$name" tests/cli/hostcuda/fibers.c \
        hostcuda/src/kernel/fibers.c >"$work/log" 2>&1 || { fail "$name" "it does not compile"; return 1; }
}

if build native; then expect native 0 "^$native\$" "$work/native"; fi
if build portable $portable; then expect portable 0 '^ucontext$' "$work/portable"; fi

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=0
for kind in native portable; do
    flag=
    [ $kind = native ] || flag=$portable
    # shellcheck disable=SC2086
    if ! echo 'int main(void) { return 0; }' | "$CC" -fsanitize=address -x c -o "$work/asan" - 2>/dev/null; then
        skip $kind-asan "$CC has no -fsanitize=address"
    elif build $kind-asan $flag -fsanitize=address -fno-omit-frame-pointer; then
        expect $kind-asan 0 '^(assembly|ucontext)$' "$work/$kind-asan"
        if grep -q AddressSanitizer "$work/log"; then fail $kind-asan-quiet "ASan complains"; else pass $kind-asan-quiet; fi
    fi
    # Stacks that valgrind has not been told of make it warn.
    if ! command -v valgrind >/dev/null || ! echo '#include <valgrind/valgrind.h>' | "$CC" -E -x c - >/dev/null 2>&1; then
        skip $kind-valgrind "valgrind or its header is missing"
    else
        expect $kind-valgrind 0 '^(assembly|ucontext)$' valgrind -q --error-exitcode=99 --leak-check=full "$work/$kind"
        if grep -q '^==' "$work/log"; then fail $kind-valgrind-quiet "valgrind complains"; else pass $kind-valgrind-quiet; fi
    fi
done

# The Makefile's variable chooses the switch.
object=$work/build/host/hostcuda/src/kernel/fibers.o
for choice in 0 1; do
    eval "$MAKE" --no-print-directory "BUILD='$work/build' DEVICE=host PORTABLE_FIBERS=$choice '$object'" >"$work/log" 2>&1
    nm "$object" >"$work/names.$choice" 2>>"$work/log"
done
if ! grep -q swapcontext "$work/names.1"; then
    fail variable "PORTABLE_FIBERS=1 does not use swapcontext"
elif [ $native = assembly ] && grep -q swapcontext "$work/names.0"; then
    fail variable "PORTABLE_FIBERS=0 uses swapcontext"
else
    pass variable
fi

# Kernels on the portable switch: the runtime's own tests, with the files that know a fiber's layout compiled anew.
deep || exit $bad
kernels=$OUT/tests/unit/hostcuda/kernel/test_hostcuda_kernels
if [ ! -e "$kernels.o" ]; then
    skip kernels-portable "the tests are not built"
    exit $bad
fi
for file in fibers grid block_threads; do
    "$CC" -std=c11 -O2 -g -fPIC -D_GNU_SOURCE $portable -Ihostcuda/include -I. -isystem "${found%%|*}/include" -c "hostcuda/src/kernel/$file.c" \
        -o "$work/$file.o" >>"$work/log" 2>&1
done
if "$CC" -pthread -o "$work/kernels" "$kernels.o" "$work"/{fibers,grid,block_threads}.o "$OUT"/libtest_support.a \
    "$OUT"/libtest_kernels.a "$OUT"/libllama.a "$OUT"/libbreakgraph.a "$OUT"/libbreakgraph_kernels.a "$OUT"/libhostcuda.a \
    -lopenblas -lcjson -lstdc++ -lm -lpthread -lcmocka >>"$work/log" 2>&1; then
    expect kernels-portable 0 'PASSED  . [0-9]+ test' "$work/kernels"
    if grep -q FAILED "$work/log"; then fail kernels-portable-all "some fail"; else pass kernels-portable-all; fi
else
    fail kernels-portable "it does not link"
fi
exit $bad
