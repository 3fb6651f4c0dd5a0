/* Runners of one pool (config.pool): memory of the largest, order across streams, threads, and who may go first. */
#include "tests/support/runner/pool_support.h"
#include "tests/support/runner/runner_support.h"

TEST_VARIABLE(HOSTCUDA_DEVICES, "2");

enum { WIDTH = 64, MOST = 64, ABOVE = 72, ROUNDS = 6 }; /* ABOVE rows have no bucket */

BG_OP(pooled_double, BG_IN(x), BG_OUT(y), BG_VALUE(int, rows))
{
    return from_cuda(bgk_add(args->y.data, args->x.data, args->x.data, (size_t)args->rows * WIDTH, stream));
}

typedef struct model {
    bg_runner *runner;
    cudaStream_t stream;
    bg_tensor x, y;
    int wide;                           /* how many times the rows of a batch its scratch has */
    bg_status (*body)(struct model *m); /* what its eager op does; NULL: nothing */
    struct model *other;
} model;

BG_EAGER_OP(pooled_break, BG_VALUE(model *, m))
{
    (void)stream;
    return args->m->body != NULL ? args->m->body(args->m) : BG_OK;
}

/* y = 4 x, over scratch of the pool. */
static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    bg_tensor scratch = bg_tensor_2d(NULL, BG_F32, context->padded_tokens, WIDTH);
    bg_pool *pool = bg_runner_pool(m->runner);
    bg_status status = bg_pool_alloc(pool, (size_t)m->wide * bg_tensor_bytes(&scratch), &scratch.data);

    if (status == BG_OK)
        status = BG_CALL(pooled_double, stream, .x = m->x, .y = scratch, .rows = context->padded_tokens);
    if (status == BG_OK)
        status = BG_CALL(pooled_break, stream, .m = m);
    if (status == BG_OK)
        status = BG_CALL(pooled_double, stream, .x = scratch, .y = m->y, .rows = context->padded_tokens);
    bg_pool_release(pool, scratch.data);
    return status;
}

static bg_status prepare(void *user, const bg_forward_context *context, cudaStream_t stream);

static void open_model(model *m, bg_pool *pool, cudaStream_t stream, int wide)
{
    const int64_t dim[] = {0, WIDTH};

    *m = (model){.stream = stream, .wide = wide};
    EXPECT_OK(bg_runner_create(
        &m->runner,
        RUNNER_CONFIG(.pool = pool, .schedule = "16,64", .max_tokens = MOST, .prepare = prepare, .callback_user = m),
        forward, m, stream));
    EXPECT_OK(bg_runner_add_input(m->runner, "x", BG_F32, 2, dim, BG_PAD_REPEAT_LAST, 0, &m->x));
    EXPECT_OK(bg_runner_add_output(m->runner, "y", BG_F32, 2, dim, &m->y));
}

/* Two models that share a pool, which they keep, with all graphs. */
static void open_two(model m[2], cudaStream_t first, cudaStream_t second, const int wide[2])
{
    OWNED_POOL(pool);

    EXPECT_OK(bg_pool_create(&pool, NULL));
    for (int i = 0; i < 2; i++) {
        open_model(&m[i], pool, i == 0 ? first : second, wide[i]);
        assert_ptr_equal(bg_runner_pool(m[i].runner), pool);
    }
    for (int i = 1; i >= 0; i--)
        EXPECT_OK(bg_runner_capture(m[i].runner));
}

static void close_two(model (*m)[2])
{
    for (int i = 0; i < 2; i++)
        bg_runner_destroy((*m)[i].runner);
}
#define OWNED_MODELS(name) __attribute__((cleanup(close_two))) model name[2] = {{.runner = NULL}}

/* The rows that a batch of a round has. */
static void fill(float *rows, int tokens, int round)
{
    for (int i = 0; i < tokens * WIDTH; i++)
        rows[i] = (float)(i % 251 + round);
}

