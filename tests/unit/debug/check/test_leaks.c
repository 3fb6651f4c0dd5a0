/* Work that ran at capture time and is in no segment: named, beside clean twins that are not. */
#include "tests/support/test.h"
#include "tests/support/tools/check_support.h"
#include "tests/support/ops.h"

#include <breakgraph/check.h>
#include <breakgraph/cublas.h>
#include <pthread.h>
#include <string.h>

/* ---- ops: each leaks where its flag says so ---- */

BG_OP(on_stream, BG_IN(x), BG_OUT(y), BG_VALUE(bool, outside), BG_VALUE(cudaStream_t, other))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, args->outside ? args->other : stream));
}

BG_OP(sum_on, BG_IN(x), BG_INOUT(y), BG_VALUE(cudaStream_t, other))
{
    return from_cuda(bgk_add(args->y.data, args->y.data, args->x.data, N, args->other ? args->other : stream));
}

static int inner_line;
BG_OP(outer, BG_IN(x), BG_OUT(y), BG_VALUE(cudaStream_t, other))
{
    return CALL_AT(inner_line, on_stream, stream, .x = args->x, .y = args->y, .outside = true, .other = args->other);
}

/* Half in the capture, half outside. */
BG_OP(both, BG_IN(x), BG_OUT(y), BG_VALUE(cudaStream_t, other))
{
    float *y = args->y.data;
    const float *x = args->x.data;
    TRY_BG(from_cuda(bgk_scale(y, x, 2, N / 2, stream)));
    return from_cuda(bgk_scale(y + N / 2, x + N / 2, 2, N / 2, args->other));
}

BG_OP(count, BG_OUT(n), BG_VALUE(cudaStream_t, other))
{
    return from_cuda(bgk_set_counter(args->n.data, 0, args->other ? args->other : stream));
}

BG_OP(product, BG_IN(x), BG_OUT(y), BG_VALUE(cublasHandle_t, handle), BG_VALUE(cudaStream_t, other))
{
    return multiply(args->handle, 1, &args->x, &args->y, args->other ? args->other : stream);
}

BG_EAGER_OP(produce, BG_IN(x), BG_OUT(y))
{
    if (args->y.data == NULL) { /* only the body knows the shape */
        TRY_BG(bg_scratch(args, N * sizeof(float), &args->y.data));
        args->y = bg_tensor_1d(args->y.data, BG_F32, N);
    }
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, N, stream));
}

/* ---- passes ---- */

enum { CLEAN, DEFAULT, UNTRACKED, IN_PLACE, INNER, BOTH, COUNT, CUBLAS, EAGER };

typedef struct model {
    fixture *f;
    cudaStream_t stream, other; /* that do not wait for the legacy stream */
    int kind;
    bool leaks;
    int line;
    cublasHandle_t cublas;
} model;

static bg_status special(model *m, cudaStream_t stream)
{
    fixture *f = m->f;
    cudaStream_t other = m->leaks ? m->other : NULL, leaking = m->leaks ? m->other : stream;
    produce_args produced = {.x = f->x, .y = {.dtype = BG_F32}};

    switch (m->kind) {
    case DEFAULT:
        return CALL_AT(m->line, on_stream, stream, .x = f->x, .y = f->y, .outside = m->leaks,
                       .other = cudaStreamLegacy);
    case UNTRACKED:
        return CALL_AT(m->line, on_stream, stream, .x = f->x, .y = f->y, .outside = m->leaks, .other = m->other);
    case IN_PLACE: return CALL_AT(m->line, sum_on, stream, .x = f->x, .y = f->y, .other = other);
    case INNER:
        TRY_BG(BG_CALL(outer, stream, .x = f->x, .y = f->y, .other = leaking));
        m->line = inner_line;
        return BG_OK;
    case BOTH: return CALL_AT(m->line, both, stream, .x = f->x, .y = f->y, .other = leaking);
    case COUNT: return CALL_AT(m->line, count, stream, .n = bg_tensor_1d(f->z.data, BG_I32, 1), .other = other);
    case CUBLAS: return CALL_AT(m->line, product, stream, .x = f->x, .y = f->y, .handle = m->cublas, .other = other);
    case EAGER:
        TRY_BG(BG_CALL_ARGS(produce, stream, &produced));
        return BG_CALL(sum_on, stream, .x = produced.y, .y = f->y);
    default: return BG_OK;
    }
}

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;
    TRY_BG(BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 2));
    TRY_BG(special(m, stream));
    return BG_CALL(scale, stream, .x = f->y, .y = f->x, .factor = 3);
}

