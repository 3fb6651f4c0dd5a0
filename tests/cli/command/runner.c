/* A program with a runner, against the installed library, for the commands to look at.
 *   runner MODE
 * MODE  clean; frozen: the number of the pass is captured; captured: an op does something else when it is captured;
 *       unwritten: an op leaves out its last row; padding: a padding row is taken for the batch's last one
 * Exit status 1: a result is wrong. */
#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <string.h>

enum { BUCKET = 8 };

static struct {
    bg_runner *runner;
    bg_tensor x, y, stamp, last; /* the runner's static buffers, of bytes */
    bool frozen, captured, unwritten, padding;
    int passes;
} model;

static bg_status checked(cudaError_t error)
{
    if (error != cudaSuccess)
        fprintf(stderr, "runner: %s\n", cudaGetErrorString(error));
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

BG_OP(copy, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    return checked(cudaMemcpyAsync(args->y.data, args->x.data, (size_t)args->rows, cudaMemcpyDeviceToDevice, stream));
}

BG_OP(mark, BG_OUT(stamp), BG_VALUE(int, number))
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    bg_status status = checked(cudaStreamIsCapturing(stream, &capturing));
    int wrong = model.captured && capturing == cudaStreamCaptureStatusActive;
    return status != BG_OK ? status : checked(cudaMemsetAsync(args->stamp.data, args->number + wrong, 1, stream));
}

static bg_tensor bytes(void *data, int count)
{
    return bg_tensor_1d(data, BG_U8, count);
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const int rows = context->padded_tokens;
    bg_tensor x = bytes(model.x.data, rows), y = bytes(model.y.data, rows), hidden = bytes(NULL, rows);
    bg_tensor last = bytes((char *)x.data + rows - 1, 1);
    bg_status status = bg_pool_alloc(bg_runner_pool(model.runner), (size_t)rows, &hidden.data);

    (void)user;
    model.passes++;
    if (status != BG_OK)
        return status;
    BG_CALL(mark, stream, .stamp = model.stamp, .number = model.frozen ? model.passes : 1); /* mark */
    BG_CALL(copy, stream, .x = x, .y = hidden, .rows = model.unwritten ? rows - 1 : rows);  /* copy */
    BG_CALL(copy, stream, .x = hidden, .y = y, .rows = rows);
    status = model.padding ? BG_CALL(copy, stream, .x = last, .y = model.last, .rows = 1) : BG_OK;
    bg_pool_release(bg_runner_pool(model.runner), hidden.data);
    return status;
}

/* *right: the results of a batch of so many rows are. stamp: what mark wrote. */
static bg_status run_batch(int tokens, cudaStream_t stream, unsigned char *stamp, bool *right)
{
    const bg_batch batch = {.tokens = tokens, .requests = 1, .max_query_len = tokens};
    unsigned char rows[BUCKET] = {1, 2, 3, 4, 5, 6, 7, 8}, found[BUCKET], last = 0;
    bg_tensor input = bytes(rows, tokens), output = bytes(found, tokens);
    bg_status status = bg_runner_run(model.runner, &batch, &input, &output, NULL);

    if (status == BG_OK)
        status = checked(cudaMemcpyAsync(&last, model.last.data, 1, cudaMemcpyDeviceToHost, stream));
    if (status == BG_OK)
        status = checked(cudaMemcpyAsync(stamp, model.stamp.data, 1, cudaMemcpyDeviceToHost, stream));
    if (status == BG_OK)
        status = checked(cudaStreamSynchronize(stream));
    *right = status == BG_OK && memcmp(rows, found, (size_t)tokens) == 0 && (!model.padding || last == tokens);
    return status;
}

static bg_status run(cudaStream_t stream, bool *right)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    const int64_t rows[] = {0}, one[] = {1};
    unsigned char stamps[2];
    bool first = false, second = false;
    bg_status status;

    config.schedule = "8";
    config.max_tokens = BUCKET;
    status = bg_runner_create(&model.runner, &config, forward, NULL, stream);
    if (status == BG_OK)
        status = bg_runner_add_input(model.runner, "x", BG_U8, 1, rows, BG_PAD_ZERO, 0, &model.x);
    if (status == BG_OK)
        status = bg_runner_add_output(model.runner, "y", BG_U8, 1, rows, &model.y);
    if (status == BG_OK)
        status = bg_runner_add_buffer(model.runner, "stamp", BG_U8, 1, one, &model.stamp);
    if (status == BG_OK)
        status = bg_runner_add_buffer(model.runner, "last", BG_U8, 1, one, &model.last);
    if (status == BG_OK)
        status = bg_runner_capture(model.runner);
    if (status == BG_OK)
        status = run_batch(BUCKET, stream, &stamps[0], &first);
    if (status == BG_OK)
        status = run_batch(BUCKET - 3, stream, &stamps[1], &second);
    *right = status == BG_OK && first && second && (model.frozen ? stamps[0] != stamps[1] : stamps[1] == 1);
    return status;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    cudaStream_t stream = NULL;
    bool right = false;
    bg_status status = checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    model.frozen = strcmp(mode, "frozen") == 0;
    model.captured = strcmp(mode, "captured") == 0;
    model.unwritten = strcmp(mode, "unwritten") == 0;
    model.padding = strcmp(mode, "padding") == 0;
    if (status == BG_OK)
        status = run(stream, &right);
    if (status != BG_OK)
        fprintf(stderr, "runner: %s: %s\n", bg_status_name(status), bg_last_error());
    else
        puts(right ? "right" : "wrong");
    bg_runner_destroy(model.runner);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return status != BG_OK ? 2 : !right;
}
