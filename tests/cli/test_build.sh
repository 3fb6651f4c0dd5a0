#!/bin/bash
# What make says and does.
. "$(dirname "$0")/lib.sh"

expect unknown-device 2 'DEVICE=gpu is unknown; allowed: cuda, host' run_make DEVICE=gpu all
expect no-toolkit 2 'no CUDA toolkit 13 or newer.*Looked in CUDA_HOME.*/nowhere' run_make CUDA_HOME=/nowhere all

mkdir -p "$work/old/include"
echo '#define CUDA_VERSION 12040' >"$work/old/include/cuda.h"
expect old-toolkit 2 'CUDA 12\.4' run_make CUDA_HOME="$work/old" all
expect help 0 'DEVICE=cuda\|host' run_make help
expect gpu-check-part 2 "unknown PART 'all'; allowed: tests conformance bench sanitize soak attach zoo ranks" run_make gpu-check PART=all
if ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    expect gpu-check-needs-gpu 2 'gpu-check needs a GPU: ' run_make gpu-check PART=tests
fi

# Nothing is left to do once all is built.
run_make DEVICE="$DEVICE" all tests >/dev/null 2>&1
run_make DEVICE="$DEVICE" all tests >"$work/log" 2>&1
if [ "$(wc -l <"$work/log")" -le 1 ]; then pass second-make; else fail second-make "it did something"; fi

# Other flags rebuild, the same ones do not.
one=$work/build/$DEVICE/src/base/status.o
first=$(eval "$MAKE" --no-print-directory "BUILD='$work/build' DEVICE=$DEVICE '$one'" 2>&1)
same=$(eval "$MAKE" --no-print-directory "BUILD='$work/build' DEVICE=$DEVICE '$one'" 2>&1)
other=$(eval "$MAKE" --no-print-directory "BUILD='$work/build' DEVICE=$DEVICE CPPFLAGS=-DSOMETHING '$one'" 2>&1)
case "$first:$same:$other" in
*status.o:*status.o:*) fail flags-rebuild "the same flags rebuilt" ;;
*status.o:*:*status.o*) pass flags-rebuild ;;
*) fail flags-rebuild "other flags did not rebuild" ;;
esac

# A compiler that finds no header stands for a machine without the packages.
expect no-install 1 'missing: cmocka openblas' \
    env BREAKGRAPH_NO_INSTALL=1 CC="gcc -nostdinc" tools/packages cmocka openblas
expect no-install-line 1 'apt-get update && apt-get install -y --no-install-recommends libcmocka-dev libopenblas-dev' \
    env BREAKGRAPH_NO_INSTALL=1 CC="gcc -nostdinc" tools/packages cmocka openblas
# With root and apt-get, the line is printed and run. Both are stand-ins here: the compiler finds nothing until the other ran.
mkdir -p "$work/bin"
printf '#!/bin/sh\n[ -e "%s/installed" ] && exec gcc "$@"\nexit 1\n' "$work" >"$work/bin/late-cc"
printf '#!/bin/sh\necho "$@" >>"%s/apt"\ncase $1 in install) : >"%s/installed" ;; esac\n' "$work" "$work" >"$work/bin/apt-get"
chmod +x "$work/bin/late-cc" "$work/bin/apt-get"
if [ "$(id -u)" -eq 0 ]; then
    expect install 0 '^apt-get update && apt-get install -y --no-install-recommends libcmocka-dev$' \
        env -u BREAKGRAPH_NO_INSTALL PATH="$work/bin:$PATH" CC=late-cc tools/packages cmocka
    expect install-runs 0 '^install -y --no-install-recommends libcmocka-dev$' cat "$work/apt"
else
    skip install "only root installs"
fi
expect packages-libfuzzer 1 'install -y --no-install-recommends clang-99 libclang-rt-99-dev' \
    env BREAKGRAPH_NO_INSTALL=1 CC=clang-99 tools/packages libfuzzer
expect packages-there 0 '✓ cmocka' tools/packages cmocka

# No build links the driver; what is built for cuda starts without a GPU.
linked=
for file in "$OUT/breakgraph" "$OUT/libbreakgraph.so" "$OUT"/examples/quickstart; do
    [ ! -e "$file" ] || ! readelf -d "$file" | grep -q 'NEEDED.*libcuda\.so' || linked="$linked $file"
done
if [ -z "$linked" ]; then pass no-libcuda; else fail no-libcuda "linked by$linked"; fi
if "$BUILD/find_gpu" >/dev/null 2>&1; then
    skip cuda-without-gpu "there is a GPU"
elif [ ! -x "$BUILD/cuda/breakgraph" ]; then
    skip cuda-without-gpu "nothing is built for DEVICE=cuda"
else
    expect cuda-without-gpu 1 'device +none: .*\(cudaError' "$BUILD/cuda/breakgraph" doctor
    expect cuda-says-host 1 'DEVICE=host' "$BUILD/cuda/breakgraph" doctor
fi

# The digest follows the contents of sources alone.
mkdir -p "$work/tree/docs/records"
cp -r Makefile include src kernels debug examples tests tools packaging mk "$work/tree/" 2>/dev/null
here=$(tools/digest)
echo changed >"$work/tree/docs/records/gpu.md"
if [ "$("$work/tree/tools/digest")" != "$here" ]; then
    fail digest "a copy of the tree has another digest"
elif echo '/* */' >>"$work/tree/src/base/status.c"; [ "$("$work/tree/tools/digest")" = "$here" ]; then
    fail digest "a changed source has the same digest"
else
    pass digest
fi
exit $bad