/* What bg_check says of the graph, or bg_check_recapture of the pass. */
static bg_report *leaks(model *m, bool recapture)
{
    fixture *f = m->f;
    bg_report *report = NULL;
    OWNED_GRAPH(graph);

    if (!recapture)
        EXPECT_OK(bg_capture_forward(&graph, forward, m, m->stream, UNLAUNCHED));
    EXPECT_CUDA(cudaDeviceSynchronize());
    put_all(f, 3, 4, 0);
    if (!recapture)
        return check_graph(graph, BG_CHECK_ALL);
    EXPECT_OK(bg_check_recapture(forward, m, NULL, m->stream, &report));
    return report;
}

static model make(fixture *f, int kind)
{
    model m = {.f = f, .kind = kind};
    EXPECT_CUDA(cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&m.other, cudaStreamNonBlocking));
    if (kind == CUBLAS)
        assert_int_equal(cublasCreate(&m.cublas), CUBLAS_STATUS_SUCCESS);
    return m;
}

static void unmake(model *m)
{
    if (m->cublas != NULL) {
        bg_workspace_release(m->cublas);
        assert_int_equal(cublasDestroy(m->cublas), CUBLAS_STATUS_SUCCESS);
    }
    EXPECT_CUDA(cudaStreamDestroy(m->stream));
    EXPECT_CUDA(cudaStreamDestroy(m->other));
}

/* ---- tests ---- */

/* The op's only call leaves its output unwritten in replays. */
static void with_twin(fixture *f, int kind, const char *op, const char *output, const char *written)
{
    char call[32], absent[100], changed[100];
    model m = make(f, kind);
    snprintf(call, sizeof call, "%s#0", op);
    snprintf(absent, sizeof absent, "%s left no node in the graph, but %s is its output", call, output);
    snprintf(changed, sizeof changed, "%s of %s was written%s", output, call, written);
    EXPECT_NO_FINDING(leaks(&m, false));
    EXPECT_NO_FINDING(leaks(&m, true));
    EXPECT_ALL(f, 3, 4, 0); /* they hold what they held before */
    m.leaks = true;
    if (kind != INNER) /* bg_check names the outer one, which has no work of its own either */
        EXPECT_FINDING(leaks(&m, false), "leak", call, m.line, absent);
    EXPECT_FINDING(leaks(&m, true), "leak", call, m.line, changed); /* what leaks has run in the first capture, too */
    unmake(&m);
}

FIXTURE_TEST(test_default_stream)
{
    with_twin(f, DEFAULT, "on_stream", "y", " during the capture of the pass");
}

FIXTURE_TEST(test_untracked_stream)
{
    with_twin(f, UNTRACKED, "on_stream", "y", "");
}

FIXTURE_TEST(test_in_place)
{
    with_twin(f, IN_PLACE, "sum_on", "y", "");
}

FIXTURE_TEST(test_count)
{
    with_twin(f, COUNT, "count", "n", "");
}

FIXTURE_TEST(test_library_handle)
{
    with_twin(f, CUBLAS, "product", "y", "");
}

/* Where every call that has the output left nodes, the first is named; and bg_check sees nothing. */
FIXTURE_TEST(test_half)
{
    model m = make(f, BOTH);
    EXPECT_NO_FINDING(leaks(&m, true));
    m.leaks = true;
    EXPECT_NO_FINDING(leaks(&m, false));
    EXPECT_FINDING(leaks(&m, true), "leak", "scale#0", 0, "was written during the capture of the pass");
    unmake(&m);
}

FIXTURE_TEST(test_inner_call)
{
    with_twin(f, INNER, "outer#0/on_stream", "y", "");
}

/* Its body runs, since only it knows the shape. */
FIXTURE_TEST(test_eager)
{
    model m = make(f, EAGER);
    EXPECT_NO_FINDING(leaks(&m, false));
    EXPECT_NO_FINDING(leaks(&m, true));
    unmake(&m);
}

/* The pass fails in its second capture: the outputs hold what they held. */
static bg_status fail_second(void *user, cudaStream_t stream)
{
    model *m = user;
    bg_status status = forward(m, stream);
    return status == BG_OK && m->kind++ > CLEAN ? BG_ERROR_OP : status;
}

FIXTURE_TEST(test_failure)
{
    model m = make(f, CLEAN);
    bg_report *report = NULL;
    put_all(m.f, 3, 4, 0);
    EXPECT_STATUS(bg_check_recapture(fail_second, &m, NULL, m.stream, &report), BG_ERROR_OP);
    assert_null(report);
    EXPECT_ALL(m.f, 3, 4, 0);
    unmake(&m);
}

