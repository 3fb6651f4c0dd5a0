/* Batches of any size with a piecewise runner: computes each row's share of its batch's total, in percent. */
#include <breakgraph/breakgraph.h>
#include "kernels/model/kernels.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ROWS = 16 };

static bg_status check_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

/* Captured: it works on all rows of the bucket, including padding rows. */
BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return check_cuda(bgk_scale(args->y.data, args->x.data, args->factor, (size_t)args->x.dim[0], stream));
}

/* Eager: it reads the batch's number of rows from the context, which is a new one in each run. */
BG_EAGER_OP(normalize, BG_INOUT(x))
{
    size_t rows = (size_t)bg_forward_context_get()->batch.tokens; /* in a capture, the bucket's rows */
    float *host = malloc(rows * sizeof *host), sum = 0;
    bg_status status = host != NULL ? BG_OK : BG_ERROR_OUT_OF_MEMORY;

    if (status == BG_OK)
        status = check_cuda(cudaMemcpyAsync(host, args->x.data, rows * sizeof *host, cudaMemcpyDeviceToHost, stream));
    if (status == BG_OK)
        status = check_cuda(cudaStreamSynchronize(stream));
    for (size_t i = 0; status == BG_OK && i < rows; i++)
        sum += host[i];
    free(host);
    return status != BG_OK ? status : check_cuda(bgk_scale(args->x.data, args->x.data, 1 / sum, rows, stream));
}

typedef struct model {
    bg_tensor x, y; /* the runner's static buffers */
} model;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    bg_tensor x = bg_tensor_1d(m->x.data, BG_F32, context->padded_tokens);
    bg_tensor y = bg_tensor_1d(m->y.data, BG_F32, context->padded_tokens);
    BG_CALL(scale, stream, .x = x, .y = y, .factor = 0.5f);
    BG_CALL(normalize, stream, .x = y);
    return BG_CALL(scale, stream, .x = y, .y = y, .factor = 100);
}

static bg_status run_batch(bg_runner *runner, int tokens, cudaStream_t stream)
{
    const bg_batch batch = {.tokens = tokens, .requests = tokens, .max_query_len = 1};
    float rows[MAX_ROWS], shares[MAX_ROWS];
    bg_tensor input = bg_tensor_1d(rows, BG_F32, tokens), output = bg_tensor_1d(shares, BG_F32, tokens);
    bg_reason reason = BG_REASON_NONE;
    bool by_graph = bg_runner_can_run(runner, &batch, &reason);
    bg_status status;

    printf("%2d rows, %s%s: ", tokens, by_graph ? "by a graph" : "eagerly, since ", by_graph ? "" : bg_last_error());
    for (int i = 0; i < tokens; i++)
        rows[i] = (float)(i + 1);
    status = bg_runner_run(runner, &batch, &input, &output, NULL);
    if (status == BG_OK)
        status = check_cuda(cudaStreamSynchronize(stream));
    for (int i = 0; status == BG_OK && i < tokens && i < 4; i++)
        printf("%.1f ", shares[i]);
    printf("%s%%\n", tokens > 4 ? "... " : "");
    return status;
}

int main(void)
{
    static const int batches[] = {1, 3, 8, 11};
    const int64_t rows[] = {0}; /* one number per row */
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner = NULL;
    cudaStream_t stream = NULL;
    model m;
    bg_status status = check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    config.schedule = "2,4,8";
    config.max_tokens = MAX_ROWS;
    if (status == BG_OK)
        status = bg_runner_create(&runner, &config, forward, &m, stream);
    if (status == BG_OK)
        status = bg_runner_add_input(runner, "x", BG_F32, 1, rows, BG_PAD_ZERO, 0, &m.x);
    if (status == BG_OK)
        status = bg_runner_add_output(runner, "y", BG_F32, 1, rows, &m.y);
    if (status == BG_OK)
        status = bg_runner_capture(runner);
    for (int i = 0; status == BG_OK && i < 4; i++)
        status = run_batch(runner, batches[i], stream);
    if (status == BG_OK)
        bg_counters_print(stdout);
    else
        fprintf(stderr, "%s: %s %s\n", bg_status_name(status), bg_last_error(),
                cudaGetErrorString(cudaPeekAtLastError()));
    bg_runner_destroy(runner);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return status != BG_OK;
}
