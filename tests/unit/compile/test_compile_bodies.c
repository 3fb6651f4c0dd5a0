/* Compile levels and what bodies do beside kernels: their memory, their values, what they may not do in the place of
 * calls; rules and passes that are given wrongly. */
#include "tests/support/runner/shared.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/check.h>
#include <breakgraph/report.h>

static struct {
    const char *op; /* whose rule may be used */
    float *seen;    /* device memory: N floats, to which each body of `times` adds what x holds */
    const float *x;
    bg_pool *pool;
    const void *block, *scratch;
    cudaStream_t other; /* which no capture has */
    int *numbers;       /* device memory: N of them, twice */
    float *pageable, *chain;
    int host_calls;
    bool grows; /* each run of the body of `times` has a result of its own */
    float grown;
} now;

/* Several kernels where one would do: on a GPU, too, the ops that stand for it are faster. */
BG_OP(times, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    float factor = args->factor + (now.grows ? now.grown++ : 0);
    for (int i = 0; i < 4; i++)
        TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, factor, N, stream)));
    return now.seen != NULL ? from_cuda(bgk_add(now.seen, now.seen, now.x, N, stream)) : BG_OK;
}

static void CUDART_CB count_call(void *user)
{
    (void)user;
    now.host_calls++;
}

BG_OP(times_and_tell, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream)));
    return from_cuda(cudaLaunchHostFunc(stream, count_call, NULL));
}

/* ---- ops that stand for two of them ---- */

#define TWICE BG_IN(x), BG_OUT(y), BG_OUT(z), BG_VALUE(float, first), BG_VALUE(float, second)

static bg_status run_both(const bg_tensor *x, const bg_tensor *y, const bg_tensor *z, float first, float second,
                          cudaStream_t stream)
{
    TRY_BG(from_cuda(bgk_scale(y->data, x->data, first, N, stream)));
    return from_cuda(bgk_scale(z->data, y->data, second, N, stream));
}

BG_OP(plain, TWICE)
{
    return run_both(&args->x, &args->y, &args->z, args->first, args->second, stream);
}

/* Right for one value. */
BG_OP(by_three, TWICE)
{
    return run_both(&args->x, &args->y, &args->z, args->first, 3, stream);
}

static bg_status run_through(float *memory, const bg_tensor *x, const bg_tensor *y, const bg_tensor *z, float first,
                             float second, cudaStream_t stream)
{
    TRY_BG(from_cuda(bgk_scale(memory, x->data, first, N, stream)));
    TRY_BG(from_cuda(bgk_scale(y->data, memory, 1, N, stream)));
    return from_cuda(bgk_scale(z->data, memory, second, N, stream));
}

BG_OP(with_scratch, TWICE)
{
    void *memory;
    TRY_BG(bg_scratch(args, N * sizeof(float), &memory));
    return run_through(memory, &args->x, &args->y, &args->z, args->first, args->second, stream);
}

BG_OP(with_pool, TWICE)
{
    void *memory;
    bg_status status;
    TRY_BG(bg_pool_alloc(now.pool, N * sizeof(float), &memory));
    status = run_through(memory, &args->x, &args->y, &args->z, args->first, args->second, stream);
    bg_pool_release(now.pool, memory);
    return status;
}

BG_OP(with_calls, TWICE)
{
    TRY_BG(BG_CALL(times, stream, .x = args->x, .y = args->y, .factor = args->first));
    return BG_CALL(times, stream, .x = args->y, .y = args->z, .factor = args->second);
}

BG_OP(with_wait, TWICE)
{
    TRY_BG(run_both(&args->x, &args->y, &args->z, args->first, args->second, stream));
    return from_cuda(cudaStreamSynchronize(stream));
}

/* z stays as it is. */
BG_OP(leaves_out, TWICE)
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->first, N, stream));
}

/* z comes from a stream that is in no capture. */
BG_OP(elsewhere, TWICE)
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->first, N, stream)));
    return from_cuda(bgk_scale(args->z.data, args->x.data, args->first * args->second, N, now.other));
}

BG_OP(all_elsewhere, TWICE)
{
    return run_both(&args->x, &args->y, &args->z, args->first, args->second, now.other);
}

