/* The runner in odd but rightful uses: memory of every kind, many tensors, threads, devices, replays that fail,
 * programs built against other headers. */
#include "tests/support/runner/runner_model.h"

TEST_VARIABLE(HOSTCUDA_DEVICES, "2");

/* ---- memory ---- */

typedef enum kind { DEVICE, PINNED, MANAGED, HEAP, KINDS } kind;

static void *take(kind kind, size_t bytes)
{
    void *memory = NULL;
    switch (kind) {
    case DEVICE: EXPECT_CUDA(cudaMalloc(&memory, bytes)); break;
    case PINNED: EXPECT_CUDA(cudaMallocHost(&memory, bytes)); break;
    case MANAGED: EXPECT_CUDA(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal)); break;
    default: memory = malloc(bytes); break;
    }
    assert_non_null(memory);
    return memory;
}

static void give_back(kind kind, void *memory)
{
    switch (kind) {
    case DEVICE:
    case MANAGED: EXPECT_CUDA(cudaFree(memory)); break;
    case PINNED: EXPECT_CUDA(cudaFreeHost(memory)); break;
    default: free(memory); break;
    }
}

/* Rows at every alignment, which need not be an element's. */
static void check_kinds(fixture *f, const runner_model *m, kind from, kind to)
{
    enum { TOKENS = 3, BYTES = TOKENS * WIDTH * sizeof(float) };
    char *source = take(from, 2 * BYTES), *target = take(to, 2 * BYTES);
    float rows[TOKENS * WIDTH], found[TOKENS * WIDTH];
    bg_batch batch = mixed_batch(TOKENS);

    for (int shift = 0; shift < 18; shift++) {
        bg_tensor input = bg_tensor_2d(source + shift, BG_F32, TOKENS, WIDTH);
        bg_tensor output = bg_tensor_2d(target + (7 * shift) % 18, BG_F32, TOKENS, WIDTH);
        for (int i = 0; i < TOKENS * WIDTH; i++)
            rows[i] = (float)(i + shift);
        EXPECT_CUDA(cudaMemcpy(input.data, rows, BYTES, cudaMemcpyDefault));
        EXPECT_OK(bg_runner_run(m->runner, &batch, &input, &output, NULL));
        EXPECT_CUDA(cudaStreamSynchronize(f->stream));
        EXPECT_CUDA(cudaMemcpy(found, output.data, BYTES, cudaMemcpyDefault));
        for (int i = 0; i < TOKENS * WIDTH; i++)
            if (found[i] != 2 * rows[i])
                fail_msg("memory %d to %d, shift %d: element %d is %g, not %g", from, to, shift, i, (double)found[i],
                         (double)(2 * rows[i]));
    }
    give_back(from, source);
    give_back(to, target);
}

FIXTURE_TEST(test_memory_of_every_kind)
{
    OWNED_RUNNER_MODEL(m);
    int managed = 0;

    EXPECT_CUDA(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0)); /* the host device has none */
    runner_model_start(f, &m, CONFIG());
    for (int from = 0; from < KINDS; from++)
        for (int to = 0; to < KINDS; to++)
            if (managed || (from != MANAGED && to != MANAGED))
                check_kinds(f, &m, (kind)from, (kind)to);
}

/* More tensors than one launch moves. */
FIXTURE_TEST(test_many_tensors)
{
    enum { TENSORS = 37, TOKENS = 3 };
    const int64_t dim[] = {0};
    bg_tensor x[TENSORS], y[TENSORS], inputs[TENSORS + 1], outputs[TENSORS + 1];
    int64_t in[TENSORS][TOKENS], out[4];
    bg_batch batch = mixed_batch(TOKENS);
    OWNED_MEMORY(int64_t, memory);
    OWNED_RUNNER_MODEL(m);

    EXPECT_CUDA(cudaMalloc((void **)&memory, sizeof in));
    runner_model_open(f, &m, CONFIG());
    inputs[0] = outputs[0] = (bg_tensor){.data = NULL};
    for (int i = 0; i < TENSORS; i++) {
        char name[16];
        snprintf(name, sizeof name, "i%d", i);
        EXPECT_OK(bg_runner_add_input(m.runner, name, BG_I64, 1, dim, BG_PAD_SENTINEL, -i, &x[i]));
        name[0] = 'o';
        EXPECT_OK(bg_runner_add_output(m.runner, name, BG_I64, 1, dim, &y[i]));
        for (int t = 0; t < TOKENS; t++)
            in[i][t] = 100 * i + t;
        inputs[i + 1] = bg_tensor_1d(memory + (ptrdiff_t)i * TOKENS, BG_I64, TOKENS);
        EXPECT_CUDA(cudaMemcpyAsync(inputs[i + 1].data, in[i], sizeof in[i], cudaMemcpyHostToDevice, f->stream));
        outputs[i + 1] = (bg_tensor){.data = NULL};
    }
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_OK(bg_runner_run(m.runner, &batch, inputs, outputs, NULL));
    for (int i = 0; i < TENSORS; i++) {
        assert_ptr_equal(outputs[i + 1].data, y[i].data);
        read_device(f, out, x[i].data, sizeof out);
        for (int t = 0; t < TOKENS; t++)
            assert_int_equal(out[t], in[i][t]);
        assert_int_equal(out[TOKENS], -i);
    }
}