static bg_status run(const model *m, int tokens, int round)
{
    float rows[MOST * WIDTH];
    bg_tensor input = bg_tensor_2d(rows, BG_F32, tokens, WIDTH);
    bg_batch batch = mixed_batch(tokens);
    bg_status status;

    fill(rows, tokens, round);
    status = bg_runner_run(m->runner, &batch, &input, NULL, NULL);
    EXPECT_CUDA(cudaStreamSynchronize(m->stream)); /* the rows are on this stack */
    return status;
}

/* The first wrong element of the outputs; -1: there is none. */
static int find_wrong(const model *m, int tokens, int round)
{
    float rows[MOST * WIDTH], results[MOST * WIDTH];

    fill(rows, tokens, round);
    EXPECT_CUDA(cudaStreamSynchronize(m->stream));
    EXPECT_CUDA(cudaMemcpy(results, m->y.data, (size_t)tokens * WIDTH * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < tokens * WIDTH; i++)
        if (results[i] != 4 * rows[i])
            return i;
    return -1;
}

static void expect_run(const model *m, int tokens, int round)
{
    int wrong;

    EXPECT_OK(run(m, tokens, round));
    wrong = find_wrong(m, tokens, round);
    if (wrong >= 0)
        fail_msg("round %d, %d tokens: element %d is wrong", round, tokens, wrong);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

enum { NARROW = 64, WIDE = 1024 }; /* 64 rows of 256 bytes: 1 and 16 MiB */

static size_t mapped_alone(cudaStream_t stream, int wide)
{
    model m;
    size_t bytes;
    open_model(&m, NULL, stream, wide);
    EXPECT_OK(bg_runner_capture(m.runner));
    bytes = pool_stats(bg_runner_pool(m.runner)).mapped;
    bg_runner_destroy(m.runner);
    return bytes;
}

FIXTURE_TEST(test_as_large_as_the_largest)
{
    const size_t small = mapped_alone(f->stream, NARROW), large = mapped_alone(f->stream, WIDE);

    assert_true(small < large);
    for (int large_first = 0; large_first < 2; large_first++) {
        model m[2];
        open_two(m, f->stream, f->stream, large_first ? (int[]){WIDE, NARROW} : (int[]){NARROW, WIDE});
        assert_int_equal(pool_stats(bg_runner_pool(m[0].runner)).mapped, large);
        for (int round = 0; round < ROUNDS; round++)
            for (int i = 0; i < 2; i++)
                expect_run(&m[i], round % 2 == 0 ? 60 : 9, round);
        bg_runner_destroy(m[large_first].runner);
        expect_run(&m[1 - large_first], MOST, 1);
        bg_runner_destroy(m[1 - large_first].runner);
    }
}

FIXTURE_TEST(test_limit_of_the_pool)
{
    OWNED_POOL(pool);
    model m;

    EXPECT_OK(bg_pool_create(&pool, POOL_OPTIONS(.limit_bytes = (size_t)8 << 20)));
    open_model(&m, pool, f->stream, WIDE);
    EXPECT_OK(bg_runner_capture(m.runner)); /* the bucket of 16 rows has room */
    assert_false(bucket_of(m.runner, 0).captured);
    EXPECT_TEXT(bucket_of(m.runner, 0).failure, "the limit is 8388608 bytes");
    expect_run(&m, 9, 3);
    bg_runner_destroy(m.runner);
}

/* ---- order ---------------------------------------------------------------------------------------------------- */

/* Rows on the device, so that no copy makes the host wait. */
typedef struct batch_rows {
    bg_tensor input, output;
} batch_rows;

static batch_rows make_rows(int tokens, int round)
{
    float rows[ABOVE * WIDTH];
    batch_rows made = {bg_tensor_2d(NULL, BG_F32, tokens, WIDTH), bg_tensor_2d(NULL, BG_F32, tokens, WIDTH)};
    const size_t bytes = bg_tensor_bytes(&made.input);

    fill(rows, tokens, round);
    EXPECT_CUDA(cudaMalloc(&made.input.data, bytes));
    EXPECT_CUDA(cudaMalloc(&made.output.data, bytes));
    EXPECT_CUDA(cudaMemcpy(made.input.data, rows, bytes, cudaMemcpyHostToDevice));
    return made;
}

static void queue_rows(const model *m, batch_rows *rows)
{
    bg_batch batch = mixed_batch((int)rows->input.dim[0]);
    EXPECT_OK(bg_runner_run(m->runner, &batch, &rows->input, &rows->output, NULL));
}

static void expect_rows(batch_rows *rows, int round)
{
    float wanted[ABOVE * WIDTH], results[ABOVE * WIDTH];
    const int tokens = (int)rows->input.dim[0];

    fill(wanted, tokens, round);
    EXPECT_CUDA(cudaMemcpy(results, rows->output.data, bg_tensor_bytes(&rows->output), cudaMemcpyDeviceToHost));
    for (int i = 0; i < tokens * WIDTH; i++)
        if (results[i] != 4 * wanted[i])
            fail_msg("round %d, %d tokens: element %d is %g, not %g", round, tokens, i, (double)results[i],
                     (double)(4 * wanted[i]));
    EXPECT_CUDA(cudaFree(rows->input.data));
    EXPECT_CUDA(cudaFree(rows->output.data));
}

/* Each replay overwrites the scratch of the other runner's, on another stream, before the host has waited. */
FIXTURE_TEST(test_two_streams)
{
    /* Graphs after graphs, eager passes after graphs, and the other way round. */
    const int tokens[ROUNDS][2] = {{60, 12}, {12, 60}, {60, ABOVE}, {ABOVE, 12}, {ABOVE, ABOVE}, {12, 12}};
    batch_rows rows[ROUNDS][2];
    cudaStream_t streams[2];
    model m[2];

    for (int i = 0; i < 2; i++)
        EXPECT_CUDA(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    open_two(m, streams[0], streams[1], (int[]){1, 1});
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++)
            rows[round][i] = make_rows(tokens[round][i], 2 * round + i);
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++)
            queue_rows(&m[i], &rows[round][i]);
    EXPECT_CUDA(cudaDeviceSynchronize());
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++)
            expect_rows(&rows[round][i], 2 * round + i);
    for (int i = 0; i < 2; i++) {
        bg_runner_destroy(m[i].runner);
        EXPECT_CUDA(cudaStreamDestroy(streams[i])); /* the other runner's work has waited for it */
    }
}

