/* Compile levels and what bodies do beside kernels: their memory, their values, what they may not do in the place of
 * calls; rules and passes that are given wrongly. */
#include "tests/support/runner/shared.h"

#include <breakgraph/check.h>
#include <breakgraph/report.h>

static struct {
    const char *op; /* whose rule may be used */
    float *seen;    /* device memory: N floats, to which each body of `times` adds what x holds */
    const float *x;
    bg_pool *pool;
    const void *block, *scratch;
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
