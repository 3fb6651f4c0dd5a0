/* A model of text and images: an image encoder makes the embeddings of some rows, which are one more input. Batches
 * without an image use graphs without that input (variant 0), the others use graphs that add it (variant 1). What to
 * copy: the input with zeros in all rows without an image, the token whose embedding is zero, and the variants. */
#include "examples/runner/try.h"
#include "kernels/model/kernels.h"

#include <string.h>

enum { WIDTH = 4, MAX_ROWS = 8, VOCABULARY = 10, IMAGE = 0 /* the token of a row that an image fills */ };

typedef struct model {
    float *table; /* VOCABULARY x WIDTH; row t holds t, so the row of IMAGE holds 0 */
    bg_tensor token, image, y;
} model;

BG_OP(embed, BG_IN(token), BG_OUT(y), BG_VALUE(const float *, table))
{
    return check_cuda(
        bgk_embedding(args->y.data, args->table, args->token.data, (int)args->token.dim[0], WIDTH, VOCABULARY, stream));
}

BG_OP(add_image, BG_IN(image), BG_INOUT(y))
{
    return check_cuda(
        bgk_add(args->y.data, args->y.data, args->image.data, (size_t)(args->y.dim[0] * args->y.dim[1]), stream));
}

BG_OP(layers, BG_INOUT(y))
{
    return check_cuda(bgk_scale(args->y.data, args->y.data, 10, (size_t)(args->y.dim[0] * args->y.dim[1]), stream));
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const model *m = user;
    const int rows = context->padded_tokens;
    bg_tensor y = bg_tensor_2d(m->y.data, BG_F32, rows, WIDTH);
    bg_status status;

    TRY(BG_CALL(embed, stream, .token = bg_tensor_1d(m->token.data, BG_I32, rows), .y = y, .table = m->table));
    if (context->batch.variant == 1)
        TRY(BG_CALL(add_image, stream, .image = bg_tensor_2d(m->image.data, BG_F32, rows, WIDTH), .y = y));
    TRY(BG_CALL(layers, stream, .y = y));
done:
    return status;
}

static bg_status open_model(model *m, bg_runner **runner, cudaStream_t stream)
{
    float host[VOCABULARY][WIDTH];
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    for (int t = 0; t < VOCABULARY; t++)
        for (int i = 0; i < WIDTH; i++)
            host[t][i] = (float)t;
    CUDA(cudaMalloc((void **)&m->table, sizeof host));
    CUDA(cudaMemcpy(m->table, host, sizeof host, cudaMemcpyHostToDevice));
    config.schedule = "2,4,8";
    config.max_tokens = MAX_ROWS;
    config.variants = 2;
    TRY(bg_runner_create(runner, &config, forward, m, stream));
    TRY(bg_runner_add_input(*runner, "token", BG_I32, 1, (int64_t[]){0}, BG_PAD_SENTINEL, IMAGE, &m->token));
    TRY(bg_runner_add_input(*runner, "image", BG_F32, 2, (int64_t[]){0, WIDTH}, BG_PAD_ZERO, 0, &m->image));
    TRY(bg_runner_add_output(*runner, "y", BG_F32, 2, (int64_t[]){0, WIDTH}, &m->y));
    TRY(bg_runner_capture(*runner));
done:
    return status;
}

/* image: rows x WIDTH, or NULL if the batch has no image; the input then keeps its old contents. */
static bg_status run_batch(bg_runner *runner, const int *tokens, const float *image, int rows, cudaStream_t stream)
{
    const bg_batch batch = {.tokens = rows, .requests = 1, .max_query_len = rows, .variant = image != NULL};
    float found[MAX_ROWS * WIDTH];
    const bg_tensor inputs[] = {bg_tensor_1d((void *)tokens, BG_I32, rows),
                                bg_tensor_2d((void *)image, BG_F32, rows, WIDTH)};
    bg_tensor output = bg_tensor_2d(found, BG_F32, rows, WIDTH);
    bg_status status;

    TRY(bg_runner_run(runner, &batch, inputs, &output, NULL));
    CUDA(cudaStreamSynchronize(stream));
    printf("%s:", image != NULL ? "with an image" : "text alone");
    for (int i = 0; i < rows; i++) {
        const float expected = 10 * ((float)tokens[i] + (image != NULL ? image[i * WIDTH] : 0));
        printf(" %g", (double)found[i * WIDTH]);
        if (found[i * WIDTH] != expected)
            TRY(bg_report_failure(BG_ERROR_MISMATCH, "a row", "the row has a wrong number",
                                  "check which rows of the image are not zero"));
    }
    printf("\n");
done:
    return status;
}

int main(void)
{
    static const int text[] = {1, 2, 3}, mixed[] = {4, IMAGE, IMAGE, 5, 6};
    float image[5 * WIDTH];
    model m = {.table = NULL};
    bg_runner *runner = NULL;
    cudaStream_t stream = NULL;
    bg_status status;

    memset(image, 0, sizeof image);
    for (int i = 0; i < WIDTH; i++) { /* stands for the encoder's output of two patches */
        image[WIDTH + i] = 0.5f;
        image[2 * WIDTH + i] = 0.25f;
    }
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(open_model(&m, &runner, stream));
    TRY(run_batch(runner, text, NULL, 3, stream));
    TRY(run_batch(runner, mixed, image, 5, stream));
    TRY(run_batch(runner, text, NULL, 3, stream)); /* the image that is still in the static buffer does not matter */
done:
    bg_runner_destroy(runner);
    (void)cudaFree(m.table);
    if (stream != NULL)
        (void)cudaStreamDestroy(stream);
    return report_status(status);
}
