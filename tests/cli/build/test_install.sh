#!/bin/bash
# make install; programs in C, C++ and CUDA against what it installed, by pkg-config and by find_package; its examples.
. "$(dirname "$0")/../lib.sh"
# make test: the library of this device, used from C; where its files are.
unset LD_LIBRARY_PATH # what pkg-config says is enough to run

# Programs of a host build run; those of a cuda build run where a GPU is and say that there is none elsewhere.
consumer() # name, program, device
{
    if [ "$3" = cuda ] && [ -z "$gpu" ]; then
        expect "$1" 3 'no GPU: ' "$2"
    else
        expect "$1" 0 '2 segments, 1 break: 50 60 70 80' "$2"
    fi
}

# The same for examples/cmake, a project with a kernel.
scaled() # name, program, device, what it prints
{
    if [ "$3" = cuda ] && [ -z "$gpu" ]; then
        expect "$1" 1 'driver' "$2"
    else
        expect "$1" 0 "^$4$" "$2"
    fi
}

# The same for examples/lambdas.cpp: a lambda as an op, an exception in it, and a runner.
lambdas() # name, program, device
{
    if [ "$3" = cuda ] && [ -z "$gpu" ]; then
        expect "$1" 1 'driver' "$2"
    else
        expect "$1" 0 '^op scale, call scale#0 at .*lambdas\.cpp:[0-9]+: the body failed: a row is negative; ' "$2"
        expect "$1-goes-on" 0 '^40 50 60$' "$2"
    fi
}

# The same for the library of ranks, where NCCL is.
ranks_consumer() # name, program, device
{
    if [ "$3" = cuda ] && [ -z "$gpu" ]; then
        expect "$1" 3 'no GPU: ' "$2"
    else
        expect "$1" 0 'rank 0 of 1: 7' "$2"
    fi
}

ranks_by_pkg_config() # device, prefix
{
    local flags libs
    [ -e "$2/lib/libbreakgraph_nccl.so" ] || { skip "$1-ranks" "there is no NCCL"; return; }
    export PKG_CONFIG_PATH=$2/lib/pkgconfig
    flags=$(pkg-config --cflags breakgraph_nccl) && libs=$(pkg-config --libs breakgraph_nccl) || { fail "$1-ranks" "no flags"; return; }
    # shellcheck disable=SC2086
    {
        $CC -std=c11 -Wall -Wextra -Werror tests/cli/build/consumer_ranks.c $flags -o "$work/$1-ranks" $libs 2>"$work/log" &&
            ranks_consumer "$1-ranks-pkg-config" "$work/$1-ranks" "$1" || fail "$1-ranks-pkg-config" "does not build"
        libs=$(pkg-config --libs --static breakgraph_nccl |
            sed 's/-lbreakgraph_nccl/-l:libbreakgraph_nccl.a/; s/-lbreakgraph /-l:libbreakgraph.a /; s/-lhostcuda/-l:libhostcuda.a/')
        $CC -std=c11 tests/cli/build/consumer_ranks.c $flags -o "$work/$1-ranks-static" $libs 2>"$work/log" &&
            ranks_consumer "$1-ranks-static" "$work/$1-ranks-static" "$1" || fail "$1-ranks-static" "does not build"
    }
}

