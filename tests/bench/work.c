#include "work.h"

#include "kernels/model/kernels.h"
#include <stdlib.h>

#include "graph/graph.h"

/* ---- for breakgraph ---- */

static bg_status add_one(const bg_tensor *x, const bg_tensor *one, cudaStream_t stream)
{
    return bench_cuda(bgk_add(x->data, x->data, one->data, bg_tensor_bytes(x) / sizeof(float), stream), "bgk_add");
}

BG_OP(bench_node, BG_INOUT(x), BG_IN(one))
{
    return add_one(&args->x, &args->one, stream);
}

BG_EAGER_OP(bench_in_place, BG_INOUT(x), BG_IN(one))
{
    return add_one(&args->x, &args->one, stream);
}

BG_EAGER_OP(bench_one_output, BG_OUT(y), BG_VALUE(const work *, w), BG_VALUE(int, at_break))
{
    args->y.data = work_elsewhere(args->w, args->at_break);
    return bench_cuda(work_eager(args->w, args->at_break, stream), "bgk_add");
}

BG_EAGER_OP(bench_four_outputs, BG_OUTS(y, 4), BG_VALUE(const work *, w), BG_VALUE(int, at_break))
{
    float *elsewhere = work_elsewhere(args->w, args->at_break);
    for (int i = 0; i < OUTPUTS_MAX; i++)
        args->y[i].data = elsewhere + (ptrdiff_t)i * OUTPUT_FLOATS;
    return bench_cuda(work_eager(args->w, args->at_break, stream), "bgk_add");
}

static bg_status call_eager(const work *w, int at_break, cudaStream_t stream)
{
    bg_tensor x = bg_tensor_1d(w->x, BG_F32, w->floats), one = bg_tensor_1d(w->one, BG_F32, w->floats);
    bench_four_outputs_args four = {.w = w, .at_break = at_break};

    if (w->what.outputs == 0)
        return BG_CALL(bench_in_place, stream, .x = x, .one = one);
    if (w->what.outputs == 1)
        return BG_CALL(bench_one_output, stream, .y = x, .w = w, .at_break = at_break);
    for (int i = 0; i < OUTPUTS_MAX; i++)
        four.y[i] = bg_tensor_1d(w->x + (ptrdiff_t)i * OUTPUT_FLOATS, BG_F32, OUTPUT_FLOATS);
    return BG_CALL_ARGS(bench_four_outputs, stream, &four);
}

static bg_status capture_node(const work *w, cudaStream_t stream)
{
    bg_tensor x = bg_tensor_1d(w->x, BG_F32, w->floats), one = bg_tensor_1d(w->one, BG_F32, w->floats);

    if (w->what.ops)
        return BG_CALL(bench_node, stream, .x = x, .one = one);
    return bench_cuda(bgk_add(w->x, w->x, w->one, (size_t)w->floats, stream), "bgk_add");
}

bg_status work_forward(void *user, cudaStream_t stream)
{
    const work *w = user;

    for (int segment = 0; segment <= w->what.breaks; segment++) {
        if (segment > 0)
            BENCH_TRY(call_eager(w, segment, stream));
        for (int node = 0; node < w->what.nodes; node++)
            BENCH_TRY(capture_node(w, stream));
    }
    return BG_OK;
}

static void take_turn(work *w, enum way way)
{
    if (w->what.alternate)
        w->turn = w->last_turn[way] ^= 1;
}

bg_status replay_ours(void *state)
{
    work *w = state;
    take_turn(w, OURS);
    return bg_replay(w->graph, w->stream);
}

/* ---- by hand ---- */

float *work_elsewhere(const work *w, int at_break)
{
    return w->elsewhere + ((ptrdiff_t)2 * (at_break - 1) + w->turn) * w->floats;
}

cudaError_t work_eager(const work *w, int at_break, cudaStream_t stream)
{
    float *y = w->what.outputs == 0 ? w->x : work_elsewhere(w, at_break);
    return bgk_add(y, w->x, w->one, (size_t)w->floats, stream);
}

static cudaError_t copy_back(const work *w, int at_break)
{
    const float *from = work_elsewhere(w, at_break);
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < w->what.outputs && error == cudaSuccess; i++)
        error = cudaMemcpyAsync(w->x + (ptrdiff_t)i * OUTPUT_FLOATS, from + (ptrdiff_t)i * OUTPUT_FLOATS, OUTPUT_BYTES,
                                cudaMemcpyDefault, w->stream);
    return error;
}