/* Batches that come in place, one smaller than the last. */
FIXTURE_TEST(test_bound_batches_shrink)
{
    float rows[4 * WIDTH], found[4 * WIDTH];
    OWNED_MEMORY(float, own);
    OWNED_RUNNER_MODEL(m);

    EXPECT_CUDA(cudaMalloc((void **)&own, TOKENS_MAX * WIDTH * sizeof *own));
    runner_model_open(f, &m, CONFIG());
    EXPECT_OK(bg_runner_bind_input(m.runner, "x", own, &m.x));
    EXPECT_OK(bg_runner_capture(m.runner));
    for (int tokens = 4; tokens >= 1; tokens--) {
        bg_batch batch = mixed_batch(tokens);
        bg_tensor input = bg_tensor_2d(own, BG_F32, tokens, WIDTH);
        for (int i = 0; i < tokens * WIDTH; i++)
            rows[i] = (float)(10 * tokens + i);
        EXPECT_CUDA(
            cudaMemcpyAsync(own, rows, (size_t)tokens * WIDTH * sizeof *own, cudaMemcpyHostToDevice, f->stream));
        EXPECT_OK(bg_runner_run(m.runner, &batch, &input, NULL, NULL));
        read_device(f, found, m.y.data, sizeof found);
        for (int i = 0; i < 4 * WIDTH; i++) { /* the last row again and again */
            int row = i / WIDTH < tokens ? i / WIDTH : tokens - 1;
            assert_true(found[i] == 2 * rows[row * WIDTH + i % WIDTH]);
        }
    }
}

/* What the runner says once of an input that is to be in place. */
FIXTURE_TEST(test_copies_are_told_of_once)
{
    static const char *const told = "input x of this run is not at its static buffer's address";
    const char *said;
    STARTED_RUNNER_MODEL(m, f, CONFIG(.copy_inputs = false));

    hold_errors();
    runner_model_run(f, &m, 3);
    runner_model_run(f, &m, 20);
    said = held_errors();
    EXPECT_TEXT(said, told);
    assert_null(strstr(strstr(said, told) + 1, told));
}

/* ---- failures ---- */

FIXTURE_TEST(test_a_replay_fails)
{
    STARTED_RUNNER_MODEL(m, f, CONFIG());

    m.body_status = BG_ERROR_TIMEOUT;
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(3)), BG_ERROR_TIMEOUT, "runner_seen#0");
    assert_null(bg_forward_context_get());
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    assert_int_not_equal(bg_runner_capture(m.runner), BG_OK); /* the warm-up does */
    m.body_status = BG_OK;
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);
}

FIXTURE_TEST(test_an_error_of_the_caller_stays)
{
    OWNED_RUNNER_MODEL(m);

    assert_int_equal(cudaSetDevice(-1), cudaErrorInvalidDevice);
    runner_model_start(f, &m, CONFIG());
    runner_model_run(f, &m, 3);
    m.body_status = BG_ERROR_TIMEOUT;
    EXPECT_STATUS(run_bare(m.runner, mixed_batch(20)), BG_ERROR_TIMEOUT);
    close_runner_model(&m);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
}

/* ---- threads, streams, devices ---- */

typedef struct work {
    fixture *f;
    const runner_model *m;
    int rounds;
    bg_status status;
    char text[256];
} work;

static void *run_in_thread(void *user)
{
    work *w = user;
    for (int i = 0; i < w->rounds; i++) {
        float rows[3 * WIDTH] = {(float)i}, found[3 * WIDTH];
        bg_batch batch = mixed_batch(3);
        bg_tensor input = bg_tensor_2d(rows, BG_F32, 3, WIDTH), output = bg_tensor_2d(found, BG_F32, 3, WIDTH);
        w->status = bg_runner_run(w->m->runner, &batch, &input, &output, NULL);
        if (w->status == BG_OK)
            w->status = from_cuda(cudaStreamSynchronize(w->f->stream));
        if (w->status == BG_OK && found[0] != 2 * rows[0])
            w->status = BG_ERROR_MISMATCH;
        snprintf(w->text, sizeof w->text, "%s", bg_last_error());
        if (w->status != BG_OK)
            break;
    }
    return NULL;
}

FIXTURE_TEST(test_one_thread_after_another)
{
    OPENED_RUNNER_MODEL(m, f, CONFIG(.lazy = true)); /* captured in one thread, replayed in others */

    for (int i = 0; i < 3; i++) {
        work w = {.f = f, .m = &m, .rounds = 3};
        run_thread(run_in_thread, &w);
        assert_string_equal(bg_status_name(w.status), "BG_OK");
        EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
    }
}

