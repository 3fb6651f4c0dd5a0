/* Ops without a macro: bg_eager and bg_region_call, in captures, replays, eager passes and outside, with closures that
 * are copied and destroyed. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "op/op.h"

#define REGION(...) (&(const bg_region){.struct_size = sizeof(bg_region), __VA_ARGS__})

/* ---- functions ---- */

typedef struct scaled {
    fixture *f;
    float factor;
    int runs;
    bg_status status; /* what it returns */
} scaled;

/* Waits, as no captured op may, then y = factor * y. */
PASS(scale_y, scaled *s)
{
    s->runs++;
    if (s->status != BG_OK)
        return s->status;
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    return from_cuda(bgk_scale(s->f->y.data, s->f->y.data, s->factor, N, stream));
}

BG_OP(eager_twice, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

PASS(pass, scaled *s)
{
    BG_CALL(eager_twice, stream, .x = s->f->x, .y = s->f->y);
    bg_eager(stream, "eager_scale", scale_y, s);
    return BG_CALL(eager_twice, stream, .x = s->f->y, .y = s->f->z);
}

/* z = 12 x */
static bg_graph *capture_pass(scaled *s, const bg_capture_options *options)
{
    put(&s->f->x, 1);
    bg_graph *graph = CAPTURED_BY(pass, s, s->f->stream, options);
    EXPECT_VALUE(&s->f->z, 12);
    EXPECT_REPLAY(graph, s->f->stream, &s->f->x, 2, &s->f->z, 24);
    return graph;
}

/* ---- bg_eager ---- */

FIXTURE_TEST(test_break)
{
    scaled s = {.f = f, .factor = 3};
    OWN_GRAPH(graph, capture_pass(&s, NULL));
    bg_call_info call = call_info_of(graph, 1);

    EXPECT_COUNTS(graph, 2, 1, -1);
    assert_int_equal(s.runs, 2);
    assert_string_equal(call.name, "eager_scale#0");
    assert_string_equal(call.op, "eager_scale");
    assert_non_null(strstr(call.file, "test_eager.c"));
    assert_true(call.line > 0);
    assert_true(call.eager);
    assert_null(bg_graph_args(graph, "eager_scale#0", sizeof s));
    EXPECT_ERROR("declare the op with BG_EAGER_OP");
}

FIXTURE_TEST(test_outside)
{
    scaled s = {.f = f, .factor = 3};
    put(&f->y, 1);
    EXPECT_OK(bg_eager(f->stream, "eager_scale", scale_y, &s));
    EXPECT_VALUE(&f->y, 3);
    put(&f->x, 1);
    EXPECT_OK(bg_forward_run(pass, &s, f->stream, NULL));
    EXPECT_VALUE(&f->z, 12);
    assert_int_equal(s.runs, 2);
}

FIXTURE_TEST(test_modes)
{
    static const bg_debug modes[] = {BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC, BG_DEBUG_STEP};
    scaled s = {.f = f, .factor = 3};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        bg_graph_destroy(capture_pass(&s, OPTIONS(.debug = modes[i])));
    assert_int_equal(s.runs, 8);
}

/* Without a launch nothing runs at capture, and the function runs in replays. */
FIXTURE_TEST(test_not_launched)
{
    scaled s = {.f = f, .factor = 3};
    CAPTURED_GRAPH(graph, pass, &s, f->stream, UNLAUNCHED_OPTIONS());
    assert_int_equal(s.runs, 0);
    EXPECT_REPLAY(graph, f->stream, &f->x, 1, &f->z, 12);
}

/* What cannot be captured fails there, with its name, and names what to do. */
FIXTURE_TEST(test_inline)
{
    scaled s = {.f = f, .factor = 3, .status = BG_ERROR_OP};
    EXPECT_NO_CAPTURE(pass, &s, f->stream, OPTIONS(.eager_ops = "!eager_scale"), BG_ERROR_OP,
                      "op eager_scale, call eager_scale#0 at ");
    s.status = BG_OK;
    OWN_GRAPH(graph, capture_pass(&s, OPTIONS(.eager_ops = "eager_scale#0", .inline_eager = true)));
    assert_int_equal(info_of(graph).breaks, 1);
}

FIXTURE_TEST(test_failures)
{
    scaled s = {.f = f, .factor = 3};
    OWN_GRAPH(graph, capture_pass(&s, NULL));
    s.status = BG_ERROR_NOT_FOUND;
    EXPECT_FAILS(bg_replay(graph, s.f->stream), BG_ERROR_NOT_FOUND, "op eager_scale, call eager_scale#0 at ");
    EXPECT_FAILS(bg_eager(s.f->stream, "eager_scale", scale_y, &s), BG_ERROR_NOT_FOUND, "op eager_scale, called at ");
    s.status = BG_OK;
    EXPECT_OK(bg_replay(graph, s.f->stream));
    EXPECT_VALUE(&s.f->z, 24);
}

/* In the body of another: inline, under that one's name. */
PASS(scale_twice, scaled *s)
{
    bg_eager(stream, "eager_scale", scale_y, s);
    return bg_eager(stream, "eager_scale", scale_y, s);
}

PASS(nesting_pass, scaled *s)
{
    TRY_BG(bg_eager(stream, "eager_outer", scale_twice, s));
    return BG_CALL(eager_twice, stream, .x = s->f->y, .y = s->f->z);
}

FIXTURE_TEST(test_nested)
{
    scaled s = {.f = f, .factor = 3};
    put(&s.f->y, 1);
    CAPTURED_GRAPH(graph, nesting_pass, &s, s.f->stream, NULL);
    EXPECT_VALUE(&s.f->z, 18);
    assert_string_equal(call_info_of(graph, 2).name, "eager_outer#0/eager_scale#1");
    EXPECT_OK(bg_replay(graph, s.f->stream));
    EXPECT_VALUE(&s.f->z, 162);
    assert_int_equal(s.runs, 4);
}

/* A function that calls its own op. */
PASS(count_down, int *left)
{
    return --*left > 0 ? bg_eager(stream, "eager_recursive", count_down, left) : BG_OK;
}

FIXTURE_TEST(test_recursion)
{
    bg_capture *capture;
    OWNED_GRAPH(graph);
    int left = 5;

    EXPECT_OK(bg_eager(f->stream, "eager_recursive", count_down, &left));
    assert_int_equal(left, 0);
    left = 3;
    EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
    EXPECT_OK(bg_eager(f->stream, "eager_recursive", count_down, &left));
    EXPECT_OK(bg_capture_end(capture, &graph));
    assert_int_equal(left, 0);
    assert_int_equal(info_of(graph).calls, 3);
    left = 4; /* deeper than at capture */
    EXPECT_OK(bg_replay(graph, f->stream));
    assert_int_equal(left, 0);
}

/* ---- names ---- */

FIXTURE_TEST(test_bad_names)
{
    static const char *const names[] = {"", "a/b", "a#0", "moe_*", "a b", "a,b", "!a", "\xc3\xa4"};
    char longest[200];
    scaled s = {.f = f, .factor = 1};
    bg_capture *capture;
    bg_graph *graph;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT_FAILS(bg_eager(s.f->stream, names[i], scale_y, &s), BG_ERROR_INVALID_ARGUMENT, "is not a name of an op",
                     "test_eager.c:");
        assert_null(bg_op_find(names[i]));
    }
    memset(longest, 'n', sizeof longest);
    longest[129] = '\0';
    EXPECT_STATUS(bg_eager(s.f->stream, longest, scale_y, &s), BG_ERROR_INVALID_ARGUMENT);
    longest[128] = '\0';
    EXPECT_OK(bg_eager(s.f->stream, longest, scale_y, &s));
    assert_non_null(bg_op_find(longest));
    EXPECT_FAILS(bg_eager(s.f->stream, NULL, scale_y, &s), BG_ERROR_INVALID_ARGUMENT, "name is NULL");
    EXPECT_FAILS(bg_eager(s.f->stream, "eager_null", NULL, &s), BG_ERROR_INVALID_ARGUMENT,
                 "the function of eager_null is NULL");
    EXPECT_FAILS(bg_eager(NULL, "eager_scale", scale_y, &s), BG_ERROR_INVALID_ARGUMENT, "stream is NULL");

    EXPECT_OK(bg_capture_begin(&capture, s.f->stream, NULL));
    EXPECT_STATUS(bg_eager(s.f->stream, "a/b", scale_y, &s), BG_ERROR_INVALID_ARGUMENT); /* sticky */
    EXPECT_STATUS(bg_eager(s.f->stream, "eager_scale", scale_y, &s), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_FAILS(bg_capture_end(capture, &graph), BG_ERROR_INVALID_ARGUMENT, "a/b");
    expect_usable(s.f, s.f->stream);
}

static bg_status do_nothing(void *user, bg_tensor *tensors, cudaStream_t stream)
{
    (void)user;
    (void)tensors;
    (void)stream;
    return BG_OK;
}

static bg_status call_region(fixture *f, const char *name, bool eager, bg_operand *operands, int count)
{
    return bg_region_call(
        REGION(.name = name, .eager = eager, .body = do_nothing, .operands = operands, .operand_count = count),
        f->stream, BG_SITE);
}

FIXTURE_TEST(test_two_of_one_name)
{
    bg_operand one[] = {{BG_ROLE_IN, f->x}}, other[] = {{BG_ROLE_INOUT, f->x}};

    EXPECT_OK(call_region(f, "eager_one", true, one, 1));
    EXPECT_OK(call_region(f, "eager_one", true, one, 1));
    EXPECT_FAILS(call_region(f, "eager_one", false, one, 1), BG_ERROR_INVALID_ARGUMENT,
                 "the name belongs to another op, eager_one at ", "only that op is eager");
    EXPECT_FAILS(call_region(f, "eager_one", true, one, 0), BG_ERROR_INVALID_ARGUMENT, "different numbers");
    EXPECT_FAILS(call_region(f, "eager_one", true, other, 1), BG_ERROR_INVALID_ARGUMENT, "different roles");
    EXPECT_FAILS(call_region(f, "eager_twice", false, NULL, 0), BG_ERROR_INVALID_ARGUMENT, "declared with a macro");
    EXPECT_OK(BG_CALL(eager_twice, f->stream, .x = f->x, .y = f->y)); /* unharmed */
}

FIXTURE_TEST(test_bad_regions)
{
    bg_operand operands[] = {{BG_ROLE_OUTS, f->x}};
    bg_region region = BG_REGION_INIT;

    EXPECT_STATUS(bg_region_call(NULL, f->stream, BG_SITE), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(call_region(f, "eager_bad", true, NULL, 1), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(call_region(f, "eager_bad", true, operands, -1), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(call_region(f, "eager_bad", true, operands, BG_OPERANDS_MAX + 1), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_FAILS(call_region(f, "eager_bad", true, operands, 1), BG_ERROR_INVALID_ARGUMENT,
                 "operand 0 of eager_bad has the role");
    region.name = "eager_bad";
    region.body = do_nothing;
    region.keep = (bg_status(*)(void *, void **))(void (*)(void))do_nothing;
    EXPECT_FAILS(bg_region_call(&region, f->stream, BG_SITE), BG_ERROR_INVALID_ARGUMENT, "no destroy");
    region.keep = NULL;
    EXPECT_OK(bg_region_call(&region, f->stream, NULL));
    region.struct_size = 8;
    EXPECT_FAILS(bg_region_call(&region, f->stream, BG_SITE), BG_ERROR_INVALID_ARGUMENT, "BG_REGION_INIT");
}

/* ---- closures ---- */

static int alive; /* copies */
static bool keeps_fail;

typedef struct closure {
    float factor;
    int runs;
    bool leaves; /* the result in memory of its own */
    void *elsewhere;
} closure;

static bg_status keep_closure(void *user, void **kept)
{
    closure *copy = keeps_fail ? NULL : malloc(sizeof *copy);
    if (copy == NULL)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "keep", "it is to fail", "let it succeed");
    *copy = *(closure *)user;
    *kept = copy;
    alive++;
    return BG_OK;
}

static void destroy_closure(void *kept)
{
    memset(kept, 0, sizeof(closure));
    free(kept);
    alive--;
}

/* tensors[1] = factor * tensors[0] */
static bg_status run_closure(void *user, bg_tensor *tensors, cudaStream_t stream)
{
    closure *c = user;
    c->runs++;
    if (c->leaves)
        tensors[1].data = c->elsewhere;
    return from_cuda(bgk_scale(tensors[1].data, tensors[0].data, c->factor, N, stream));
}

/* The closure is a local variable here: it is gone when the call has returned. */
static bg_status call_closure(const char *name, bool eager, const closure *like, const bg_tensor *x, bg_tensor *y,
                              cudaStream_t stream)
{
    closure local = *like;
    bg_operand operands[] = {{BG_ROLE_IN, *x}, {BG_ROLE_OUT, *y}};
    bg_status status = bg_region_call(REGION(.name = name, .eager = eager, .body = run_closure, .user = &local,
                                             .user_bytes = sizeof local, .keep = keep_closure,
                                             .destroy = destroy_closure, .operands = operands, .operand_count = 2),
                                      stream, BG_SITE);
    *y = operands[1].tensor;
    memset(&local, 0, sizeof local);
    return status;
}

typedef struct closures {
    fixture *f;
    closure like;
    bool bridged; /* y has no memory of its own */
} closures;

PASS(closure_pass, closures *c)
{
    bg_tensor y = c->f->y;
    if (c->bridged)
        y.data = NULL;
    call_closure("eager_closure", true, &c->like, &c->f->x, &y, stream);
    return call_closure("eager_captured", false, &c->like, &y, &c->f->z, stream);
}

static void expect_closure_pass(closures *c)
{
    put(&c->f->x, 1);
    bg_graph *graph = CAPTURED_BY(closure_pass, c, c->f->stream, NULL);
    assert_int_equal(alive, 2); /* of the captured op, too: nodes may refer to its closure */
    assert_int_equal(info_of(graph).breaks, 1);
    EXPECT_VALUE(&c->f->z, 9);
    EXPECT_REPLAYS(graph, c->f->stream, &c->f->x, &c->f->z, 9);
    bg_graph_destroy(graph);
    assert_int_equal(alive, 0);
}

FIXTURE_TEST(test_closures)
{
    closures c = {f, {.factor = 3}, false};
    expect_closure_pass(&c);
    c.bridged = true;
    expect_closure_pass(&c);
    EXPECT_CUDA(cudaMalloc(&c.like.elsewhere, N * sizeof(float)));
    c.like.leaves = true;
    c.bridged = false;
    expect_closure_pass(&c);
    EXPECT_CUDA(cudaFree(c.like.elsewhere));
}

/* Eager passes and plain calls run the caller's, and copy nothing. */
FIXTURE_TEST(test_closures_in_place)
{
    closures c = {f, {.factor = 3}, true};

    keeps_fail = true;
    put(&c.f->x, 1);
    EXPECT_OK(closure_pass(&c, c.f->stream));
    EXPECT_VALUE(&c.f->z, 9);
    EXPECT_OK(bg_forward_run(closure_pass, &c, c.f->stream, NULL));
    CAPTURED_GRAPH(graph, closure_pass, &c, c.f->stream, OPTIONS(.debug = BG_DEBUG_FORWARD));
    EXPECT_REPLAY(graph, c.f->stream, &c.f->x, 2, &c.f->z, 18);

    EXPECT_NO_CAPTURE(closure_pass, &c, c.f->stream, NULL, BG_ERROR_OUT_OF_MEMORY,
                      "op eager_closure, call eager_closure#0 at ", "keep failed: it is to fail");
    keeps_fail = false;
    assert_int_equal(alive, 0);
}

FIXTURE_TEST(test_failed_capture)
{
    closures c = {f, {.factor = 3}, false};
    bg_capture *capture;
    bg_graph *graph;

    EXPECT_OK(bg_capture_begin(&capture, c.f->stream, NULL));
    EXPECT_OK(closure_pass(&c, c.f->stream));
    assert_int_equal(alive, 2);
    bg_capture_abort(capture);
    assert_int_equal(alive, 0);

    EXPECT_OK(bg_capture_begin(&capture, c.f->stream, NULL));
    EXPECT_OK(closure_pass(&c, c.f->stream));
    EXPECT_STATUS(bg_eager(c.f->stream, "", scale_y, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(closure_pass(&c, c.f->stream), BG_ERROR_INVALID_ARGUMENT); /* and copies nothing */
    assert_int_equal(alive, 2);
    EXPECT_STATUS(bg_capture_end(capture, &graph), BG_ERROR_INVALID_ARGUMENT);
    assert_int_equal(alive, 0);
    expect_usable(c.f, c.f->stream);
}

/* ---- closures that work on the device reads ---- */

static atomic_int reads;     /* of host nodes */
static int reads_at_destroy; /* when the last closure was destroyed */

static void CUDART_CB read_slowly(void *kept)
{
    usleep(50000);
    atomic_fetch_add(&reads, *(int *)kept);
}

static bg_status launch_read(void *kept, bg_tensor *tensors, cudaStream_t stream)
{
    (void)tensors;
    return from_cuda(cudaLaunchHostFunc(stream, read_slowly, kept));
}

static bg_status keep_number(void *user, void **kept)
{
    *kept = malloc(sizeof(int));
    assert_non_null(*kept);
    memcpy(*kept, user, sizeof(int));
    return BG_OK;
}

static void destroy_number(void *kept)
{
    reads_at_destroy = atomic_load(&reads);
    *(int *)kept = 1000; /* a later read adds it */
    free(kept);
}

/* fails: once its segment runs. */
PASS(reading_pass, bool *fails)
{
    int one = 1;
    scaled failing = {.status = BG_ERROR_OP};
    TRY_BG(bg_region_call(REGION(.name = "eager_reads", .body = launch_read, .user = &one, .keep = keep_number,
                                 .destroy = destroy_number),
                          stream, BG_SITE));
    return *fails ? bg_eager(stream, "eager_fails", scale_y, &failing) : BG_OK;
}

static void expect_destroyed_after(int expected)
{
    assert_int_equal(reads_at_destroy, expected);
    atomic_store(&reads, 0);
    reads_at_destroy = 0;
}

FIXTURE_TEST(test_closures_in_flight)
{
    bg_pool_options pool_options = BG_POOL_OPTIONS_INIT;
    bool fails[] = {false, true};
    OWNED_POOL(pool);

    pool_options.reserve_bytes = 16 << 20;
    for (int pooled = 0; pooled < 2; pooled++) {
        if (pooled)
            EXPECT_OK(bg_pool_create(&pool, &pool_options));
        const bg_capture_options *options = OPTIONS(.pool = pool);
        bg_graph_destroy(CAPTURED_BY(reading_pass, &fails[0], f->stream, options));
        expect_destroyed_after(1);
        bg_graph *graph = CAPTURED_BY(reading_pass, &fails[0], f->stream, options);
        EXPECT_OK(bg_replay(graph, f->stream));
        EXPECT_OK(bg_replay(graph, f->other));
        bg_graph_destroy(graph);
        expect_destroyed_after(3);
        EXPECT_NO_CAPTURE(reading_pass, &fails[1], f->stream, options, BG_ERROR_OP);
        expect_destroyed_after(1);
    }
}

/* ---- the place of a plain call ---- */

/* The file's text may be the caller's for the call alone. */
FIXTURE_TEST(test_file_is_copied)
{
    static const char *const files[] = {"first.py", "other.py", "first.py"};
    char file[] = "a file.py";
    void *data[3];

    for (int i = 0; i < 3; i++) {
        bg_operand out = {BG_ROLE_OUT, bg_tensor_1d(NULL, BG_F32, N)};
        bg_site site = {strcpy(file, files[i]), 7};
        EXPECT_OK(bg_region_call(
            REGION(.name = "eager_file", .eager = true, .body = do_nothing, .operands = &out, .operand_count = 1),
            f->stream, &site));
        data[i] = out.tensor.data;
    }
    assert_ptr_not_equal(data[1], data[0]); /* it is another place */
    assert_ptr_equal(data[2], data[0]);
}

/* ---- patterns ---- */

static void expect_warnings(scaled *s, bg_status expected, const char *warning)
{
    char text[2000];
    bg_graph *graph;
    FILE *errors = keep_errors();
    EXPECT_STATUS(bg_forward_run(pass, s, s->f->stream, NULL), expected);
    EXPECT_STATUS(bg_capture_forward(&graph, pass, s, s->f->stream, NULL), expected);
    bg_graph_destroy(graph);
    (void)kept_errors(errors, text, sizeof text);
    if (warning == NULL)
        assert_string_equal(text, "");
    else /* once */
        assert_true(strstr(text, warning) != NULL && strstr(strstr(text, warning) + 1, warning) == NULL);
}

FIXTURE_TEST(test_pattern_without_op)
{
    scaled s = {.f = f, .factor = 3, .status = BG_ERROR_OP};
    setenv("BG_EAGER_OPS", "eager_misspelt,eager_scale", 1);
    expect_warnings(&s, BG_ERROR_OP, NULL);
    s.status = BG_OK;
    expect_warnings(&s, BG_OK, "BG_EAGER_OPS: \"eager_misspelt\" matches no registered op");
    expect_warnings(&s, BG_OK, NULL);
    unsetenv("BG_EAGER_OPS");
}

/* ---- aborts ---- */

/* A capture that is aborted while the closure's body runs: the body ends first. */
static bg_status abort_capture(void *user, bg_tensor *tensors, cudaStream_t stream)
{
    (void)tensors;
    (void)stream;
    bg_capture_abort(*(bg_capture **)user);
    assert_int_equal(alive, 1);
    return BG_OK;
}

static bg_status keep_capture(void *user, void **kept)
{
    *kept = malloc(sizeof(closure));
    assert_non_null(*kept);
    memcpy(*kept, user, sizeof(bg_capture *));
    alive++;
    return BG_OK;
}

FIXTURE_TEST(test_aborted_inside)
{
    for (int eager = 0; eager < 2; eager++) {
        bg_capture *capture;
        EXPECT_OK(bg_capture_begin(&capture, f->stream, NULL));
        EXPECT_STATUS(bg_region_call(REGION(.name = eager ? "eager_aborts" : "eager_aborts_inline", .eager = eager,
                                            .body = abort_capture, .user = &capture, .keep = keep_capture,
                                            .destroy = destroy_closure),
                                     f->stream, BG_SITE),
                      BG_ERROR_NOT_CAPTURING);
        assert_int_equal(alive, 0);
        expect_usable(f, f->stream);
    }
}

/* The tools run the pass again, and keep what they looked at. */
FIXTURE_TEST(test_tools)
{
    closures c = {f, {.factor = 3}, true};
    bg_report *report;

    EXPECT_OK(bg_check_recapture(closure_pass, &c, NULL, c.f->stream, &report));
    EXPECT_NO_FINDING(report);
    assert_int_equal(alive, 0);
    bg_graph *graph = CAPTURED_BY(closure_pass, &c, c.f->stream, NULL);
    EXPECT_OK(bg_check(graph, BG_CHECK_ALL, &report));
    EXPECT_NO_FINDING(report);
    EXPECT_OK(bg_check_poison(graph, &c.f->z, 1, c.f->stream, &report));
    EXPECT_NO_FINDING(report);
    bg_graph_destroy(graph);
    assert_int_equal(alive, 0);
}

/* ---- other streams and threads ---- */

FIXTURE_TEST(test_forked_stream)
{
    closures c = {f, {.factor = 3}, false};
    bg_capture *capture;
    bg_graph *graph;

    put(&c.f->x, 1);
    EXPECT_OK(bg_capture_begin(&capture, c.f->stream, NULL));
    EXPECT_OK(bg_stream_wait_stream(c.f->other, c.f->stream));
    EXPECT_OK(closure_pass(&c, c.f->other));
    EXPECT_OK(bg_stream_wait_stream(c.f->stream, c.f->other));
    EXPECT_OK(bg_capture_end(capture, &graph));
    EXPECT_VALUE(&c.f->z, 9);
    EXPECT_REPLAY(graph, c.f->stream, &c.f->x, 2, &c.f->z, 18);
    bg_graph_destroy(graph);
    assert_int_equal(alive, 0);
}

static void *call_from_thread(void *user)
{
    closures *c = user;
    bg_tensor y = c->f->y;
    EXPECT_STATUS(call_closure("eager_closure", true, &c->like, &c->f->x, &y, c->f->stream), BG_ERROR_WRONG_THREAD);
    EXPECT_OK(call_closure("eager_closure", true, &c->like, &c->f->x, &y, c->f->other));
    return NULL;
}

FIXTURE_TEST(test_other_thread)
{
    closures c = {f, {.factor = 3}, false};
    bg_capture *capture;
    bg_graph *graph;

    EXPECT_OK(bg_capture_begin(&capture, c.f->stream, NULL));
    in_new_thread(call_from_thread, &c);
    EXPECT_OK(bg_capture_end(capture, &graph));
    assert_int_equal(info_of(graph).calls, 0);
    bg_graph_destroy(graph);
    assert_int_equal(alive, 0);
}

/* All at once make the op of one name. */
static void *register_names(void *user)
{
    char name[32];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "eager_thread_%d", i);
        EXPECT_OK(call_region(user, name, true, NULL, 0));
    }
    return NULL;
}

FIXTURE_TEST(test_registered_at_once)
{
    bg_op first = {.name = "eager_once"}, second = first;
    pthread_t threads[4];

    assert_ptr_equal(bg__op_register_once(&first), &first);
    assert_ptr_equal(bg__op_register_once(&second), &first);
    assert_null(first.twin_);
    bg_op_unregister(&first);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_names, f), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}
