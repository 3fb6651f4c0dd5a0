#include "fragile_pass.h"

bool fragile_fails;
BG_DEFINE_EAGER_OP(fragile)
{
    if (fragile_fails)
        return BG_ERROR_TIMEOUT;
    return from_cuda(bgk_scale(args->x.data, args->x.data, 2, N, stream));
}

int fragile_setup(void **state)
{
    fragile_fails = false;
    return fixture_setup(state);
}

bg_status fragile_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 3);
    BG_CALL(fragile, stream, .x = f->y);
    return BG_CALL(scale, stream, .x = f->y, .y = f->y, .factor = 5);
}

void expect_works(fixture *f)
{
    fragile_fails = false;
    CAPTURED_GRAPH(graph, fragile_pass, f, f->stream, NULL);
    EXPECT_REPLAY(graph, f->stream, &f->x, 1, &f->y, 30);
}
