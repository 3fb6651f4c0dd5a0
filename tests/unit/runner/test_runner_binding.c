/* Where the runner's inputs and outputs lie: inside its static buffers, in memory that is bound, in what a lazy
 * bucket's warm-ups write. y = 2 x. */
#include "tests/support/runner/runner_model.h"

static bg_tensor rows_at(void *data, int rows)
{
    return bg_tensor_2d(data, BG_F32, rows, WIDTH);
}

/* ---- memory ---- */

FIXTURE_TEST(test_inputs_inside_static_buffers)
{
    float *x, *y;
    bg_batch batch = mixed_batch(3);
    bg_tensor input, output;
    STARTED_RUNNER_MODEL(m, f, CONFIG());

    x = m.x.data;
    y = m.y.data;
    for (int row = 1; row <= 3; row++) { /* in the rows that are copied to, or padded */
        input = rows_at(x + (ptrdiff_t)row * WIDTH, 3);
        EXPECT_FAILS(bg_runner_run(m.runner, &batch, &input, NULL, NULL), BG_ERROR_INVALID_ARGUMENT,
                     "input x overlaps");
    }
    output = rows_at(y + WIDTH, 3);
    EXPECT_FAILS(bg_runner_run(m.runner, &batch, NULL, &output, NULL), BG_ERROR_INVALID_ARGUMENT, "output y overlaps");

    /* What does not touch the rows in use is fine: the last batch's output, and rows far away. */
    runner_model_run(f, &m, 3);
    input = rows_at(y, 3);
    output = rows_at(x + (ptrdiff_t)20 * WIDTH, 3);
    EXPECT_OK(bg_runner_run(m.runner, &batch, &input, &output, NULL));
    EXPECT_OK(bg_runner_run(m.runner, &batch, &output, NULL, NULL));
    assert_true(first_of(f, y) == 2 * 2 * 2 * 3);
}

FIXTURE_TEST(test_inputs_in_the_buffers_of_others)
{
    const int64_t dim[] = {0, WIDTH};
    bg_batch batch = mixed_batch(3);
    bg_tensor second, copy;
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    EXPECT_OK(bg_runner_add_input(m.runner, "second", BG_F32, 2, dim, BG_PAD_ZERO, 0, &second));
    EXPECT_OK(bg_runner_add_output(m.runner, "copy", BG_F32, 2, dim, &copy));
    EXPECT_OK(bg_runner_capture(m.runner));
    bg_tensor inputs[] = {rows_at(second.data, 3), rows_at(f->memory, 3)};
    bg_tensor outputs[] = {rows_at(copy.data, 3), rows_at(f->memory, 3)};
    EXPECT_FAILS(bg_runner_run(m.runner, &batch, inputs, NULL, NULL), BG_ERROR_INVALID_ARGUMENT,
                 "input x overlaps the rows of the static buffer of second");
    inputs[1].data = NULL; /* there already: only its padding is written */
    EXPECT_OK(bg_runner_run(m.runner, &batch, inputs, NULL, NULL));
    EXPECT_FAILS(bg_runner_run(m.runner, &batch, NULL, outputs, NULL), BG_ERROR_INVALID_ARGUMENT,
                 "output y overlaps the rows of the static buffer of copy");
}

FIXTURE_TEST(test_bad_memory_to_bind)
{
    static float heap[TOKENS_MAX * WIDTH];
    bg_tensor before;
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    before = m.x;
    EXPECT_FAILS(bg_runner_bind_input(m.runner, "x", heap, &m.x), BG_ERROR_INVALID_ARGUMENT,
                 "the device cannot access");
    EXPECT_FAILS(bg_runner_bind_input(m.runner, "x", (char *)f->memory + 2, &m.x), BG_ERROR_INVALID_ARGUMENT,
                 "not aligned to 4 bytes");
    assert_memory_equal(&before, &m.x, sizeof before);
    EXPECT_OK(bg_runner_capture(m.runner));
    runner_model_run(f, &m, 3);
}