/* ---- threads -------------------------------------------------------------------------------------------------- */

typedef struct attempt {
    const model *m;
    bg_status run, capture;
    char why[2][400];
} attempt;

static void *try_both(void *user)
{
    attempt *a = user;
    a->run = run(a->m, 9, 2);
    snprintf(a->why[0], sizeof a->why[0], "%s", bg_last_error());
    a->capture = bg_runner_capture(a->m->runner);
    snprintf(a->why[1], sizeof a->why[1], "%s", bg_last_error());
    return NULL;
}

static attempt found;

static bool is_captured(const model *m)
{
    bool captured = true;
    for (int i = 0; i < bg_runner_bucket_count(m->runner); i++)
        captured = captured && bucket_of(m->runner, i).captured;
    return captured;
}

/* In the middle of a replay, or of captures, another thread uses the other runner. */
static bg_status use_other(model *m)
{
    /* What the runner refuses itself takes the pool from nobody. */
    assert_int_equal(bg_runner_capture(m->runner), BG_ERROR_BUSY);
    assert_int_equal(bg_runner_idle(m->runner, 0), BG_ERROR_BUSY);
    found = (attempt){.m = m->other};
    run_thread(try_both, &found);
    return BG_OK;
}

static void expect_refused(void)
{
    assert_int_equal(found.run, BG_ERROR_BUSY);
    EXPECT_TEXT(found.why[0], "bg_runner_run: a run, replay or capture that has not returned uses");
    assert_int_equal(found.capture, BG_ERROR_BUSY);
    EXPECT_TEXT(found.why[1], "bg_runner_capture: a run, replay or capture that has not returned uses");
}

