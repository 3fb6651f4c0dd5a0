/* Calls, their names, which of them are eager, and the arguments of those that are. */
#include "tests/support/support.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

BG_OP(rope, BG_INOUT(x))
{
    return from_cuda(bgk_scale(args->x.data, args->x.data, 2, N, stream));
}

BG_EAGER_OP(attention, BG_INOUT(x))
{
    BG_CALL(rope, stream, .x = args->x);
    BG_CALL(rope, stream, .x = args->x);
    return BG_OK;
}

BG_OP(layer, BG_INOUT(x))
{
    BG_CALL(rope, stream, .x = args->x);
    return BG_CALL(attention, stream, .x = args->x);
}

BG_EAGER_OP(sample_top_k, BG_IN(x), BG_OUT(y), BG_VALUE(float, k))
{
    float k = args->k;
    args->k = -1; /* the body's own copy: the next replay sees the stored one again */
    return from_cuda(bgk_scale(args->y.data, args->x.data, k, N, stream));
}

FIXTURE_PASS(pass)
{
    BG_CALL(rope, stream, .x = f->x);
    BG_CALL(layer, stream, .x = f->x);
    BG_CALL(attention, stream, .x = f->x);
    BG_CALL(rope, stream, .x = f->x);
    return BG_CALL(sample_top_k, stream, .x = f->x, .y = f->y, .k = 3);
}
enum { FACTOR = 3 * 128 }; /* seven ropes */

typedef struct accepted {
    int count;
    float first;
} accepted;

/* Reads x on the host: how many of its elements are above the limit. */
BG_EAGER_OP(count_above, BG_IN(x), BG_VALUE(float, limit), BG_RESULT(accepted, found), BG_RESULT(int, runs))
{
    float host[N];
    TRY_BG(from_cuda(cudaMemcpyAsync(host, args->x.data, sizeof host, cudaMemcpyDeviceToHost, stream)));
    TRY_BG(from_cuda(cudaStreamSynchronize(stream)));
    args->found = (accepted){0, host[0]};
    for (int i = 0; i < N; i++)
        args->found.count += host[i] > args->limit;
    args->runs++;
    args->limit = -1; /* does not come back */
    return host[0] == 13 ? BG_ERROR_TIMEOUT : BG_OK;
}

static count_above_args counted;

FIXTURE_PASS(count_pass)
{
    counted = (count_above_args){.x = f->x, .limit = 5};
    BG_CALL(rope, stream, .x = f->x);
    return BG_CALL_ARGS(count_above, stream, &counted);
}

static void expect_counted(const count_above_args *args, int count, float first, int runs)
{
    assert_int_equal(args->found.count, count);
    assert_true(args->found.first == first && args->limit == 5);
    assert_int_equal(args->runs, runs);
}

/* What a body computes on the host comes back: from a plain call, an eager pass, a capture and each replay. */
FIXTURE_TEST(test_results)
{
    put(&f->x, 3);
    EXPECT_OK(count_pass(f, f->stream));
    expect_counted(&counted, N, 6, 1);
    EXPECT_OK(bg_forward_run(count_pass, f, f->stream, NULL));
    expect_counted(&counted, N, 12, 1);
    put(&f->x, 1);
    CAPTURED_GRAPH(graph, count_pass, f, f->stream, NULL);
    expect_counted(&counted, 0, 2, 1);
    count_above_args *args = bg_graph_args(graph, "count_above#0", sizeof *args);
    assert_non_null(args);
    expect_counted(args, 0, 2, 1);
    for (int i = 2; i < 5; i++) { /* a body also finds what it left the last time */
        put(&f->x, (float)i);
        EXPECT_OK(bg_replay(graph, f->stream));
        expect_counted(args, i > 2 ? N : 0, 2 * (float)i, i);
    }
    put(&f->x, 6.5f);
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_TIMEOUT);
    expect_counted(args, N, 8, 4); /* of the last replay that did not fail */

    CAPTURED_GRAPH(unlaunched, count_pass, f, f->stream, UNLAUNCHED_OPTIONS());
    expect_counted(&counted, 0, 0, 0); /* the body does not run at capture */
    put(&f->x, 3);
    EXPECT_OK(bg_replay(unlaunched, f->stream));
    expect_counted(bg_graph_args(unlaunched, "count_above#0", sizeof *args), N, 6, 1);
    put(&f->x, 6.5f);
    counted.runs = 0;
    EXPECT_STATUS(count_pass(f, f->stream), BG_ERROR_TIMEOUT); /* nothing comes back */
    expect_counted(&counted, 0, 0, 0);
}

