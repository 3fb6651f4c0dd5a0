/* Races in a segment of 40,000 nodes: the last two calls have no order, or one more wait gives them one. */
#include "tests/support/test.h"
#include "tests/support/tools/check_support.h"

#include <breakgraph/check.h>

enum { CALLS = 40000, STREAMS = 4, BYTES = 256, MEETING = 1000 /* calls between two meetings of all streams */ };

BG_OP(fill, BG_OUT(y))
{
    return from_cuda(cudaMemsetAsync(args->y.data, 1, BYTES, stream));
}

BG_OP(copy, BG_IN(x), BG_OUT(y))
{
    return from_cuda(cudaMemcpyAsync(args->y.data, args->x.data, BYTES, cudaMemcpyDeviceToDevice, stream));
}

enum { APART, ONE_WEIGHT, ONE_BLOCK };

typedef struct model {
    cudaStream_t streams[STREAMS];
    char *blocks;
    int kind; /* APART: each call has a block of its own; ONE_WEIGHT: and all read one; ONE_BLOCK: all calls of a stream
                 write one, and read another that nobody writes */
    bool ordered;
    int line; /* of the last call */
} model;

static bg_tensor block(const model *m, int number)
{
    return bg_tensor_1d(m->blocks + (size_t)number * BYTES, BG_U8, BYTES);
}

static bg_status meet(model *m)
{
    for (int i = 1; i < STREAMS; i++)
        TRY_BG(bg_stream_wait_stream(m->streams[0], m->streams[i]));
    for (int i = 1; i < STREAMS; i++)
        TRY_BG(bg_stream_wait_stream(m->streams[i], m->streams[0]));
    return BG_OK;
}

static bg_status call_one(model *m, int number)
{
    cudaStream_t stream = m->streams[number % STREAMS];
    bg_tensor own = block(m, 1 + number);
    switch (m->kind) {
    case ONE_WEIGHT: return BG_CALL(copy, stream, .x = block(m, 0), .y = own);
    case ONE_BLOCK: return BG_CALL(copy, stream, .x = block(m, 0), .y = block(m, 1 + number % STREAMS));
    default: return BG_CALL(fill, stream, .y = own);
    }
}

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;

    m->streams[0] = stream;
    for (int i = 1; i < STREAMS; i++)
        TRY_BG(bg_stream_wait_stream(m->streams[i], stream));
    for (int i = 0; i < CALLS - 2; i++) {
        TRY_BG(call_one(m, i));
        if (i % MEETING == MEETING - 1)
            TRY_BG(meet(m));
    }
    TRY_BG(BG_CALL(fill, m->streams[2], .y = block(m, CALLS)));
    if (m->ordered)
        TRY_BG(bg_stream_wait_stream(m->streams[3], m->streams[2]));
    TRY_BG(CALL_AT(m->line, fill, m->streams[3], .y = block(m, CALLS)));
    for (int i = 1; i < STREAMS; i++)
        TRY_BG(bg_stream_wait_stream(stream, m->streams[i]));
    return BG_OK;
}

static void find_last(fixture *f, int kind)
{
    for (int ordered = 0; ordered < 2; ordered++) {
        model m = {.kind = kind, .ordered = ordered};
        char last[32];

        m.blocks = allocate((size_t)(CALLS + 1) * BYTES);
        for (int i = 1; i < STREAMS; i++)
            EXPECT_CUDA(cudaStreamCreateWithFlags(&m.streams[i], cudaStreamNonBlocking));
        bg_graph *graph = capture_of(forward, &m, f->stream, NULL);
        snprintf(last, sizeof last, "fill#%d", kind == APART ? CALLS - 1 : 1);
        EXPECT_FINDING_IF(!ordered, check_graph(graph, BG_CHECK_OVERLAP), "race", last, m.line, "share 256 bytes");
        EXPECT_CUDA(cudaStreamSynchronize(f->stream));
        bg_graph_destroy(graph);
        for (int i = 1; i < STREAMS; i++)
            EXPECT_CUDA(cudaStreamDestroy(m.streams[i]));
        EXPECT_CUDA(cudaFree(m.blocks));
    }
}

FIXTURE_TEST(test_apart)
{
    find_last(f, APART);
}

FIXTURE_TEST(test_one_weight)
{
    find_last(f, ONE_WEIGHT);
}

FIXTURE_TEST(test_one_block)
{
    find_last(f, ONE_BLOCK);
}
