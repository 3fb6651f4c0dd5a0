/* Compile levels: which runs of calls become one op, which are refused and why, and which rules the referee drops. */
#include "tests/support/runner/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, ROWS_MAX = 96 };
static const float epsilon = 1e-3f;

/* What a pass of these tests works on: rows of WIDTH floats. */
typedef struct model {
    fixture f;
    int rows;
    bg_tensor x, y, n, weight;
    bool raw, fork, eager, alias, memory; /* what is done between the two calls, or with their tensors */
    float *memory_of_all;
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

static bg_status plus_norm(const bg_tensor *x, const bg_tensor *y, const bg_tensor *weight, const bg_tensor *n,
                           int rows, float of, cudaStream_t stream)
{
    return from_cuda(bgk_add_rms_norm(n->data, x->data, y->data, weight->data, rows, (int)x->dim[1], of, stream));
}

BG_OP(right, PLUS_NORM)
{
    return plus_norm(&args->x, &args->y, &args->weight, &args->n, (int)args->x.dim[0], args->epsilon, stream);
}

/* Wrong: with another epsilon. */
BG_OP(wrong_epsilon, PLUS_NORM)
{
    return plus_norm(&args->x, &args->y, &args->weight, &args->n, (int)args->x.dim[0], 2 * args->epsilon, stream);
}

/* Wrong: the rule swaps two operands. */
BG_OP(swapped, PLUS_NORM)
{
    bg_status status =
        from_cuda(bgk_add(args->x.data, args->x.data, args->y.data, bg_tensor_bytes(&args->x) / sizeof(float), stream));
    return status != BG_OK ? status
                           : from_cuda(bgk_rms_norm(args->n.data, args->y.data, args->weight.data, (int)args->x.dim[0],
                                                    (int)args->x.dim[1], args->epsilon, stream));
}

/* Wrong where n is y: n is written first. */
BG_OP(in_place, PLUS_NORM)
{
    bg_status status = from_cuda(bgk_fill(args->n.data, 7, bg_tensor_bytes(&args->n) / sizeof(float), stream));
    return status != BG_OK
               ? status
               : plus_norm(&args->x, &args->y, &args->weight, &args->n, (int)args->x.dim[0], args->epsilon, stream);
}

/* Wrong for rows of zeros alone, such as padding rows, beyond its tolerance: they become NaN. */
BG_OP(padded, PLUS_NORM)
{
    return plus_norm(&args->x, &args->y, &args->weight, &args->n, (int)args->x.dim[0], 0, stream);
}

/* Wrong beyond 64 rows. */
BG_OP(large, PLUS_NORM)
{
    int rows = args->x.dim[0] < 64 ? (int)args->x.dim[0] : 64;
    return plus_norm(&args->x, &args->y, &args->weight, &args->n, rows, args->epsilon, stream);
}

/* Fails. */
BG_OP(failing, PLUS_NORM)
{
    return BG_ERROR_OP;
}

/* Does not say that it writes x. */
BG_OP(silent, BG_IN(x), BG_IN(y), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon))
{
    return plus_norm(&args->x, &args->y, &args->weight, &args->n, (int)args->x.dim[0], args->epsilon, stream);
}

