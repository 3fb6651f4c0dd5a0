#include "checked_graphs.h"

BG_DEFINE_EAGER_OP(shift)
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 5, N, stream));
}

BG_DEFINE_OP(touch)
{
    (void)args;
    (void)stream;
    return BG_OK;
}

float *hidden_memory;

BG_DEFINE_OP(sneak)
{
    return from_cuda(bgk_add(args->x.data, args->x.data, hidden_memory, N, stream));
}

bg_tensor check_vector(void *data)
{
    return bg_tensor_1d(data, BG_F32, N);
}

bg_capture *check_begin(fixture *f, bg_pool *pool)
{
    return begin_capture(f->stream, OPTIONS(.pool = pool, .name = "decode"));
}

int scale_line, shift_line;

bg_graph *check_capture(fixture *f, void *memory)
{
    bg_capture *capture = check_begin(f, NULL);
    EXPECT_OK(CALL_AT(scale_line, scale, f->stream, .x = check_vector(memory), .y = f->y, .factor = 3));
    EXPECT_OK(CALL_AT(shift_line, shift, f->stream, .x = f->y, .y = f->z));
    return end_capture(capture);
}

void check_replay_times(fixture *f, bg_graph *graph, int times)
{
    for (int i = 0; i < times; i++)
        EXPECT_OK(bg_replay(graph, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
}
