#!/bin/bash
# The op macros compile without a warning in every language and standard that op.h promises, and say so where an op is wrong.
. "$(dirname "$0")/../lib.sh"
# As make finds it: a toolkit, else the headers that it fetched.
cuda=$(tools/find_cuda host "${CUDA_HOME:-}") || cuda=$BUILD/headers/13.0
cuda=${cuda%%|*}
warn="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -isystem $cuda/include"

cat >"$work/ops.h" <<'C'
#include <breakgraph/breakgraph.h>
BG_DECLARE_OP(across_files, BG_IN(x), BG_OUTS(parts, 3), BG_VALUE(double, factor))
C
cat >"$work/ops.c" <<'C'
#include "ops.h"
#include <breakgraph/cublas.h>
#include <breakgraph/dlpack.h>
typedef struct pair { float a, b; } pair;
BG_EAGER_OP(sample_top_k, BG_IN(logits), BG_OUT(token), BG_VALUE(int, k)) { return args->k > 3 ? BG_OK : BG_ERROR_OP; }
BG_OP(no_fields) { return stream ? BG_OK : BG_ERROR_OP; }
BG_STRUCT(kv, BG_OUT(k), BG_INOUT(v), BG_VALUE(int, rows))
BG_STRUCT(caches, BG_FIELDS(kv, first), BG_FIELDS(kv, second))
BG_EAGER_OP(nested, BG_IN(q), BG_FIELDS(caches, all), BG_RESULT(int, n)) { return args->all.second.rows > args->all.first.rows ? BG_OK : BG_ERROR_OP; }
BG_OP(others, BG_INOUT(x), BG_VALUE(pair, p), BG_VALUE(const char *, name), BG_VALUE(int[4], list), BG_RESULT(pair, q)) { return args->p.a < args->p.b ? BG_OK : BG_ERROR_OP; }
BG_DEFINE_EAGER_OP(across_files) { return args->parts[2].data == args->x.data && args->factor > 1 ? BG_OK : BG_ERROR_OP; }
bg_status use(bg_tensor logits, bg_tensor token, cudaStream_t stream);
bg_status use(bg_tensor logits, bg_tensor token, cudaStream_t stream)
{
    sample_top_k_args args;
    args.logits = logits, args.token = token, args.k = 50;
    BG_CALL(no_fields, stream);
    BG_CALL(nested, stream, .q = logits, .all.second.rows = 3, .all.first.k = token);
    BG_CALL(sample_top_k, stream, .k = 50, .logits = logits, .token = token);
    BG_CALL(across_files, stream, .x = logits, .factor = 2);
    bg_break(stream);
    bg_stream_wait_stream(stream, stream);
    return BG_CALL_ARGS(sample_top_k, stream, &args) == BG_OK ? BG_OK : BG_CALL(others, stream, .x = token, .name = "a");
}
C
cat >>"$work/ops.c" <<'C'
bg_status configure(bg_mode mode);
bg_status configure(bg_mode mode)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    const bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    const bg_graph_info graph = BG_GRAPH_INFO_INIT;
    const bg_call_info call = BG_CALL_INFO_INIT;
    const bg_pool_options pool = BG_POOL_OPTIONS_INIT;
    const bg_pool_stats stats = BG_POOL_STATS_INIT;
    const bg_ranks ranks = BG_RANKS_INIT;
    const bg_finding finding = BG_FINDING_INIT;
    const bg_bucket_info bucket = BG_BUCKET_INFO_INIT;
    const bg_counters counters = BG_COUNTERS_INIT;
    const bg_compare_options compare = BG_COMPARE_OPTIONS_INIT;
    const bg_step_info step = BG_STEP_INFO_INIT;
    bg_op_attributes attributes = BG_OP_ATTRIBUTES_INIT;
    if (BG_CUBLAS_WORKSPACE_BYTES < 2 * (8u << 20))
        return BG_ERROR_OP;
    if (!options.struct_size || !graph.struct_size || !call.struct_size || !pool.struct_size || !stats.struct_size || !ranks.struct_size)
        return BG_ERROR_OP;
    if (!finding.struct_size || !bucket.struct_size || !counters.struct_size || !compare.struct_size || !step.struct_size)
        return BG_ERROR_OP;
    attributes.graph_support = BG_SUPPORT_UNIFORM_BATCH;
    if (bg_op_set_attributes("sample_top_k", &attributes) != BG_OK)
        return BG_ERROR_OP;
    config.mode = bg_mode_has_full(mode) ? mode : BG_MODE_PIECEWISE;
    return bg_runner_config_set(&config, "max_tokens", "64");
}
C