FIXTURE_TEST(test_two_runners_in_two_threads)
{
    fixture second = *f;
    runner_model m[2] = {{0}, {0}};
    work w[2];
    pthread_t thread[2];

    second.stream = f->other;
    for (int i = 0; i < 2; i++) {
        w[i] = (work){.f = i ? &second : f, .m = &m[i], .rounds = 50};
        runner_model_open(w[i].f, &m[i], CONFIG(.lazy = true));
    }
    for (int i = 0; i < 2; i++)
        thread[i] = start_thread(run_in_thread, &w[i]);
    for (int i = 0; i < 2; i++)
        join_thread(thread[i]);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(bg_status_name(w[i].status), "BG_OK");
        assert_int_equal(m[i].last.mode, BG_MODE_PIECEWISE);
        bg_runner_destroy(m[i].runner);
    }
}

FIXTURE_TEST(test_default_streams)
{
    fixture per_thread = *f, legacy = *f;
    OWNED_RUNNER_MODEL(m);
    work w = {.f = &per_thread, .m = &m, .rounds = 1};

    per_thread.stream = cudaStreamPerThread;
    runner_model_start(&per_thread, &m, CONFIG());
    EXPECT_RUN_IN(&per_thread, &m, 3, BG_MODE_PIECEWISE);
    run_thread(run_in_thread, &w);
    assert_int_equal(w.status, BG_ERROR_INVALID_ARGUMENT);
    EXPECT_TEXT(w.text, "cudaStreamPerThread");

    legacy.stream = cudaStreamLegacy; /* which CUDA cannot capture */
    runner_model_open(&legacy, &m, CONFIG());
    EXPECT_FAILS(bg_runner_capture(m.runner), BG_ERROR_INVALID_ARGUMENT, "the legacy stream");
    EXPECT_RUN_IN(&legacy, &m, 3, BG_MODE_NONE);
}

FIXTURE_TEST(test_another_device)
{
    OWNED_RUNNER_MODEL(m);

    need_two_devices();
    runner_model_start(f, &m, CONFIG());
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(3)), BG_ERROR_INVALID_ARGUMENT,
                 "created on device 0, the current device is 1");
    EXPECT_INVALID(bg_runner_capture(m.runner));
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
    EXPECT_CUDA(cudaSetDevice(1));
    close_runner_model(&m);
    EXPECT_CUDA(cudaSetDevice(0));
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

/* ---- life ---- */

FIXTURE_TEST(test_destroyed_in_flight)
{
    float ones[16 * WIDTH];
    bg_batch batch = mixed_batch(16);
    bg_tensor input = bg_tensor_2d(ones, BG_F32, 16, WIDTH), output = bg_tensor_2d(f->memory, BG_F32, 16, WIDTH);
    OWNED_RUNNER_MODEL(m);

    for (int i = 0; i < 16 * WIDTH; i++)
        ones[i] = 1;
    runner_model_start(f, &m, CONFIG());
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    close_runner_model(&m);
    EXPECT_FLOATS(f, f->memory, 16 * WIDTH, 2);
}

/* Programs know the structs as they were, or as they will be. */
FIXTURE_TEST(test_structs_of_other_versions)
{
    struct {
        bg_runner_config config;
        char more[64];
    } newer;
    struct {
        bg_bucket_info info;
        char more[16];
    } later = {BG_BUCKET_INFO_INIT, "untouched"};
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    bg_counters counters = BG_COUNTERS_INIT;
    bg_runner *runner;
    OWNED_RUNNER_MODEL(m);

    memset(&newer, 0x55, sizeof newer);
    newer.config = *CONFIG(.struct_size = sizeof newer, .prepare = runner_model_note, .callback_user = &m);
    runner_model_open(f, &m, &newer.config);
    newer.config.struct_size = offsetof(bg_runner_config, worker_threads); /* the first version's */
    newer.config.worker_threads = -5;
    newer.config.variants = 1000;
    newer.config.state_count = 7;
    runner_model_start(f, &m, &newer.config);
    newer.config.struct_size = 8;
    EXPECT_FAILS(bg_runner_create(&runner, &newer.config, runner_model_forward, &m, f->stream),
                 BG_ERROR_INVALID_ARGUMENT, "BG_RUNNER_CONFIG_INIT");

    runner_model_run(f, &m, 3);
    later.info.struct_size = sizeof later;
    EXPECT_OK(bg_runner_get_bucket(m.runner, 1, &later.info));
    assert_int_equal(later.info.struct_size, sizeof later);
    assert_int_equal(later.info.replays, 1);
    assert_string_equal(later.more, "untouched");
    info.struct_size = offsetof(bg_bucket_info, replays);
    info.replays = 99;
    EXPECT_OK(bg_runner_get_bucket(m.runner, 1, &info));
    assert_int_equal(info.tokens, 4);
    assert_int_equal(info.replays, 99);
    info.struct_size = 0;
    EXPECT_FAILS(bg_runner_get_bucket(m.runner, 1, &info), BG_ERROR_INVALID_ARGUMENT, "BG_BUCKET_INFO_INIT");
    counters.struct_size = offsetof(bg_counters, recaptures);
    counters.recaptures = 99;
    bg_counters_get(&counters);
    assert_true(counters.captures > 0);
    assert_int_equal(counters.recaptures, 99);
}
