/* LoRA adapters: each row of a batch names its adapter, whose weights are in a static table. The program replaces an
 * adapter by writing into the table, without a new capture. Batches without adapters use graphs without that work
 * (variant 0). What to copy: the table's empty slot for rows without an adapter, the input of slots, and the writes to
 * the table on the runner's stream. For brevity an adapter is a vector that is added, not two matrices. */
#include "examples/runner/try.h"
#include "kernels/model/kernels.h"

enum { WIDTH = 4, MAX_ROWS = 8, SLOTS = 3, NO_ADAPTER = 0 /* the slot whose weights are 0 */ };

typedef struct model {
    float *adapters; /* SLOTS x WIDTH */
    bg_tensor x, slot, chosen, y;
} model;

BG_OP(base, BG_IN(x), BG_OUT(y))
{
    return check_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)(args->x.dim[0] * args->x.dim[1]), stream));
}

BG_OP(adapt, BG_IN(slot), BG_OUT(chosen), BG_INOUT(y), BG_VALUE(const float *, adapters))
{
    const int rows = (int)args->slot.dim[0];
    bg_status status;

    CUDA(bgk_embedding(args->chosen.data, args->adapters, args->slot.data, rows, WIDTH, SLOTS, stream));
    CUDA(bgk_add(args->y.data, args->y.data, args->chosen.data, (size_t)rows * WIDTH, stream));
    status = BG_OK;
done:
    return status;
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const model *m = user;
    const int rows = context->padded_tokens;
    bg_tensor y = bg_tensor_2d(m->y.data, BG_F32, rows, WIDTH);
    bg_status status;

    TRY(BG_CALL(base, stream, .x = bg_tensor_2d(m->x.data, BG_F32, rows, WIDTH), .y = y));
    if (context->batch.variant == 1)
        TRY(BG_CALL(adapt, stream, .slot = bg_tensor_1d(m->slot.data, BG_I32, rows),
                    .chosen = bg_tensor_2d(m->chosen.data, BG_F32, rows, WIDTH), .y = y, .adapters = m->adapters));
done:
    return status;
}

static bg_status open_model(model *m, bg_runner **runner, cudaStream_t stream)
{
    const int64_t rows[] = {0, WIDTH};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    CUDA(cudaMalloc((void **)&m->adapters, SLOTS * WIDTH * sizeof(float)));
    CUDA(cudaMemsetAsync(m->adapters, 0, SLOTS * WIDTH * sizeof(float), stream));
    config.schedule = "2,4,8";
    config.max_tokens = MAX_ROWS;
    config.variants = 2;
    TRY(bg_runner_create(runner, &config, forward, m, stream));
    TRY(bg_runner_add_input(*runner, "x", BG_F32, 2, rows, BG_PAD_ZERO, 0, &m->x));
    TRY(bg_runner_add_input(*runner, "slot", BG_I32, 1, rows, BG_PAD_SENTINEL, NO_ADAPTER, &m->slot));
    TRY(bg_runner_add_buffer(*runner, "chosen", BG_F32, 2, rows, &m->chosen));
    TRY(bg_runner_add_output(*runner, "y", BG_F32, 2, rows, &m->y));
    TRY(bg_runner_capture(*runner));
done:
    return status;
}

/* Call it between two batches. It writes on the runner's stream, so the previous batch has read the old weights. */
static bg_status load_adapter(const model *m, int slot, float weight, cudaStream_t stream)
{
    bg_status status = BG_OK;
    CUDA(bgk_fill(m->adapters + slot * WIDTH, weight, WIDTH, stream));
done:
    return status;
}

/* slots: NULL if no row has an adapter. weights: the current weight of each slot. */
static bg_status run_batch(bg_runner *runner, const int *slots, const float *weights, int rows, cudaStream_t stream)
{
    const bg_batch batch = {.tokens = rows, .requests = rows, .max_query_len = 1, .variant = slots != NULL};
    float x[MAX_ROWS * WIDTH], found[MAX_ROWS * WIDTH];
    const bg_tensor inputs[] = {bg_tensor_2d(x, BG_F32, rows, WIDTH), bg_tensor_1d((void *)slots, BG_I32, rows)};
    bg_tensor output = bg_tensor_2d(found, BG_F32, rows, WIDTH);
    bg_status status;

    for (int row = 0; row < rows; row++)
        for (int i = 0; i < WIDTH; i++)
            x[row * WIDTH + i] = (float)(row + 1);
    TRY(bg_runner_run(runner, &batch, inputs, &output, NULL));
    CUDA(cudaStreamSynchronize(stream));
    printf("%s:", slots != NULL ? "with adapters" : "without");
    for (int i = 0; i < rows; i++) {
        printf(" %g", (double)found[i * WIDTH]);
        if (found[i * WIDTH] != 2 * x[i * WIDTH] + (slots != NULL ? weights[slots[i]] : 0))
            TRY(bg_report_failure(BG_ERROR_MISMATCH, "a row", "the row used another adapter's weights",
                                  "check the slot of each row"));
    }
    printf("\n");
done:
    return status;
}

int main(void)
{
    static const int slots[] = {1, NO_ADAPTER, 2, 1, 2};
    float weights[SLOTS] = {0, 0.5f, 0.25f};
    model m = {.adapters = NULL};
    bg_runner *runner = NULL;
    cudaStream_t stream = NULL;
    bg_status status;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(open_model(&m, &runner, stream));
    TRY(load_adapter(&m, 1, weights[1], stream));
    TRY(load_adapter(&m, 2, weights[2], stream));
    TRY(run_batch(runner, slots, weights, 5, stream));
    TRY(run_batch(runner, NULL, weights, 3, stream));
    weights[2] = 0.75f; /* another adapter in slot 2 */
    TRY(load_adapter(&m, 2, weights[2], stream));
    TRY(run_batch(runner, slots, weights, 5, stream));
done:
    bg_runner_destroy(runner);
    (void)cudaFree(m.adapters);
    if (stream != NULL)
        (void)cudaStreamDestroy(stream);
    return report_status(status);
}
