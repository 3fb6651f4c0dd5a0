/* An asynchronous fault, and what names its place. A program of its own, since the device is lost with it. */
#include "tests/support/ops.h"
#include "tests/support/kernels/trap.h"

#include <stdlib.h>
#include <string.h>

BG_OP(faulty, BG_IN(armed))
{
    return from_cuda(trap_if(args->armed.data, stream));
}

static bg_status pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    bg_break(stream);
    BG_CALL(faulty, stream, .armed = f->z);
    bg_break(stream);
    return BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
}

/* The device is lost, which every call may say; what the host holds for it is given back all the same. */
static int lost_teardown(void **state)
{
    fixture *f = *state;
    cudaError_t error = cudaDeviceSynchronize();
    assert_true(error != cudaSuccess);
    (void)cudaStreamDestroy(f->stream);
    (void)cudaStreamDestroy(f->other);
    assert_int_equal(cudaFree(f->memory), error);
    free(f);
    return 0;
}

TEST_F(test_sync_names_the_place, fixture_setup, lost_teardown, fixture *f)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph;
    options.debug = BG_DEBUG_SYNC;
    options.name = "pass";
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, &options));
    EXPECT_OK(bg_replay(graph, f->stream));
    put(&f->z, 1);
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_CUDA);
    EXPECT_ERROR("replay, after segment 1 of pass");
    EXPECT_ERROR("cudaError");
    EXPECT_STATUS(bg_replay(graph, f->stream), BG_ERROR_CUDA); /* the fault stays; nothing hangs or crashes */
    bg_graph_destroy(graph);
    assert_non_null(strstr(bg_last_error(), "cudaError"));
}