BG_OP(by_phase, TWICE)
{
    float more = bg_current_phase() == BG_PHASE_CAPTURE ? 1 : 0;
    return run_both(&args->x, &args->y, &args->z, args->first, args->second + more, stream);
}

/* Right, and then x is another one. */
BG_OP(spoils, TWICE)
{
    TRY_BG(run_both(&args->x, &args->y, &args->z, args->first, args->second, stream));
    return from_cuda(bgk_scale(args->x.data, args->y.data, 1, N, stream));
}

BG_OP(with_allocation, TWICE)
{
    void *memory;
    TRY_BG(from_cuda(cudaMallocAsync(&memory, N * sizeof(float), stream)));
    TRY_BG(run_through(memory, &args->x, &args->y, &args->z, args->first, args->second, stream));
    return from_cuda(cudaFreeAsync(memory, stream));
}

/* z is computed on a second stream, beside y, and joined. */
BG_OP(with_fork, TWICE)
{
    cudaEvent_t event;
    TRY_BG(from_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)));
    TRY_BG(from_cuda(cudaEventRecord(event, stream)));
    TRY_BG(from_cuda(cudaStreamWaitEvent(now.other, event, 0)));
    TRY_BG(from_cuda(bgk_scale(args->z.data, args->x.data, args->first * args->second, N, now.other)));
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, args->first, N, stream)));
    TRY_BG(from_cuda(cudaEventRecord(event, now.other)));
    TRY_BG(from_cuda(cudaStreamWaitEvent(stream, event, 0)));
    return from_cuda(cudaEventDestroy(event));
}

BG_EAGER_OP(eager, TWICE)
{
    return run_both(&args->x, &args->y, &args->z, args->first, args->second, stream);
}

BG_OP(times_through, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    void *memory;
    TRY_BG(bg_scratch(args, N * sizeof(float), &memory));
    now.scratch = memory;
    TRY_BG(from_cuda(bgk_scale(memory, args->x.data, args->factor, N, stream)));
    for (int i = 0; i < 2; i++)
        TRY_BG(from_cuda(bgk_scale(args->y.data, memory, 1, N, stream)));
    return BG_OK;
}

BG_RULE(plain, times, times_through)
{
    if (a1->x.data != a0->y.data)
        return false;
    *args = (plain_args){.x = a0->x, .y = a0->y, .z = a1->y, .first = a0->factor, .second = a1->factor};
    return true;
}

