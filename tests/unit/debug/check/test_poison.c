/* Replays with patterns in memory that no op may read: only what changes with them is reported. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"
#include "tests/support/ops.h"

#include <breakgraph/check.h>
#include <breakgraph/memory.h>
#include <string.h>

enum { BYTES = N * sizeof(float) };

/* ---- ops ---- */

/* As many rows as x has. */
BG_OP(scale_rows, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)args->x.dim[0], stream));
}

/* Leaves out the last elements. */
BG_OP(most, BG_IN(x), BG_OUT(y), BG_VALUE(int, left_out))
{
    return args->left_out == N
               ? BG_OK
               : from_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)(N - args->left_out), stream));
}

/* Reads so many floats, however long x is. */
BG_OP(widen, BG_IN(x), BG_OUT(y), BG_VALUE(int, read))
{
    TRY_BG(from_cuda(bgk_fill(args->y.data, 0, N, stream)));
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)args->read, stream));
}

BG_OP(accumulate, BG_IN(x), BG_OUT(y), BG_VALUE(bool, clear))
{
    void *sums;
    TRY_BG(bg_scratch(args, BYTES, &sums));
    if (args->clear)
        TRY_BG(from_cuda(bgk_fill(sums, 0, N, stream)));
    return from_cuda(bgk_add(args->y.data, args->x.data, sums, N, stream));
}

/* Reads memory that is no argument. */
static const float *hidden;
BG_OP(secret, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_add(args->y.data, args->x.data, hidden, N, stream));
}

/* Keeps a count that is no argument. */
static float *counter;
BG_OP(count_up, BG_IN(x), BG_OUT(y))
{
    TRY_BG(from_cuda(bgk_add(counter, counter, args->x.data, N, stream)));
    return from_cuda(bgk_scale(args->y.data, counter, 1, N, stream));
}

BG_EAGER_OP(produce, BG_IN(x), BG_OUT(y), BG_VALUE(int, left_out))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)(N - args->left_out), stream));
}

BG_EAGER_OP(elsewhere, BG_IN(x), BG_OUT(y))
{
    TRY_BG(bg_scratch(args, BYTES, &args->y.data));
    return from_cuda(bgk_scale(args->y.data, args->x.data, 3, N, stream));
}

/* ---- helpers ---- */

static bg_capture *begin(const fixture *f, bg_pool *pool)
{
    return begin_capture(f->stream, OPTIONS(.pool = pool));
}

/* Checks and destroys the graph; all tensors hold what they held before. */
static bg_report *poison(fixture *f, bg_graph *made, const bg_tensor *output)
{
    OWN_GRAPH(graph, made);
    bg_report *report = NULL;
    put_all(f, 3, 4, 5);
    EXPECT_OK(bg_check_poison(graph, output, 1, f->stream, &report));
    EXPECT_ALL(f, 3, 4, 5);
    return report;
}

/* ---- tests ---- */

FIXTURE_TEST(test_clean)
{
    bg_capture *capture = begin(f, NULL);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->z, .factor = 2));
    EXPECT_OK(BG_CALL(sum, f->stream, .x = f->z, .y = f->y));
    EXPECT_NO_FINDING(poison(f, end_capture(capture), &f->y));
}

/* y is read and written by each replay: state, which is put back before each. */
FIXTURE_TEST(test_state)
{
    bg_capture *capture = begin(f, NULL);
    for (int i = 0; i < 3; i++)
        EXPECT_OK(BG_CALL(sum, f->stream, .x = f->x, .y = f->y));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->y, .y = f->z, .factor = 2));
    EXPECT_NO_FINDING(poison(f, end_capture(capture), &f->z));
}

FIXTURE_TEST(test_output_never_written)
{
    for (int left_out = 0; left_out <= N; left_out += left_out == 1 ? N - 1 : 1) {
        char text[200];
        bg_capture *capture = begin(f, NULL);
        int line = __LINE__ + 1;
        EXPECT_OK(BG_CALL(most, f->stream, .x = f->x, .y = f->y, .left_out = left_out));
        snprintf(
            text, sizeof text,
            "y of most#0 is not fully written: %d of its 64 elements keep the contents from before the replay, the "
            "first at index %d",
            left_out, N - left_out);
        EXPECT_FINDING_IF(left_out > 0, poison(f, end_capture(capture), &f->y), "unwritten-output", "most#0", line,
                          text);
    }
}

FIXTURE_TEST(test_output_of_no_call)
{
    bg_capture *capture = begin(f, NULL);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
    EXPECT_FINDING(poison(f, end_capture(capture), &f->z), "unwritten-output", "", 0,
                   "outputs[0], which no op call writes, is not");
}

