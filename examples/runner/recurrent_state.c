/* A recurrent model (Mamba, RWKV): each request has a slot of the state cache, which a decode batch reads and writes.
 * Slot 0 belongs to no request: padding rows use it, so that padding touches no live state. What to copy: the reserved
 * slot, the padding of the input of slots, and config.state, which keeps warm-ups and captures from changing the
 * cache. */
#include "examples/runner/try.h"
#include "kernels/model/kernels.h"

enum { WIDTH = 4, MAX_ROWS = 8, SLOTS = 5, RESERVED = 0 };

typedef struct model {
    bg_tensor states; /* SLOTS x WIDTH */
    bg_tensor x, slot, zero, y;
} model;

/* y = state + x, and the state becomes y. */
BG_OP(step, BG_IN(x), BG_IN(slot), BG_IN(zero), BG_INOUT(states), BG_OUT(y))
{
    const int rows = (int)args->slot.dim[0];
    bg_status status;

    CUDA(bgk_embedding(args->y.data, args->states.data, args->slot.data, rows, WIDTH, SLOTS, stream));
    CUDA(bgk_add(args->y.data, args->y.data, args->x.data, (size_t)rows * WIDTH, stream));
    CUDA(bgk_kv_append_rows(args->states.data, args->y.data, args->zero.data, args->slot.data, rows, WIDTH, 1, SLOTS,
                            stream));
    status = BG_OK;
done:
    return status;
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const model *m = user;
    const int rows = context->padded_tokens;

    return BG_CALL(step, stream, .x = bg_tensor_2d(m->x.data, BG_F32, rows, WIDTH),
                   .slot = bg_tensor_1d(m->slot.data, BG_I32, rows), .zero = bg_tensor_1d(m->zero.data, BG_I32, rows),
                   .states = m->states, .y = bg_tensor_2d(m->y.data, BG_F32, rows, WIDTH));
}

static bg_status open_model(model *m, bg_runner **runner, cudaStream_t stream)
{
    const int64_t rows[] = {0, WIDTH};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    m->states = bg_tensor_2d(NULL, BG_F32, SLOTS, WIDTH);
    CUDA(cudaMalloc(&m->states.data, bg_tensor_bytes(&m->states)));
    CUDA(cudaMemsetAsync(m->states.data, 0, bg_tensor_bytes(&m->states), stream));
    config.mode = BG_MODE_FULL;
    config.schedule = "4,8";
    config.max_tokens = MAX_ROWS;
    config.state = &m->states;
    config.state_count = 1;
    TRY(bg_runner_create(runner, &config, forward, m, stream));
    TRY(bg_runner_add_input(*runner, "x", BG_F32, 2, rows, BG_PAD_ZERO, 0, &m->x));
    TRY(bg_runner_add_input(*runner, "slot", BG_I32, 1, rows, BG_PAD_SENTINEL, RESERVED, &m->slot));
    TRY(bg_runner_add_buffer(*runner, "zero", BG_I32, 1, rows, &m->zero));
    TRY(bg_runner_add_output(*runner, "y", BG_F32, 2, rows, &m->y));
    TRY(bg_runner_capture(*runner));
done:
    return status;
}

/* A new request begins with no state. */
static bg_status begin_request(const model *m, int slot, cudaStream_t stream)
{
    bg_status status = BG_OK;
    CUDA(bgk_fill((float *)m->states.data + slot * WIDTH, 0, WIDTH, stream));
done:
    return status;
}

/* Computes one token of each request; a request has the number of its slot. sums: the expected states. */
static bg_status run_batch(bg_runner *runner, const int *slots, float *sums, int rows, cudaStream_t stream)
{
    const bg_batch batch = {.tokens = rows, .requests = rows, .max_query_len = 1, .uniform_decode = true};
    float x[MAX_ROWS * WIDTH], found[MAX_ROWS * WIDTH];
    const bg_tensor inputs[] = {bg_tensor_2d(x, BG_F32, rows, WIDTH), bg_tensor_1d((void *)slots, BG_I32, rows)};
    bg_tensor output = bg_tensor_2d(found, BG_F32, rows, WIDTH);
    bg_status status;

    for (int row = 0; row < rows; row++)
        for (int i = 0; i < WIDTH; i++)
            x[row * WIDTH + i] = (float)slots[row];
    TRY(bg_runner_run(runner, &batch, inputs, &output, NULL));
    CUDA(cudaStreamSynchronize(stream));
    printf("%d requests, padded to %d:", rows, rows <= 4 ? 4 : 8);
    for (int i = 0; i < rows; i++) {
        sums[slots[i]] += (float)slots[i];
        printf(" %d has %g%s", slots[i], (double)found[i * WIDTH], i < rows - 1 ? "," : "\n");
        if (found[i * WIDTH] != sums[slots[i]])
            TRY(bg_report_failure(BG_ERROR_MISMATCH, "a state", "the state is not that request's sum",
                                  "check the slot of each request"));
    }
done:
    return status;
}

int main(void)
{
    float sums[SLOTS] = {0};
    model m = {.states = {.data = NULL}};
    bg_runner *runner = NULL;
    cudaStream_t stream = NULL;
    bg_status status;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(open_model(&m, &runner, stream));
    TRY(run_batch(runner, (int[]){1, 2, 3}, sums, 3, stream));
    TRY(run_batch(runner, (int[]){3, 1}, sums, 2, stream));
    TRY(bg_runner_capture(runner)); /* again, between two batches: the states stay */
    TRY(run_batch(runner, (int[]){4, 3, 2, 1}, sums, 4, stream));
    sums[2] = 0; /* that request has ended, and another one gets its slot */
    TRY(begin_request(&m, 2, stream));
    TRY(run_batch(runner, (int[]){2, 4}, sums, 2, stream));
done:
    bg_runner_destroy(runner);
    (void)cudaFree(m.states.data);
    if (stream != NULL)
        (void)cudaStreamDestroy(stream);
    return report_status(status);
}
