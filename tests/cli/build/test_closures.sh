#!/bin/bash
# Closures in graphs that are replayed when the frame of the capture has gone, under AddressSanitizer; and breakgraph.hpp
# in the languages that it promises.
. "$(dirname "$0")/../lib.sh"
# One compiler and one standard.
in_depth='(hpp|extern-c)-(clang.*|g\+\+-c\+\+2.|nvcc)'

cuda=$(tools/find_cuda "$DEVICE" "${CUDA_HOME:-}") || cuda=$BUILD/headers/13.0
cuda=${cuda%%|*}
libraries="$OUT/libbreakgraph.a -lcjson"
[ "$DEVICE" = cuda ] && libraries="$libraries -L$cuda/lib64 -Wl,-rpath,$cuda/lib64 -lcudart" || libraries="$libraries $OUT/libhostcuda.a -lopenblas"

# build NAME FLAG...: $work/NAME
build()
{
    # shellcheck disable=SC2086
    $CXX -std=c++17 -g -O1 -fno-omit-frame-pointer -Wall -Wextra -Wpedantic -Werror -Iinclude -isystem "$cuda/include" "${@:2}" \
        tests/cli/build/closures.cpp -o "$work/$1" $libraries -lstdc++ -lm -lpthread 2>"$work/log"
}

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    skip closures "there is no GPU"
elif ! build closures; then
    fail closures "tests/cli/build/closures.cpp does not build"
else
    expect closures 0 '^seen 123$' "$work/closures" value
    expect closures-check 0 '^check graph, replay, recapture, poison, padding: 0 findings$' "$OUT/breakgraph" check -- "$work/closures" value
    expect closures-dangling 1 'warning \[dangling\] add#0 at tests/cli/build/closures\.cpp:16: the closure of add#0 points to' \
        "$OUT/breakgraph" check -- "$work/closures" reference
fi

# A GPU's driver and AddressSanitizer do not agree about addresses.
if [ "$DEVICE" = cuda ]; then
    skip closures-asan "the host device is enough"
elif ! echo 'int main() {}' | $CXX -fsanitize=address -x c++ - -o "$work/empty" 2>"$work/log" || ! "$work/empty"; then
    skip closures-asan "$CXX has no AddressSanitizer"
elif ! build asan -fsanitize=address; then
    fail closures-asan "tests/cli/build/closures.cpp does not build"
else
    export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=1
    expect closures-asan 0 '^seen 123$' "$work/asan" value
    expect closures-asan-reference 1 'stack-use-after-return' "$work/asan" reference
fi

cat >"$work/all.cpp" <<'C'
#include <breakgraph/breakgraph.hpp>
#include <breakgraph/hooks.h>
bg_status use(cudaStream_t stream, const bg_tensor &x, bg_tensor y, const std::vector<bg::operand> &list);
bg_status use(cudaStream_t stream, const bg_tensor &x, bg_tensor y, const std::vector<bg::operand> &list)
{
    const auto constant = [=](cudaStream_t) { (void)x; };
    bg::graph graph;
    bg::capture capture;
    bg::runner runner;
    bg::report report;
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    const bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg::eager(stream, "none", {}, [](cudaStream_t) {});
    bg::eager(stream, "both", {x, bg::out(y)}, [](bg_tensor *t, cudaStream_t s) { return cudaMemsetAsync(t[0].data, 0, 4, s); });
    bg::eager(stream, "list", list, [held = std::make_unique<int>(3)](cudaStream_t) { return *held ? BG_OK : BG_ERROR_OP; });
    bg::op(stream, "constant", {bg::in(x), bg::inout(y), bg::out(x)}, constant);
    bg::op(stream, "list_op", list, constant);
    bg::check(graph.capture(stream, constant));
    bg::check(capture.begin(stream));
    bg::check(capture.end(graph));
    bg::check(graph.info(info));
    bg::check(graph.check(BG_CHECK_ALL, report));
    bg::check(report.write(BG_TEXT, "-"));
    bg::check(runner.create(config, stream, [](const bg_forward_context &, cudaStream_t) {}));
    bg::check(bg::forward_run(stream, [&](cudaStream_t s) { return bg_eager(s, "plain", nullptr, nullptr); }));
    return report.count() > 0 && report[0].line ? BG_OK : graph.replay(stream);
}
C
compiles() # name, compiler and flags
{
    ! is_left_out "$1" || return 0
    if "${@:2}" >"$work/log" 2>&1 && [ ! -s "$work/log" ]; then pass "$1"; else fail "$1" "$(head -n 1 "$work/log")"; fi
}
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { skip "hpp-$compiler" "$compiler is not installed"; continue; }
    for standard in c++17 c++20 c++2b; do
        compiles "hpp-$compiler-$standard" $compiler -std=$standard -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast \
            -Wzero-as-null-pointer-constant -Werror -fsyntax-only -Iinclude -isystem "$cuda/include" "$work/all.cpp"
    done
done
if command -v "$cuda/bin/nvcc" >/dev/null; then
    compiles hpp-nvcc "$cuda/bin/nvcc" -std=c++17 -Iinclude -Xcompiler -Wall,-Wextra -x cu -c "$work/all.cpp" -o "$work/all.o"
else
    skip hpp-nvcc "nvcc is not installed"
fi

# In extern "C", as programs include what they take for a header of C.
cat >"$work/extern.cpp" <<'C'
extern "C" {
#include <breakgraph/breakgraph.h>
}
int main() { return bg_version() == nullptr; }
C
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { skip "extern-c-$compiler" "$compiler is not installed"; continue; }
    for standard in c++11 c++20; do
        compiles "extern-c-$compiler-$standard" $compiler -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude \
            -isystem "$cuda/include" "$work/extern.cpp"
    done
done

# What cannot work is refused in words.
refused() # name, text, body
{
    printf '#include <breakgraph/breakgraph.hpp>\nvoid f(cudaStream_t s);\nvoid f(cudaStream_t s) { %s }\n' "$3" >"$work/bad.cpp"
    if $CXX -std=c++17 -fsyntax-only -Iinclude -isystem "$cuda/include" "$work/bad.cpp" >"$work/log" 2>&1; then
        fail "$1" "it compiles"
    elif grep -q "$2" "$work/log"; then pass "$1"; else fail "$1" "the error does not say '$2'"; fi
}
refused hpp-no-copy 'the closure cannot be copied: pass it with std::move' \
    'auto body = [held = std::make_unique<int>(1)](cudaStream_t) { (void)held; }; bg::eager(s, "a", {}, body);'
refused hpp-result 'must return nothing, a bg_status or a cudaError_t' 'bg::eager(s, "a", {}, [](cudaStream_t) { return "text"; });'
refused hpp-arguments 'the body must take a cudaStream_t' 'bg::eager(s, "a", {}, [](int, int, int) {});'
exit $bad
