/* Scenarios of the fault sweep with runners: z = 6 x + 4, by a bucket and eagerly. */
#include "sweep.h"

#include <string.h>

enum { WIDTH = 8, ROWS = N / WIDTH, BUCKET = ROWS + 2, ABOVE = BUCKET + 2 };

BG_OP(sweep_double, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    return sweep_own(bgk_scale(args->y.data, args->x.data, 2, (size_t)args->rows * WIDTH, stream));
}

BG_EAGER_OP(sweep_triple, BG_INOUT(x), BG_VALUE(int, rows))
{
    return sweep_own(bgk_scale(args->x.data, args->x.data, 3, (size_t)args->rows * WIDTH, stream));
}

typedef struct tensors {
    bg_tensor x, bias, hidden, y, copy;
} tensors;

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const tensors *t = user;
    size_t count = (size_t)context->padded_tokens * WIDTH;
    TRY_BG(BG_CALL(sweep_double, stream, .x = t->x, .y = t->hidden, .rows = context->padded_tokens));
    TRY_BG(BG_CALL(sweep_triple, stream, .x = t->hidden, .rows = context->padded_tokens));
    TRY_BG(sweep_own(bgk_add(t->y.data, t->hidden.data, t->bias.data, count, stream)));
    return sweep_own(bgk_add(t->copy.data, t->hidden.data, t->bias.data, count, stream));
}

static bg_status declare(bg_runner *runner, tensors *t)
{
    const int64_t rows[] = {0, WIDTH}, all[] = {2 * BUCKET, WIDTH};
    TRY_BG(bg_runner_add_input(runner, "x", BG_F32, 2, rows, BG_PAD_REPEAT_LAST, 0, &t->x));
    TRY_BG(bg_runner_add_input(runner, "bias", BG_F32, 2, rows, BG_PAD_SENTINEL, -1, &t->bias));
    TRY_BG(bg_runner_add_output(runner, "y", BG_F32, 2, rows, &t->y));
    TRY_BG(bg_runner_add_output(runner, "copy", BG_F32, 2, rows, &t->copy));
    return bg_runner_add_buffer(runner, "hidden", BG_F32, 2, all, &t->hidden);
}

/* A runner is usable after a run that failed. */
static bool run(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, bg_tensor *outputs)
{
    if (sweep_ok(bg_runner_run(runner, batch, inputs, outputs, NULL)))
        return true;
    /* bg_replay does not look for an error of the caller's */
    sweep_here()->replay_failed |= strstr(bg_last_error(), "cudaGraphLaunch") != NULL;
    if (bg_runner_run(runner, batch, inputs, outputs, NULL) == BG_OK)
        return true;
    sweep_here()->retry_failed = true;
    fprintf(stderr, "run again: %s\n", bg_last_error());
    return false;
}

static bg_batch batch_of(int tokens)
{
    return (bg_batch){.tokens = tokens, .requests = 1, .max_query_len = tokens};
}

/* x comes from device memory and bias from the heap; y goes to device memory and its copy to the heap. */
static void run_by_the_bucket(bg_runner *runner)
{
    const sweep_scene *s = sweep_here();
    static float bias[N], copy[N];
    bg_batch batch = batch_of(ROWS);
    bg_tensor inputs[] = {bg_tensor_2d(s->x.data, BG_F32, ROWS, WIDTH), bg_tensor_2d(bias, BG_F32, ROWS, WIDTH)};
    bg_tensor outputs[] = {bg_tensor_2d(s->z.data, BG_F32, ROWS, WIDTH), bg_tensor_2d(copy, BG_F32, ROWS, WIDTH)};

    for (int i = 0; i < N; i++)
        bias[i] = 4;
    memset(copy, 0, sizeof copy);
    if (!run(runner, &batch, inputs, outputs) || !sweep_ok(sweep_own(cudaStreamSynchronize(s->stream))))
        return;
    for (int i = 0; i < N; i++)
        if (copy[i] != 10)
            sweep_keep(BG_ERROR_MISMATCH, "the output on the heap is not as it should be");
}

/* The static buffers hold what they hold. */
static void run_above_the_bucket(bg_runner *runner, const tensors *t)
{
    bg_batch batch = batch_of(ABOVE);
    bg_tensor outputs[] = {{.data = NULL}, {.data = NULL}};
    if (run(runner, &batch, NULL, outputs) && (outputs[0].data != t->y.data || outputs[0].dim[0] != ABOVE))
        sweep_keep(BG_ERROR_MISMATCH, "the output is no view of the static buffer");
}

/* With a lazy runner, and where others were captured, a status does not tell of it. */
static void keep_failures_of_buckets(const bg_runner *runner)
{
    for (int i = 0; i < bg_runner_bucket_count(runner); i++) {
        bg_bucket_info info = BG_BUCKET_INFO_INIT;
        if (!sweep_ok(bg_runner_get_bucket(runner, i, &info)) || info.failure[0] == '\0')
            continue;
        sweep_here()->recovered = sweep_here()->status == BG_OK;
        sweep_keep(BG_ERROR_CUDA, info.failure);
        return;
    }
}

static void run_all(bg_runner_config *config)
{
    bg_runner *runner = NULL;
    cudaEvent_t read = NULL;
    tensors t;

    config->schedule = config->lazy == BG_LAZY_BACKGROUND ? "5,10" : "10";
    config->max_tokens = 2 * BUCKET;
    if (sweep_ok(bg_runner_create(&runner, config, forward, &t, sweep_here()->stream)) &&
        sweep_ok(declare(runner, &t)) && sweep_ok(sweep_own(cudaEventCreateWithFlags(&read, cudaEventDisableTiming))) &&
        sweep_ok(bg_runner_inputs_read(runner, read)) && sweep_ok(bg_runner_capture(runner))) {
        run_above_the_bucket(runner, &t);
        run_by_the_bucket(runner);
        (void)sweep_ok(bg_runner_idle(runner, INT64_MAX));
        keep_failures_of_buckets(runner);
        run_by_the_bucket(runner);
    }
    bg_runner_destroy(runner);
    if (read != NULL)
        (void)sweep_ok(sweep_own(cudaEventDestroy(read)));
}

void sweep_runner(void)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    run_all(&config);
}

/* One graph, captured by the first batch that fits it; the state is no more than saved and put back. */
void sweep_runner_lazy(void)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.mode = BG_MODE_FULL;
    config.lazy = true;
    config.state = &sweep_here()->y;
    config.state_count = 1;
    run_all(&config);
}

/* Two graphs, of which one is captured between batches, in a pool that another runner may use, too. */
void sweep_runner_idle(void)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    config.lazy = BG_LAZY_BACKGROUND;
    if (sweep_ok(bg_pool_create(&config.pool, NULL)))
        run_all(&config);
    bg_pool_destroy(config.pool);
}
