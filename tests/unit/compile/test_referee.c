/* What a proof must see beside the obvious: wrong ops that are right for the memory, the address or the value of one
 * capture. Each op stands for one call, x to y. */
#include "tests/support/runner/shared.h"

static struct {
    const char *op; /* whose rule may be used */
    int first;      /* the element of x where a pass begins */
    int *marks;     /* device memory: N of them */
    bool relaxed;   /* the mode of captures */
} now;

enum { FEW = 8 };

/* y before x, which may be the same memory. Two kernels: what stands for it must be faster on a GPU. */
BG_OP(twofold, BG_OUT(y), BG_IN(x), BG_VALUE(int, count))
{
    TRY_BG(from_cuda(bgk_scale(args->y.data, args->x.data, 4, (size_t)args->count, stream)));
    return from_cuda(bgk_scale(args->y.data, args->y.data, 0.5f, (size_t)args->count, stream));
}

BG_OP(threefold, BG_OUT(y), BG_IN(x), BG_VALUE(int, count))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, 3, (size_t)args->count, stream));
}

BG_OP(by_value, BG_OUT(y), BG_IN(x), BG_VALUE(int, count), BG_VALUE(int, aligned))
{
    return from_cuda(bgk_scale(args->y.data, args->x.data, args->aligned ? 2 : 3, (size_t)args->count, stream));
}

BG_OP(by_address, BG_OUT(y), BG_IN(x), BG_VALUE(int, count))
{
    bool aligned = (uintptr_t)args->x.data % 16 == 0;
    return from_cuda(bgk_scale(args->y.data, args->x.data, aligned ? 2 : 3, (size_t)args->count, stream));
}

BG_OP(with_malloc, BG_OUT(y), BG_IN(x), BG_VALUE(int, count))
{
    void *memory;
    TRY_BG(from_cuda(cudaMalloc(&memory, sizeof(float))));
    TRY_BG(from_cuda(cudaFree(memory)));
    return from_cuda(bgk_scale(args->y.data, args->x.data, 2, (size_t)args->count, stream));
}