/* The memcpy nodes of a segment, in order of the outputs. */
static bg_status find_copies(const work *w, cudaGraph_t graph, cudaGraphNode_t *copies)
{
    struct cudaMemcpy3DParms parameters;
    enum cudaGraphNodeType type;
    CLOSED_BY(bench_free) cudaGraphNode_t *nodes = NULL;
    size_t count = 0;

    BENCH_TRY_CUDA(cudaGraphGetNodes(graph, NULL, &count));
    nodes = calloc(count + 1, sizeof(cudaGraphNode_t));
    if (nodes == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", count);
    BENCH_TRY_CUDA(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        BENCH_TRY_CUDA(cudaGraphNodeGetType(nodes[i], &type));
        if (type != cudaGraphNodeTypeMemcpy)
            continue;
        BENCH_TRY_CUDA(cudaGraphMemcpyNodeGetParams(nodes[i], &parameters));
        copies[((float *)parameters.dstPtr.ptr - w->x) / OUTPUT_FLOATS] = nodes[i];
    }
    return BG_OK;
}

bg_status by_hand_capture(by_hand *hand, const work *w, int segment, bool folded)
{
    bool copies = folded && segment > 0;
    cudaError_t error;

    BENCH_TRY_CUDA(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
    error = copies ? copy_back(w, segment) : cudaSuccess;
    for (int node = 0; node < w->what.nodes && error == cudaSuccess; node++)
        error = bgk_add(w->x, w->x, w->one, (size_t)w->floats, w->stream);
    BENCH_TRY_CUDA(cudaStreamEndCapture(w->stream, &hand->graphs[segment]));
    BENCH_TRY_CUDA(error);
    if (copies) {
        BENCH_TRY(find_copies(w, hand->graphs[segment], hand->copies[segment]));
        hand->sources[segment] = work_elsewhere(w, segment);
    }
    return BG_OK;
}

bg_status by_hand_reserve(by_hand *hand, const work *w)
{
    size_t count = (size_t)w->what.breaks + 1;

    hand->count = (int)count;
    hand->execs = calloc(count, sizeof(cudaGraphExec_t));
    hand->graphs = calloc(count, sizeof(cudaGraph_t));
    hand->copies = calloc(count, sizeof *hand->copies);
    hand->sources = calloc(count, sizeof(float *));
    if (hand->execs == NULL || hand->graphs == NULL || hand->copies == NULL || hand->sources == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu segments", count);
    return BG_OK;
}

bg_status by_hand_open(by_hand *hand, const work *w, bool folded, bool launch)
{
    BENCH_TRY(by_hand_reserve(hand, w));
    for (int segment = 0; segment < hand->count; segment++) {
        if (launch && segment > 0)
            BENCH_TRY_CUDA(work_eager(w, segment, w->stream));
        BENCH_TRY(by_hand_capture(hand, w, segment, folded));
        BENCH_TRY_CUDA(cudaGraphInstantiate(&hand->execs[segment], hand->graphs[segment],
                                            cudaGraphInstantiateFlagAutoFreeOnLaunch));
        if (launch)
            BENCH_TRY_CUDA(cudaGraphLaunch(hand->execs[segment], w->stream));
    }
    return BG_OK;
}

void by_hand_close(by_hand *hand)
{
    for (int i = 0; hand->execs != NULL && hand->graphs != NULL && i < hand->count; i++) {
        if (hand->execs[i] != NULL)
            BG__RELEASE(cudaGraphExecDestroy(hand->execs[i]));
        if (hand->graphs[i] != NULL)
            BG__RELEASE(cudaGraphDestroy(hand->graphs[i]));
    }
    free(hand->execs);
    free(hand->graphs);
    free(hand->copies);
    free(hand->sources);
    *hand = (by_hand){.count = 0};
}

#define BY_HAND(call) BENCH_TRY(bench_cuda(call, "a call of the hand-written loop"))

bg_status loop_shared(void *state)
{
    const work *w = state;
    BY_HAND(cudaGraphLaunch(w->shared[0], w->stream));
    for (int i = 1; i <= w->what.breaks; i++) {
        BY_HAND(work_eager(w, i, w->stream));
        BY_HAND(cudaGraphLaunch(w->shared[i], w->stream));
    }
    return BG_OK;
}

bg_status loop_plain(void *state)
{
    work *w = state;

    take_turn(w, PLAIN);
    BY_HAND(cudaGraphLaunch(w->plain.execs[0], w->stream));
    for (int i = 1; i <= w->what.breaks; i++) {
        BY_HAND(work_eager(w, i, w->stream));
        BY_HAND(copy_back(w, i));
        BY_HAND(cudaGraphLaunch(w->plain.execs[i], w->stream));
    }
    return BG_OK;
}

static cudaError_t move_copies(work *w, int segment)
{
    const float *from = work_elsewhere(w, segment);
    cudaError_t error = cudaSuccess;

    if (w->folded.sources[segment] == from)
        return cudaSuccess;
    for (int i = 0; i < w->what.outputs && error == cudaSuccess; i++)
        error = cudaGraphExecMemcpyNodeSetParams1D(
            w->folded.execs[segment], w->folded.copies[segment][i], w->x + (ptrdiff_t)i * OUTPUT_FLOATS,
            from + (ptrdiff_t)i * OUTPUT_FLOATS, OUTPUT_BYTES, cudaMemcpyDefault);
    w->folded.sources[segment] = from;
    return error;
}

bg_status loop_folded(void *state)
{
    work *w = state;

    take_turn(w, FOLDED);
    BY_HAND(cudaGraphLaunch(w->folded.execs[0], w->stream));
    for (int i = 1; i <= w->what.breaks; i++) {
        BY_HAND(work_eager(w, i, w->stream));
        BY_HAND(move_copies(w, i));
        BY_HAND(cudaGraphLaunch(w->folded.execs[i], w->stream));
    }
    return BG_OK;
}

/* ---- memory, and whether the work was done ---- */

bg_status work_open(work *w, scenario what, cudaStream_t stream)
{
    size_t places = 2 * (size_t)what.breaks + 1;

    *w = (work){.what = what, .stream = stream};
    w->floats = OUTPUT_FLOATS * (what.outputs > 1 ? what.outputs : 1);
    BENCH_TRY_CUDA(cudaMalloc((void **)&w->x, (size_t)w->floats * sizeof(float)));
    BENCH_TRY_CUDA(cudaMalloc((void **)&w->one, (size_t)w->floats * sizeof(float)));
    BENCH_TRY_CUDA(cudaMalloc((void **)&w->elsewhere, places * (size_t)w->floats * sizeof(float)));
    BENCH_TRY_CUDA(bgk_fill(w->x, 0, (size_t)w->floats, stream));
    BENCH_TRY_CUDA(bgk_fill(w->one, 1, (size_t)w->floats, stream));
    BENCH_TRY_CUDA(cudaStreamSynchronize(stream));
    return BG_OK;
}

void work_close(work *w)
{
    by_hand_close(&w->plain);
    by_hand_close(&w->folded);
    bg_graph_destroy(w->graph);
    free(w->shared);
    bg__device_free(w->x);
    bg__device_free(w->one);
    bg__device_free(w->elsewhere);
}

static bg_status check_once(work *w, const contender *contender, int which)
{
    enum { RUNS = 3 }; /* an alternating place is used again */
    float found[OUTPUTS_MAX * OUTPUT_FLOATS];
    int expected = RUNS * ((w->what.breaks + 1) * w->what.nodes + w->what.breaks);

    BENCH_TRY_CUDA(bgk_fill(w->x, 0, (size_t)w->floats, w->stream));
    for (int i = 0; i < RUNS; i++)
        BENCH_TRY(contender->run(contender->state));
    BENCH_TRY_CUDA(cudaMemcpyAsync(found, w->x, (size_t)w->floats * sizeof(float), cudaMemcpyDeviceToHost, w->stream));
    BENCH_TRY_CUDA(cudaStreamSynchronize(w->stream));
    for (int i = 0; i < w->floats; i++)
        if (found[i] != (float)expected)
            return bg__fail(BG_ERROR_MISMATCH,
                            "contender %d did other work: x[%d] is %g, but %d kernels add 1 to it (%d breaks, %d "
                            "nodes, %d outputs)",
                            which, i, found[i], expected, w->what.breaks, w->what.nodes, w->what.outputs);
    return BG_OK;
}

bg_status work_check(work *w, const contender *contenders, int count)
{
    for (int i = 0; i < count; i++)
        BENCH_TRY(check_once(w, &contenders[i], i));
    return BG_OK;
}
