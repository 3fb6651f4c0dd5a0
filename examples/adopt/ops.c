/* eager.c with ops, whose reads and writes the tools know. Findings name each call of an op, BG_EAGER_OPS runs chosen
 * calls eagerly, and BG_SHADOW=calls compares each call with the eager pass. */
#include <breakgraph/breakgraph.h>
#include "step.h"

static bg_status check_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

BG_OP(triple, BG_IN(x), BG_OUT(h))
{
    return check_cuda(bgk_scale(args->h.data, args->x.data, 3, N, stream));
}

BG_OP(add, BG_INOUT(x), BG_IN(h))
{
    return check_cuda(bgk_add(args->x.data, args->x.data, args->h.data, N, stream));
}

BG_EAGER_OP(decide_op, BG_INOUT(h))
{
    const model m = {stream, NULL, args->h.data};
    return check_cuda(decide(&m));
}

static bg_status step(void *user, cudaStream_t stream)
{
    const model *m = user;
    bg_tensor x = bg_tensor_1d(m->x, BG_F32, N), h = bg_tensor_1d(m->h, BG_F32, N);
    BG_CALL(triple, stream, .x = x, .h = h); /* errors stick in a capture */
    BG_CALL(decide_op, stream, .h = h);      /* break */
    return BG_CALL(add, stream, .x = x, .h = h);
}

int main(void)
{
    bg_graph *graph = NULL;
    model m = {NULL, NULL, NULL};
    bg_status status = check_cuda(create_model(&m));
    if (status == BG_OK)
        status = bg_capture_forward(&graph, step, &m, m.stream, NULL);
    if (status == BG_OK)
        status = check_cuda(print_step(&m, 0));
    for (int number = 1; status == BG_OK && number < STEPS; number++) {
        status = bg_replay(graph, m.stream);
        if (status == BG_OK)
            status = check_cuda(print_step(&m, number));
    }
    if (status != BG_OK)
        fprintf(stderr, "%s: %s\n", bg_status_name(status), bg_last_error());
    bg_graph_destroy(graph);
    destroy_model(&m);
    return status != BG_OK;
}