#define TWICE_RULE(name, call)                                                                                         \
    BG_RULE(name, call, times)                                                                                         \
    {                                                                                                                  \
        if (strcmp(now.op, #name) != 0 || a1->x.data != a0->y.data)                                                    \
            return false;                                                                                              \
        *args = (name##_args){.x = a0->x, .y = a0->y, .z = a1->y, .first = a0->factor, .second = a1->factor};          \
        return true;                                                                                                   \
    }
TWICE_RULE(plain, times)
TWICE_RULE(plain, times_and_tell)
TWICE_RULE(by_three, times)
TWICE_RULE(with_scratch, times)
TWICE_RULE(with_pool, times)
TWICE_RULE(with_calls, times)
TWICE_RULE(with_wait, times)
TWICE_RULE(eager, times)
TWICE_RULE(leaves_out, times)
TWICE_RULE(elsewhere, times)
TWICE_RULE(all_elsewhere, times)
TWICE_RULE(by_phase, times)
TWICE_RULE(spoils, times)
TWICE_RULE(with_allocation, times)
TWICE_RULE(with_fork, times)

/* Copies of integers, and of memory of the host. */
/* Twice: what stands for it must be faster on a GPU. */
BG_OP(copied, BG_IN(x), BG_OUT(y))
{
    TRY_BG(
        from_cuda(cudaMemcpyAsync(args->y.data, args->x.data, bg_tensor_bytes(&args->x), cudaMemcpyDefault, stream)));
    return from_cuda(cudaMemcpyAsync(args->y.data, args->x.data, bg_tensor_bytes(&args->x), cudaMemcpyDefault, stream));
}

BG_OP(copied_as_well, BG_IN(x), BG_OUT(y))
{
    return from_cuda(cudaMemcpyAsync(args->y.data, args->x.data, bg_tensor_bytes(&args->x), cudaMemcpyDefault, stream));
}

BG_RULE(copied_as_well, copied)
{
    *args = (copied_as_well_args){.x = a0->x, .y = a0->y};
    return true;
}

/* ---- passes: z = 6 x, y = 2 x ---- */

static bg_status forward(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(BG_CALL(times, stream, .x = f->x, .y = f->y, .factor = 2));
    return BG_CALL(times, stream, .x = f->y, .y = f->z, .factor = 3);
}

static bg_status forward_and_tell(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(BG_CALL(times_and_tell, stream, .x = f->x, .y = f->y, .factor = 2));
    return BG_CALL(times, stream, .x = f->y, .y = f->z, .factor = 3);
}

/* z = 10 x at last */
static bg_status forward_values(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(forward(user, stream));
    TRY_BG(BG_CALL(times, stream, .x = f->x, .y = f->y, .factor = 2));
    return BG_CALL(times, stream, .x = f->y, .y = f->z, .factor = 5);
}

/* A block of the pool is in use over the run, and released behind it: y = 10 x at last. */
static bg_status forward_pool(void *user, cudaStream_t stream)
{
    fixture *f = user;
    void *memory;
    TRY_BG(bg_pool_alloc(now.pool, N * sizeof(float), &memory));
    TRY_BG(from_cuda(bgk_scale(memory, f->x.data, 10, N, stream)));
    TRY_BG(forward(user, stream));
    TRY_BG(from_cuda(bgk_scale(f->y.data, memory, 1, N, stream)));
    bg_pool_release(now.pool, memory);
    return BG_OK;
}

/* An input of the first call is a block that is released before the second one, which gets it as scratch. */
static bg_status forward_released(void *user, cudaStream_t stream)
{
    fixture *f = user;
    void *memory;
    TRY_BG(bg_pool_alloc(now.pool, N * sizeof(float), &memory));
    now.block = memory;
    TRY_BG(from_cuda(bgk_scale(memory, f->x.data, 1, N, stream)));
    TRY_BG(BG_CALL(times, stream, .x = bg_tensor_1d(memory, BG_F32, N), .y = f->y, .factor = 2));
    bg_pool_release(now.pool, memory);
    return BG_CALL(times_through, stream, .x = f->y, .y = f->z, .factor = 3);
}

static bg_status forward_numbers(void *user, cudaStream_t stream)
{
    (void)user;
    return BG_CALL(copied, stream, .x = bg_tensor_1d(now.numbers, BG_I32, N),
                   .y = bg_tensor_1d(now.numbers + N, BG_I32, N));
}

static bg_status forward_to_host(void *user, cudaStream_t stream)
{
    fixture *f = user;
    return BG_CALL(copied, stream, .x = f->x, .y = bg_tensor_1d(now.pageable, BG_F32, N));
}

static void fill_x(fixture *f, float value)
{
    EXPECT_CUDA(bgk_fill(f->x.data, value, N, f->stream));
}

static bg_graph *capture(fixture *f, bg_forward pass, const char *op)
{
    bg_graph *graph;

    now.op = op;
    fill_x(f, 1);
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE, .pool = now.pool)));
    return graph;
}

#define OWNED_CAPTURE(name, f, pass, op)                                                                               \
    __attribute__((cleanup(destroy_owned_graph))) bg_graph *name = capture(f, pass, op)

/* A replay with x = 2 leaves these. */
static void expect_replay(fixture *f, bg_graph *graph, float y, float z)
{
    fill_x(f, 2);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_FLOATS(f, f->y.data, N, y);
    EXPECT_FLOATS(f, f->z.data, N, z);
}

static int count_applied(const bg_graph *graph)
{
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    EXPECT_OK(bg_graph_get_compile_info(graph, &info));
    return info.applied;
}

/* Of the first run of that op. */
static bg_fusion find_fusion(const bg_graph *graph, const char *op)
{
    bg_fusion fusion = BG_FUSION_INIT;
    for (int i = 0; bg_graph_get_fusion(graph, i, &fusion) == BG_OK; i++)
        if (strcmp(fusion.op, op) == 0)
            return fusion;
    fail_msg("there is no run of %s", op);
    return fusion;
}

/* ---- memory ---- */

