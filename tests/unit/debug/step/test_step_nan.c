/* bg_step names the call that NaN and infinities are born in. */
#include "tests/support/test.h"
#include "tests/support/ops.h"
#include "tests/support/tools/step_support.h"

#include <math.h>
#include <string.h>

BG_EAGER_OP(move, BG_IN(x), BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 1.1f, N, stream));
}

/* 0 / 0 in one element of y, and 1 / 0 in another, where poison is set. */
BG_OP(spoil, BG_IN(x), BG_OUT(y), BG_VALUE(int, poison))
{
    static const unsigned bits[] = {0x7fc00000, 0x7f800000};
    float *y = args->y.data;
    bg_status status = from_cuda(bgk_scale(y, args->x.data, 1, N, stream));
    for (int i = 0; i < 2 && status == BG_OK; i++)
        if (args->poison & 1 << i)
            status = from_cuda(cudaMemcpyAsync(y + 5 + i, &bits[i], sizeof bits[i], cudaMemcpyHostToDevice, stream));
    return status;
}

static int poison;

static bg_status spoiled(void *user, cudaStream_t stream)
{
    fixture *f = user;
    for (int i = 0; i < 10; i++)
        BG_CALL(spoil, stream, .x = i % 2 ? f->y : f->x, .y = i % 2 ? f->x : f->y, .poison = i == 6 ? poison : 0);
    return BG_OK;
}

/* From the seventh call on, its last node sees what was spoiled. */
static void expect_seen(void)
{
    for (int i = 0, calls = 0; i < step_seen.count; i++) {
        bool last = i + 1 == step_seen.count || strcmp(step_seen.calls[i], step_seen.calls[i + 1]) != 0;
        calls += last;
        assert_int_equal(step_seen.nan[i], last && calls > 6 ? poison & 1 : 0);
        assert_int_equal(step_seen.inf[i], last && calls > 6 ? poison >> 1 : 0);
    }
}

FIXTURE_TEST(test_nan_is_named_where_it_is_born)
{
    for (poison = 0; poison < 4; poison++) {
        OWN_GRAPH(graph, capture_of(spoiled, f, f->stream, NULL));
        for (int round = 0; round < 2; round++) { /* the second over what the first has left */
            put(&f->x, 1);
            OWN_REPORT(report, step_noting(f, graph));
            assert_int_equal(count_findings(report, "nan-origin"), poison & 1);
            assert_int_equal(bg_report_count(report), (poison & 1) + (poison >> 1));
            expect_seen();
            if (poison & 1)
                EXPECT_THE(report, "nan-origin", "spoil#6", 0,
                           "y of spoil#6 holds 1 NaN (of 64 elements), the first at index 5", .severity = "warning");
            if (poison & 2)
                EXPECT_THE(report, "inf-origin", .words = "holds 1 infinities (of 64 elements), the first at index 6");
        }
    }
    put_all(f, 1, 1, 0);
}

/* The NaN comes after the break. */
BG_OP(spoil_behind_a_break, BG_IN(x), BG_INOUT(y), BG_VALUE(int, poison))
{
    TRY_BG(BG_CALL(move, stream, .x = args->x, .y = args->y));
    return from_cuda(bgk_scale(args->y.data, args->y.data, args->poison ? NAN : 1, N, stream));
}

static bg_status spoiled_behind_a_break(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(spoil_behind_a_break, stream, .x = f->x, .y = f->y, .poison = poison == 0);
    BG_CALL(spoil_behind_a_break, stream, .x = f->y, .y = f->z, .poison = poison == 1);
    return BG_CALL(scale, stream, .x = f->z, .y = f->z, .factor = 1);
}

FIXTURE_TEST(test_nan_behind_a_break)
{
    static const char *const calls[] = {"spoil_behind_a_break#0", "spoil_behind_a_break#1"};
    for (poison = 0; poison < 3; poison++) {
        put_all(f, 1, 1, 1);
        OWN_GRAPH(graph, capture_of(spoiled_behind_a_break, f, f->stream, NULL));
        put(&f->y, 1);
        put(&f->z, 1);
        OWN_REPORT(report, step_noting(f, graph));
        assert_int_equal(bg_report_count(report), poison < 2);
        if (poison < 2)
            EXPECT_THE(report, "nan-origin", calls[poison]);
    }
    put(&f->y, 1);
    put(&f->z, 1);
}

static int count_nan_from(fixture *f, bg_graph *graph, const char *from)
{
    OWNED_REPORT(report);
    put_all(f, 1, 1, 1);
    EXPECT_OK(bg_step_from(graph, f->stream, from, NULL, NULL, &report));
    return count_findings(report, "nan-origin");
}

/* Of a call that began before, the inputs are unknown. */
FIXTURE_TEST(test_nan_from)
{
    poison = 1;
    put(&f->x, 1);
    OWN_GRAPH(graph, capture_of(spoiled_behind_a_break, f, f->stream, NULL));
    assert_int_equal(count_nan_from(f, graph, "0"), 1);
    assert_int_equal(count_nan_from(f, graph, "spoil_behind_a_break#1/move#0"), 1); /* where it begins */
    assert_int_equal(count_nan_from(f, graph, "3"), 0);                             /* the node behind its break */
    assert_int_equal(count_nan_from(f, graph, "scale#0"), 0);                       /* which reads the NaN */
    put(&f->y, 1);
    put(&f->z, 1);
}

static void *elsewhere; /* where the next leaves its result */

BG_EAGER_OP(spoil_eagerly, BG_IN(x), BG_OUT(y))
{
    static const unsigned bits = 0x7fc00000;
    float *y = elsewhere;
    args->y.data = y;
    TRY_BG(from_cuda(bgk_scale(y, args->x.data, 1, N, stream)));
    return from_cuda(cudaMemcpyAsync(y + 9, &bits, sizeof bits, cudaMemcpyHostToDevice, stream));
}

static bg_status spoiled_eagerly(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 1);
    BG_CALL(spoil_eagerly, stream, .x = f->y, .y = f->z);
    return BG_CALL(scale, stream, .x = f->z, .y = f->y, .factor = 1);
}

FIXTURE_TEST(test_nan_of_an_eager_call)
{
    OWN_MEMORY(char, memory, allocate(N * sizeof(float)));
    elsewhere = memory;
    put(&f->x, 1);
    OWN_GRAPH(graph, capture_of(spoiled_eagerly, f, f->stream, NULL));
    EXPECT_FINDING(step_noting(f, graph), "nan-origin", "spoil_eagerly#0");
    put(&f->z, 1);
    put(&f->y, 1);
}

/* A tensor of the host's is not read by the device. */
static float host_table[N];

BG_OP(from_table, BG_IN(table), BG_OUT(y))
{
    return from_cuda(bgk_fill(args->y.data, ((const float *)args->table.data)[0], N, stream));
}

static bg_status with_host_tensor(void *user, cudaStream_t stream)
{
    fixture *f = user;
    return BG_CALL(from_table, stream, .table = bg_tensor_1d(host_table, BG_F32, N), .y = f->y);
}

FIXTURE_TEST(test_host_tensor)
{
    OWN_GRAPH(graph, capture_of(with_host_tensor, f, f->stream, NULL));
    EXPECT_FINDING(step_noting(f, graph), "not-counted",
                   .words = "table of from_table#0 is in memory that the device cannot access");
}
