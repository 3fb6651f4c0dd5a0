/* A runner of which one rank's pass fails: an error that names it on every rank, and no hang. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <breakgraph/workspace.h>
#include <signal.h>

#include "base/base.h"

struct pass {
    struct member *m;
    bool fails, dies, sleeps; /* the last two in the capture of the smaller bucket */
};

static bg_status runner_forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const struct pass *pass = user;
    if (context->phase == BG_PHASE_CAPTURE && context->padded_tokens == 1) {
        if (pass->dies)
            raise(SIGKILL);
        if (pass->sleeps)
            pass_time(2);
    }
    return pass->fails ? bg_report_failure(BG_ERROR_OP, "the input", "it is gone", "bring it")
                       : model_forward(pass->m, stream);
}

static bg_status run_one(bg_runner *runner)
{
    const bg_batch batch = {.tokens = 1, .requests = 1, .max_query_len = 1};
    return bg_runner_run(runner, &batch, NULL, NULL, NULL);
}

/* All have agreed to run eagerly; then the last rank's pass fails before its collective. Its own error is what it
 * returns; the others wait in their streams, and the watchdog finds them. */
SIZES_TEST(test_eager_run_fails, 2)
{
    struct pass pass = {.m = m};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner = NULL;
    m->options.watchdog = 1;
    model_prepare(m);
    config.mode = BG_MODE_NONE;
    config.debug = BG_DEBUG_FORWARD; /* compares choices */
    config.ranks = m->ranks;
    EXPECT_BG(bg_runner_create(&runner, &config, runner_forward, &pass, m->stream));
    EXPECT_BG(run_one(runner));
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    pass.fails = is_last(m);
    if (is_last(m))
        EXPECT_SAID(run_one(runner), BG_ERROR_OP, "the input failed: it is gone");
    else
        EXPECT_BG(run_one(runner));
    (void)cudaStreamSynchronize(m->stream);
    await_failure(m);
    EXPECT_FAILED(m, "has made no progress for 1 s");
    EXPECT_FAILED(m, " %s: an eager run, replay 1, step 1 of 1 (the forward pass) has not finished;%s", the_others(m),
                  m->size == 2 ? " its" : "");
    EXPECT_FAILED(m, " rank %d: not in a replay; the last was an eager run, replay 0; its last", m->size - 1);
    EXPECT_RANKS(run_one(runner), "has made no progress for 1 s");
    EXPECT(seconds_passed(m) < SOON);
    bg_runner_destroy(runner);
}

/* ---- a collective that runs beside the pass ---- */

static cudaStream_t own;
static cudaEvent_t prepared, summed;

BG_OP(copy_number, BG_IN(x), BG_OUT(y))
{
    return cudaMemcpyAsync(args->y.data, args->x.data, sizeof(int), cudaMemcpyDeviceToDevice, stream) == cudaSuccess
               ? BG_OK
               : BG_ERROR_CUDA;
}

/* Begins as soon as the number is prepared, and leaves the sum to who waits for it. */
BG_EAGER_OP(begin_sum, BG_INOUT(x), BG_VALUE(ncclComm_t, comm))
{
    bg_status status = bg_stream_wait_event(own, prepared);
    if (status == BG_OK)
        status = sum_number(args->x.data, args->comm, own);
    return status == BG_OK ? bg_event_record(summed, own) : status;
}

BG_EAGER_OP(other_work)
{
    return BG_OK;
}

struct beside {
    const struct member *m;
    bg_tensor x, y, work;
};

static bg_status forward_beside(void *user, __attribute__((unused)) const bg_forward_context *context,
                                cudaStream_t stream)
{
    const struct beside *b = user;
    bg_status status;
    BG__TRY(BG_CALL(copy_number, stream, .x = b->x, .y = b->work));
    BG__TRY(bg_event_record_at(prepared, stream, cudaEventRecordExternal, BG_SITE));
    BG__TRY(BG_CALL(copy_number, stream, .x = b->x, .y = b->y));
    BG__TRY(BG_CALL(begin_sum, stream, .x = b->work, .comm = bg_comm_nccl(b->m->comm)));
    BG__TRY(BG_CALL(other_work, stream));
    BG__TRY(BG_CALL(copy_number, stream, .x = b->x, .y = b->y));
    BG__TRY(bg_stream_wait_event_at(stream, summed, cudaEventWaitExternal, BG_SITE));
    status = BG_CALL(copy_number, stream, .x = b->work, .y = b->y);
done:
    return status;
}