# A value with commas that are in no parentheses: C takes it as it is, C++ in parentheses.
cat >>"$work/ops.c" <<'C'
bg_status call_with_braces(void *data, long rows, cudaStream_t stream);
bg_status call_with_braces(void *data, long rows, cudaStream_t stream)
{
#ifdef __cplusplus
    pair p = pair();
    BG_CALL(others, stream, .x = (bg_tensor{data, BG_F32, 1, {rows}}), .p = (pair{1, 2}), .name = "a");
    BG_CALL(others, stream, .name = "a", .p = {}, .p.a = 1, .list[2] = 3, .x = bg_tensor_1d(data, BG_F32, rows));
#else
    pair p = {1, 2};
    BG_CALL(others, stream, .x = (bg_tensor){data, BG_F32, 1, {rows}}, .p = {1, 2}, .name = "a");
#endif
    return BG_CALL(others, stream, .p = p, .name = "a");
}
C

# Rules of one call and of the most calls, and a pass that compiles itself.
cat >>"$work/ops.c" <<'C'
#include <breakgraph/compile.h>
BG_OP(part, BG_IN(x), BG_OUT(y)) { return args->x.data != args->y.data ? BG_OK : BG_ERROR_OP; }
BG_OP(whole, BG_IN(x), BG_OUT(y)) { return args->x.data != args->y.data ? BG_OK : BG_ERROR_OP; }
BG_RULE(whole, part) { args->x = a0->x, args->y = a0->y; return rows < 9; }
BG_RULE(whole, part, part, part, part, part, part, part, part) { args->x = a0->x, args->y = a7->y; return true; }
bg_status compile(bg_compiled *compiled, cudaStream_t stream);
bg_status compile(bg_compiled *compiled, cudaStream_t stream)
{
    const bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;
    const bg_compile_info info = BG_COMPILE_INFO_INIT;
    const bg_fusion fusion = BG_FUSION_INIT;
    if (!attributes.struct_size || !info.struct_size || !fusion.struct_size)
        return BG_ERROR_OP;
    BG_COMPILED(true)
    {
        BG_COMPILED(false) return bg_compiled_run(compiled, stream);
    }
    return BG_OK;
}
C

cat >"$work/hooks.h" <<'C'
#include <breakgraph/breakgraph.h>
#include <breakgraph/hooks.h>
static inline cudaError_t fork_and_join(cudaStream_t stream, cudaStream_t other, cudaEvent_t event)
{
    cudaError_t error = cudaEventRecord(event, stream);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(other, event, 0);
    if (error == cudaSuccess)
        error = cudaEventRecordWithFlags(event, other, cudaEventRecordDefault);
#ifdef __cplusplus
    if (error == cudaSuccess)
        error = ::cudaEventRecord(event);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(stream, event);
#endif
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(stream, event, cudaEventWaitDefault);
    return error == cudaSuccess ? cudaEventDestroy(event) : error;
}
C
cat >>"$work/ops.c" <<'C'
#include "hooks.h"
cudaError_t use_hooks(cudaStream_t stream, cudaEvent_t event);
cudaError_t use_hooks(cudaStream_t stream, cudaEvent_t event) { return fork_and_join(stream, stream, event); }
C