/* What binding would give back, or pad twice. */
FIXTURE_TEST(test_static_buffers_of_inputs_to_bind)
{
    const int64_t dim[] = {0, WIDTH};
    bg_tensor second, before;
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    EXPECT_OK(bg_runner_add_input(m.runner, "second", BG_F32, 2, dim, BG_PAD_ZERO, 0, &second));
    before = m.x;
    EXPECT_FAILS(bg_runner_bind_input(m.runner, "x", m.x.data, &m.x), BG_ERROR_INVALID_ARGUMENT,
                 "is in the static buffer of input x");
    EXPECT_INVALID(bg_runner_bind_input(m.runner, "x", (float *)m.x.data + WIDTH, &m.x));
    EXPECT_FAILS(bg_runner_bind_input(m.runner, "x", second.data, &m.x), BG_ERROR_INVALID_ARGUMENT,
                 "is in the static buffer of input second");
    assert_memory_equal(&before, &m.x, sizeof before);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_CUDA(bgk_fill(m.x.data, 4, (size_t)3 * WIDTH, f->stream)); /* it is still there */
    EXPECT_OK(run_bare(m.runner, mixed_batch(3)));
    assert_true(first_of(f, m.y.data) == 8);
}

/* A pass that feeds itself: each run doubles what the last one left, and pads the rows beyond the batch. */
FIXTURE_TEST(test_an_input_bound_to_an_output)
{
    bg_batch batch = mixed_batch(1);
    bg_tensor view = {.data = NULL};
    OPENED_RUNNER_MODEL(m, f, CONFIG());

    EXPECT_OK(bg_runner_bind_input(m.runner, "x", m.y.data, &m.x));
    assert_ptr_equal(m.x.data, m.y.data);
    EXPECT_OK(bg_runner_capture(m.runner));
    EXPECT_CUDA(bgk_fill(m.x.data, 1, WIDTH, f->stream));
    for (int run = 0; run < 3; run++)
        EXPECT_OK(bg_runner_run(m.runner, &batch, run > 0 ? &view : NULL, &view, NULL));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    EXPECT_FAILS(run_bare(m.runner, mixed_batch(TOKENS_MAX + 1)), BG_ERROR_INVALID_ARGUMENT,
                 "bound to the caller's memory");
    EXPECT_FLOATS(f, m.y.data, 4 * WIDTH, 8); /* padding repeats the row before it is doubled */
}

/* Declared buffers hold zeros, and what the caller writes there next on a stream of its own. */
FIXTURE_TEST(test_declared_buffers_are_ready)
{
    enum { ELEMENTS = 1 << 18 };
    static float ones[ELEMENTS];
    const int64_t dim[] = {ELEMENTS};
    bg_tensor t;
    OWNED_RUNNER_MODEL(m);

    for (int i = 0; i < ELEMENTS; i++)
        ones[i] = 1;
    runner_model_open(f, &m, CONFIG());
    EXPECT_OK(bg_runner_add_buffer(m.runner, "ones", BG_F32, 1, dim, &t));
    EXPECT_CUDA(cudaMemcpyAsync(t.data, ones, sizeof ones, cudaMemcpyHostToDevice, f->other));
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_FLOATS(f, t.data, ELEMENTS, 1);
}

/* The first batch of a lazy bucket is the last one's output, which the warm-ups write. */
FIXTURE_TEST(test_a_lazy_batch_from_an_output)
{
    bg_batch batch = mixed_batch(20);
    bg_tensor view = {.data = NULL};
    OPENED_RUNNER_MODEL(m, f, CONFIG(.lazy = true));

    runner_model_run(f, &m, 20);
    EXPECT_OK(bg_runner_run(m.runner, &batch, NULL, &view, NULL));
    batch = mixed_batch(3);
    view.dim[0] = 3;
    EXPECT_OK(bg_runner_run(m.runner, &batch, &view, NULL, NULL));
    assert_int_equal(m.last.mode, BG_MODE_PIECEWISE);
    assert_true(first_of(f, m.y.data) == 2 * 2 * 20);
}