/* What an op leaves unwritten is its own fault, not that of the op that reads it. */
FIXTURE_TEST(test_unwritten_on_the_way)
{
    for (int left_out = 0; left_out < 2; left_out++) {
        bg_capture *capture = begin(f, NULL);
        int line = __LINE__ + 1;
        EXPECT_OK(BG_CALL(most, f->stream, .x = f->x, .y = f->y, .left_out = left_out));
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->y, .y = f->z, .factor = 2));
        EXPECT_FINDING_IF(left_out > 0, poison(f, end_capture(capture), &f->z), "unwritten-output", "most#0", line,
                          "y of most#0 is not fully written: 1 of its 64 elements keep");
    }
}

/* An op that launches nothing leaves nothing to step over. */
FIXTURE_TEST(test_no_work)
{
    bg_capture *capture = begin(f, NULL);
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(most, f->stream, .x = f->x, .y = f->y, .left_out = N));
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->y, .y = f->z, .factor = 2));
    EXPECT_FINDING(poison(f, end_capture(capture), &f->z), "unwritten-output", "most#0", line,
                   "most#0 left no node in the graph, but scale#0 reads its output as x");
}

BG_OP(touch, BG_INOUT(y))
{
    (void)args;
    (void)stream;
    return BG_OK;
}

/* One that had nothing to do with what it got is not where that comes from. */
FIXTURE_TEST(test_no_work_to_do)
{
    bg_capture *capture = begin(f, NULL);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
    EXPECT_OK(BG_CALL(touch, f->stream, .y = f->y));
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(accumulate, f->stream, .x = f->y, .y = f->z));
    EXPECT_FINDING(poison(f, end_capture(capture), &f->z), "reads-unwritten", "accumulate#0", line,
                   "y of accumulate#0 depends on memory that no op had written");
}

/* A part that nobody reads harms nobody. */
FIXTURE_TEST(test_unwritten_and_unread)
{
    bg_tensor shorter = bg_tensor_1d(f->y.data, BG_F32, N - 1), out = bg_tensor_1d(f->z.data, BG_F32, N - 1);
    bg_capture *capture = begin(f, NULL);
    EXPECT_OK(BG_CALL(most, f->stream, .x = f->x, .y = f->y, .left_out = 1));
    EXPECT_OK(BG_CALL(scale_rows, f->stream, .x = shorter, .y = out));
    EXPECT_NO_FINDING(poison(f, end_capture(capture), &out));
}

/* The pool's blocks end at multiples of 256 bytes. */
FIXTURE_TEST(test_padding)
{
    OWNED_POOL(pool);
    bg_tensor x = {.dtype = BG_F32, .rank = 1, .dim = {N - 8}};

    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_OK(bg_pool_alloc(pool, bg_tensor_bytes(&x), &x.data));
    EXPECT_CUDA(cudaMemset(x.data, 0, bg_tensor_bytes(&x)));
    for (int beyond = 0; beyond < 2; beyond++) {
        bg_capture *capture = begin(f, pool);
        int line = __LINE__ + 1;
        EXPECT_OK(BG_CALL(widen, f->stream, .x = x, .y = f->y, .read = beyond ? N : N - 8));
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->y, .y = f->z, .factor = 2));
        EXPECT_FINDING_IF(beyond, poison(f, end_capture(capture), &f->z), "reads-unwritten", "widen#0", line,
                          "before they are written): 8 of its 64 elements differ");
    }
    bg_pool_release(pool, x.data);
}

FIXTURE_TEST(test_scratch)
{
    bg_pool *pools[2] = {NULL, NULL};

    EXPECT_OK(bg_pool_create(&pools[1], NULL));
    for (int i = 0; i < 4; i++) {
        bg_capture *capture = begin(f, pools[i / 2]);
        int line = __LINE__ + 2;
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
        EXPECT_OK(BG_CALL(accumulate, f->stream, .x = f->y, .y = f->z, .clear = i % 2 == 0));
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->z, .y = f->y, .factor = 2));
        EXPECT_FINDING_IF(i % 2 == 1, poison(f, end_capture(capture), &f->y), "reads-unwritten", "accumulate#0", line,
                          "before they are written): 64 of its 64 elements differ");
    }
    bg_pool_destroy(pools[1]);
}

FIXTURE_TEST(test_released_block)
{
    OWNED_POOL(pool);
    void *block;

    EXPECT_OK(bg_pool_create(&pool, NULL));
    for (int released = 0; released < 2; released++) {
        EXPECT_OK(bg_pool_alloc(pool, BYTES, &block));
        EXPECT_CUDA(cudaMemset(block, 0, BYTES));
        hidden = block;
        bg_capture *capture = begin(f, pool);
        int line = __LINE__ + 1;
        EXPECT_OK(BG_CALL(secret, f->stream, .x = f->x, .y = f->y));
        bg_graph *graph = end_capture(capture);
        if (released)
            bg_pool_release(pool, block);
        EXPECT_FINDING_IF(released, poison(f, graph, &f->y), "reads-unwritten", "secret#0", line,
                          "y of secret#0 depends on memory that no op had written");
        if (!released)
            bg_pool_release(pool, block);
    }
}

