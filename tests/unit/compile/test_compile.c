/* Compile levels: which runs of calls become one op, which are refused and why, and which rules the referee drops. */
#include "tests/support/runner/shared.h"

enum { WIDTH = 32, ROWS_MAX = 96 };
static const float epsilon = 1e-3f;

/* What a pass of these tests works on: rows of WIDTH floats. */
typedef struct model {
    fixture f;
    int rows;
    bg_tensor x, y, n, weight;
    bool raw, fork, eager, alias, memory; /* what is done between the two calls, or with their tensors */
    float *memory_of_all;
    bg_graph *graphs[16]; /* that were captured */
    int graph_count;
} model;

/* ---- the calls, and the ops that stand for them ---- */

BG_OP(plus, BG_INOUT(x), BG_IN(y))
{
    return from_cuda(
        bgk_add(args->x.data, args->x.data, args->y.data, bg_tensor_bytes(&args->x) / sizeof(float), stream));
}

BG_OP(norm, BG_IN(x), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon))
{
    return from_cuda(bgk_rms_norm(args->n.data, args->x.data, args->weight.data, (int)args->x.dim[0],
                                  (int)args->x.dim[1], args->epsilon, stream));
}

BG_EAGER_OP(pause, BG_INOUT(x))
{
    return from_cuda(cudaStreamSynchronize(stream));
}

#define PLUS_NORM BG_INOUT(x), BG_IN(y), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon)

#define RUN_PLUS_NORM(rows, epsilon)                                                                                   \
    from_cuda(bgk_add_rms_norm(args->n.data, args->x.data, args->y.data, args->weight.data, rows, (int)args->x.dim[1], \
                               epsilon, stream))
#define ROWS ((int)args->x.dim[0])

BG_OP(right, PLUS_NORM)
{
    return RUN_PLUS_NORM(ROWS, args->epsilon);
}

/* Wrong: with another epsilon. */
BG_OP(wrong_epsilon, PLUS_NORM)
{
    return RUN_PLUS_NORM(ROWS, 2 * args->epsilon);
}

/* Wrong: the rule swaps two operands. */
BG_OP(swapped, PLUS_NORM)
{
    TRY_BG(from_cuda(
        bgk_add(args->x.data, args->x.data, args->y.data, bg_tensor_bytes(&args->x) / sizeof(float), stream)));
    return from_cuda(bgk_rms_norm(args->n.data, args->y.data, args->weight.data, (int)args->x.dim[0],
                                  (int)args->x.dim[1], args->epsilon, stream));
}

/* Wrong where n is y: n is written first. */
BG_OP(in_place, PLUS_NORM)
{
    TRY_BG(from_cuda(bgk_fill(args->n.data, 7, bg_tensor_bytes(&args->n) / sizeof(float), stream)));
    return RUN_PLUS_NORM(ROWS, args->epsilon);
}

/* Wrong for rows of zeros alone, such as padding rows, beyond its tolerance: they become NaN. */
BG_OP(padded, PLUS_NORM)
{
    return RUN_PLUS_NORM(ROWS, 0);
}

/* Wrong beyond 64 rows. */
BG_OP(large, PLUS_NORM)
{
    return RUN_PLUS_NORM(ROWS < 64 ? ROWS : 64, args->epsilon);
}

/* Fails. */
BG_OP(failing, PLUS_NORM)
{
    return BG_ERROR_OP;
}

/* Does not say that it writes x. */
BG_OP(silent, BG_IN(x), BG_IN(y), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon))
{
    return RUN_PLUS_NORM(ROWS, args->epsilon);
}

/* For few rows alone. */
BG_OP(shaped, PLUS_NORM)
{
    return RUN_PLUS_NORM(ROWS, args->epsilon);
}