/* For few rows alone. */
BG_OP(shaped, PLUS_NORM)
{
    return plus_norm(&args->x, &args->y, &args->weight, &args->n, (int)args->x.dim[0], args->epsilon, stream);
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

static void set_attributes(void)
{
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;
    attributes.in_place = true; /* which is true of one of them */
    EXPECT_OK(bg_rule_set_attributes("right", &attributes));
    EXPECT_OK(bg_rule_set_attributes("in_place", &attributes));
    attributes.in_place = false;
    attributes.tolerance = "rel=0.1";
    EXPECT_OK(bg_rule_set_attributes("padded", &attributes));
    attributes.tolerance = NULL;
    attributes.applies = has_few_rows;
    EXPECT_OK(bg_rule_set_attributes("shaped", &attributes));
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

static void open_model(model *m, fixture *f, int rows)
{
    size_t floats = (size_t)ROWS_MAX * WIDTH;
    *m = (model){.f = *f, .rows = rows};
    EXPECT_CUDA(cudaMalloc((void **)&m->memory_of_all, (3 * floats + WIDTH) * sizeof(float)));
    m->x = rows_of(m->memory_of_all, rows);
    m->y = rows_of(m->memory_of_all + floats, rows);
    m->n = rows_of(m->memory_of_all + 2 * floats, rows);
    m->weight = bg_tensor_1d(m->memory_of_all + 3 * floats, BG_F32, WIDTH);
    set_attributes();
    fill(m);
}

static void close_model(const model *m)
{
    EXPECT_CUDA(cudaFree(m->memory_of_all));
}

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

/* Captured with that level and these rules, and what one more replay gives from the same memory. */
typedef struct captured {
    bg_graph *graph;
    bg_compile_info info;
    bg_fusion fusion; /* the first */
    result at_capture, replayed;
} captured;

static captured capture(model *m, bg_level level, const char *ops, const char *prove, const bg_capture_options *with)
{
    bg_capture_options options = with != NULL ? *with : (bg_capture_options)BG_CAPTURE_OPTIONS_INIT;
    captured c = {.info = BG_COMPILE_INFO_INIT, .fusion = BG_FUSION_INIT};

    options.level = (int)level;
    fill(m);
    assert_int_equal(setenv("BG_COMPILE_OPS", ops, 1) | setenv("BG_COMPILE_PROVE", prove, 1), 0);
    EXPECT_OK(bg_capture_forward(&c.graph, forward, m, m->f.stream, &options));
    assert_int_equal(unsetenv("BG_COMPILE_OPS") | unsetenv("BG_COMPILE_PROVE"), 0);
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

static result plain_result(model *m)
{
    captured c = capture(m, BG_LEVEL_NONE, "", "once", NULL);
    assert_int_equal(c.info.pieces, 0);
    assert_true(same_bits(&c.at_capture, &c.replayed));
    bg_graph_destroy(c.graph);
    return c.replayed;
}

/* ---- a rule that is right ---- */

FIXTURE_TEST(test_levels)
{
    model m;
    open_model(&m, f, 4);
    result plain = plain_result(&m);

    captured seen = capture(&m, BG_LEVEL_AS_IS, "right", "once", NULL);
    assert_int_equal(seen.fusion.state, BG_FUSION_FITS);
    assert_int_equal(info_of(seen.graph).nodes, 2);
    captured used = capture(&m, BG_LEVEL_ONCE, "right", "once", NULL);
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
    captured again = capture(&m, BG_LEVEL_ONCE, "right", "once", NULL);
    assert_int_equal(again.info.proofs, 0);
    captured always = capture(&m, BG_LEVEL_ONCE, "right", "always", NULL);
    assert_int_equal(always.info.proofs, 1);
    bg_graph_destroy(seen.graph);
    bg_graph_destroy(used.graph);
    bg_graph_destroy(again.graph);
    bg_graph_destroy(always.graph);
    close_model(&m);
}

FIXTURE_TEST(test_shapes)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    model m;
    open_model(&m, f, 4);
    captured c = capture(&m, BG_LEVEL_ONCE, "shaped", "once", NULL);
    assert_int_equal(c.fusion.state, BG_FUSION_OFF);
    bg_graph_destroy(c.graph);
    c = capture(&m, BG_LEVEL_PIECEWISE, "shaped", "once", NULL);
    assert_int_equal(c.fusion.state, BG_FUSION_APPLIED);
    bg_graph_destroy(c.graph);
    options.compile_sizes = "1,2";
    c = capture(&m, BG_LEVEL_PIECEWISE, "shaped", "once", &options);
    assert_int_equal(c.fusion.state, BG_FUSION_OFF);
    bg_graph_destroy(c.graph);
    options.compile_sizes = "2, 4";
    c = capture(&m, BG_LEVEL_PIECEWISE, "shaped", "once", &options);
    assert_int_equal(c.fusion.state, BG_FUSION_APPLIED);
    bg_graph_destroy(c.graph);
    close_model(&m);
    open_model(&m, f, 16);
    c = capture(&m, BG_LEVEL_PIECEWISE, "shaped", "once", NULL);
    assert_int_equal(c.fusion.state, BG_FUSION_OFF);
    assert_non_null(strstr(c.fusion.why, "16 rows"));
    bg_graph_destroy(c.graph);
    close_model(&m);
}

FIXTURE_TEST(test_selection)
{
    model m;
    open_model(&m, f, 4);
    captured c = capture(&m, BG_LEVEL_ONCE, "right,!right#0", "once", NULL);
    assert_int_equal(c.info.applied, 0);
    bg_graph_destroy(c.graph);
    c = capture(&m, BG_LEVEL_ONCE, "!*,right#0", "once", NULL);
    assert_int_equal(c.info.applied, 1);
    bg_graph_destroy(c.graph);
    c = capture(&m, BG_LEVEL_ONCE, "right#1", "once", NULL);
    assert_int_equal(c.info.applied, 0);
    bg_graph_destroy(c.graph);
    close_model(&m);
}

/* Nothing is launched: there is no data. */
FIXTURE_TEST(test_unlaunched)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    model m;
    open_model(&m, f, 3);
    result plain = plain_result(&m);
    options.launch_segments = false;
    captured c = capture(&m, BG_LEVEL_ONCE, "right", "always", &options);
    assert_int_equal(c.fusion.state, BG_FUSION_UNPROVEN);
    assert_int_equal(c.info.unproven, 1);
    assert_true(same_bits(&plain, &c.replayed));
    bg_graph_destroy(c.graph);
    c = capture(&m, BG_LEVEL_ONCE, "right", "off", &options);
    assert_int_equal(c.fusion.state, BG_FUSION_APPLIED);
    assert_true(same_bits(&plain, &c.replayed));
    bg_graph_destroy(c.graph);
    close_model(&m);
}

/* ---- rules that are wrong ---- */

/* The referee drops it, says why, and both the capture and replays are right. */
static void expect_dropped(model *m, const char *op, const char *field)
{
    result plain = plain_result(m);
    captured c = capture(m, BG_LEVEL_ONCE, op, "once", NULL);

    assert_string_equal(c.fusion.op, op);
    assert_int_equal(c.fusion.state, BG_FUSION_DIFFERS);
    assert_non_null(strstr(c.fusion.why, field));
    assert_int_equal(c.info.dropped, 1);
    assert_int_equal(info_of(c.graph).nodes, 2);
    assert_true(same_bits(&plain, &c.at_capture) && same_bits(&plain, &c.replayed));
    bg_graph_destroy(c.graph);
    c = capture(m, BG_LEVEL_ONCE, op, "once", NULL); /* the verdict is kept */
    assert_int_equal(c.fusion.state, BG_FUSION_DIFFERS);
    assert_int_equal(c.info.proofs, 0);
    bg_graph_destroy(c.graph);
}

FIXTURE_TEST(test_wrong_rules)
{
    model m;
    open_model(&m, f, 4);
    expect_dropped(&m, "wrong_epsilon", "n of norm#0");
    expect_dropped(&m, "swapped", "n of norm#0");
    expect_dropped(&m, "padded", "the last rows are zero");
    expect_dropped(&m, "failing", "its body failed");
    close_model(&m);
}

FIXTURE_TEST(test_wrong_in_place)
{
    model m;
    open_model(&m, f, 4);
    captured c = capture(&m, BG_LEVEL_ONCE, "in_place", "once", NULL);
    assert_int_not_equal(c.fusion.state, BG_FUSION_DIFFERS); /* n is memory of its own */
    bg_graph_destroy(c.graph);
    m.alias = true;
    expect_dropped(&m, "in_place", "x of plus#0");
    c = capture(&m, BG_LEVEL_ONCE, "right", "once", NULL);
    assert_int_equal(c.fusion.state, BG_FUSION_APPLIED);
    bg_graph_destroy(c.graph);
    c = capture(&m, BG_LEVEL_ONCE, "swapped", "once", NULL); /* which does not say in_place */
    assert_int_equal(c.fusion.state, BG_FUSION_REFUSED);
    assert_non_null(strstr(c.fusion.why, "same memory"));
    bg_graph_destroy(c.graph);
    close_model(&m);
}

FIXTURE_TEST(test_wrong_beyond_64_rows)
{
    model m;
    open_model(&m, f, 64);
    captured c = capture(&m, BG_LEVEL_ONCE, "large", "once", NULL);
    assert_int_equal(c.fusion.state, BG_FUSION_APPLIED);
    bg_graph_destroy(c.graph);
    close_model(&m);
    open_model(&m, f, 65);
    expect_dropped(&m, "large", "x of plus#0");
    close_model(&m);
}

/* ---- runs that are refused ---- */

static void expect_refused(model *m, const char *op, const char *why)
{
    result plain = plain_result(m);
    captured c = capture(m, BG_LEVEL_ONCE, op, "once", NULL);

    assert_int_equal(c.fusion.state, BG_FUSION_REFUSED);
    if (strstr(c.fusion.why, why) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", why, c.fusion.why);
    assert_int_equal(c.info.applied, 0);
    assert_true(same_bits(&plain, &c.at_capture) && same_bits(&plain, &c.replayed));
    bg_graph_destroy(c.graph);
}

FIXTURE_TEST(test_refused)
{
    model m;
    open_model(&m, f, 4);
    m.raw = true;
    expect_refused(&m, "right", "work that no op call has launched");
    m.raw = false;
    m.fork = true;
    expect_refused(&m, "right", "a fork");
    m.fork = false;
    expect_refused(&m, "silent", "does not write x of plus#0");
    m.n.data = (float *)m.y.data + WIDTH;
    m.n.dim[0] = m.y.dim[0] = m.x.dim[0] = 3;
    expect_refused(&m, "right", "overlap in part");
    close_model(&m);
}

/* A break is no near miss: the calls are in different segments. */
FIXTURE_TEST(test_break)
{
    model m;
    open_model(&m, f, 4);
    m.eager = true;
    captured c = capture(&m, BG_LEVEL_ONCE, "right", "once", NULL);
    assert_int_equal(c.info.fusions, 0);
    assert_int_equal(c.info.pieces, 2);
    bg_graph_destroy(c.graph);
    close_model(&m);
}

FIXTURE_TEST(test_memory_nodes)
{
    model m;
    open_model(&m, f, 4);
    m.memory = true;
    expect_refused(&m, "right", "allocation nodes");
    close_model(&m);
}

/* ---- arguments ---- */

FIXTURE_TEST(test_arguments)
{
    static const char *const bad_sizes[] = {"", "few", "schedule", "1,", ",1", "1;2", "0", "-1", "1 2", "99999999999"};
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;
    bg_compile_info info = BG_COMPILE_INFO_INIT;
    bg_fusion fusion = BG_FUSION_INIT;
    bg_graph *graph;
    model m;

    open_model(&m, f, 4);
    options.level = 4;
    EXPECT_FAILURE(bg_capture_forward(&graph, forward, &m, m.f.stream, &options), BG_ERROR_INVALID_ARGUMENT,
                   "options.level is 4");
    options.level = BG_LEVEL_PIECEWISE;
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++) {
        options.compile_sizes = bad_sizes[i];
        EXPECT_FAILURE(bg_capture_forward(&graph, forward, &m, m.f.stream, &options), BG_ERROR_INVALID_ARGUMENT,
                       "options.compile_sizes");
    }
    EXPECT_INVALID(bg_rule_set_attributes(NULL, NULL));
    EXPECT_FAILURE(bg_rule_set_attributes("rigth", NULL), BG_ERROR_NOT_FOUND, "right");
    attributes.tolerance = "rel=much";
    EXPECT_INVALID(bg_rule_set_attributes("right", &attributes));
    assert_int_equal(setenv("BG_COMPILE", "4", 1), 0);
    EXPECT_FAILURE(bg_capture_forward(&graph, forward, &m, m.f.stream, NULL), BG_ERROR_INVALID_ARGUMENT, "BG_COMPILE");
    assert_int_equal(setenv("BG_COMPILE", "once", 1), 0);
    EXPECT_OK(bg_capture_forward(&graph, forward, &m, m.f.stream, NULL));
    assert_int_equal(unsetenv("BG_COMPILE"), 0);
    EXPECT_OK(bg_graph_get_compile_info(graph, &info));
    assert_int_equal(info.level, BG_LEVEL_ONCE);
    EXPECT_STATUS(bg_graph_get_fusion(graph, info.fusions, &fusion), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_graph_get_fusion(graph, -1, &fusion), BG_ERROR_NOT_FOUND);
    EXPECT_INVALID(bg_graph_get_fusion(graph, 0, NULL));
    EXPECT_INVALID(bg_graph_get_compile_info(NULL, &info));
    bg_graph_destroy(graph);
    close_model(&m);
}
