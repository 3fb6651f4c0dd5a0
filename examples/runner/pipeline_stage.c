/* Two stages of a pipeline, each a runner with its own stream. The first leaves hidden states in its static output, and
 * the second uses that memory as its input, so nothing is copied between them. While the second stage works, the host
 * prepares the next batch; the first stage begins it when the second has read the hidden states. What to copy:
 * bg_runner_bind_input, the event after the first stage, and bg_runner_inputs_read of the second stage. */
#include "examples/runner/try.h"
#include "kernels/model/kernels.h"

enum { WIDTH = 4, MAX_ROWS = 8, BATCHES = 5 };

typedef struct stage {
    bg_runner *runner;
    cudaStream_t stream;
    float factor;
    bg_tensor in, out; /* static buffers */
} stage;

BG_OP(layers, BG_IN(in), BG_OUT(out), BG_VALUE(float, factor))
{
    const size_t count = (size_t)(args->in.dim[0] * args->in.dim[1]);
    return check_cuda(bgk_scale(args->out.data, args->in.data, args->factor, count, stream));
}

/* Stands for work that the graph cannot contain, such as attention. */
BG_EAGER_OP(eager_layer, BG_INOUT(out))
{
    const size_t count = (size_t)(args->out.dim[0] * args->out.dim[1]);
    return check_cuda(bgk_add(args->out.data, args->out.data, args->out.data, count, stream));
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const stage *s = user;
    bg_tensor out = bg_tensor_2d(s->out.data, BG_F32, context->padded_tokens, WIDTH);
    bg_status status;

    TRY(BG_CALL(layers, stream, .in = bg_tensor_2d(s->in.data, BG_F32, context->padded_tokens, WIDTH), .out = out,
                .factor = s->factor));
    TRY(BG_CALL(eager_layer, stream, .out = out));
done:
    return status;
}

/* before: the stage whose output is the input of this one, or NULL for the first stage. */
static bg_status open_stage(stage *s, float factor, const stage *before)
{
    const int64_t rows[] = {0, WIDTH};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    s->factor = factor;
    config.schedule = "4,8";
    config.max_tokens = MAX_ROWS;
    CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    TRY(bg_runner_create(&s->runner, &config, forward, s, s->stream));
    TRY(bg_runner_add_input(s->runner, "in", BG_F32, 2, rows, BG_PAD_ZERO, 0, &s->in));
    TRY(bg_runner_add_output(s->runner, "out", BG_F32, 2, rows, &s->out));
    if (before != NULL)
        TRY(bg_runner_bind_input(s->runner, "in", before->out.data, &s->in));
    TRY(bg_runner_capture(s->runner));
    CUDA(cudaStreamSynchronize(s->stream));
done:
    return status;
}

static void close_stage(stage *s)
{
    bg_runner_destroy(s->runner);
    if (s->stream != NULL)
        (void)cudaStreamDestroy(s->stream);
}

/* Queues a batch whose rows are x. results: host memory that must stay valid until the batch has finished. */
static bg_status run_stages(stage *first, stage *second, cudaEvent_t made, cudaEvent_t read, const float *x,
                            float *results, int rows)
{
    const bg_batch batch = {.tokens = rows, .requests = rows, .max_query_len = 1};
    bg_tensor input = bg_tensor_2d((void *)x, BG_F32, rows, WIDTH), output = bg_tensor_2d(results, BG_F32, rows, WIDTH);
    bg_status status;

    CUDA(cudaStreamWaitEvent(first->stream, read, 0)); /* of the previous batch */
    TRY(bg_runner_run(first->runner, &batch, &input, NULL, NULL));
    CUDA(cudaEventRecord(made, first->stream));
    CUDA(cudaStreamWaitEvent(second->stream, made, 0));
    TRY(bg_runner_run(second->runner, &batch, NULL, &output, NULL));
done:
    return status;
}

int main(void)
{
    static const int sizes[BATCHES] = {3, 8, 1, 4, 6};
    stage first = {.runner = NULL}, second = {.runner = NULL};
    cudaEvent_t made = NULL, read = NULL;
    float(*x)[MAX_ROWS * WIDTH] = NULL, (*results)[MAX_ROWS * WIDTH] = NULL;
    bg_status status;

    CUDA(cudaMallocHost((void **)&x, BATCHES * sizeof *x));
    CUDA(cudaMallocHost((void **)&results, BATCHES * sizeof *results));
    CUDA(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
    TRY(open_stage(&first, 3, NULL));
    TRY(open_stage(&second, 5, &first));
    TRY(bg_runner_inputs_read(second.runner, read));
    for (int i = 0; i < BATCHES; i++) {
        for (int row = 0; row < MAX_ROWS; row++)
            for (int k = 0; k < WIDTH; k++)
                x[i][row * WIDTH + k] = (float)(i + row);
        TRY(run_stages(&first, &second, made, read, x[i], results[i], sizes[i]));
    }
    CUDA(cudaStreamSynchronize(second.stream));
    for (int i = 0; i < BATCHES; i++) {
        printf("%d rows:", sizes[i]);
        for (int row = 0; row < sizes[i]; row++) {
            printf(" %g", (double)results[i][row * WIDTH]);
            if (results[i][row * WIDTH] != 2 * 5 * 2 * 3 * x[i][row * WIDTH])
                TRY(bg_report_failure(BG_ERROR_MISMATCH, "a row", "the row belongs to another batch",
                                      "check which stream waits for which event"));
        }
        printf("\n");
    }
done:
    close_stage(&second);
    close_stage(&first);
    (void)cudaFreeHost(x);
    (void)cudaFreeHost(results);
    if (made != NULL)
        (void)cudaEventDestroy(made);
    if (read != NULL)
        (void)cudaEventDestroy(read);
    return report_status(status);
}
