/* Stream-ordered memory inside a pass: allocated and freed in one segment, across segments, and by an eager body. */
#include "tests/support/support.h"

static float *temporary; /* of the pass that is captured; a graph's allocation keeps its address */

BG_OP(allocate, BG_IN(x))
{
    TRY_BG(from_cuda(cudaMallocAsync((void **)&temporary, N * sizeof(float), stream)));
    return from_cuda(bgk_scale(temporary, args->x.data, 3, N, stream));
}

BG_OP(use, BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, temporary, 2, N, stream));
}

BG_OP(release)
{
    (void)args;
    return from_cuda(cudaFreeAsync(temporary, stream));
}

/* Adds 1 in place, at the address that it is called with. */
BG_EAGER_OP(change, BG_INOUT(x))
{
    float host[N];
    TRY_BG(from_cuda(cudaMemcpyAsync(host, args->x.data, sizeof host, cudaMemcpyDeviceToHost, stream)));
    TRY_BG(from_cuda(cudaStreamSynchronize(stream)));
    for (int i = 0; i < N; i++)
        host[i] += 1;
    TRY_BG(from_cuda(cudaMemcpyAsync(args->x.data, host, sizeof host, cudaMemcpyHostToDevice, stream)));
    return from_cuda(cudaStreamSynchronize(stream)); /* host goes */
}

BG_EAGER_OP(release_eagerly, BG_IN(x))
{
    return from_cuda(cudaFreeAsync(args->x.data, stream));
}

/* left: the last replay leaves its allocation, which is the program's to free. */
static void expect_replays(fixture *f, bg_forward pass, int segments, float added, bool left)
{
    put(&f->x, 1);
    bg_graph *graph = CAPTURED_BY(pass, f, f->stream, NULL);
    EXPECT_VALUE(&f->y, (3 + added) * 2);
    assert_int_equal(info_of(graph).segments, segments);
    for (int i = 0; i < 20; i++)
        EXPECT_REPLAY(graph, f->stream, &f->x, (float)i, &f->y, ((float)i * 3 + added) * 2);
    for (int i = 0; i < 5; i++) /* with no wait between */
        EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_VALUE(&f->y, (19 * 3 + added) * 2);
    if (left)
        EXPECT_CUDA(cudaFreeAsync(temporary, f->stream));
    bg_graph_destroy(graph);
    expect_usable(f, f->stream);
}

/* A test that is a pass which leaves nothing. */
#define PASS_TEST(name, segments, added)                                                                               \
    static bg_status pass_of_##name(void *user, cudaStream_t stream);                                                  \
    FIXTURE_TEST(name)                                                                                                 \
    {                                                                                                                  \
        expect_replays(f, pass_of_##name, segments, added, false);                                                     \
    }                                                                                                                  \
    FIXTURE_PASS(pass_of_##name)

PASS_TEST(test_within_a_segment, 1, 0)
{
    BG_CALL(allocate, stream, .x = f->x);
    BG_CALL(use, stream, .y = f->y);
    return BG_CALL(release, stream);
}

PASS_TEST(test_across_segments, 3, 1)
{
    BG_CALL(allocate, stream, .x = f->x);
    BG_CALL(change, stream, .x = bg_tensor_1d(temporary, BG_F32, N));
    BG_CALL(use, stream, .y = f->y);
    bg_break(stream);
    return BG_CALL(release, stream);
}

FIXTURE_PASS(never)
{
    BG_CALL(allocate, stream, .x = f->x);
    BG_CALL(change, stream, .x = bg_tensor_1d(temporary, BG_F32, N));
    return BG_CALL(use, stream, .y = f->y);
}

/* The segment's next launch frees it, so that however many replays hold one allocation. */
FIXTURE_TEST(test_never_freed)
{
    size_t before, after, total;
    expect_replays(f, never, 2, 1, true);
    CAPTURED_GRAPH(graph, never, f, f->stream, NULL);
    EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemGetInfo(&before, &total));
    for (int i = 0; i < 100; i++)
        EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemGetInfo(&after, &total));
    assert_int_equal(before, after);
    EXPECT_CUDA(cudaFreeAsync(temporary, f->stream));
}

PASS_TEST(test_freed_by_a_body, 1, 0)
{
    BG_CALL(allocate, stream, .x = f->x);
    BG_CALL(use, stream, .y = f->y);
    return BG_CALL(release_eagerly, stream, .x = bg_tensor_1d(temporary, BG_F32, N));
}