static void expect_pool(fixture *f, const char *op)
{
    OWNED_CAPTURE(graph, f, forward_pool, op);

    assert_int_equal(count_applied(graph), 1);
    EXPECT_FLOATS(f, f->y.data, N, 10);
    expect_replay(f, graph, 20, 12);
}

FIXTURE_TEST(test_pool)
{
    EXPECT_OK(bg_pool_create(&now.pool, NULL));
    expect_pool(f, "with_scratch");
    expect_pool(f, "with_pool");
    bg_pool_destroy(now.pool);
    now.pool = NULL;
}

FIXTURE_TEST(test_scratch_of_calls)
{
    EXPECT_OK(bg_pool_create(&now.pool, NULL));
    OWNED_CAPTURE(graph, f, forward_released, "plain");
    assert_ptr_equal(now.scratch, now.block);
    assert_int_equal(count_applied(graph), 1);
    EXPECT_FLOATS(f, f->y.data, N, 2);
    EXPECT_FLOATS(f, f->z.data, N, 6);
    expect_replay(f, graph, 4, 12);
    bg_pool_destroy(now.pool);
    now.pool = NULL;
}

/* Another stream may read what a pass only reads, such as weights, while the pass is proven. */
FIXTURE_TEST(test_inputs_stay)
{
    OWNED_GRAPH(graph);

    EXPECT_CUDA(cudaMalloc((void **)&now.seen, N * sizeof *now.seen));
    EXPECT_CUDA(bgk_fill(now.seen, 0, N, f->stream));
    now.x = f->x.data;
    graph = capture(f, forward, "plain");
    assert_true(first_of(f, now.seen) > 2); /* bodies have run for the proof */
    EXPECT_FLOATS(f, now.seen, N, first_of(f, now.seen));
    EXPECT_CUDA(cudaFree(now.seen));
    now.seen = NULL;
}

FIXTURE_TEST(test_recapture)
{
    OWNED_REPORT(report);

    bg_graph_destroy(capture(f, forward, "with_scratch")); /* proven from now on */
    set_variable("BG_COMPILE", "once");
    EXPECT_OK(bg_check_recapture(forward, f, NULL, f->stream, &report));
    set_variable("BG_COMPILE", NULL);
    assert_int_equal(bg_report_count(report), 0);
}

/* ---- values ---- */

FIXTURE_TEST(test_values)
{
    OWNED_CAPTURE(graph, f, forward_values, "by_three");

    assert_int_equal(count_applied(graph), 1);
    expect_replay(f, graph, 4, 20);
}

/* ---- what may not stand for calls ---- */

static void expect_unused(fixture *f, const char *op, bg_fusion_state state, const char *why)
{
    OWNED_CAPTURE(graph, f, forward, op);
    bg_fusion fusion = find_fusion(graph, op);

    assert_int_equal(fusion.state, state);
    EXPECT_TEXT(fusion.why, why);
    assert_int_equal(count_applied(graph), 0);
    expect_replay(f, graph, 4, 12);
}

FIXTURE_TEST(test_bodies)
{
    expect_unused(f, "eager", BG_FUSION_REFUSED, "is an eager op");
    expect_unused(f, "with_calls", BG_FUSION_DIFFERS, "its body calls ops");
    expect_unused(f, "with_wait", BG_FUSION_DIFFERS, "it cannot be captured");
}

/* ---- what a proof must see ---- */

/* A warm-up has left in y and z what the calls compute. */
static void expect_found(fixture *f, const char *op, const char *why)
{
    fill_x(f, 1);
    EXPECT_OK(bg_forward_run(forward, f, f->stream, NULL));
    expect_unused(f, op, BG_FUSION_DIFFERS, why);
}

FIXTURE_TEST(test_what_is_left_out)
{
    expect_found(f, "leaves_out", "when outputs are first filled with a pattern");
}

/* The graph replays what was captured, whatever a body does beside. */
FIXTURE_TEST(test_what_is_captured)
{
    EXPECT_CUDA(cudaStreamCreateWithFlags(&now.other, cudaStreamNonBlocking));
    expect_found(f, "elsewhere", "when outputs are first filled with a pattern");
    expect_found(f, "all_elsewhere", "queues no work on its stream");
    expect_found(f, "by_phase", "y of times#1 differs");
    EXPECT_CUDA(cudaStreamSynchronize(now.other));
    EXPECT_CUDA(cudaStreamDestroy(now.other));
}

