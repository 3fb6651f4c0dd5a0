#!/bin/bash
# What make says and does.
. "$(dirname "$0")/../lib.sh"

expect unknown-device 2 'DEVICE=gpu is unknown; allowed: cuda, host' run_make DEVICE=gpu all
expect no-folder 2 'Looked in CUDA_HOME: it is empty. Install' run_make CUDA_HOME= all
expect no-toolkit 2 'no CUDA toolkit 12.8 or newer.*Looked in CUDA_HOME.*/nowhere' run_make CUDA_HOME=/nowhere all

mkdir -p "$work/old/include"
echo '#define CUDA_VERSION 12040' >"$work/old/include/cuda.h"
expect old-toolkit 2 'CUDA 12\.4' run_make CUDA_HOME="$work/old" all
expect help 0 'DEVICE=cuda\|host' run_make help
expect gpu-check-part 2 "unknown PART 'all'; allowed: conformance tests compile bench attach ranks sanitize soak overhead bisect zoo zoo_ops deep" run_make gpu-check PART=all
if ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    expect gpu-check-needs-gpu 2 'gpu-check needs a GPU: ' run_make gpu-check PART=tests
fi

# Nothing is left to do once all is built.
targets=$(sized all 'all tests')
# shellcheck disable=SC2086
run_make DEVICE="$DEVICE" $targets >/dev/null 2>&1
# shellcheck disable=SC2086
run_make DEVICE="$DEVICE" $targets >"$work/log" 2>&1
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

# A compiler that refuses some headers stands for a machine without the packages.
mkdir -p "$work/bin"
cat >"$work/bin/late-cc" <<SH
#!/bin/sh
program=\$(cat)
case \$program in *cmocka.h* | *cblas.h*) [ -e "$work/installed" ] || { echo 'no such header' >&2; exit 1; } ;; esac
printf '%s\\n' "\$program" | exec $CC "\$@"
SH
# apt-get: the header is there once it ran, unless it is to fail.
cat >"$work/bin/apt-get" <<SH
#!/bin/sh
echo "\$@" >>"$work/apt"
echo "apt-get says \$1"
[ ! -e "$work/broken" ] || { echo 'E: no network' >&2; exit 100; }
case \$1 in install) : >"$work/installed" ;; esac
SH
chmod +x "$work/bin/late-cc" "$work/bin/apt-get"
packages() { env PATH="$work/bin:$PATH" CC=late-cc tools/packages "$@"; }
export BREAKGRAPH_NO_INSTALL=1
expect no-install 1 'missing: cmocka openblas' packages cmocka openblas
expect no-install-line 1 'apt-get update && apt-get install -y --no-install-recommends libcmocka-dev libopenblas-dev' packages cmocka openblas
expect no-install-runs-nothing 1 '' cat "$work/apt"
unset BREAKGRAPH_NO_INSTALL
if [ "$(id -u)" -eq 0 ]; then
    : >"$work/broken"
    expect install-fails 1 '^E: no network$' packages cmocka
    expect install-fails-says 1 '^✗ cmocka: not installed, for apt-get failed with status 100\. .*install libcmocka-dev yourself$' packages cmocka
    rm "$work/broken" "$work/apt"
    if command -v script >/dev/null; then
        expect install-on-terminal 0 'apt-get says install' script -qec "env PATH='$work/bin:$PATH' CC=late-cc tools/packages cmocka" /dev/null
        rm -f "$work/installed" "$work/apt"
    else
        skip install-on-terminal "script is not installed"
    fi
    expect install 0 '^apt-get update && apt-get install -y --no-install-recommends libcmocka-dev$' packages cmocka
    cp "$work/log" "$work/installing" # the next one overwrites it
    expect install-announced 0 '^installing, as root: libcmocka-dev; BREAKGRAPH_NO_INSTALL=1 forbids it' sed -n 2p "$work/installing"
    grep -q 'apt-get says' "$work/installing" && fail install-quiet "what apt-get says is shown though it works" || pass install-quiet
    expect install-runs 0 '^install -y --no-install-recommends libcmocka-dev$' cat "$work/apt"
else
    skip install "only root installs"
fi