static bg_status spoil_the_input(runner_model *m, const bg_forward_context *context, cudaStream_t stream)
{
    return from_cuda(bgk_fill(m->x.data, 77, (size_t)context->padded_tokens * WIDTH, stream));
}

/* A pass that changes its inputs. */
FIXTURE_TEST(test_a_lazy_batch_that_passes_change)
{
    OWNED_RUNNER_MODEL(m);

    m.also = spoil_the_input;
    runner_model_open(f, &m, CONFIG(.lazy = true));
    EXPECT_RUN_IN(f, &m, 3, BG_MODE_PIECEWISE);
    runner_model_run(f, &m, 3);
}

/* ---- when inputs may be written again ---- */

static cudaEvent_t read_event;
static bool recorded; /* before the pass */

static bg_status look_at_event(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    float ms;
    (void)user;
    (void)context;
    (void)stream;
    recorded =
        read_event != NULL && cudaEventElapsedTime(&ms, read_event, read_event) != cudaErrorInvalidResourceHandle;
    (void)cudaGetLastError();
    return BG_OK;
}

/* Runs a batch of `value`, overwrites its rows as soon as the event allows it, and expects what came of `value`. */
static void run_and_overwrite(fixture *f, runner_model *m, float *rows, bool in_place, float value)
{
    bg_batch batch = mixed_batch(3);
    bg_tensor input = rows_at(rows, 3), output = rows_at(f->memory, 3);

    EXPECT_CUDA(cudaEventCreate(&read_event)); /* which has not been recorded */
    EXPECT_OK(bg_runner_inputs_read(m->runner, read_event));
    for (int i = 0; i < 3 * WIDTH; i++)
        rows[i] = value;
    EXPECT_OK(bg_runner_run(m->runner, &batch, &input, &output, NULL));
    assert_int_equal(recorded, !in_place);
    EXPECT_CUDA(cudaEventSynchronize(read_event));
    for (int i = 0; i < 3 * WIDTH; i++)
        rows[i] = -1;
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    look_at_event(NULL, NULL, NULL);
    assert_true(recorded);
    EXPECT_FLOATS(f, f->memory, 3 * WIDTH, 2 * value);
    EXPECT_OK(bg_runner_inputs_read(m->runner, NULL));
    EXPECT_CUDA(cudaEventDestroy(read_event));
    read_event = NULL;
}

FIXTURE_TEST(test_inputs_read)
{
    float *rows;

    EXPECT_CUDA(cudaMallocHost((void **)&rows, TOKENS_MAX * WIDTH * sizeof *rows));
    for (int in_place = 0; in_place < 2; in_place++)
        for (int lazy = BG_LAZY_NO; lazy <= BG_LAZY_BACKGROUND; lazy++) {
            OPENED_RUNNER_MODEL(m, f, CONFIG(.prepare = look_at_event, .lazy = (uint8_t)lazy));
            if (in_place)
                EXPECT_OK(bg_runner_bind_input(m.runner, "x", rows, &m.x));
            for (int captured = 0; captured < 2; captured++) { /* eagerly, or on demand; then by a graph */
                for (int i = 0; i < 3; i++)
                    run_and_overwrite(f, &m, rows, in_place, (float)(i + 1));
                EXPECT_OK(bg_runner_capture(m.runner));
                EXPECT_CUDA(cudaStreamSynchronize(f->stream)); /* warm-ups fill what is bound */
            }
            runner_model_run(f, &m, 3); /* without an event */
        }
    EXPECT_INVALID(bg_runner_inputs_read(NULL, NULL));
    EXPECT_CUDA(cudaFreeHost(rows));
}