#define PLUS_NORM_RULE(name)                                                                                           \
    BG_RULE(name, plus, norm)                                                                                          \
    {                                                                                                                  \
        if (a1->x.data != a0->x.data)                                                                                  \
            return false;                                                                                              \
        *args = (name##_args){.x = a0->x, .y = a0->y, .weight = a1->weight, .n = a1->n, .epsilon = a1->epsilon};       \
        return true;                                                                                                   \
    }
PLUS_NORM_RULE(right)
PLUS_NORM_RULE(wrong_epsilon)
PLUS_NORM_RULE(swapped)
PLUS_NORM_RULE(in_place)
PLUS_NORM_RULE(padded)
PLUS_NORM_RULE(large)
PLUS_NORM_RULE(failing)
PLUS_NORM_RULE(silent)
PLUS_NORM_RULE(shaped)

static bool has_few_rows(int rows)
{
    return rows <= 8;
}

#define RULE(...) (&(bg_rule_attributes){.struct_size = sizeof(bg_rule_attributes), __VA_ARGS__})

static void set_attributes(void)
{
    EXPECT_OK(bg_rule_set_attributes("right", RULE(.in_place = true)));
    EXPECT_OK(bg_rule_set_attributes("in_place", RULE(.in_place = true))); /* which is not true of it */
    EXPECT_OK(bg_rule_set_attributes("padded", RULE(.tolerance = "rel=0.1")));
    EXPECT_OK(bg_rule_set_attributes("shaped", RULE(.applies = has_few_rows)));
}

/* ---- passes ---- */

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    void *taken = NULL;

    if (m->memory) {
        EXPECT_CUDA(cudaMallocAsync(&taken, 64, stream));
        EXPECT_CUDA(cudaFreeAsync(taken, stream));
    }
    BG_CALL(plus, stream, .x = m->x, .y = m->y);
    if (m->raw)
        EXPECT_CUDA(cudaMemsetAsync(m->f.memory, 0, sizeof(float), stream));
    if (m->fork)
        EXPECT_OK(bg_stream_wait_stream(m->f.other, stream));
    if (m->eager)
        BG_CALL(pause, stream, .x = m->x);
    BG_CALL(norm, stream, .x = m->x, .weight = m->weight, .n = m->alias ? m->y : m->n, .epsilon = epsilon);
    if (m->fork)
        EXPECT_CUDA(bgk_fill(m->f.memory, 1, 1, m->f.other)); /* which waits for plus alone */
    return m->fork ? bg_stream_wait_stream(stream, m->f.other) : BG_OK;
}

static bg_tensor rows_of(float *data, int rows)
{
    return bg_tensor_2d(data, BG_F32, rows, WIDTH);
}

