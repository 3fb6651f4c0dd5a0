/* A runner of which one rank's pass fails: an error that names it on every rank, and no hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/comm_ranks.h"

#ifdef TEST_NCCL
#include <breakgraph/workspace.h>
#include <signal.h>
#include <stdio.h>

struct pass {
    struct member_model model;
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
                       : model_forward(user, stream);
}

static bg_status run_one(bg_runner *runner)
{
    const bg_batch batch = {.tokens = 1, .requests = 1, .max_query_len = 1};
    return bg_runner_run(runner, &batch, NULL, NULL, NULL);
}

/* All have agreed to run eagerly; then the last rank's pass fails before its collective. Its own error is what it
 * returns; the others wait in their streams, and the watchdog finds them. */
static int eager_run_fails(struct member *m)
{
    struct pass pass = {.fails = false};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner = NULL;
    char sentence[160];
    double start = seconds_now();
    m->options.watchdog = 1;
    if (model_prepare(m, &pass.model))
        return 1;
    config.mode = BG_MODE_NONE;
    config.debug = BG_DEBUG_FORWARD; /* compares choices */
    config.ranks = pass.model.ranks;
    EXPECT_BG(bg_runner_create(&runner, &config, runner_forward, &pass, pass.model.stream));
    EXPECT_BG(run_one(runner));
    EXPECT_CUDA(cudaStreamSynchronize(pass.model.stream));
    pass.fails = is_last(m);
    if (is_last(m))
        EXPECT_SAID(run_one(runner), BG_ERROR_OP, "the input failed: it is gone");
    else
        EXPECT_BG(run_one(runner));
    (void)cudaStreamSynchronize(pass.model.stream);
    while (bg_comm_check(pass.model.comm) == BG_OK)
        pass_time(0.01);
    EXPECT_SAID(bg_comm_check(pass.model.comm), BG_ERROR_RANKS, "has made no progress for 1 s");
    EXPECT_SAID(bg_comm_check(pass.model.comm), BG_ERROR_RANKS,
                m->size == 2 ? " rank 0: an eager run, replay 1, step 1 of 1 (the forward pass) has not finished; the"
                             : " ranks 0-2: an eager run, replay 1, step 1 of 1 (the forward pass) has not finished;");
    (void)snprintf(sentence, sizeof sentence,
                   " rank %d: not in a replay; the last was an eager run, replay 0; the last", m->size - 1);
    EXPECT_SAID(bg_comm_check(pass.model.comm), BG_ERROR_RANKS, sentence);
    EXPECT_SAID(run_one(runner), BG_ERROR_RANKS, "has made no progress for 1 s");
    EXPECT(seconds_now() - start < SOON);
    bg_runner_destroy(runner);
    return model_end(&pass.model);
}

static void test_eager_run_fails(void **state)
{
    (void)state;
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2)
        run_members(size, eager_run_fails, NULL);
}

/* ---- a rank that is gone, or takes too long, in the middle of the captures ---- */

static int capture_in_part(struct member *m, struct pass *pass, const char *sentence)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_runner *runner = NULL;
    double start = seconds_now();

    if (model_prepare(m, &pass->model))
        return 1;
    config.schedule = "1,2";
    config.max_tokens = 2;
    config.ranks = pass->model.ranks;
    EXPECT_BG(bg_runner_create(&runner, &config, runner_forward, pass, pass->model.stream));
    EXPECT_SAID(bg_runner_capture(runner), BG_ERROR_RANKS, sentence);
    EXPECT(seconds_now() - start < SOON);
    EXPECT_SAID(bg_comm_check(pass->model.comm), BG_ERROR_RANKS, sentence);
    EXPECT_SAID(run_one(runner), BG_ERROR_RANKS, sentence); /* at once */
    EXPECT(seconds_now() - start < SOON);
    bg_runner_destroy(runner);
    return model_end(&pass->model);
}

static int dies_in_capture(struct member *m)
{
    struct pass pass = {.dies = is_last(m)};
    char sentence[80];
    (void)snprintf(sentence, sizeof sentence, "rank %d has ended", m->size - 1);
    return capture_in_part(m, &pass, sentence);
}

static int sleeps_in_capture(struct member *m)
{
    struct pass pass = {.sleeps = is_last(m)};
    m->options.timeout = 1;
    return capture_in_part(m, &pass, "has waited 1 s at \"");
}

static void test_ends_in_capture(void **state)
{
    (void)state;
    need_ranks(2);
    for (int size = 2; size <= ranks_possible(); size *= 2) {
        run_members_but(size, dies_in_capture, NULL, size - 1, SIGKILL);
        run_members(size, sleeps_in_capture, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_eager_run_fails), cmocka_unit_test(test_ends_in_capture)};
    return cmocka_run_group_tests_name("comm_runner", tests, NULL, NULL);
}
#else
int main(void)
{
    print_message("skipped: there is no NCCL\n");
    return 0;
}
#endif
