/* plain.c with one capture: bg_eager marks the host's part in the middle, so no code runs between two graphs. */
#include <breakgraph/breakgraph.h>
#include "step.h"

static bg_status check_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

static bg_status decide_eagerly(void *user, cudaStream_t stream)
{
    (void)stream; /* equals m->stream, on which the graph is replayed */
    return check_cuda(decide(user));
}

/* One step, written as it would be without graphs. */
static bg_status step(void *user, cudaStream_t stream)
{
    model *m = user; /* lives as long as the graph */
    bg_status status = check_cuda(first_half(m));
    if (status == BG_OK)
        status = bg_eager(stream, "decide", decide_eagerly, m); /* break */
    return status != BG_OK ? status : check_cuda(second_half(m));
}

int main(void)
{
    bg_graph *graph = NULL;
    model m = {NULL, NULL, NULL};
    bg_status status = check_cuda(create_model(&m));
    if (status == BG_OK)
        status = bg_capture_forward(&graph, step, &m, m.stream, NULL); /* step 0 really runs */
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
