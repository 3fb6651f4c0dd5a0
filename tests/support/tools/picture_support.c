#include "picture_support.h"
#include "tests/support/ops.h"

void *picture_elsewhere;
int picture_fails, picture_host_calls;
cudaEvent_t picture_event;

static cudaGraph_t child;
static float *temporary;

/* ---- ops ---- */

BG_DEFINE_EAGER_OP(move)
{
    if (picture_fails > 0 && --picture_fails == 0)
        return BG_ERROR_OP;
    if (picture_elsewhere != NULL)
        args->y.data = picture_elsewhere;
    return from_cuda(bgk_scale(args->y.data, args->x.data, 1.1f, N, stream));
}

BG_DEFINE_OP(outer)
{
    BG_CALL(scale, stream, .x = args->x, .y = args->y, .factor = 0.3f);
    return BG_CALL(scale, stream, .x = args->y, .y = args->y, .factor = 0.7f);
}

static void count_call(void *user)
{
    ++*(int *)user;
}

BG_DEFINE_OP(mixed)
{
    float *y = args->y.data;
    TRY_BG(from_cuda(cudaMemsetAsync(y, 0x3f, N / 2 * sizeof *y, stream)));
    TRY_BG(from_cuda(cudaMemcpyAsync(y + N / 2, args->x.data, N / 2 * sizeof *y, cudaMemcpyDeviceToDevice, stream)));
    TRY_BG(from_cuda(cudaLaunchHostFunc(stream, count_call, &picture_host_calls)));
    return from_cuda(cudaEventRecordWithFlags(picture_event, stream, cudaEventRecordExternal));
}

BG_DEFINE_OP(nested)
{
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *before;
    cudaGraphNode_t node;
    cudaGraph_t graph;
    size_t count;
    (void)args;
    TRY_BG(from_cuda(cudaStreamGetCaptureInfo(stream, &capturing, NULL, &graph, &before, NULL, &count)));
    TRY_BG(from_cuda(cudaGraphAddChildGraphNode(&node, graph, before, count, child)));
    return from_cuda(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies));
}

BG_OP(allocate, BG_IN(x))
{
    TRY_BG(from_cuda(cudaMallocAsync((void **)&temporary, N * sizeof(float), stream)));
    return from_cuda(bgk_scale(temporary, args->x.data, 3, N, stream));
}

BG_OP(use, BG_OUT(y))
{
    return from_cuda(bgk_scale(args->y.data, temporary, 2, N, stream));
}

BG_OP(release)
{
    (void)args;
    return from_cuda(cudaFreeAsync(temporary, stream));
}

/* ---- passes ---- */

bg_status broken_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 0.9f);
    BG_CALL(move, stream, .x = f->y, .y = f->z);
    BG_CALL(outer, stream, .x = f->z, .y = f->y);
    bg_break(stream);
    return BG_CALL(plus, stream, .x = f->x, .y = f->y, .z = f->z);
}

bg_status ending_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(scale, stream, .x = f->x, .y = f->y, .factor = 0.9f);
    return BG_CALL(move, stream, .x = f->y, .y = f->z);
}

static void fork_and_join(fixture *f, cudaStream_t stream)
{
    bg_stream_wait_stream(f->other, stream);
    BG_CALL(scale, f->other, .x = f->x, .y = f->y, .factor = 0.9f);
    BG_CALL(scale, stream, .x = f->x, .y = f->z, .factor = 0.8f);
    BG_CALL(scale, f->other, .x = f->y, .y = f->y, .factor = 1.3f);
    bg_stream_wait_stream(stream, f->other);
    BG_CALL(plus, stream, .x = f->y, .y = f->z, .z = f->z);
}

bg_status forked_pass(void *user, cudaStream_t stream)
{
    fork_and_join(user, stream);
    fork_and_join(user, stream);
    return BG_OK;
}

bg_status mixed_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(mixed, stream, .x = f->x, .y = f->y);
    return BG_CALL(nested, stream, .y = f->y);
}

bg_status memory_pass(void *user, cudaStream_t stream)
{
    fixture *f = user;
    BG_CALL(allocate, stream, .x = f->x);
    bg_break(stream);
    BG_CALL(use, stream, .y = f->y);
    bg_break(stream);
    return BG_CALL(release, stream);
}

bg_graph *capture_picture(fixture *f, bg_forward pass)
{
    return capture_of(pass, f, f->stream, NULL);
}

/* ---- setup ---- */

static void make_child(const fixture *f)
{
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(bgk_scale(f->y.data, f->y.data, 3, N, f->stream));
    EXPECT_CUDA(bgk_scale(f->y.data, f->y.data, 1.7f, N, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &child));
}

int pictures_setup(void **state)
{
    int result = fixture_setup(state);
    if (result != 0)
        return result;
    picture_elsewhere = NULL;
    picture_fails = picture_host_calls = 0;
    EXPECT_CUDA(cudaEventCreateWithFlags(&picture_event, cudaEventDisableTiming));
    make_child(*state);
    return directory_setup(&(void *){NULL});
}

int pictures_teardown(void **state)
{
    EXPECT_CUDA(cudaGraphDestroy(child));
    EXPECT_CUDA(cudaEventDestroy(picture_event));
    return directory_teardown(NULL) != 0 || fixture_teardown(state) != 0;
}