by_pkg_config() # device, prefix
{
    local flags libs
    export PKG_CONFIG_PATH=$2/lib/pkgconfig
    flags=$(pkg-config --cflags breakgraph) && libs=$(pkg-config --libs breakgraph) || { fail "$1-pkg-config" "no flags"; return; }
    # shellcheck disable=SC2086
    {
        $CC -std=c11 -Wall -Wextra -Werror tests/cli/build/consumer.c $flags -o "$work/$1-c" $libs 2>"$work/log" &&
            consumer "$1-pkg-config-c" "$work/$1-c" "$1" || fail "$1-pkg-config-c" "does not build"
        deep || return
        $CXX -std=c++17 -Wall -Wextra -Werror -x c++ tests/cli/build/consumer.c -x none $flags -o "$work/$1-c++" $libs 2>"$work/log" &&
            consumer "$1-pkg-config-c++" "$work/$1-c++" "$1" || fail "$1-pkg-config-c++" "does not build"
        $CXX -std=c++17 -Wall -Wextra -Wpedantic -Werror examples/lambdas.cpp $flags -o "$work/$1-lambdas" $libs 2>"$work/log" &&
            lambdas "$1-pkg-config-lambdas" "$work/$1-lambdas" "$1" || fail "$1-pkg-config-lambdas" "does not build"
        libs=$(pkg-config --libs --static breakgraph)
        $CC -std=c11 tests/cli/build/consumer.c $flags -o "$work/$1-all" $libs 2>"$work/log" &&
            consumer "$1-pkg-config-all" "$work/$1-all" "$1" || fail "$1-pkg-config-all" "does not build"
        libs=$(sed <<<"$libs" 's/-lbreakgraph/-l:libbreakgraph.a/; s/-lhostcuda/-l:libhostcuda.a/')
        $CC -std=c11 tests/cli/build/consumer.c $flags -o "$work/$1-static" $libs 2>"$work/log" &&
            consumer "$1-pkg-config-static" "$work/$1-static" "$1" || fail "$1-pkg-config-static" "does not build"
        if readelf --dynamic "$work/$1-static" | grep -E 'NEEDED.*lib(breakgraph|hostcuda)' >"$work/log"; then
            fail "$1-pkg-config-static" "it needs a shared library of breakgraph"
        fi
        [ "$1" = cuda ] || return
        $NVCC -std=c++17 -x cu tests/cli/build/consumer.c ${flags//-isystem/-I} -o "$work/$1-nvcc" -L"$2/lib" -lbreakgraph \
            -cudart shared -Xlinker -rpath="$2/lib:$(pkg-config --variable=cudalib breakgraph)" 2>"$work/log" &&
            consumer "$1-pkg-config-nvcc" "$work/$1-nvcc" "$1" || fail "$1-pkg-config-nvcc" "does not build"
        $NVCC -std=c++17 -x cu examples/lambdas.cpp ${flags//-isystem/-I} -o "$work/$1-nvcc-lambdas" -L"$2/lib" -lbreakgraph \
            -cudart shared -Xlinker -rpath="$2/lib:$(pkg-config --variable=cudalib breakgraph)" 2>"$work/log" &&
            lambdas "$1-pkg-config-nvcc-lambdas" "$work/$1-nvcc-lambdas" "$1" || fail "$1-pkg-config-nvcc-lambdas" "does not build"
    }
}

by_find_package() # device, prefix
{
    local languages="C CXX" sources="consumer_c consumer_cxx" name
    [ "$1" = host ] || { languages="C CXX CUDA"; sources="$sources consumer_cuda"; }
    deep || languages=C sources=consumer_c
    command -v cmake >/dev/null || { skip "$1-find_package" "cmake is not installed"; return; }
    mkdir -p "$work/$1-cmake"
    cp tests/cli/build/consumer.c "$work/$1-cmake/consumer_c.c"
    cp tests/cli/build/consumer.c "$work/$1-cmake/consumer_cxx.cpp"
    cp tests/cli/build/consumer_ranks.c "$work/$1-cmake/ranks.c"
    cp tests/cli/build/consumer.c "$work/$1-cmake/consumer_cuda.cu"
    {
        echo "cmake_minimum_required(VERSION 3.20)"
        echo "set(CMAKE_CUDA_ARCHITECTURES 90)"
        echo "project(consumer LANGUAGES $languages)"
        echo "set(CMAKE_C_STANDARD 11)"
        echo "set(CMAKE_CXX_STANDARD 17)"
        echo "set(CMAKE_CUDA_STANDARD 17)"
        echo "find_package(breakgraph 0.2 REQUIRED)"
        for name in $sources; do
            echo "file(GLOB source \${CMAKE_CURRENT_SOURCE_DIR}/$name.*)"
            echo "add_executable($name \${source})"
            echo "target_link_libraries($name breakgraph::breakgraph)"
        done
        echo "if(TARGET breakgraph::breakgraph_nccl)"
        echo "add_executable(consumer_ranks ranks.c)"
        echo "target_link_libraries(consumer_ranks breakgraph::breakgraph_nccl)"
        echo "add_executable(consumer_ranks_static ranks.c)"
        echo "target_link_libraries(consumer_ranks_static breakgraph::breakgraph_nccl_static)"
        echo "endif()"
        echo "add_executable(consumer_static consumer_c.c)"
        echo "target_link_libraries(consumer_static breakgraph::breakgraph_static)"
        ! deep || echo "add_subdirectory(kernels)"
    } >"$work/$1-cmake/CMakeLists.txt"
    cp -r examples/cmake "$work/$1-cmake/kernels"
    if ! { CUDACXX=$NVCC CC=$CC CXX=$CXX cmake -S "$work/$1-cmake" -B "$work/$1-cmake/build" -DCMAKE_PREFIX_PATH="$2" -Wno-dev &&
        cmake --build "$work/$1-cmake/build"; } >"$work/log" 2>&1; then
        fail "$1-find_package" "does not build"
        return
    fi
    for name in $sources consumer_static; do
        consumer "$1-find_package-${name#consumer_}" "$work/$1-cmake/build/$name" "$1"
    done
    ! deep || kernels_by_find_package "$1"
    for name in ranks ranks_static; do
        [ ! -e "$work/$1-cmake/build/consumer_$name" ] || ranks_consumer "$1-find_package-$name" "$work/$1-cmake/build/consumer_$name" "$1"
    done
    if { sed -i 's/breakgraph 0.2/breakgraph 9/' "$work/$1-cmake/CMakeLists.txt"; cmake -S "$work/$1-cmake" -B "$work/$1-cmake/build"; } >/dev/null 2>&1; then
        fail "$1-find_package-version" "version 9 was found"
    else
        pass "$1-find_package-version"
    fi
}

kernels_by_find_package() # device
{
    scaled "$1-find_package-kernels" "$work/$1-cmake/build/kernels/scaled" "$1" '2 4 6 8'
    # What a header of a kernel says is changed.
    sed -i 's/FACTOR/(FACTOR + 1)/' "$work/$1-cmake/kernels/scale.cu"
    echo '#error "compiled anew"' >>"$work/$1-cmake/kernels/scale.h"
    expect "$1-find_package-kernels-again" 2 'compiled anew' cmake --build "$work/$1-cmake/build" --target scaled
    sed -i '$d' "$work/$1-cmake/kernels/scale.h"
    cmake --build "$work/$1-cmake/build" >"$work/log" 2>&1 || fail "$1-find_package-kernels-changed" "does not build"
    scaled "$1-find_package-kernels-changed" "$work/$1-cmake/build/kernels/scaled" "$1" '3 6 9 12'
}

# The installed examples, outside of their folder. Without nvcc's time for every kernel: on a GPU, one of them.
examples() # device, prefix
{
    local programs= name
    [ "$1" = host ] || programs=examples/hostcuda/missing_join
    mkdir "$work/$1-examples"
    if ! PKG_CONFIG_PATH=$2/lib/pkgconfig make --no-print-directory -s -C "$work/$1-examples" -f "$2/share/doc/breakgraph/examples/Makefile" \
        CC="$CC" CXX="$CXX" $programs >"$work/log" 2>&1; then
        fail "$1-examples" "they do not build"
    elif [ "$1" = cuda ] && [ -z "$gpu" ]; then
        expect "$1-examples" 2 'cudaErrorInsufficientDriver|driver' "$work/$1-examples/$programs"
    else
        expect "$1-examples" 0 'right$' "$work/$1-examples/examples/hostcuda/missing_join"
        [ "$1" = host ] || return
        for name in "${built[@]}"; do
            [ -x "$work/host-examples/$name" ] || fail host-examples "$name is not built"
        done
        expect host-examples-quickstart 0 'replay 1: 12.5 12.5 12.5 62.5 %' "$work/host-examples/examples/quickstart"
    fi
}

# A manual page for each public function, which a formatter reads without a warning.
manual_pages() # prefix
{
    local function page missing=
    for function in $(sed -n 's/^BG_API .*[ *]\(bg_[a-z0-9_]*\)(.*/\1/p; s/^static inline .*[ *]\(bg_[a-z0-9_]*[a-z0-9]\)(.*/\1/p' include/breakgraph/*.h) BG_OP BG_CALL; do
        page=$(sed -n 's/^\.so //p' "$1/share/man/man3/$function.3" 2>/dev/null)
        [ -n "$page" ] && grep -q "$function(" "$1/share/man/$page" || missing="$missing $function"
    done
    [ -z "$missing" ] && pass manual-pages || fail manual-pages "missing:$missing"
    if ! command -v groff >/dev/null; then
        skip manual-pages-groff "groff is not installed"
    elif for page in "$1"/share/man/man?/breakgraph*; do groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null; done | tee "$work/log" | grep -q .; then
        fail manual-pages-groff "groff has warnings"
    else
        pass manual-pages-groff
    fi
}

gpu=$("$BUILD/find_gpu" 2>/dev/null) || gpu=
mapfile -t built < <(printf '%s\n' examples/*.c examples/*.cpp examples/graphs/*.c examples/adopt/*.c examples/llama/llama.c examples/hostcuda/missing_join.c | sed 's/\.c[p]*$//')
devices=$DEVICE
[ "$DEVICE" = cuda ] || ! deep || ! tools/find_cuda cuda "${CUDA_HOME:-}" >/dev/null || devices="host cuda"
for device in $devices; do
    prefix=$work/$device
    if ! run_make DEVICE="$device" install PREFIX="$prefix" >"$work/log" 2>&1; then
        fail "$device-install"
        continue
    fi
    missing=
    for file in bin/breakgraph lib/libbreakgraph.a lib/libbreakgraph.so lib/libbreakgraph.so.1 include/breakgraph/breakgraph.h include/breakgraph/hooks.h include/breakgraph/breakgraph.hpp \
        lib/pkgconfig/breakgraph.pc lib/cmake/breakgraph/breakgraphConfig.cmake share/man/man1/breakgraph.1 \
        share/doc/breakgraph/{README.md,LICENSE,CHANGELOG.md,docs/README.md,docs/records/zoo.md,examples/Makefile,examples/quickstart.c} \
        share/bash-completion/completions/breakgraph share/zsh/site-functions/_breakgraph share/fish/vendor_completions.d/breakgraph.fish \
        $([ "$device" = cuda ] || echo lib/libhostcuda.a lib/libhostcuda.so lib/libhostcuda.so.1 lib/pkgconfig/hostcuda.pc include/hostcuda/kernel_shim.h include/hostcuda/cub/{cub.cuh,block/block_reduce.cuh}); do
        [ -e "$prefix/$file" ] || missing="$missing $file"
    done
    [ -z "$missing" ] && pass "$device-install" || fail "$device-install" "missing:$missing"
    expect "$device-command" 0 "^breakgraph [0-9.]+ \\($device\\)" "$prefix/bin/breakgraph" version
    by_pkg_config "$device" "$prefix"
    ! deep || ranks_by_pkg_config "$device" "$prefix"
    by_find_package "$device" "$prefix"
    ! deep || examples "$device" "$prefix"
done
manual_pages "$work/$DEVICE"

# DESTDIR stands before the paths, and in none of the files. Everybody can read them, whatever may be read of the installer's own.
(umask 077 && run_make DEVICE="$DEVICE" install DESTDIR="$work/stage" PREFIX=/opt/bg LIBDIR=/opt/bg/lib64 >"$work/log" 2>&1)
if [ ! -e "$work/stage/opt/bg/lib64/libbreakgraph.so" ]; then
    fail destdir "no library in DESTDIR/LIBDIR"
elif [ ! -e "$work/stage/opt/bg/share/bash-completion/completions/breakgraph" ]; then
    fail destdir "no completions in DESTDIR/PREFIX"
elif grep -rq "$work" "$work/stage/opt/bg/lib64/pkgconfig" "$work/stage/opt/bg/lib64/cmake"; then
    fail destdir "an installed file names DESTDIR"
else
    pass destdir
fi

if find "$work/stage/opt" ! -type l ! -perm -004 | tee "$work/log" | grep -q . || [ ! -e "$work/stage/opt/bg/bin/breakgraph" ]; then
    fail umask "files that others cannot read"
else
    pass umask
fi

# A folder where the loader looks needs no run path, and a relative one is made whole.
run_make DEVICE="$DEVICE" install DESTDIR="$work/stage" PREFIX=/usr LIBDIR="/usr/lib/$(uname -m)-linux-gnu" >"$work/log" 2>&1
pkgconfig=$work/stage/usr/lib/$(uname -m)-linux-gnu/pkgconfig
if grep -h '^Libs:.*rpath.*{libdir}' "$pkgconfig"/*.pc >"$work/log" || [ ! -s "$pkgconfig/breakgraph.pc" ]; then
    fail prefix-usr "a run path to a folder of the system"
else
    pass prefix-usr
fi
if [ "$DEVICE" = host ]; then
    expect prefix-multiarch 0 "✓ --attach .*/usr/lib/$(uname -m)-linux-gnu/breakgraph, the driver is .*/libhostcuda.so.[0-9.]+" \
        "$work/stage/usr/bin/breakgraph" doctor
fi
deep || exit $bad
run_make DEVICE="$DEVICE" install DESTDIR="$work/stage" PREFIX=some/where >"$work/log" 2>&1
expect prefix-relative 0 "^prefix=$PWD/some/where$" cat "$work/stage$PWD/some/where/lib/pkgconfig/breakgraph.pc"
run_make DEVICE="$DEVICE" install DESTDIR="$work/destination" PREFIX= >"$work/log" 2>&1
expect prefix-empty 0 "^libdir=/lib$" cat "$work/destination/lib/pkgconfig/breakgraph.pc"

# Blanks, and what sed takes for its own. Also with CUDA's headers installed, as where make fetched them into BUILD.
prefix="$work/a b&c|d"
run_make DEVICE="$DEVICE" install PREFIX="$prefix" CUDA_FETCHED=yes >"$work/log" 2>&1
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
if [ "$(pkg-config --variable=prefix breakgraph)" != "$prefix" ]; then
    fail prefix-blank "pkg-config has another prefix"
elif ! pkg-config --cflags breakgraph | grep -qF 'a\ b\&c\|d/include/hostcuda/cuda' || [ ! -e "$prefix/include/hostcuda/cuda/cuda_runtime_api.h" ]; then
    fail prefix-blank "CUDA's headers are not there, or not in --cflags"
elif eval "$CC -std=c11 tests/cli/build/consumer.c $(pkg-config --cflags --libs breakgraph) -o '$work/blank'" 2>"$work/log"; then
    consumer prefix-blank "$work/blank" "$DEVICE"
else
    fail prefix-blank "does not build"
fi
exit $bad
