/* Two half batches on two streams: while one half waits for the other ranks, the other half computes. Each half has its
 * own runner, stream and pool, since graphs of one pool never execute at the same time. Both halves share the weights.
 * What to copy: split and its two events, and that the host does not wait between the halves. */
#include "examples/runner/try.h"
#include "kernels/model/kernels.h"

enum { WIDTH = 8, MAX_ROWS = 16 };

typedef struct part {
    bg_runner *runner;
    cudaStream_t stream;
    cudaEvent_t done;
    bg_tensor x, y; /* the runner's static buffers */
} part;

static float *weight; /* WIDTH numbers, the same for all */

BG_OP(compute, BG_IN(x), BG_OUT(y))
{
    return check_cuda(bgk_rms_norm(args->y.data, args->x.data, weight, (int)args->x.dim[0], WIDTH, 1e-5f, stream));
}

/* Stands for an all-reduce over the ranks, which one half waits for while the other one computes. */
BG_EAGER_OP(exchange, BG_INOUT(y))
{
    size_t count = (size_t)(args->y.dim[0] * WIDTH);
    return check_cuda(bgk_add(args->y.data, args->y.data, args->y.data, count, stream));
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const part *p = user;
    bg_tensor x = bg_tensor_2d(p->x.data, BG_F32, context->padded_tokens, WIDTH);
    bg_tensor y = bg_tensor_2d(p->y.data, BG_F32, context->padded_tokens, WIDTH);
    bg_status status = BG_OK;

    TRY(BG_CALL(compute, stream, .x = x, .y = y));
    TRY(BG_CALL(exchange, stream, .y = y));
    TRY(BG_CALL(compute, stream, .x = y, .y = y));
    TRY(BG_CALL(exchange, stream, .y = y));
done:
    return status;
}

static bg_status open_part(part *p, const char *schedule)
{
    const int64_t rows[] = {0, WIDTH};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    config.schedule = schedule;
    config.max_tokens = MAX_ROWS;
    CUDA(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&p->done, cudaEventDisableTiming));
    TRY(bg_runner_create(&p->runner, &config, forward, p, p->stream));
    TRY(bg_runner_add_input(p->runner, "x", BG_F32, 2, rows, BG_PAD_ZERO, 0, &p->x));
    TRY(bg_runner_add_output(p->runner, "y", BG_F32, 2, rows, &p->y));
    TRY(bg_runner_capture(p->runner));
done:
    return status;
}

static void close_part(part *p)
{
    bg_runner_destroy(p->runner);
    if (p->done != NULL)
        (void)cudaEventDestroy(p->done);
    if (p->stream != NULL)
        (void)cudaStreamDestroy(p->stream);
}

/* Queues rows of x; their results go to y. */
static bg_status run_part(part *p, float *x, float *y, int rows)
{
    const bg_batch batch = {.tokens = rows, .requests = rows, .max_query_len = 1};
    bg_tensor input = bg_tensor_2d(x, BG_F32, rows, WIDTH), output = bg_tensor_2d(y, BG_F32, rows, WIDTH);
    return bg_runner_run(p->runner, &batch, &input, &output, NULL);
}

/* The caller writes the batch's rows and reads its results on stream. */
static bg_status run_halves(part halves[2], float *x, float *y, int rows, cudaStream_t stream, cudaEvent_t ready)
{
    const int counts[] = {(rows + 1) / 2, rows / 2};
    bg_status status = BG_OK;

    CUDA(cudaEventRecord(ready, stream));
    for (int i = 0, first = 0; i < 2; first += counts[i++]) {
        CUDA(cudaStreamWaitEvent(halves[i].stream, ready, 0));
        if (counts[i] > 0)
            TRY(run_part(&halves[i], x + first * WIDTH, y + first * WIDTH, counts[i]));
        CUDA(cudaEventRecord(halves[i].done, halves[i].stream));
        CUDA(cudaStreamWaitEvent(stream, halves[i].done, 0));
    }
done:
    return status;
}

int main(void)
{
    static const int batches[] = {1, 2, 7, MAX_ROWS};
    static float host[MAX_ROWS * WIDTH], found[2][MAX_ROWS * WIDTH];
    part whole = {.runner = NULL}, halves[2] = {{.runner = NULL}};
    cudaStream_t stream = NULL;
    cudaEvent_t ready = NULL;
    float *x = NULL, *y = NULL;
    bg_status status;

    for (int i = 0; i < MAX_ROWS * WIDTH; i++)
        host[i] = (float)(i % 11 + 1);
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CUDA(cudaMalloc((void **)&weight, WIDTH * sizeof *weight));
    CUDA(cudaMalloc((void **)&x, sizeof host));
    CUDA(cudaMalloc((void **)&y, sizeof host));
    CUDA(bgk_fill(weight, 1, WIDTH, stream));
    CUDA(cudaStreamSynchronize(stream));
    TRY(open_part(&whole, "4,8,16"));
    TRY(open_part(&halves[0], "2,4,8"));
    TRY(open_part(&halves[1], "2,4,8"));
    for (int i = 0; i < 4; i++) {
        const size_t bytes = (size_t)(batches[i] * WIDTH) * sizeof *host;
        bool same = true;
        CUDA(cudaMemcpyAsync(x, host, bytes, cudaMemcpyHostToDevice, stream));
        TRY(run_halves(halves, x, y, batches[i], stream, ready));
        CUDA(cudaMemcpyAsync(found[0], y, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        TRY(run_part(&whole, x, found[1], batches[i]));
        CUDA(cudaStreamSynchronize(whole.stream));
        for (int k = 0; k < batches[i] * WIDTH; k++)
            same = same && found[0][k] == found[1][k];
        printf("%2d rows, %d and %d: %s\n", batches[i], (batches[i] + 1) / 2, batches[i] / 2,
               same ? "as in one batch" : "other numbers than in one batch");
        if (!same)
            TRY(bg_report_failure(BG_ERROR_MISMATCH, "the two halves", "they differ from the whole",
                                  "check which stream waits for which event"));
    }
done:
    close_part(&whole);
    close_part(&halves[0]);
    close_part(&halves[1]);
    (void)cudaFree(weight);
    (void)cudaFree(x);
    (void)cudaFree(y);
    if (ready != NULL)
        (void)cudaEventDestroy(ready);
    if (stream != NULL)
        (void)cudaStreamDestroy(stream);
    return report_status(status);
}