#define ONE_RULE(name, ...)                                                                                            \
    BG_RULE(name, twofold)                                                                                             \
    {                                                                                                                  \
        *args = (name##_args){.x = a0->x, .y = a0->y, __VA_ARGS__};                                                    \
        return strcmp(now.op, #name) == 0;                                                                             \
    }
ONE_RULE(threefold, .count = a0->count)
ONE_RULE(by_value, .count = a0->count, .aligned = (uintptr_t)a0->x.data % 16 == 0)
ONE_RULE(by_address, .count = a0->count)
ONE_RULE(with_malloc, .count = a0->count)

/* Sets marks: -1 is "none" in many programs. */
BG_OP(unmark, BG_OUT(marks))
{
    return from_cuda(cudaMemsetAsync(args->marks.data, 0xff, bg_tensor_bytes(&args->marks), stream));
}

BG_OP(forget_marks, BG_OUT(marks), BG_OUT(scratch))
{
    return from_cuda(cudaMemsetAsync(args->scratch.data, 0, 1, stream));
}

BG_OP(clear_scratch, BG_OUT(scratch))
{
    return from_cuda(cudaMemsetAsync(args->scratch.data, 0, 1, stream));
}

BG_RULE(forget_marks, unmark, clear_scratch)
{
    *args = (forget_marks_args){.marks = a0->marks, .scratch = a1->scratch};
    return strcmp(now.op, "forget_marks") == 0;
}

/* Work that takes a while, and then a memset. */
BG_OP(clear_late, BG_OUT(y), BG_OUT(scratch))
{
    enum { BEFORE = 100 };
    for (int i = 0; i < BEFORE; i++)
        TRY_BG(from_cuda(bgk_fill(args->scratch.data, (float)i, N, stream)));
    return from_cuda(cudaMemsetAsync(args->y.data, 0, bg_tensor_bytes(&args->y), stream));
}

BG_OP(clear_at_once, BG_OUT(y), BG_OUT(scratch))
{
    TRY_BG(from_cuda(bgk_fill(args->scratch.data, 99, N, stream)));
    return from_cuda(cudaMemsetAsync(args->y.data, 0, bg_tensor_bytes(&args->y), stream));
}

BG_RULE(clear_at_once, clear_late)
{
    *args = (clear_at_once_args){.y = a0->y, .scratch = a0->scratch};
    return strcmp(now.op, "clear_at_once") == 0;
}

/* ---- passes ---- */

static bg_status forward_few(void *user, cudaStream_t stream)
{
    fixture *f = user;
    return BG_CALL(twofold, stream, .x = bg_tensor_1d((float *)f->x.data + now.first, BG_F32, FEW),
                   .y = bg_tensor_1d(f->y.data, BG_F32, FEW), .count = FEW);
}

static bg_status forward_in_place(void *user, cudaStream_t stream)
{
    fixture *f = user;
    return BG_CALL(twofold, stream, .x = f->y, .y = f->y, .count = N);
}

static bg_status forward_marks(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(BG_CALL(unmark, stream, .marks = bg_tensor_1d(now.marks, BG_I32, N)));
    return BG_CALL(clear_scratch, stream, .scratch = bg_tensor_1d(f->z.data, BG_U8, 4));
}

static bg_status forward_late(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(BG_CALL(clear_late, stream, .y = f->y, .scratch = f->z));
    return BG_CALL(clear_scratch, stream, .scratch = bg_tensor_1d(f->x.data, BG_U8, 4));
}

static void expect_state(fixture *f, bg_forward pass, const char *op, float value, bg_fusion_state state)
{
    bg_fusion fusion = BG_FUSION_INIT;
    enum cudaStreamCaptureMode mode = now.relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeThreadLocal;
    bool found = false;
    OWNED_GRAPH(graph);

    now.op = op;
    EXPECT_CUDA(bgk_fill(f->x.data, value, N, f->stream));
    EXPECT_CUDA(bgk_fill(f->y.data, value, N, f->stream));
    EXPECT_OK(bg_capture_forward(&graph, pass, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE, .mode = mode)));
    for (int i = 0; bg_graph_get_fusion(graph, i, &fusion) == BG_OK && !found; i++) {
        found = strcmp(fusion.op, op) == 0;
        if (found && fusion.state != state)
            fail_msg("%s: state %d, expected %d: %s", op, (int)fusion.state, (int)state, fusion.why);
    }
    assert_true(found);
}

/* Launches of an executable graph in which that memset is disabled would begin too early on a GPU (segment_parts.c). */
FIXTURE_TEST(test_memset_behind_a_run)
{
    expect_state(f, forward_late, "clear_at_once", 1, BG_FUSION_APPLIED);
}

FIXTURE_TEST(test_in_place)
{
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;

    attributes.in_place = true;
    EXPECT_OK(bg_rule_set_attributes("threefold", &attributes));
    expect_state(f, forward_in_place, "threefold", 0, BG_FUSION_DIFFERS);
}

/* What a rule makes of an address is proven for each value. */
FIXTURE_TEST(test_values_of_the_rule)
{
    expect_state(f, forward_few, "by_value", 1, BG_FUSION_APPLIED);
    now.first = 1;
    expect_state(f, forward_few, "by_value", 1, BG_FUSION_DIFFERS);
    now.first = 0;
}

/* Random numbers lie at addresses that are aligned as the zeros are. */
FIXTURE_TEST(test_alignment)
{
    now.first = 1;
    expect_state(f, forward_few, "by_address", 0, BG_FUSION_DIFFERS);
    now.first = 0;
}

FIXTURE_TEST(test_outputs_of_ones)
{
    EXPECT_CUDA(cudaMalloc((void **)&now.marks, N * sizeof *now.marks));
    EXPECT_CUDA(cudaMemsetAsync(now.marks, 0xff, N * sizeof *now.marks, f->stream));
    expect_state(f, forward_marks, "forget_marks", 1, BG_FUSION_DIFFERS);
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    EXPECT_CUDA(cudaFree(now.marks));
}

/* What captures forbid fails in the proof, not in the capture. */
FIXTURE_TEST(test_call_that_captures_forbid)
{
    expect_state(f, forward_few, "with_malloc", 1, BG_FUSION_DIFFERS);
    EXPECT_CUDA(bgk_fill(f->x.data, 4, N, f->stream));
    EXPECT_OK(forward_few(f, f->stream));
    EXPECT_FLOATS(f, f->y.data, FEW, 8);
}

/* What one capture allows another one may forbid. */
FIXTURE_TEST(test_modes)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* the thread's */

    now.relaxed = true;
    expect_state(f, forward_few, "with_malloc", 1, BG_FUSION_APPLIED);
    now.relaxed = false;
    expect_state(f, forward_few, "with_malloc", 1, BG_FUSION_DIFFERS);
    EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    expect_state(f, forward_few, "with_malloc", 1, BG_FUSION_APPLIED);
    EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    expect_state(f, forward_few, "with_malloc", 1, BG_FUSION_DIFFERS);
}