/* ---- structs of fields ---- */

BG_STRUCT(halves, BG_OUT(twice), BG_OUT(thrice), BG_VALUE(float, factor))
BG_STRUCT(both, BG_FIELDS(halves, first), BG_INOUT(x))

static bool wrong_shape;

/* Leaves its outputs in memory of its own. */
BG_EAGER_OP(in_structs, BG_IN(x), BG_FIELDS(both, all), BG_RESULT(float, sum))
{
    halves *first = &args->all.first;
    void *own;
    TRY_BG(bg_scratch(args, 2 * N * sizeof(float), &own));
    first->twice.data = own;
    first->thrice.data = (float *)own + N;
    TRY_BG(from_cuda(bgk_scale(first->twice.data, args->x.data, 2 * first->factor, N, stream)));
    TRY_BG(from_cuda(bgk_scale(first->thrice.data, args->x.data, 3 * first->factor, N, stream)));
    if (wrong_shape)
        first->thrice.dim[0] = N + 1;
    args->sum = 5 * first->factor;
    return from_cuda(bgk_scale(args->all.x.data, args->all.x.data, 10, N, stream));
}

static in_structs_args structs;

FIXTURE_PASS(pass_in_structs)
{
    structs = (in_structs_args){.x = f->x, .all.first.factor = 7, .all.x = f->y};
    structs.all.first.twice = structs.all.first.thrice = bg_tensor_1d(NULL, BG_F32, N); /* which get bridge buffers */
    TRY_BG(BG_CALL_ARGS(in_structs, stream, &structs));
    TRY_BG(from_cuda(bgk_add(f->z.data, structs.all.first.twice.data, structs.all.first.thrice.data, N, stream)));
    return from_cuda(bgk_add(f->z.data, f->z.data, f->y.data, N, stream));
}

FIXTURE_TEST(test_structs_of_fields)
{
    static const char *const names[] = {"x", "all.first.twice", "all.first.thrice", "all.first.factor", "all.x", "sum"};
    const bg_op *op = bg_op_find("in_structs");

    assert_int_equal(op->field_count, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(op->fields[i].name, names[i]);
    assert_int_equal(op->fields[3].offset, offsetof(in_structs_args, all.first.factor));
    assert_string_equal(op->fields[3].type, "float");
    put(&f->x, 1);
    put(&f->y, 1);
    CAPTURED_GRAPH(graph, pass_in_structs, f, f->stream, NULL);
    assert_true(get(&f->z) == 45 && structs.sum == 35);
    in_structs_args *args = bg_graph_args(graph, "in_structs#0", sizeof *args);
    for (int i = 2; i < 5; i++) {
        put(&f->y, (float)i);
        args->all.first.factor = (float)i;
        EXPECT_REPLAY(graph, f->stream, &f->x, (float)i, &f->z, (float)(5 * i * i + 10 * i));
        assert_true(args->sum == 5 * (float)i);
    }
    wrong_shape = true;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_SHAPE, "output all.first.thrice is f32 [");
    wrong_shape = false;
    EXPECT_OK(bg_forward_run(pass_in_structs, f, f->stream, NULL));
    structs.all.x.data = NULL;
    EXPECT_FAILS(BG_CALL_ARGS(in_structs, f->stream, &structs), BG_ERROR_INVALID_ARGUMENT,
                 "all.x has no memory, but the op reads it");
}

/* An op that is gone and comes again, as of a library that is loaded anew; calls while the process ends find it whole.
 */
TEST(test_structs_come_and_go)
{
    bg_op copy = *bg_op_find("in_structs");
    const bg_field *flat;
    copy.name = "in_structs_too";
    copy.fields = in_structs_bg_fields_;
    copy.field_count = 3;
    bg_op_register(&copy);
    flat = copy.fields;
    assert_int_equal(copy.field_count, 6);
    for (int i = 0; i < 3; i++) {
        bg_op_unregister(&copy);
        assert_ptr_equal(copy.fields, flat);
        bg_op_register(&copy);
        assert_int_equal(copy.field_count, 6);
    }
    bg_op_unregister(&copy);
    free((void *)flat);
}

