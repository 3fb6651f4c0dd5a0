/* What test_ranges.sh looks at: a pass with nested ops, an eager one inside a captured one, a bare break, and a result
 * that is copied; captured and replayed. With the argument "fail" its last op fails at capture, with "fail-later" in
 * the replay. */
#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 64 };

static bg_status checked(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

BG_OP(norm, BG_INOUT(x))
{
    return checked(cudaMemsetAsync(args->x.data, 0, BYTES, stream));
}

BG_EAGER_OP(attention, BG_INOUT(x))
{
    return BG_CALL(norm, stream, .x = args->x);
}

BG_OP(layer, BG_INOUT(x))
{
    BG_CALL(norm, stream, .x = args->x);
    BG_CALL(attention, stream, .x = args->x);
    return BG_CALL(norm, stream, .x = args->x);
}

typedef struct pass {
    bg_tensor x, y;
    void *elsewhere;
    const char *how;
} pass;

BG_EAGER_OP(sample, BG_IN(x), BG_OUT(y), BG_VALUE(const pass *, pass))
{
    bool replay = bg_current_phase() == BG_PHASE_REPLAY;
    args->y.data = args->pass->elsewhere;
    (void)stream;
    return strcmp(args->pass->how, replay ? "fail-later" : "fail") == 0 ? BG_ERROR_OP : BG_OK;
}

static bg_status forward(void *user, cudaStream_t stream)
{
    const pass *p = user;
    BG_CALL(layer, stream, .x = p->x);
    bg_break(stream);
    BG_CALL(norm, stream, .x = p->x);
    return BG_CALL(sample, stream, .x = p->x, .y = p->y, .pass = p);
}

int main(int argc, char **argv)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    cudaStream_t stream = NULL;
    bg_graph *graph = NULL;
    char *memory = NULL;
    pass p = {.how = argc > 1 ? argv[1] : ""};
    bg_status status = checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    options.name = "pass";
    if (status == BG_OK)
        status = checked(cudaMalloc((void **)&memory, 3 * BYTES));
    if (status == BG_OK) {
        p.x = bg_tensor_1d(memory, BG_F32, BYTES / sizeof(float));
        p.y = bg_tensor_1d(memory + BYTES, BG_F32, BYTES / sizeof(float));
        p.elsewhere = memory + 2 * BYTES;
        status = bg_capture_forward(&graph, forward, &p, stream, &options);
    }
    if (status == BG_OK)
        status = bg_replay(graph, stream);
    if (status == BG_OK)
        status = checked(cudaStreamSynchronize(stream));
    if (status != BG_OK)
        printf("%s: %s\n", bg_status_name(status), bg_last_error());
    bg_graph_destroy(graph);
    if (memory != NULL)
        cudaFree(memory);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return status != BG_OK;
}