/* Before each pass of the runner's captures, when no pass has the pool. */
static bg_status prepare(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    model *m = user;
    (void)stream;
    if (m->other == NULL || context->phase == BG_PHASE_REPLAY)
        return BG_OK;
    (void)use_other(m);
    expect_refused();
    return BG_OK;
}

FIXTURE_TEST(test_another_thread)
{
    OWNED_STREAM(side);
    OWNED_MODELS(m);

    EXPECT_CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    open_two(m, f->stream, side, (int[]){1, 1});
    m[0].other = &m[1];
    m[0].body = use_other;
    expect_run(&m[0], 60, 1);
    expect_refused();
    m[0].body = NULL;
    EXPECT_OK(bg_runner_capture(m[0].runner)); /* in which prepare does the same */
    for (int i = 0; i < 2; i++)
        assert_true(is_captured(&m[i])); /* nothing is lost */
    m[0].other = NULL;
    for (int i = 0; i < 2; i++)
        expect_run(&m[i], 9, 2);
}

/* Two threads that use a runner of one pool each as fast as they can: what is refused is tried again. */
typedef struct loop {
    model *m;
    int done, refused;
    bg_status failed;
    char why[400];
} loop;

enum { LOOPS = 40 };

/* False: it failed, and not since the pool was in use. */
static bool count(loop *l, bg_status status)
{
    l->done += status == BG_OK;
    l->refused += status == BG_ERROR_BUSY;
    if (status == BG_OK || status == BG_ERROR_BUSY)
        return true;
    l->failed = status;
    snprintf(l->why, sizeof l->why, "%s", bg_last_error());
    return false;
}

static void *use_often(void *user)
{
    loop *l = user;
    while (l->done < LOOPS) {
        const int tokens = 1 + l->done;
        const int round = l->done % 7;
        bg_status status = l->done % 8 == 7 ? bg_runner_capture(l->m->runner) : run(l->m, tokens, round);
        if (!count(l, status))
            break;
        if (status == BG_OK && l->done % 8 != 0 && find_wrong(l->m, tokens, round) >= 0) {
            l->failed = BG_ERROR_MISMATCH;
            snprintf(l->why, sizeof l->why, "wrong results for %d tokens", tokens);
            break;
        }
    }
    return NULL;
}

FIXTURE_TEST(test_two_threads)
{
    loop loops[2] = {{.m = NULL}};
    pthread_t threads[2];
    OWNED_STREAM(first);
    OWNED_STREAM(second);
    OWNED_MODELS(m);

    EXPECT_CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    open_two(m, first, second, (int[]){1, 1});
    for (int i = 0; i < 2; i++) {
        loops[i].m = &m[i];
        threads[i] = start_thread(use_often, &loops[i]);
    }
    for (int i = 0; i < 2; i++)
        join_thread(threads[i]);
    for (int i = 0; i < 2; i++) {
        if (loops[i].failed != BG_OK)
            fail_msg("thread %d: %s", i, loops[i].why);
        assert_true(is_captured(&m[i]));
    }
}

/* ---- who goes first ------------------------------------------------------------------------------------------- */

/* The buffers of a runner that is destroyed while its work runs stay until that is done. The host device waits where
 * memory is unmapped, so that only a GPU could tell. */
FIXTURE_TEST(test_destroyed_while_it_runs)
{
    batch_rows rows = make_rows(MOST, 5);
    model m[2];

    open_two(m, f->stream, f->stream, (int[]){1, 1});
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    queue_rows(&m[0], &rows);
    bg_runner_destroy(m[0].runner);
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    expect_rows(&rows, 5);
    expect_run(&m[1], 9, 2);
    bg_runner_destroy(m[1].runner);
}

FIXTURE_TEST(test_a_pool_of_another_device)
{
    bg_runner *runner;
    OWNED_POOL(pool);

    need_two_devices();
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_OK(bg_pool_create(&pool, NULL));
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_FAILS(bg_runner_create(&runner, RUNNER_CONFIG(.pool = pool), forward, NULL, f->stream),
                 BG_ERROR_INVALID_ARGUMENT, "config.pool: the pool belongs to device 1, the current device is 0");
    assert_null(runner);
}
