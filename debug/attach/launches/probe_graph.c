/* The copy of a graph with the probes. */
#include "probes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/memory/allocate.h"

/* ---- the copy --------------------------------------------------------------------------------------------------- */

/* Adds behind these nodes what a call on stream queues. */
typedef struct adding {
    bg__probes *probes;
    cudaGraph_t graph;
    cudaStream_t stream;
    cudaGraphNode_t *added; /* for each probe */
} adding;

static unsigned long long *turns_of(const bg__probes *p)
{
    return (unsigned long long *)(p->results + p->count);
}

static unsigned long long *told_of(const bg__probes *p)
{
    return (unsigned long long *)(p->ring + BG__PROBE_ROWS * p->count);
}

unsigned long long bg__probes_told(const bg__probes *p)
{
    return __atomic_load_n(told_of(p), __ATOMIC_ACQUIRE);
}

static bg_status add_end(const adding *a)
{
    bg__probes *p = a->probes;
    cudaGraph_t same;
    bg_status status = BG_OK;

    BG__TRY_CUDA(
        cudaStreamBeginCaptureToGraph(a->stream, a->graph, a->added, NULL, p->count, cudaStreamCaptureModeRelaxed));
    BG__TRY_CUDA(bgk_probe_end(p->ring, BG__PROBE_ROWS, told_of(p), p->results, p->count, turns_of(p), a->stream));
    BG__TRY_CUDA(cudaStreamEndCapture(a->stream, &same));
done:
    return status;
}

/* What overwrites the memory may not run before it was looked at. */
static bg_status order_before_followers(const adding *a, cudaGraphNode_t node, cudaGraphNode_t added)
{
    cudaGraphNode_t *followers = NULL;
    cudaGraphEdgeData *data = NULL;
    size_t count = 0;
    bg_status status;

    BG__TRY_CUDA(cudaGraphNodeGetDependentNodes(node, NULL, NULL, &count));
    BG__TRY(BG__ALLOCATE(followers, count, "nodes"));
    BG__TRY(BG__ALLOCATE(data, count, "edges"));
    if (count > 0)
        BG__TRY_CUDA(cudaGraphNodeGetDependentNodes(node, followers, data, &count));
    for (size_t i = 0; i < count; i++)
        if (followers[i] != added)
            BG__TRY_CUDA(cudaGraphAddDependencies(a->graph, &added, &followers[i], NULL, 1));
done:
    free(followers);
    free(data);
    return status;
}

/* The node that the capture on the stream has just got. */
static bg_status find_added(const adding *a, cudaGraphNode_t *added)
{
    bg__capture_info_function info;
    CUstreamCaptureStatus capturing;
    const CUgraphNode *nodes;
    size_t count;
    bg_status status = BG_OK;

    BG__TRY(bg__driver_find_capture_info(&info));
    BG__TRY_DRIVER("cuStreamGetCaptureInfo", info(a->stream, &capturing, NULL, NULL, &nodes, NULL, &count));
    if (capturing != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1)
        BG__FAIL(BG_ERROR_UNSUPPORTED, "the copy of a graph did not get its probe");
    *added = nodes[0];
done:
    return status;
}

static bg_status add_probe(const adding *a, size_t index)
{
    const bg__probe *probe = &a->probes->list[index];
    cudaGraphNode_t node;
    cudaGraph_t same;
    bg_status status;

    BG__TRY_CUDA(cudaGraphNodeFindInClone(&node, probe->node, a->graph));
    BG__TRY_CUDA(cudaStreamBeginCaptureToGraph(a->stream, a->graph, &node, NULL, 1, cudaStreamCaptureModeRelaxed));
    BG__TRY_CUDA(bgk_probe_memory(&a->probes->results[index], (const void *)probe->begin, probe->end - probe->begin,
                                  probe->format, a->stream));
    BG__TRY(find_added(a, &a->added[index]));
    BG__TRY_CUDA(cudaStreamEndCapture(a->stream, &same));
    BG__TRY(order_before_followers(a, node, a->added[index]));
done:
    return status;
}

static bg_status add_all(const adding *a)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < a->probes->count; i++)
        BG__TRY(add_probe(a, i));
    BG__TRY(add_end(a));
    BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&a->probes->exec, a->graph, 0));
done:
    return status;
}

static bg_status allocate(bg__probes *p)
{
    size_t results = p->count * sizeof *p->results + sizeof *turns_of(p);
    size_t ring = BG__PROBE_ROWS * p->count * sizeof *p->ring + sizeof *told_of(p);
    bg_status status;

    BG__TRY(bg__device_alloc(results, (void **)&p->results));
    BG__TRY_CUDA(cudaMemset(p->results, 0, results));
    BG__TRY_CUDA(cudaHostAlloc((void **)&p->ring, ring, cudaHostAllocPortable | cudaHostAllocMapped));
    memset(p->ring, 0, ring);
done:
    return status;
}

bg_status bg__probes_build(bg__probes *p, const bg__runs *r)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    adding a = {.probes = p};
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(BG__ALLOCATE(a.added, p->count, "probes"));
    BG__TRY(allocate(p));
    BG__TRY_CUDA(cudaGraphClone(&a.graph, r->attached->source));
    BG__TRY_CUDA(cudaStreamCreateWithFlags(&a.stream, cudaStreamNonBlocking));
    BG__TRY(add_all(&a));
done:
    if (a.stream != NULL)
        BG__RELEASE(cudaStreamDestroy(a.stream));
    if (a.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(a.graph));
    free(a.added);
    bg__relaxed_mode_end(relaxed);
    return status;
}

void bg__probes_free(bg__probes *p)
{
    bg__relaxed_mode relaxed;
    bool idle;

    if (p == NULL)
        return;
    idle =
        p->ring == NULL || bg__probes_told(p) == p->launched; /* else the device may still write there, and it stays */
    relaxed = bg__relaxed_mode_try_begin();
    if (p->exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(p->exec));
    if (p->ring != NULL && idle)
        BG__RELEASE(cudaFreeHost(p->ring));
    if (idle)
        bg__device_free(p->results);
    bg__relaxed_mode_end(relaxed);
    free(p->list);
    free(p);
}

void bg__probes_wait(const bg__probes *p)
{
    enum { WAIT_MS = 10000, PAUSE_US = 100 };
    static _Atomic bool hopeless; /* once is enough */
    bg__relaxed_mode relaxed = bg__relaxed_mode_try_begin();
    double until = bg__now_ms() + WAIT_MS;
    cudaError_t error = p->attached->launched ? cudaErrorNotReady : cudaSuccess;

    while (bg__probes_told(p) < p->launched && error == cudaErrorNotReady && !hopeless) {
        error = cudaEventQuery(p->attached->ended);
        bg__clear_cuda_error(error);
        hopeless = bg__now_ms() > until;
        if (error == cudaErrorNotReady)
            usleep(PAUSE_US);
    }
    bg__relaxed_mode_end(relaxed);
}