/* x is what it was when the proof is over. */
FIXTURE_TEST(test_what_is_only_read)
{
    OWNED_CAPTURE(graph, f, forward, "spoils");
    bg_fusion fusion = find_fusion(graph, "spoils");

    assert_int_equal(fusion.state, BG_FUSION_DIFFERS);
    EXPECT_TEXT(fusion.why, "it changes x of times#0, which the calls only read");
    EXPECT_FLOATS(f, f->x.data, N, 1);
    EXPECT_FLOATS(f, f->z.data, N, 6);
}

/* Zeros tell no factor from another: floats are filled, where only the proof sees it. */
FIXTURE_TEST(test_constants)
{
    OWNED_GRAPH(graph);

    expect_unused(f, "by_phase", BG_FUSION_DIFFERS, "differs");
    now.op = "by_phase";
    set_variable("BG_COMPILE_PROVE", "always");
    fill_x(f, 0);
    EXPECT_OK(bg_capture_forward(&graph, forward, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE)));
    set_variable("BG_COMPILE_PROVE", NULL);
    assert_int_equal(find_fusion(graph, "by_phase").state, BG_FUSION_DIFFERS);
    EXPECT_TEXT(find_fusion(graph, "by_phase").why, "when constant inputs are filled with random numbers");
    EXPECT_FLOATS(f, f->x.data, N, 0);
    EXPECT_FLOATS(f, f->z.data, N, 0);
}

/* Integers stay, since they are places in memory: a proof on the same one everywhere is none. */
FIXTURE_TEST(test_constant_integers)
{
    static const int numbers[N] = {[1] = 3};

    now.op = "";
    EXPECT_CUDA(cudaMalloc((void **)&now.numbers, 2 * sizeof numbers));
    EXPECT_CUDA(cudaMemsetAsync(now.numbers, 0, 2 * sizeof numbers, f->stream));
    for (int filled = 0; filled < 2; filled++) {
        OWNED_CAPTURE(graph, f, forward_numbers, "");
        bg_fusion fusion = find_fusion(graph, "copied_as_well");
        assert_int_equal(fusion.state, filled ? BG_FUSION_APPLIED : BG_FUSION_UNPROVEN);
        if (!filled)
            EXPECT_TEXT(fusion.why, "all inputs hold one value");
        EXPECT_CUDA(cudaMemcpyAsync(now.numbers, numbers, sizeof numbers, cudaMemcpyHostToDevice, f->stream));
    }
    EXPECT_CUDA(cudaFree(now.numbers));
}

/* ---- proofs that cannot be made cost no capture ---- */

FIXTURE_TEST(test_op_that_allocates)
{
    expect_unused(f, "with_allocation", BG_FUSION_UNPROVEN, "its body allocates by cudaMallocAsync");
}

FIXTURE_TEST(test_pageable_output)
{
    now.pageable = calloc(N, sizeof *now.pageable);
    assert_non_null(now.pageable);
    {
        OWNED_CAPTURE(graph, f, forward_to_host, "");
        assert_int_equal(find_fusion(graph, "copied_as_well").state, BG_FUSION_UNPROVEN);
        EXPECT_TEXT(find_fusion(graph, "copied_as_well").why, "y of copied#0 is in pageable host memory");
        EXPECT_CUDA(cudaStreamSynchronize(f->stream));
        assert_float_equal(now.pageable[N - 1], 1, 0);
    }
    free(now.pageable);
}

static bg_status forward_beside(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(from_cuda(cudaLaunchHostFunc(stream, count_call, NULL)));
    return forward(f, stream);
}

TESTS_ON_HOST_DEVICE("that calls fail on request");