/* The second capture frees the output that the first one had: nothing of it is read or put back. */
static bg_tensor moving, keeper;
static int moves;

static bg_status move_output(void *user, cudaStream_t stream)
{
    model *m = user;
    if (moves++ == 1) {
        enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        size_t bytes = bg_tensor_bytes(&moving);
        EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
        EXPECT_CUDA(cudaFree(moving.data));
        EXPECT_CUDA(cudaMalloc(&keeper.data, bytes)); /* where it was, as a rule */
        EXPECT_CUDA(cudaMemcpy(keeper.data, m->f->x.data, bytes, cudaMemcpyDeviceToDevice));
        EXPECT_CUDA(cudaMalloc(&moving.data, bytes));
        EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    }
    return BG_CALL(scale, stream, .x = m->f->x, .y = moving, .factor = 2);
}

FIXTURE_TEST(test_output_moves)
{
    model m = make(f, CLEAN);
    bg_report *report = NULL;

    moves = 0;
    moving = keeper = m.f->y;
    EXPECT_CUDA(cudaMalloc(&moving.data, bg_tensor_bytes(&moving)));
    put(&m.f->x, 3);
    EXPECT_OK(bg_check_recapture(move_output, &m, NULL, m.stream, &report));
    EXPECT_FINDING(report, "unstable-pointer", "scale#0", 0, "field y differs between two captures: ");
    assert_true(get(&keeper) == 3);
    EXPECT_CUDA(cudaFree(moving.data));
    EXPECT_CUDA(cudaFree(keeper.data));
    unmake(&m);
}

/* What begins with a break has its work behind that, also where nothing but a write-back lies before it. */
BG_OP(breaks_first, BG_IN(x), BG_OUT(y))
{
    TRY_BG(bg_break(stream));
    return from_cuda(bgk_scale(args->y.data, args->x.data, 3, N, stream));
}

static bg_status break_in_op(void *user, cudaStream_t stream)
{
    model *m = user;
    const fixture *f = m->f;
    produce_args produced = {.x = f->x, .y = {.dtype = BG_F32}};
    TRY_BG(BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 1));
    TRY_BG(BG_CALL_ARGS(produce, stream, &produced));
    return BG_CALL(breaks_first, stream, .x = produced.y, .y = f->y);
}

FIXTURE_TEST(test_break_in_op)
{
    model m = make(f, CLEAN);
    put(&m.f->x, 2);
    OWN_GRAPH(graph, capture_of(break_in_op, &m, m.stream, NULL));
    EXPECT_CLEAN(graph, BG_CHECK_ALL);
    EXPECT_OK(bg_replay(graph, m.stream));
    assert_true(get(&m.f->y) == 12);
    unmake(&m);
}

/* To wait for the device would end a capture of another thread. */
typedef struct other_thread {
    cudaStream_t stream;
    pthread_barrier_t barrier; /* when the capture is open, and when it may end */
    bg_status ended;
} other_thread;

static void *capture_elsewhere(void *user)
{
    other_thread *other = user;
    bg_capture *capture = NULL;
    OWNED_GRAPH(graph);
    bg_status status = bg_capture_begin(&capture, other->stream, NULL);
    pthread_barrier_wait(&other->barrier);
    pthread_barrier_wait(&other->barrier);
    other->ended = status == BG_OK ? bg_capture_end(capture, &graph) : status;
    return NULL;
}

FIXTURE_TEST(test_other_thread)
{
    model m = make(f, CLEAN);
    other_thread other = {.stream = m.other, .ended = BG_ERROR_TIMEOUT};
    bg_report *report = NULL;
    pthread_t thread;
    OWN_GRAPH(graph, capture_of(forward, &m, m.stream, NULL));

    assert_int_equal(pthread_barrier_init(&other.barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, capture_elsewhere, &other), 0);
    pthread_barrier_wait(&other.barrier);
    EXPECT_STATUS(bg_check_recapture(forward, &m, NULL, m.stream, &report), BG_ERROR_BUSY);
    assert_null(report);
    EXPECT_STATUS(bg_check_poison(graph, &m.f->y, 1, m.stream, &report), BG_ERROR_BUSY);
    assert_null(report);
    pthread_barrier_wait(&other.barrier);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(other.ended, BG_OK);
    assert_int_equal(pthread_barrier_destroy(&other.barrier), 0);
    EXPECT_OK(bg_check_recapture(forward, &m, NULL, m.stream, &report));
    EXPECT_NO_FINDING(report);
    unmake(&m);
}