static void fill(const model *m)
{
    float host[3][ROWS_MAX * WIDTH], weight[WIDTH];
    for (int i = 0; i < m->rows * WIDTH; i++) {
        host[0][i] = (float)(i % 13) / 8 - 0.5f;
        host[1][i] = (float)(i % 7) / 4 - 0.75f;
        host[2][i] = -1;
    }
    for (int i = 0; i < WIDTH; i++)
        weight[i] = 1 + (float)i / 16;
    EXPECT_CUDA(cudaMemcpy(m->x.data, host[0], bg_tensor_bytes(&m->x), cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(m->y.data, host[1], bg_tensor_bytes(&m->y), cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(m->n.data, host[2], bg_tensor_bytes(&m->n), cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(m->weight.data, weight, sizeof weight, cudaMemcpyHostToDevice));
}

static void close_model(model *m)
{
    for (int i = 0; i < m->graph_count; i++)
        bg_graph_destroy(m->graphs[i]);
    EXPECT_CUDA(cudaFree(m->memory_of_all));
}
/* A model that goes with its scope, and its graphs with it. */
#define OWNED_MODEL(name) __attribute__((cleanup(close_model))) model name = {.rows = 0}

static void open_model(model *m, fixture *f, int rows)
{
    size_t floats = (size_t)ROWS_MAX * WIDTH;
    close_model(m);
    *m = (model){.f = *f, .rows = rows};
    EXPECT_CUDA(cudaMalloc((void **)&m->memory_of_all, (3 * floats + WIDTH) * sizeof(float)));
    m->x = rows_of(m->memory_of_all, rows);
    m->y = rows_of(m->memory_of_all + floats, rows);
    m->n = rows_of(m->memory_of_all + 2 * floats, rows);
    m->weight = bg_tensor_1d(m->memory_of_all + 3 * floats, BG_F32, WIDTH);
    set_attributes();
    fill(m);
}

#define OPENED_MODEL(name, f, rows)                                                                                    \
    OWNED_MODEL(name);                                                                                                 \
    open_model(&(name), f, rows)

typedef struct result {
    float x[ROWS_MAX * WIDTH], y[ROWS_MAX * WIDTH], n[ROWS_MAX * WIDTH];
} result;

static void read_result(const model *m, result *r)
{
    memset(r, 0, sizeof *r);
    EXPECT_CUDA(cudaStreamSynchronize(m->f.stream));
    EXPECT_CUDA(cudaMemcpy(r->x, m->x.data, bg_tensor_bytes(&m->x), cudaMemcpyDeviceToHost));
    EXPECT_CUDA(cudaMemcpy(r->y, m->y.data, bg_tensor_bytes(&m->y), cudaMemcpyDeviceToHost));
    EXPECT_CUDA(cudaMemcpy(r->n, m->n.data, bg_tensor_bytes(&m->n), cudaMemcpyDeviceToHost));
}

static bool same_bits(const result *a, const result *b)
{
    const void *one = a, *other = b; /* floats, without padding between them */
    return memcmp(one, other, sizeof *a) == 0;
}

/* Captured with these rules, and what one more replay gives from the same memory. */
typedef struct captured {
    bg_graph *graph;
    bg_compile_info info;
    bg_fusion fusion; /* the first */
    result at_capture, replayed;
} captured;

static captured capture(model *m, const char *ops, const char *prove, const bg_capture_options *options)
{
    captured c = {.info = BG_COMPILE_INFO_INIT, .fusion = BG_FUSION_INIT};

    fill(m);
    set_variable("BG_COMPILE_OPS", ops);
    set_variable("BG_COMPILE_PROVE", prove);
    EXPECT_OK(bg_capture_forward(&c.graph, forward, m, m->f.stream, options));
    assert_in_range(m->graph_count, 0, sizeof m->graphs / sizeof *m->graphs - 1);
    m->graphs[m->graph_count++] = c.graph;
    set_variable("BG_COMPILE_OPS", NULL);
    set_variable("BG_COMPILE_PROVE", NULL);
    read_result(m, &c.at_capture);
    EXPECT_OK(bg_graph_get_compile_info(c.graph, &c.info));
    for (int i = 0; i < c.info.fusions; i++) {
        EXPECT_OK(bg_graph_get_fusion(c.graph, i, &c.fusion));
        if (strcmp(c.fusion.op, ops) == 0)
            break;
    }
    fill(m);
    EXPECT_OK(bg_replay(c.graph, m->f.stream));
    read_result(m, &c.replayed);
    return c;
}

static captured capture_once(model *m, const char *ops)
{
    return capture(m, ops, "once", OPTIONS(.level = BG_LEVEL_ONCE));
}

static result plain_result(model *m)
{
    captured c = capture(m, "", "once", OPTIONS(.level = BG_LEVEL_NONE));
    assert_int_equal(c.info.pieces, 0);
    assert_true(same_bits(&c.at_capture, &c.replayed));
    return c.replayed;
}

/* ---- a rule that is right ---- */

FIXTURE_TEST(test_levels)
{
    OPENED_MODEL(m, f, 4);
    result plain = plain_result(&m);

    captured seen = capture(&m, "right", "once", OPTIONS(.level = BG_LEVEL_AS_IS));
    assert_int_equal(seen.fusion.state, BG_FUSION_FITS);
    assert_int_equal(info_of(seen.graph).nodes, 2);
    captured used = capture_once(&m, "right");
    assert_int_equal(used.fusion.state, BG_FUSION_APPLIED);
    assert_string_equal(used.fusion.name, "right[plus#0, norm#0]");
    assert_string_equal(used.fusion.file, __FILE__);
    assert_true(used.fusion.proven);
    assert_int_equal(used.info.applied, 1);
    assert_int_equal(used.info.nodes_before, 2);
    assert_int_equal(used.info.nodes_after, 1);
    assert_int_equal(info_of(used.graph).nodes, 1);
    assert_int_equal(info_of(used.graph).calls, 2); /* of the pass: the op is none of them */
    assert_true(same_bits(&plain, &seen.replayed) && same_bits(&plain, &used.at_capture) &&
                same_bits(&plain, &used.replayed));
    assert_int_equal(capture_once(&m, "right").info.proofs, 0);
    assert_int_equal(capture(&m, "right", "always", OPTIONS(.level = BG_LEVEL_ONCE)).info.proofs, 1);
}

FIXTURE_TEST(test_shapes)
{
    static const struct {
        int rows;
        bg_level level;
        const char *sizes;
        bg_fusion_state state;
    } cases[] = {
        {4, BG_LEVEL_ONCE, NULL, BG_FUSION_OFF},       {4, BG_LEVEL_PIECEWISE, NULL, BG_FUSION_APPLIED},
        {4, BG_LEVEL_PIECEWISE, "1,2", BG_FUSION_OFF}, {4, BG_LEVEL_PIECEWISE, "2, 4", BG_FUSION_APPLIED},
        {16, BG_LEVEL_PIECEWISE, NULL, BG_FUSION_OFF},
    };
    captured c = {.graph = NULL};
    OWNED_MODEL(m);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_model(&m, f, cases[i].rows);
        c = capture(&m, "shaped", "once", OPTIONS(.level = (int)cases[i].level, .compile_sizes = cases[i].sizes));
        if (c.fusion.state != cases[i].state)
            fail_msg("case %zu: the state is %d, not %d", i, (int)c.fusion.state, (int)cases[i].state);
    }
    EXPECT_TEXT(c.fusion.why, "16 rows");
}

FIXTURE_TEST(test_selection)
{
    OPENED_MODEL(m, f, 4);
    assert_int_equal(capture_once(&m, "right,!right#0").info.applied, 0);
    assert_int_equal(capture_once(&m, "!*,right#0").info.applied, 1);
    assert_int_equal(capture_once(&m, "right#1").info.applied, 0);
}

/* Nothing is launched: there is no data. */
FIXTURE_TEST(test_unlaunched)
{
    const bg_capture_options *options = OPTIONS(.level = BG_LEVEL_ONCE, .launch_segments = false);
    OPENED_MODEL(m, f, 3);
    result plain = plain_result(&m);
    captured c = capture(&m, "right", "always", options);
    assert_int_equal(c.fusion.state, BG_FUSION_UNPROVEN);
    assert_int_equal(c.info.unproven, 1);
    assert_true(same_bits(&plain, &c.replayed));
    c = capture(&m, "right", "off", options);
    assert_int_equal(c.fusion.state, BG_FUSION_APPLIED);
    assert_true(same_bits(&plain, &c.replayed));
}

/* ---- rules that are wrong ---- */

/* The referee drops it, says why, and both the capture and replays are right. */
static void expect_dropped(model *m, const char *op, const char *field)
{
    result plain = plain_result(m);
    captured c = capture_once(m, op);

    assert_string_equal(c.fusion.op, op);
    assert_int_equal(c.fusion.state, BG_FUSION_DIFFERS);
    EXPECT_TEXT(c.fusion.why, field);
    assert_int_equal(c.info.dropped, 1);
    assert_int_equal(info_of(c.graph).nodes, 2);
    assert_true(same_bits(&plain, &c.at_capture) && same_bits(&plain, &c.replayed));
    c = capture_once(m, op); /* the verdict is kept */
    assert_int_equal(c.fusion.state, BG_FUSION_DIFFERS);
    assert_int_equal(c.info.proofs, 0);
}

FIXTURE_TEST(test_wrong_rules)
{
    OPENED_MODEL(m, f, 4);
    expect_dropped(&m, "wrong_epsilon", "n of norm#0");
    expect_dropped(&m, "swapped", "n of norm#0");
    expect_dropped(&m, "padded", "the last rows are zero");
    expect_dropped(&m, "failing", "its body failed");
}

FIXTURE_TEST(test_wrong_in_place)
{
    OPENED_MODEL(m, f, 4);
    assert_int_not_equal(capture_once(&m, "in_place").fusion.state, BG_FUSION_DIFFERS); /* n is memory of its own */
    m.alias = true;
    expect_dropped(&m, "in_place", "x of plus#0");
    assert_int_equal(capture_once(&m, "right").fusion.state, BG_FUSION_APPLIED);
    captured c = capture_once(&m, "swapped"); /* which does not say in_place */
    assert_int_equal(c.fusion.state, BG_FUSION_REFUSED);
    EXPECT_TEXT(c.fusion.why, "same memory");
}

FIXTURE_TEST(test_wrong_beyond_64_rows)
{
    OPENED_MODEL(m, f, 64);
    assert_int_equal(capture_once(&m, "large").fusion.state, BG_FUSION_APPLIED);
    open_model(&m, f, 65);
    expect_dropped(&m, "large", "x of plus#0");
}

/* ---- runs that are refused ---- */

static void expect_refused(model *m, const char *op, const char *why)
{
    result plain = plain_result(m);
    captured c = capture_once(m, op);

    assert_int_equal(c.fusion.state, BG_FUSION_REFUSED);
    EXPECT_TEXT(c.fusion.why, why);
    assert_int_equal(c.info.applied, 0);
    assert_true(same_bits(&plain, &c.at_capture) && same_bits(&plain, &c.replayed));
}

FIXTURE_TEST(test_refused)
{
    OPENED_MODEL(m, f, 4);
    m.raw = true;
    expect_refused(&m, "right", "work that no op has launched");
    m.raw = false;
    m.fork = true;
    expect_refused(&m, "right", "a fork");
    m.fork = false;
    expect_refused(&m, "silent", "does not write x of plus#0");
    m.n.data = (float *)m.y.data + WIDTH;
    m.n.dim[0] = m.y.dim[0] = m.x.dim[0] = 3;
    expect_refused(&m, "right", "overlap in part");
}

/* A break is no near miss: the calls are in different segments. */
FIXTURE_TEST(test_break)
{
    OPENED_MODEL(m, f, 4);
    m.eager = true;
    captured c = capture_once(&m, "right");
    assert_int_equal(c.info.fusions, 0);
    assert_int_equal(c.info.pieces, 2);
}

FIXTURE_TEST(test_memory_nodes)
{
    OPENED_MODEL(m, f, 4);
    m.memory = true;
    expect_refused(&m, "right", "allocation nodes");
}

/* ---- arguments ---- */

FIXTURE_TEST(test_arguments)
{
    static const char *const bad_sizes[] = {"", "few", "schedule", "1,", ",1", "1;2", "0", "-1", "1 2", "99999999999"};
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    bg_fusion fusion = BG_FUSION_INIT;
    OWNED_GRAPH(graph);
    OPENED_MODEL(m, f, 4);

    EXPECT_INVALID(bg_capture_forward(&graph, forward, &m, m.f.stream, OPTIONS(.level = 4)));
    EXPECT_ERROR("options.level is 4");
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++)
        EXPECT_FAILS(bg_capture_forward(&graph, forward, &m, m.f.stream,
                                        OPTIONS(.level = BG_LEVEL_PIECEWISE, .compile_sizes = bad_sizes[i])),
                     BG_ERROR_INVALID_ARGUMENT, "options.compile_sizes");
    EXPECT_INVALID(bg_rule_set_attributes(NULL, NULL));
    EXPECT_FAILS(bg_rule_set_attributes("rigth", NULL), BG_ERROR_NOT_FOUND, "right");
    EXPECT_INVALID(bg_rule_set_attributes("right", RULE(.tolerance = "rel=much")));
    set_variable("BG_COMPILE", "4");
    EXPECT_FAILS(bg_capture_forward(&graph, forward, &m, m.f.stream, NULL), BG_ERROR_INVALID_ARGUMENT, "BG_COMPILE");
    set_variable("BG_COMPILE", "once");
    EXPECT_OK(bg_capture_forward(&graph, forward, &m, m.f.stream, NULL));
    set_variable("BG_COMPILE", NULL);
    EXPECT_OK(bg_graph_get_compile_info(graph, &info));
    assert_int_equal(info.level, BG_LEVEL_ONCE);
    EXPECT_STATUS(bg_graph_get_fusion(graph, info.fusions, &fusion), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_graph_get_fusion(graph, -1, &fusion), BG_ERROR_NOT_FOUND);
    EXPECT_INVALID(bg_graph_get_fusion(graph, 0, NULL));
    EXPECT_INVALID(bg_graph_get_compile_info(NULL, &info));
}