/* As one with nodes of which CUDA makes no copies. */
FAULT_TEST(test_segment_without_copies)
{
    OWNED_GRAPH(graph);

    now.host_calls = 0;
    set_variable("BG_COMPILE_PROVE", "always");
    fail_calls("cudaGraphClone@1=cudaErrorNotSupported");
    graph = capture(f, forward_beside, "plain");
    fail_calls(NULL);
    set_variable("BG_COMPILE_PROVE", NULL);
    assert_int_equal(find_fusion(graph, "plain").state, BG_FUSION_UNPROVEN);
    EXPECT_TEXT(find_fusion(graph, "plain").why, "the segment cannot be launched in parts");
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    assert_int_equal(now.host_calls, 1);
    expect_replay(f, graph, 4, 12);
    OWNED_CAPTURE(again, f, forward_beside, "plain"); /* the verdict was not kept */
    assert_int_equal(count_applied(again), 1);
}

TESTS_ON_ANY_DEVICE;

/* Without a proof the leak is in the graph, where a check finds it. */
FIXTURE_TEST(test_leak_of_a_fused_run)
{
    OWNED_REPORT(report);

    EXPECT_CUDA(cudaStreamCreateWithFlags(&now.other, cudaStreamNonBlocking));
    set_variable("BG_COMPILE_PROVE", "off");
    {
        OWNED_CAPTURE(graph, f, forward, "all_elsewhere");
        set_variable("BG_COMPILE_PROVE", NULL);
        assert_int_equal(count_applied(graph), 1);
        EXPECT_OK(bg_check(graph, BG_CHECK_LEAKS, &report));
        assert_int_equal(bg_report_count(report), 1);
        EXPECT_TEXT(finding_of(report, 0).message, "all_elsewhere[times#0, times#1] left no node in the graph");
    }
    EXPECT_CUDA(cudaStreamSynchronize(now.other));
    EXPECT_CUDA(cudaStreamDestroy(now.other));
}

/* ---- full graphs ---- */

/* A runner has lowered its mode to what the calls support. */
FIXTURE_TEST(test_graph_support)
{
    bg_op_attributes attributes = BG_OP_ATTRIBUTES_INIT;

    now.op = "plain";
    attributes.graph_support = BG_SUPPORT_NEVER;
    EXPECT_OK(bg_op_set_attributes("plain", &attributes));
    for (int full = 0; full < 2; full++) {
        OWNED_GRAPH(graph);
        fill_x(f, 1);
        EXPECT_OK(bg_capture_forward(&graph, forward, f, f->stream,
                                     OPTIONS(.level = BG_LEVEL_ONCE, .inline_eager = full == 1)));
        assert_int_equal(count_applied(graph), full == 0);
        if (full == 1)
            EXPECT_TEXT(find_fusion(graph, "plain").why, "plain supports fewer full graphs than the calls");
    }
    EXPECT_OK(bg_op_set_attributes("plain", NULL));
}

/* ---- forks ---- */

enum { FORKS = 8 };

static bg_tensor link_of_chain(int i)
{
    return bg_tensor_1d(now.chain + i * N, BG_F32, N);
}

/* Each call reads what the one before has written. Between two forks is an op that has none, so that the second stream
 * waits for the fork before, too. */
static bg_status forward_forks(void *user, cudaStream_t stream)
{
    (void)user;
    for (int i = 0; i < 3 * FORKS; i += 3) {
        for (int k = i; k < i + 2; k++)
            TRY_BG(BG_CALL(times, stream, .x = link_of_chain(k), .y = link_of_chain(k + 1), .factor = 0.5f));
        TRY_BG(BG_CALL(copied, stream, .x = link_of_chain(i + 2), .y = link_of_chain(i + 3)));
    }
    return BG_OK;
}

FIXTURE_TEST(test_fork)
{
    OWNED_REPORT(report);

    EXPECT_CUDA(cudaStreamCreateWithFlags(&now.other, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMalloc((void **)&now.chain, (3 * FORKS + 1) * N * sizeof *now.chain));
    EXPECT_CUDA(bgk_fill(now.chain, 1, (3 * FORKS + 1) * N, f->stream));
    {
        OWNED_CAPTURE(graph, f, forward_forks, "with_fork");
        assert_int_equal(count_applied(graph), 2 * FORKS);
        EXPECT_OK(bg_check(graph, BG_CHECK_ALL, &report));
        assert_int_equal(bg_report_count(report), 0);
        EXPECT_CUDA(bgk_fill(now.chain, 1 << 2 * FORKS, N, f->stream));
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_FLOATS(f, now.chain + 3 * FORKS * N, N, 1);
    }
    EXPECT_CUDA(cudaFree(now.chain));
    EXPECT_CUDA(cudaStreamDestroy(now.other));
}

/* Without a proof, such an op fails the capture; the stream stays usable. */
FIXTURE_TEST(test_bodies_unproven)
{
    static const char *const ops[] = {"with_calls", "with_wait"};
    OWNED_GRAPH(graph);

    set_variable("BG_COMPILE_PROVE", "off");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        now.op = ops[i];
        assert_int_not_equal(bg_capture_forward(&graph, forward, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE)), BG_OK);
        EXPECT_ERROR(ops[i]);
    }
    set_variable("BG_COMPILE_PROVE", NULL);
    graph = capture(f, forward, "plain");
    expect_replay(f, graph, 4, 12);
}

