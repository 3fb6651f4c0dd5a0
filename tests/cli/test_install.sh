#!/bin/bash
# make install; programs in C, C++ and CUDA against what it installed, by pkg-config and by find_package.
. "$(dirname "$0")/lib.sh"

# Programs of a host build run; those of a cuda build run where a GPU is and say that there is none elsewhere.
consumer() # name, program, device
{
    if [ "$3" = cuda ] && [ -z "$gpu" ]; then
        expect "$1" 3 'no GPU: ' "$2"
    else
        expect "$1" 0 '2 segments, 1 break: 50 60 70 80' "$2"
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
        $CC -std=c11 -Wall -Wextra -Werror tests/cli/consumer_ranks.c $flags -o "$work/$1-ranks" $libs "-Wl,-rpath,$2/lib" 2>"$work/log" &&
            ranks_consumer "$1-ranks-pkg-config" "$work/$1-ranks" "$1" || fail "$1-ranks-pkg-config" "does not build"
        libs=$(pkg-config --libs --static breakgraph_nccl |
            sed 's/-lbreakgraph_nccl/-l:libbreakgraph_nccl.a/; s/-lbreakgraph /-l:libbreakgraph.a /; s/-lhostcuda/-l:libhostcuda.a/')
        $CC -std=c11 tests/cli/consumer_ranks.c $flags -o "$work/$1-ranks-static" $libs 2>"$work/log" &&
            ranks_consumer "$1-ranks-static" "$work/$1-ranks-static" "$1" || fail "$1-ranks-static" "does not build"
    }
}

by_pkg_config() # device, prefix
{
    local flags libs rpath="-Wl,-rpath,$2/lib"
    export PKG_CONFIG_PATH=$2/lib/pkgconfig
    flags=$(pkg-config --cflags breakgraph) && libs=$(pkg-config --libs breakgraph) || { fail "$1-pkg-config" "no flags"; return; }
    # shellcheck disable=SC2086
    {
        $CC -std=c11 -Wall -Wextra -Werror tests/cli/consumer.c $flags -o "$work/$1-c" $libs "$rpath" 2>"$work/log" &&
            consumer "$1-pkg-config-c" "$work/$1-c" "$1" || fail "$1-pkg-config-c" "does not build"
        $CXX -std=c++17 -Wall -Wextra -Werror -x c++ tests/cli/consumer.c -x none $flags -o "$work/$1-c++" $libs "$rpath" 2>"$work/log" &&
            consumer "$1-pkg-config-c++" "$work/$1-c++" "$1" || fail "$1-pkg-config-c++" "does not build"
        libs=$(pkg-config --libs --static breakgraph | sed 's/-lbreakgraph/-l:libbreakgraph.a/; s/-lhostcuda/-l:libhostcuda.a/')
        $CC -std=c11 tests/cli/consumer.c $flags -o "$work/$1-static" $libs 2>"$work/log" &&
            consumer "$1-pkg-config-static" "$work/$1-static" "$1" || fail "$1-pkg-config-static" "does not build"
        [ "$1" = cuda ] || return
        $NVCC -std=c++17 -x cu tests/cli/consumer.c ${flags//-isystem/-I} -o "$work/$1-nvcc" -L"$2/lib" -lbreakgraph \
            -cudart shared -Xlinker -rpath="$2/lib:$(pkg-config --variable=cudalib breakgraph)" 2>"$work/log" &&
            consumer "$1-pkg-config-nvcc" "$work/$1-nvcc" "$1" || fail "$1-pkg-config-nvcc" "does not build"
    }
}

by_find_package() # device, prefix
{
    local languages="C CXX" sources="consumer_c consumer_cxx" name
    [ "$1" = host ] || { languages="C CXX CUDA"; sources="$sources consumer_cuda"; }
    command -v cmake >/dev/null || { skip "$1-find_package" "cmake is not installed"; return; }
    mkdir -p "$work/$1-cmake"
    cp tests/cli/consumer.c "$work/$1-cmake/consumer_c.c"
    cp tests/cli/consumer.c "$work/$1-cmake/consumer_cxx.cpp"
    cp tests/cli/consumer_ranks.c "$work/$1-cmake/ranks.c"
    cp tests/cli/consumer.c "$work/$1-cmake/consumer_cuda.cu"
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
    } >"$work/$1-cmake/CMakeLists.txt"
    if ! { CUDACXX=$NVCC CC=$CC CXX=$CXX cmake -S "$work/$1-cmake" -B "$work/$1-cmake/build" -DCMAKE_PREFIX_PATH="$2" -Wno-dev &&
        cmake --build "$work/$1-cmake/build"; } >"$work/log" 2>&1; then
        fail "$1-find_package" "does not build"
        return
    fi
    for name in $sources consumer_static; do
        consumer "$1-find_package-${name#consumer_}" "$work/$1-cmake/build/$name" "$1"
    done
    for name in ranks ranks_static; do
        [ ! -e "$work/$1-cmake/build/consumer_$name" ] || ranks_consumer "$1-find_package-$name" "$work/$1-cmake/build/consumer_$name" "$1"
    done
    if { sed -i 's/breakgraph 0.2/breakgraph 9/' "$work/$1-cmake/CMakeLists.txt"; cmake -S "$work/$1-cmake" -B "$work/$1-cmake/build"; } >/dev/null 2>&1; then
        fail "$1-find_package-version" "version 9 was found"
    else
        pass "$1-find_package-version"
    fi
}