static void sum_in_mode(const struct member *m, bg_mode mode)
{
    enum { BATCHES = 6 };
    const int64_t rows[] = {0};
    const bg_batch batch = {.tokens = 1, .requests = 1, .max_query_len = 1};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner = NULL;
    struct beside b = {.m = m};
    int *numbers;
    bg_tensor in = bg_tensor_1d(NULL, BG_I32, 1), out = in;

    EXPECT_CUDA(cudaMalloc((void **)&numbers, 2 * BATCHES * sizeof *numbers));
    config.mode = mode;
    config.schedule = "1";
    config.max_tokens = 1;
    config.ranks = m->ranks;
    EXPECT_BG(bg_runner_create(&runner, &config, forward_beside, &b, m->stream));
    EXPECT_BG(bg_runner_add_input(runner, "x", BG_I32, 1, rows, BG_PAD_ZERO, 0, &b.x));
    EXPECT_BG(bg_runner_add_output(runner, "y", BG_I32, 1, rows, &b.y));
    EXPECT_BG(bg_runner_add_buffer(runner, "work", BG_I32, 1, rows, &b.work));
    EXPECT_BG(bg_runner_capture(runner));
    for (int i = 0; i < BATCHES; i++) { /* none is waited for */
        const int number = 100 * i + m->rank;
        EXPECT_CUDA(cudaMemcpy(numbers + i, &number, sizeof number, cudaMemcpyHostToDevice));
        in.data = numbers + i;
        out.data = numbers + BATCHES + i;
        EXPECT_BG(bg_runner_run(runner, &batch, &in, &out, NULL));
    }
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    for (int i = 0; i < BATCHES; i++) {
        const int expected = m->size * 100 * i + m->size * (m->size - 1) / 2;
        int found;
        EXPECT_CUDA(cudaMemcpy(&found, numbers + BATCHES + i, sizeof found, cudaMemcpyDeviceToHost));
        if (found != expected)
            RANK_FAIL("mode %d, batch %d: the sum is %d, not %d", (int)mode, i, found, expected);
    }
    bg_runner_destroy(runner);
    EXPECT_CUDA(cudaFree(numbers));
}

/* The same sums eagerly, in segments and in one graph. */
SIZES_TEST(test_collective_beside_the_pass, 2)
{
    model_prepare(m);
    EXPECT_CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaEventCreateWithFlags(&prepared, cudaEventDisableTiming));
    EXPECT_CUDA(cudaEventCreateWithFlags(&summed, cudaEventDisableTiming));
    for (int mode = BG_MODE_NONE; mode <= BG_MODE_FULL; mode++)
        sum_in_mode(m, (bg_mode)mode);
    EXPECT_CUDA(cudaEventDestroy(prepared));
    EXPECT_CUDA(cudaEventDestroy(summed));
    EXPECT_CUDA(cudaStreamDestroy(own));
}

/* ---- a rank that is gone, or takes too long, in the middle of the captures ---- */

static void capture_in_part(struct pass *pass, const char *sentence, int number)
{
    struct member *m = pass->m;
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner = NULL;

    model_prepare(m);
    config.schedule = "1,2";
    config.max_tokens = 2;
    config.ranks = m->ranks;
    EXPECT_BG(bg_runner_create(&runner, &config, runner_forward, pass, m->stream));
    EXPECT_RANKS(bg_runner_capture(runner), sentence, number);
    EXPECT(seconds_passed(m) < SOON);
    EXPECT_FAILED(m, sentence, number);
    EXPECT_RANKS(run_one(runner), sentence, number); /* at once */
    EXPECT(seconds_passed(m) < SOON);
    bg_runner_destroy(runner);
}

static void dies_in_capture(struct member *m)
{
    capture_in_part(&(struct pass){.m = m, .dies = is_last(m)}, "rank %d has ended", m->size - 1);
}

static void sleeps_in_capture(struct member *m)
{
    m->options.timeout = 1;
    capture_in_part(&(struct pass){.m = m, .sleeps = is_last(m)}, "has waited %d s at \"", 1);
}

DEEP_TEST(test_ends_in_capture);
TEST(test_ends_in_capture)
{
    run_sizes_last_killed(2, dies_in_capture, NULL);
    run_sizes(2, sleeps_in_capture, NULL);
}
#endif