/* The names of all calls, with a ! where one is eager. */
static void expect_calls(const bg_graph *graph, const char *expected)
{
    bg_call_info info = BG_CALL_INFO_INIT;
    char names[400];
    int i = 0;
    assert_true(strlen(expected) < sizeof names);
    for (char *name = strtok(strcpy(names, expected), " "); name != NULL; name = strtok(NULL, " "), i++) {
        bool eager = name[0] == '!';
        info = call_info_of(graph, i);
        assert_string_equal(info.name, name + eager);
        assert_int_equal(info.eager, eager);
        assert_non_null(strstr(info.file, "test_calls.c"));
        assert_true(info.line > 0);
        assert_int_equal(info.segment == -1, eager);
        assert_non_null(strstr(info.name, info.op));
    }
    EXPECT_STATUS(bg_graph_get_call(graph, i, &info), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_graph_get_call(graph, -1, &info), BG_ERROR_NOT_FOUND);
    assert_int_equal(info_of(graph).calls, i);
}

static bg_graph *capture(fixture *f)
{
    put(&f->x, 1);
    bg_graph *graph = CAPTURED_BY(pass, f, f->stream, NULL);
    EXPECT_VALUE(&f->y, FACTOR);
    EXPECT_REPLAYS(graph, f->stream, &f->x, &f->y, FACTOR);
    return graph;
}

/* Captures with a pattern, and expects breaks and segments. */
static void expect_breaks(fixture *f, const char *pattern, int breaks, int segments)
{
    EXPECT_OK(bg_override_eager(pattern));
    OWN_GRAPH(graph, capture(f));
    if (info_of(graph).breaks != breaks || info_of(graph).segments != segments)
        fail_msg("%s: %d breaks and %d segments, expected %d and %d", pattern ? pattern : "NULL", info_of(graph).breaks,
                 info_of(graph).segments, breaks, segments);
}

FIXTURE_TEST(test_names)
{
    OWN_GRAPH(graph, capture(f));
    expect_calls(
        graph,
        "rope#0 layer#0 layer#0/rope#0 !layer#0/attention#0 !layer#0/attention#0/rope#0 "
        "!layer#0/attention#0/rope#1 !attention#0 !attention#0/rope#0 !attention#0/rope#1 rope#1 !sample_top_k#0");
    EXPECT_COUNTS(graph, 2, 3, -1);
}

/* In a replay, the body of an eager op may reach a call at another place than in the capture. */
static bool turned;
static int straight_line, turned_line;

BG_OP(reached, BG_INOUT(x))
{
    return turned ? BG_ERROR_OP : from_cuda(bgk_scale(args->x.data, args->x.data, 2, N, stream));
}

BG_EAGER_OP(turns, BG_INOUT(x))
{
    if (turned) {
        turned_line = __LINE__ + 1;
        return BG_CALL(reached, stream, .x = args->x);
    }
    straight_line = __LINE__ + 1;
    return BG_CALL(reached, stream, .x = args->x);
}

FIXTURE_PASS(turning_pass)
{
    return BG_CALL(turns, stream, .x = f->x);
}

/* The graph's calls keep the place of the capture; an error names that of the replay. */
FIXTURE_TEST(test_place_in_replay)
{
    char where[128];

    turned = false;
    CAPTURED_GRAPH(graph, turning_pass, f, f->stream, NULL);
    EXPECT_OK(bg_replay(graph, f->stream));
    turned = true;
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_OP);
    snprintf(where, sizeof where, "turns#0/reached#0 at %s:%d", __FILE__, turned_line);
    EXPECT_ERROR(where);
    assert_string_equal(call_info_of(graph, 1).name, "turns#0/reached#0");
    assert_int_equal(call_info_of(graph, 1).line, straight_line);
    turned = false;
    EXPECT_OK(bg_replay(graph, f->stream));
}

/* Making one op eager, or captured, renumbers no other. */
FIXTURE_TEST(test_names_are_stable)
{
    EXPECT_OK(bg_override_eager("rope,!attention"));
    OWN_GRAPH(graph, capture(f));
    expect_calls(
        graph,
        "!rope#0 layer#0 !layer#0/rope#0 layer#0/attention#0 !layer#0/attention#0/rope#0 "
        "!layer#0/attention#0/rope#1 attention#0 !attention#0/rope#0 !attention#0/rope#1 !rope#1 !sample_top_k#0");
}