gpu=$("$BUILD/find_gpu" 2>/dev/null) || gpu=
devices=$DEVICE
[ "$DEVICE" = cuda ] || ! tools/find_cuda cuda "${CUDA_HOME:-}" >/dev/null || devices="host cuda"
for device in $devices; do
    prefix=$work/$device
    if ! run_make DEVICE="$device" install PREFIX="$prefix" >"$work/log" 2>&1; then
        fail "$device-install"
        continue
    fi
    missing=
    for file in bin/breakgraph lib/libbreakgraph.a lib/libbreakgraph.so lib/libbreakgraph.so.0 include/breakgraph/breakgraph.h include/breakgraph/hooks.h \
        lib/pkgconfig/breakgraph.pc lib/cmake/breakgraph/breakgraphConfig.cmake share/man/man1/breakgraph.1 \
        share/bash-completion/completions/breakgraph share/zsh/site-functions/_breakgraph share/fish/vendor_completions.d/breakgraph.fish \
        $([ "$device" = cuda ] || echo lib/libhostcuda.a lib/libhostcuda.so lib/libhostcuda.so.0 lib/pkgconfig/hostcuda.pc include/hostcuda/kernel_shim.h); do
        [ -e "$prefix/$file" ] || missing="$missing $file"
    done
    [ -z "$missing" ] && pass "$device-install" || fail "$device-install" "missing:$missing"
    expect "$device-command" 0 "^breakgraph [0-9.]+ \\($device\\)" "$prefix/bin/breakgraph" version
    by_pkg_config "$device" "$prefix"
    ranks_by_pkg_config "$device" "$prefix"
    by_find_package "$device" "$prefix"
done

# DESTDIR stands before the paths, and in none of the files.
run_make DEVICE="$DEVICE" install DESTDIR="$work/stage" PREFIX=/opt/bg LIBDIR=/opt/bg/lib64 >"$work/log" 2>&1
if [ ! -e "$work/stage/opt/bg/lib64/libbreakgraph.so" ]; then
    fail destdir "no library in DESTDIR/LIBDIR"
elif [ ! -e "$work/stage/opt/bg/share/bash-completion/completions/breakgraph" ]; then
    fail destdir "no completions in DESTDIR/PREFIX"
elif grep -rq "$work" "$work/stage/opt/bg/lib64/pkgconfig" "$work/stage/opt/bg/lib64/cmake"; then
    fail destdir "an installed file names DESTDIR"
else
    pass destdir
fi
exit $bad