# Flags that break the compiler, or hide what is there, are not blamed on packages, and nothing is installed for them.
: >"$work/installed"
rm -f "$work/apt"
mkdir -p "$work/bad"
echo '#error another cmocka' >"$work/bad/cmocka.h"
blamed() # NAME, VARIABLE=FLAGS, what the compiler says
{
    expect "flags-$1" 1 "^✗ ${2%%=*}: with ${2%%=*}='.*' 'late-cc' cannot build a program with <cmocka.h>, and without it can" \
        env "$2" PATH="$work/bin:$PATH" CC=late-cc tools/packages cmocka
    grep -Eq "^  .*$3" "$work/log" && pass "flags-$1-said" || fail "flags-$1-said" "'$3' is not in its output"
    [ ! -e "$work/apt" ] && pass "flags-$1-installs-nothing" || fail "flags-$1-installs-nothing" "$(cat "$work/apt")"
}
blamed nostdinc CPPFLAGS=-nostdinc '(no include path|file not found|No such file)'
blamed header "CPPFLAGS=-DA=1 -I$work/bad" 'another cmocka'
blamed shell 'CPPFLAGS=-DX=(' 'syntax error'
blamed cflags 'CFLAGS=-include /nowhere.h' '/nowhere.h'
blamed ldflags LDFLAGS=-Wl,--nonsense 'nonsense'
export BREAKGRAPH_NO_INSTALL=1
expect flags-good 0 '✓ cmocka' env CPPFLAGS="-DX='\"a b\"' '-DY=('" CFLAGS=-O1 LDFLAGS=-Wl,-O1 tools/packages cmocka
expect flags-neither 1 '^missing: cmocka' env CPPFLAGS=-nostdinc PATH="$work/bin:$PATH" CC="$work/no-cmocka" sh -c '
    printf "#!/bin/sh\nprogram=\$(cat)\ncase \$program in *cmocka.h*) exit 1 ;; esac\nexit 0\n" >"$CC" && chmod +x "$CC" && tools/packages cmocka'
expect no-libc 1 "^✗ '$CC -nostdinc' cannot build a program with <stdio.h>. Type: apt-get install -y libc6-dev" env CC="$CC -nostdinc" tools/packages cmocka
expect make-flags 2 "^✗ CPPFLAGS: with CPPFLAGS='-nostdinc -DX=\"a\"' '$CC' cannot build" \
    run_make DEVICE=host BUILD="$work/blamed" CC="$CC" CPPFLAGS="-nostdinc -DX=\"a\"" "$work/blamed/host/src/base/status.o"
expect packages-libfuzzer 1 'install -y --no-install-recommends clang-99 libclang-rt-99-dev' \
    env BREAKGRAPH_NO_INSTALL=1 CC=clang-99 tools/packages libfuzzer
# What is not installed is not what should be installed where another one is.
mkdir "$work/compilers"
expect compiler-missing 1 "no compiler 'cc-99'. Type: apt-get install -y gcc g\+\+" env PATH="$work/compilers" CC=cc-99 tools/packages cmocka
for pair in 'gcc g++' 'clang clang++'; do
    rm -f "$work"/compilers/{gcc,g++,clang,clang++}
    for name in $pair; do ln -s /bin/true "$work/compilers/$name"; done
    cxx=${pair#* }
    expect "compiler-${pair% *}" 1 "'c\+\+-99' is not installed. Type: make CC=${pair% *} CXX=${cxx//+/\\+}" \
        env PATH="$work/compilers" CC="${pair% *}" CXX=c++-99 tools/packages cmocka
done
expect packages-there 0 '✓ cmocka' tools/packages cmocka

# Where clang alone is installed, it compiles, also what nvcc gives to a compiler of the host.
mkdir -p "$work/alone" "$work/toolkit/include" "$work/toolkit/lib64" "$work/toolkit/bin"
for name in bash sh basename cat cmp dirname find grep head mkdir nproc printf readlink sed timeout touch tr; do
    ln -s "$(command -v "$name")" "$work/alone/$name"
done
ln -s /bin/true "$work/alone/clang"
ln -s /bin/true "$work/alone/clang++"
echo '#define CUDA_VERSION 13000' >"$work/toolkit/include/cuda.h"
touch "$work/toolkit/lib64/libcudart.so"
ln -s /bin/true "$work/toolkit/bin/nvcc"
with_clang() {
    expect "$1" 0 "$3" env -u CC -u CXX -u MAKEFLAGS PATH="$work/alone" "$(command -v "${MAKE%% *}")" -n V=1 DEVICE="$2" \
        BUILD="$work/alone-build" CUDA_HOME="$work/toolkit" "$work/alone-build/$2/$4"
}
with_clang clang-alone host '^clang -I' src/base/status.o
with_clang clang-alone-cxx host 'hostcuda-cc -ccbin clang\+\+ -I' kernels/library/rows.cu.o
with_clang clang-alone-nvcc cuda 'nvcc .*-ccbin clang\+\+' kernels/library/rows.cu.o

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
cp -r Makefile include src hostcuda kernels debug examples tests tools packaging mk "$work/tree/" 2>/dev/null
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