# One compiler, C11 and C++17; what is refused, in both languages.
in_depth='macros-(per-thread-cpp|gcc-(c99|c17|c2x)|clang.*|g\+\+-c\+\+(11|14|20|2b)|nvcc)|shim-clang\+\+'
compiles() # name, compiler and flags
{
    ! is_left_out "$1" || return 0
    if "${@:2}" >"$work/log" 2>&1 && [ ! -s "$work/log" ]; then pass "$1"; else fail "$1" "$(head -n 1 "$work/log")"; fi
}
refused() # name, text of the error, source
{
    printf '#include <breakgraph/breakgraph.h>\n%s\n' "$3" >"$work/bad.${4:-c}"
    # shellcheck disable=SC2086
    if ${5:-$CC -std=c11} $warn "$work/bad.${4:-c}" >"$work/log" 2>&1; then
        fail "$1" "it compiles"
    elif grep -q -- "$2" "$work/log"; then pass "$1"; else fail "$1" "the error does not say '$2'"; fi
}

# Per-thread default streams, where CUDA's names are macros already.
# shellcheck disable=SC2086
compiles macros-per-thread-c $CC -std=c11 -DCUDA_API_PER_THREAD_DEFAULT_STREAM $warn "$work/ops.c"
cp "$work/ops.c" "$work/per_thread.cpp"
# shellcheck disable=SC2086
compiles macros-per-thread-cpp $CXX -std=c++11 -Wold-style-cast -Wzero-as-null-pointer-constant -DCUDA_API_PER_THREAD_DEFAULT_STREAM $warn "$work/per_thread.cpp"
# shellcheck disable=SC2086
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "macros-$compiler" "$compiler is not installed"; continue; }
    for standard in c99 c11 c17 c2x; do compiles "macros-$compiler-$standard" $compiler -std=$standard $warn "$work/ops.c"; done
done
cp "$work/ops.c" "$work/ops.cpp"
cp "$work/ops.c" "$work/ops.cu"
# shellcheck disable=SC2086
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { skip "macros-$compiler" "$compiler is not installed"; continue; }
    strict="-Wold-style-cast -Wzero-as-null-pointer-constant $([ $compiler = clang++ ] || echo -Wuseless-cast)"
    for standard in c++11 c++14 c++17 c++20 c++2b; do compiles "macros-$compiler-$standard" $compiler -std=$standard $strict $warn "$work/ops.cpp"; done
done
# What kernels are compiled with for the host device, by hostcuda-cc, and by a compiler as it is.
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { skip "shim-$compiler" "$compiler is not installed"; continue; }
    compiles "shim-$compiler" $compiler -std=c++17 -Wall -Wextra -Werror -Wno-unknown-pragmas -ffp-contract=off -Iinclude -Ihostcuda/include -I. \
        -isystem "$cuda/include" -x c++ -include hostcuda/include/hostcuda/kernel_shim.h -c examples/hostcuda/squares.cu -o "$work/shim.o"
done
if command -v "$cuda/bin/nvcc" >/dev/null; then
    compiles macros-nvcc "$cuda/bin/nvcc" -std=c++17 -Iinclude -Xcompiler -Wall,-Wextra -c "$work/ops.cu" -o "$work/ops.o"
else
    skip macros-nvcc "nvcc is not installed"
fi

fields=$(for i in $(seq 33); do printf ', BG_VALUE(int, f%d)' "$i"; done)
refused macros-33-fields at_most_32 "BG_OP(large$fields) { return BG_OK; }"
fields=$(for i in $(seq 50); do printf ', BG_VALUE(int, f%d)' "$i"; done)
refused macros-50-fields at_most_32 "BG_OP(large$fields) { return BG_OK; }"
refused macros-9-calls has_at_most_8_calls 'BG_OP(f, BG_IN(x)) { return BG_OK; } BG_RULE(f, f, f, f, f, f, f, f, f, f) { return false; }'
refused macros-unknown-field 'no member named\|does not refer to any field' 'BG_OP(f, BG_IN(x)) { return BG_OK; } bg_status g(void); bg_status g(void) { return BG_CALL(f, 0, .y = 1); }'
refused macros-other-args 'pointer type mismatch' 'BG_OP(f, BG_IN(x)) { return BG_OK; } BG_OP(h, BG_IN(x)) { return BG_OK; } bg_status g(h_args *a); bg_status g(h_args *a) { return BG_CALL_ARGS(f, 0, a); }'
refused macros-not-copyable 'trivially copyable' '#include <string>
BG_OP(f, BG_VALUE(std::string, s)) { return BG_OK; }' cpp "$CXX -std=c++17"
exit $bad