FIXTURE_PASS(many_calls)
{
    for (int i = 0; i < 101; i++)
        BG_CALL(rope, stream, .x = f->x);
    return BG_CALL(layer, stream, .x = f->x);
}

FIXTURE_TEST(test_many_calls)
{
    static const struct {
        int index;
        const char *name;
    } expected[] = {{9, "rope#9"},   {10, "rope#10"},   {19, "rope#19"},        {20, "rope#20"},
                    {99, "rope#99"}, {100, "rope#100"}, {102, "layer#0/rope#0"}};
    CAPTURED_GRAPH(graph, many_calls, f, f->stream, NULL);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(call_info_of(graph, expected[i].index).name, expected[i].name);
}

/* In a replay, the body of an eager op may make more calls than in the capture: they are numbered on. */
static int calls_to_make;

BG_EAGER_OP(grows, BG_INOUT(x))
{
    bg_status status = BG_OK;
    for (int i = 0; i < calls_to_make && status == BG_OK; i++) {
        turned = i == 11;
        status = BG_CALL(reached, stream, .x = args->x);
    }
    turned = false;
    return status;
}

FIXTURE_PASS(growing_pass)
{
    return BG_CALL(grows, stream, .x = f->x);
}

FIXTURE_TEST(test_more_calls_in_replay)
{
    calls_to_make = 2;
    CAPTURED_GRAPH(graph, growing_pass, f, f->stream, NULL);
    calls_to_make = 11;
    EXPECT_OK(bg_replay(graph, f->stream));
    calls_to_make = 12;
    EXPECT_FAILS(bg_replay(graph, f->stream), BG_ERROR_OP, "call grows#0/reached#11 at");
}

FIXTURE_TEST(test_overrides)
{
    expect_breaks(f, NULL, 3, 2);
    expect_breaks(f, "", 3, 2);
    expect_breaks(f, "!*", 0, 1);
    expect_breaks(f, "*", 5, 0); /* layer is eager, and with it all inside */
    expect_breaks(f, "!attention", 1, 1);
    expect_breaks(f, "!sample_*", 2, 2);
    expect_breaks(f, "rope", 6, 0);
    expect_breaks(f, "rope#1", 4, 1);
    expect_breaks(f, "rope#*", 5, 1);
    expect_breaks(f, "layer#0/rope#0", 4, 2);
    expect_breaks(f, "layer/rope", 4, 2);
    expect_breaks(f, "!layer#0/attention#0", 2, 2);
    expect_breaks(f, "!attention#0", 2, 2);
    expect_breaks(f, "!layer/*", 2, 2);
    expect_breaks(f, "!*, layer/attention", 1, 2);
    expect_breaks(f, "layer#0,!layer#0", 3, 2); /* the last one decides */
    expect_breaks(f, "rope#1,!rope#1", 3, 2);
    expect_breaks(f, "!rope#1,rope#1", 4, 1);
    expect_breaks(f, "rope#1,!*", 0, 1); /* also between a name and a pattern */
    expect_breaks(f, "rope#1,layer#0/rope#0,!rope", 3, 2);
    expect_breaks(f, "!*,layer#0/attention#0,layer#0/rope#1", 1, 2);
    expect_breaks(f, "layer#7,nothing_of_that_name", 3, 2);
    expect_breaks(f, ",", 3, 2); /* a list of nothing */
    expect_breaks(f, " , ", 3, 2);
    expect_breaks(f, ",rope#1, ,!layer/*,", 3, 1);
}