static bg_status forward_after(void *user, cudaStream_t stream)
{
    fixture *f = user;
    TRY_BG(BG_CALL(twofold, stream, .x = f->x, .y = f->z, .count = N));
    return forward_few(user, stream);
}

TESTS_ON_HOST_DEVICE("that calls fail on request");
/* Lets each call of that function fail in turn, each in a capture of its own. How many captures fail; text: in how many
 * stderr has it. The rule is never called wrong. */
static int fail_each(fixture *f, const char *function, const char *error, const char *text, int *texts)
{
    char faults[64];
    int captures = 0;

    now.op = "by_value";
    set_variable("BG_COMPILE_PROVE", "always");
    for (int call = 1, failed = 1; failed > 0; call++) {
        const char *said;
        bg_status status;
        OWNED_GRAPH(graph);
        snprintf(faults, sizeof faults, "%s@%d=%s", function, call, error);
        EXPECT_CUDA(bgk_fill(f->x.data, 4, N, f->stream));
        fail_calls(faults);
        hold_errors();
        status = bg_capture_forward(&graph, forward_after, f, f->stream, OPTIONS(.level = BG_LEVEL_ONCE));
        said = held_errors();
        *texts += strstr(said, text) != NULL;
        assert_null(strstr(said, "fusion-differs"));
        failed = hostcuda_faults();
        fail_calls(NULL);
        captures += status != BG_OK;
        if (status != BG_OK)
            continue;
        EXPECT_FLOATS(f, f->y.data, FEW, 8);
        EXPECT_FLOATS(f, f->z.data, N, 8);
    }
    set_variable("BG_COMPILE_PROVE", NULL);
    return captures;
}

/* A launch that fails once costs the proof, and not the capture, but for the last one: the segment's own. */
FAULT_TEST(test_launch_that_fails)
{
    int parts = 0;
    const char *text = "a part of the segment cannot be launched";

    assert_int_equal(fail_each(f, "cudaGraphLaunch", "cudaErrorMemoryAllocation", text, &parts), 1);
    assert_true(parts > 0);
    assert_int_equal(fail_each(f, "cudaGraphLaunch", "cudaErrorUnknown", text, &parts), 1);
}

/* Likewise, but for two: the segment's last part, which runs the pass, and the segment itself. */
FAULT_TEST(test_instantiation_that_fails)
{
    int ops = 0;

    assert_int_equal(fail_each(f, "cudaGraphInstantiate", "cudaErrorUnknown", "it cannot be captured", &ops), 2);
    assert_true(ops > 0);
    ops = 0;
    assert_int_equal(fail_each(f, "cudaStreamEndCapture", "cudaErrorUnknown", "it cannot be captured", &ops), 2);
    assert_true(ops > 0);
}
TESTS_ON_ANY_DEVICE;