FIXTURE_TEST(test_eager)
{
    for (int left_out = 0; left_out < 2; left_out++) {
        bg_tensor open = {.dtype = BG_F32, .rank = 1, .dim = {N}};
        produce_args produced = {.x = f->x, .y = open, .left_out = left_out};
        elsewhere_args left = {.x = f->x, .y = open};
        bg_capture *capture = begin(f, NULL);
        int line = __LINE__ + 1;
        EXPECT_OK(BG_CALL_ARGS(produce, f->stream, &produced));
        EXPECT_OK(BG_CALL(sum, f->stream, .x = produced.y, .y = f->y));
        EXPECT_OK(BG_CALL_ARGS(elsewhere, f->stream, &left));
        EXPECT_OK(BG_CALL(sum, f->stream, .x = left.y, .y = f->y));
        EXPECT_FINDING_IF(left_out > 0, poison(f, end_capture(capture), &f->y), "unwritten-output", "produce#0", line,
                          "y of produce#0 is not fully written: 1 of its 64 elements keep");
    }
}

/* A segment that cannot be taken apart, of which the calls are compared where it ends. */
FIXTURE_TEST(test_whole_segment)
{
    for (int clear = 0; clear < 2; clear++) {
        bg_capture *capture = begin(f, NULL);
        void *own = NULL;
        EXPECT_CUDA(cudaMallocAsync(&own, BYTES, f->stream));
        EXPECT_CUDA(bgk_scale(own, f->x.data, 2, N, f->stream));
        EXPECT_CUDA(cudaFreeAsync(own, f->stream));
        int line = __LINE__ + 1;
        EXPECT_OK(BG_CALL(accumulate, f->stream, .x = f->x, .y = f->y, .clear = clear));
        EXPECT_OK(BG_CALL(scale, f->stream, .x = f->y, .y = f->z, .factor = 2));
        EXPECT_FINDING_IF(!clear, poison(f, end_capture(capture), &f->z), "reads-unwritten", "accumulate#0", line,
                          "before they are written): 64 of its 64 elements differ");
    }
}

FIXTURE_TEST(test_not_repeatable)
{
    counter = (float *)allocate(BYTES);
    put(&f->x, 1);
    bg_capture *capture = begin(f, NULL);
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(count_up, f->stream, .x = f->x, .y = f->y));
    EXPECT_FINDING(poison(f, end_capture(capture), &f->y), "not-repeatable", "count_up#0", line,
                   "y cannot be checked: it differs between two replays");
    EXPECT_CUDA(cudaFree(counter));
}

/* Nothing is replayed where an address is stale. */
FIXTURE_TEST(test_stale)
{
    char *memory = allocate(BYTES);
    bg_capture *capture = begin(f, NULL);
    int line = __LINE__ + 1;
    EXPECT_OK(BG_CALL(scale, f->stream, .x = bg_tensor_1d(memory, BG_F32, N), .y = f->y, .factor = 2));
    bg_graph *graph = end_capture(capture);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaFree(memory));
    EXPECT_FINDING(poison(f, graph, &f->y), "freed", "scale#0", line, "was freed after the capture");
}

FIXTURE_TEST(test_errors)
{
    float memory[4] = {0};
    const bg_tensor bad = {.dtype = BG_F32, .rank = BG_MAX_RANK + 1}, host = bg_tensor_1d(memory, BG_F32, 4);
    const bg_tensor *const refused[] = {NULL, &bad, &host};
    bg_report *report = NULL;
    bg_capture *capture = begin(f, NULL);
    EXPECT_OK(BG_CALL(scale, f->stream, .x = f->x, .y = f->y, .factor = 2));
    OWN_GRAPH(graph, end_capture(capture));
    EXPECT_STATUS(bg_check_poison(NULL, &f->y, 1, f->stream, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check_poison(graph, &f->y, 1, NULL, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_check_poison(graph, &f->y, 1, f->stream, NULL), BG_ERROR_INVALID_ARGUMENT);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        EXPECT_STATUS(bg_check_poison(graph, refused[i], 1, f->stream, &report), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("outputs[0] is not in memory that the device can access");
    assert_null(report);
    EXPECT_OK(bg_check_poison(graph, NULL, 0, f->stream, &report));
    EXPECT_NO_FINDING(report);
}
