/* A program whose runner gets a mix of batches, always the same for a seed.
 *   mix BATCHES SEED [RUNNERS [abort]]
 * Prints one line for each runner: "runner 0: 980 by a graph, 20 eagerly, 5120 padding rows". Its configuration comes
 * from BG_RUNNER_ variables alone. */
#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 400, RUNNERS_MOST = 4, ROW_BYTES = 16384 };

static uint64_t state;

static int random_between(int from, int to)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return from + (int)((state >> 33) % (uint64_t)(to - from + 1));
}

/* Seven in ten are decode batches of about 40 requests, two are decode batches of four tokens a request, one is a
 * prefill. */
static bg_batch next_batch(void)
{
    bg_batch batch = {.max_query_len = 1};
    int kind = random_between(0, 9);

    for (int i = 0; i < 4; i++)
        batch.requests += random_between(5, 15);
    batch.uniform_decode = kind < 9;
    if (kind >= 7)
        batch.max_query_len = 4;
    batch.tokens = kind < 9 ? batch.requests * batch.max_query_len : random_between(60, LARGEST);
    if (kind == 9) {
        batch.requests = 1;
        batch.max_query_len = batch.tokens;
    }
    return batch;
}

typedef struct model {
    bg_runner *runner;
    bg_tensor x;
} model;

BG_OP(fill, BG_OUT(x), BG_VALUE(int, rows))
{
    return cudaMemsetAsync(args->x.data, 1, (size_t)args->rows, stream) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const model *m = user;
    const int rows = context->padded_tokens;
    bg_pool *pool = bg_runner_pool(m->runner);
    bg_tensor hidden = bg_tensor_1d(NULL, BG_U8, ROW_BYTES * rows);
    bg_status status = bg_pool_alloc(pool, (size_t)ROW_BYTES * (size_t)rows, &hidden.data);

    if (status == BG_OK)
        status = BG_CALL(fill, stream, .x = hidden, .rows = rows);
    if (status == BG_OK)
        status = BG_CALL(fill, stream, .x = bg_tensor_1d(m->x.data, BG_U8, rows), .rows = rows);
    bg_pool_release(pool, hidden.data);
    return status;
}

static bg_status open_model(model *m, cudaStream_t stream)
{
    const bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    const int64_t rows[] = {0};
    bg_status status = bg_runner_create(&m->runner, &config, forward, m, stream);

    if (status == BG_OK)
        status = bg_runner_add_output(m->runner, "x", BG_U8, 1, rows, &m->x);
    return status == BG_OK ? bg_runner_capture(m->runner) : status;
}

static bg_status run_batches(const model *m, int count, uint64_t seed)
{
    bg_status status = BG_OK;

    state = seed;
    for (int i = 0; i < count && status == BG_OK; i++) {
        const bg_batch batch = next_batch();
        status = bg_runner_run(m->runner, &batch, NULL, NULL, NULL);
    }
    return status;
}

/* What this runner has added to the counters of the process. */
static void print_counters(int runner)
{
    bg_counters c = BG_COUNTERS_INIT;
    unsigned long long eager = 0, replayed;

    bg_counters_get(&c);
    replayed = c.replays[BG_MODE_PIECEWISE] + c.replays[BG_MODE_FULL];
    for (int i = 0; i < 7; i++)
        eager += c.eager[i];
    printf("runner %d: %llu by a graph, %llu eagerly, %llu padding rows\n", runner, replayed, eager,
           (unsigned long long)c.padded_tokens);
    bg_counters_reset();
}

int main(int argc, char **argv)
{
    int batches = argc > 1 ? atoi(argv[1]) : 1000, runners = argc > 3 ? atoi(argv[3]) : 1;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    model models[RUNNERS_MOST] = {{0}};
    cudaStream_t stream = NULL;
    bg_status status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;

    for (int i = 0; i < runners && i < RUNNERS_MOST && status == BG_OK; i++) {
        status = open_model(&models[i], stream);
        if (status == BG_OK)
            status = run_batches(&models[i], batches, seed + (uint64_t)i);
        if (status == BG_OK)
            print_counters(i);
    }
    if (status != BG_OK)
        fprintf(stderr, "mix: %s: %s\n", bg_status_name(status), bg_last_error());
    if (argc > 4)
        abort();
    for (int i = 0; i < RUNNERS_MOST; i++)
        bg_runner_destroy(models[i].runner);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return status != BG_OK;
}