FIXTURE_TEST(test_host_nodes_stay)
{
    OWNED_CAPTURE(graph, f, forward_and_tell, "plain");

    assert_int_equal(find_fusion(graph, "plain").state, BG_FUSION_REFUSED);
    EXPECT_TEXT(find_fusion(graph, "plain").why, "times_and_tell#0 has a node");
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    now.host_calls = 0;
    expect_replay(f, graph, 4, 12);
    assert_int_equal(now.host_calls, 1);
}

/* ---- passes and rules ---- */

static bg_status run_twice(void *user, bg_piece *piece)
{
    static const bg_pass empty = {"empty", NULL, NULL};
    static const bg_pass *const passes[] = {&bg_pass_rules, &bg_pass_rules}, *const none[] = {NULL},
                                *const bad[] = {&empty};
    (void)user;
    EXPECT_INVALID(bg_passes_run(NULL, 1, piece));
    EXPECT_INVALID(bg_passes_run(none, 1, piece));
    EXPECT_INVALID(bg_passes_run(bad, 1, piece));
    return bg_passes_run(passes, 2, piece);
}

FIXTURE_TEST(test_rules_twice)
{
    static const bg_compiler compiler = {sizeof compiler, "twice", run_twice, NULL};
    OWNED_GRAPH(graph);

    EXPECT_OK(bg_compiler_set(&compiler));
    graph = capture(f, forward, "plain");
    EXPECT_OK(bg_compiler_set(NULL));
    assert_int_equal(count_applied(graph), 1);
    expect_replay(f, graph, 4, 12);
}

static bool match_none(const void *const *calls, void *args, int rows)
{
    (void)calls;
    (void)args;
    (void)rows;
    return false;
}

/* Rules that a program registers itself, and that are gone before their graph. */
FIXTURE_TEST(test_registration)
{
    const bg_rule right = {sizeof right,  &plain_bg_op_, {&times_bg_op_},        1, match_none,
                           {"here.c", 7}, NULL,          BG_RULE_ATTRIBUTES_INIT};
    bg_rule *rule = malloc(sizeof *rule), wrong = right;
    OWNED_GRAPH(graph);

    assert_non_null(rule);
    *rule = right;
    wrong.count = 0;
    bg_rule_register(&wrong);
    wrong = right;
    wrong.match = NULL;
    bg_rule_register(&wrong);
    bg_rule_register(rule);
    bg_rule_register(rule);
    graph = capture(f, forward, "");
    bg_rule_unregister(rule);
    memset(rule, 0xee, sizeof *rule);
    free(rule);
    assert_string_equal(find_fusion(graph, "plain").op, "plain");
}

/* Calls that vary cannot be compared with anything: the rule is not called wrong. */
FIXTURE_TEST(test_varying_calls)
{
    now.grows = true;
    set_variable("BG_COMPILE_PROVE", "always");
    OWNED_CAPTURE(varied, f, forward, "plain");
    set_variable("BG_COMPILE_PROVE", NULL);
    now.grows = false;
    assert_int_equal(find_fusion(varied, "plain").state, BG_FUSION_UNPROVEN);
    EXPECT_TEXT(find_fusion(varied, "plain").why, "the calls give another result when they run again");
    OWNED_CAPTURE(graph, f, forward, "plain"); /* the verdict was not kept */
    assert_int_equal(count_applied(graph), 1);
    expect_replay(f, graph, 4, 12);
}