FIXTURE_TEST(test_bad_patterns)
{
    static const char *const bad[] = {"!",  ", ! ,", "rope#", "rope#x", "rope#03", "a//b",
                                      "/a", "a/",    "a b",   "a;b",    "#1",      "!!a"};
    bg_capture *capture;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT_FAILS(bg_override_eager(bad[i]), BG_ERROR_INVALID_ARGUMENT, "is not a pattern");
    setenv("BG_EAGER_OPS", "rope#", 1);
    EXPECT_FAILS(bg_capture_begin(&capture, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT,
                 "BG_EAGER_OPS: \"rope#\" is not a pattern");
    assert_null(capture);
}

FIXTURE_TEST(test_environment)
{
    bg_capture *refused;
    setenv("BG_EAGER_OPS", "!attention", 1);
    expect_breaks(f, NULL, 1, 1);
    expect_breaks(f, "attention", 1, 1); /* the environment comes last */
    expect_breaks(f, "rope#1", 2, 1);
    unsetenv("BG_EAGER_OPS");
    setenv("BG_BREAKABLE", "0", 1);
    expect_breaks(f, "*", 0, 1);
    setenv("BG_BREAKABLE", "1", 1);
    expect_breaks(f, NULL, 3, 2);
    setenv("BG_BREAKABLE", "maybe", 1);
    EXPECT_STATUS(bg_capture_begin(&refused, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_BREAKABLE is \"maybe\"; allowed are 0, 1");
}

static void write_list(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* An empty file, blank lines and commas at ends set nothing. Memory that nobody has written is no list. */
FIXTURE_TEST(test_list_of_a_file)
{
    static const struct {
        const char *text;
        int breaks, segments;
    } files[] = {{"", 3, 2},
                 {"\n", 3, 2},
                 {" \n\n,\n", 3, 2},
                 {"rope#1", 4, 1},
                 {"rope#1\n", 4, 1},
                 {"\n\nrope#1,\n", 4, 1},
                 {"rope#1,\r\n\r\n!layer/*", 3, 1}};
    char path[] = "/tmp/breakgraph-test-XXXXXX", variable[sizeof path + 1];
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0 && close(descriptor) == 0);
    snprintf(variable, sizeof variable, "@%s", path);
    assert_int_equal(setenv("BG_EAGER_OPS", variable, 1), 0);
    /* What malloc gives begins as anything but "". A sanitizer, which knows no such option, sees the read itself. */
    (void)mallopt(M_PERTURB, 0x5a);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_list(path, files[i].text);
        expect_breaks(f, NULL, files[i].breaks, files[i].segments);
    }
    (void)mallopt(M_PERTURB, 0);
    assert_int_equal(unsetenv("BG_EAGER_OPS"), 0);
    assert_int_equal(unlink(path), 0);
}

FIXTURE_TEST(test_args)
{
    OWN_GRAPH(graph, capture(f));
    sample_top_k_args *a = bg_graph_args(graph, "sample_top_k#0", sizeof *a);
    assert_non_null(a);
    assert_true(a->k == 3);
    assert_ptr_equal(a->y.data, f->y.data);
    a->k = 5;
    for (int i = 0; i < 2; i++)
        EXPECT_REPLAY(graph, f->stream, &f->x, 1, &f->y, 5 * 128);
    a->y = f->z; /* another place for the output */
    EXPECT_REPLAY(graph, f->stream, &f->x, 1, &f->z, 5 * 128);

    assert_null(bg_graph_args(graph, "sample_top_k#1", sizeof *a));
    EXPECT_ERROR("no eager call \"sample_top_k#1\" at a break (did you mean sample_top_k#0?); bg_graph_get_call");
    assert_null(bg_graph_args(graph, "rope#0", sizeof(rope_args)));
    EXPECT_ERROR("no eager call \"rope#0\" at a break; bg_graph_get_call");
    assert_null(bg_graph_args(graph, "sample_top_k#0", sizeof *a + 1));
    EXPECT_ERROR("pass sizeof(sample_top_k_args)");
    assert_null(bg_graph_args(NULL, "sample_top_k#0", sizeof *a));
    assert_null(bg_graph_args(graph, NULL, sizeof *a));
}

FIXTURE_TEST(test_plain_calls)
{
    put(&f->x, 1);
    EXPECT_OK(pass(f, f->stream));
    EXPECT_VALUE(&f->y, FACTOR);
    EXPECT_OK(bg_break(f->stream));
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
}

/* ---- the registry ---- */

static bg_status body(void *args, cudaStream_t stream)
{
    (void)args;
    (void)stream;
    return BG_OK;
}

FIXTURE_TEST(test_two_ops_of_one_name)
{
    bg_op twins[3];
    int args = 0;
    for (int i = 0; i < 3; i++) {
        twins[i] = (bg_op){.struct_size = sizeof(bg_op), .name = "twin", .body = body, .args_size = sizeof args};
        twins[i].defined_at = (bg_site){i ? "b.c" : "a.c", i + 1};
        if (i < 2)
            bg_op_register(&twins[i]);
    }
    EXPECT_FAILS(bg_op_call(&twins[0], f->stream, &args, NULL), BG_ERROR_INVALID_ARGUMENT, "a.c:1", "b.c:2");
    bg_op_unregister(&twins[1]);
    EXPECT_OK(bg_op_call(&twins[0], f->stream, &args, NULL));
    bg_op_register(&twins[1]);
    bg_op_register(&twins[2]);
    bg_op_unregister(&twins[1]); /* two are left */
    EXPECT_STATUS(bg_op_call(&twins[0], f->stream, &args, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_op_call(&twins[2], f->stream, &args, NULL), BG_ERROR_INVALID_ARGUMENT);
    bg_op_unregister(&twins[2]);
    EXPECT_OK(bg_op_call(&twins[0], f->stream, &args, NULL));
    bg_op_unregister(&twins[0]);
    assert_null(bg_op_find("twin"));
}

FIXTURE_TEST(test_registry)
{
    assert_non_null(bg_op_find("rope"));
    assert_true(bg_op_find("attention")->eager);
    assert_int_equal(bg_op_find("sample_top_k")->field_count, 3);
    assert_null(bg_op_find("no_such_op"));
    assert_null(bg_op_find(NULL));
}

static bg_status give_shape(void *args)
{
    (void)args;
    return BG_OK;
}

/* Each call sets all of them: what it does not name is the default again. */
FIXTURE_TEST(test_attributes)
{
    const bg_op_attributes *now = &bg_op_find("rope")->attributes_;
    EXPECT_OK(bg_op_set_attributes("rope", ATTRIBUTES(.capture_stub = body, .reference = body, .shape = give_shape,
                                                      .graph_support = BG_SUPPORT_NEVER, .allow_fewer_rows = true)));
    assert_true(now->capture_stub == body && now->reference == body && now->shape == give_shape);
    assert_true(now->allow_fewer_rows && now->graph_support == BG_SUPPORT_NEVER);
    EXPECT_OK(bg_op_set_attributes("rope", ATTRIBUTES(.reference = body)));
    assert_true(now->capture_stub == NULL && now->reference == body && now->shape == NULL);
    assert_true(!now->allow_fewer_rows && now->graph_support == BG_SUPPORT_ALWAYS);
    EXPECT_OK(bg_op_set_attributes("rope", NULL));
    assert_null(now->reference);
}

FIXTURE_TEST(test_attribute_errors)
{
    const bg_op_attributes none = {.reference = body};
    EXPECT_STATUS(bg_op_set_attributes("no_such_op", ATTRIBUTES(.reference = body)), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_op_set_attributes: there is no op \"no_such_op\"; link");
    EXPECT_STATUS(bg_op_set_attributes("rpoe", NULL), BG_ERROR_NOT_FOUND);
    EXPECT_ERROR("bg_op_set_attributes: there is no op \"rpoe\" (did you mean rope?); link");
    EXPECT_STATUS(bg_op_set_attributes("no_such_op", NULL), BG_ERROR_NOT_FOUND);
    EXPECT_STATUS(bg_op_set_attributes(NULL, ATTRIBUTES(.reference = body)), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_op_set_attributes("rope", &none), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("attributes.struct_size is 0; initialise the struct with BG_OP_ATTRIBUTES_INIT");
    assert_null(bg_op_find("rope")->attributes_.reference);
}

#define V(n) BG_VALUE(int, n)
BG_OP(largest, V(a0), V(a1), V(a2), V(a3), V(a4), V(a5), V(a6), V(a7), V(b0), V(b1), V(b2), V(b3), V(b4), V(b5), V(b6),
      V(b7), V(c0), V(c1), V(c2), V(c3), V(c4), V(c5), V(c6), V(c7), V(d0), V(d1), V(d2), V(d3), V(d4), V(d5), V(d6),
      V(d7))
{
    return args->a0 == 1 && args->d7 == 2 && args->b3 == 0 ? BG_OK : BG_ERROR_OP;
}

FIXTURE_TEST(test_32_fields)
{
    EXPECT_OK(BG_CALL(largest, f->stream, .d7 = 2, .a0 = 1));
    assert_int_equal(bg_op_find("largest")->field_count, 32);
    EXPECT_STATUS(BG_CALL(largest, f->stream, .d7 = 2), BG_ERROR_OP);
}
