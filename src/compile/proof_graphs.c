/* What a proof launches: the op of a rule, and the calls, captured into graphs of their own. */
#include "compile/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bg_status bg__proof_agree_to_stop(bg__proof *p)
{
    bool stopped = !bg__proof_is_open(p);
    bg_status status = BG_OK;

    if (p->parted)
        return BG_OK;
    p->parted = true; /* also if the exchange fails */
    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &stopped));
    if (stopped && bg__proof_is_open(p))
        bg__proof_outcome_set(p->finding, BG_FUSION_UNPROVEN, "another rank does not use this rule");
    p->parted = stopped;
done:
    return status;
}

void bg__proof_leave_ranks(bg__proof *p)
{
    bool stopped = true;
    if (!p->parted)
        (void)bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &stopped);
    p->parted = true;
}

/* ---- captures ---- */

static void record_nested_op(void *user, const bg_op *op)
{
    bg__proof *p = user;
    (void)op;
    p->calls_ops = true;
}

/* Captures a body as the splice does, but the call is in no graph of the pass. */
static bg_status capture_body(bg__proof *p, bg__call *call, const void *args)
{
    bg_capture *capture = p->piece->capture;
    bg__thread *self = bg__thread_self();
    const bg__thread before = *self;
    cudaStream_t stream = call->stream;
    void *own, *want = call->want;
    bg__body_scope scope;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(p->args, p->args_count, p->args_capacity, "arguments"));
    own = malloc(call->op->args_size);
    if (own == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the arguments of %s", call->name);
    p->args[p->args_count++] = own;
    memcpy(own, args, call->op->args_size);
    bg__proof_substitute_copies(p, call->op, own);
    scope = bg__body_enter(BG_PHASE_CAPTURE, call);
    capture->in_body = true; /* calls of ops, and events, do not belong to the pass */
    call->want = NULL;       /* keeps the arguments of the captured call */
    self->observe = record_nested_op;
    self->observer = p;
    status = bg__call_run(call, call->op->body, own, p->stream);
    self->observe = before.observe;
    self->observer = before.observer;
    call->want = want;
    capture->in_body = false;
    bg__body_leave(scope);
    if (status == BG_OK)
        bg__foreign_error_note(); /* the body may have left a CUDA error of its own */
    call->stream = stream;
done:
    return status;
}

/* Uses the thread's capture mode of the pass, so that calls which it forbids there fail here, too. */
static bg_status capture_bodies(bg__proof *p, bool op)
{
    enum cudaStreamCaptureMode mode = p->piece->mode;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    if (op)
        status = capture_body(p, &p->op, p->run->args);
    for (int i = 0; !op && i < p->run->rule->count && status == BG_OK; i++)
        status = capture_body(p, p->run->calls[i], p->run->calls[i]->kept);
    BG__RELEASE(cudaThreadExchangeStreamCaptureMode(&mode));
done:
    return status;
}

/* Whether the error breaks the rules of captures: the op would fail in each capture. */
static bool is_capture_error(cudaError_t error)
{
    return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
}

bg_status bg__proof_classify_failure(bg__proof *p, bg_status status, bool by_op, const char *what)
{
    cudaError_t cause = bg__error_cuda_cause(),
                last = cudaPeekAtLastError(); /* last: the error of a call in the body */
    bool memory =
        cause == cudaErrorMemoryAllocation || last == cudaErrorMemoryAllocation || status == BG_ERROR_OUT_OF_MEMORY;

    if (status == BG_OK || bg__device_is_gone(cause))
        return status;
    bg__clear_cuda_error(last);
    by_op &=
        !memory && (is_capture_error(cause) || is_capture_error(last) || (cause == cudaSuccess && last == cudaSuccess));
    bg__proof_outcome_set(p->finding, by_op ? BG_FUSION_DIFFERS : BG_FUSION_UNPROVEN, "%s: %s", what, bg_last_error());
    return BG_OK;
}

/* CUDA removes no nodes from a graph with allocation nodes, so the calls' nodes would stay. */
static bg_status check_captured_nodes(bg__proof *p, cudaGraph_t graph, bool op)
{
    cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    BG__TRY(bg__graph_list_nodes(graph, &nodes, &count));
    if (op && count == 0)
        bg__proof_outcome_set(p->finding, BG_FUSION_DIFFERS, "its body queues no work on its stream");
    for (size_t i = 0; i < count && bg__proof_is_open(p); i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(nodes[i], &type));
        if (op && (type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree))
            bg__proof_outcome_set(p->finding, BG_FUSION_UNPROVEN,
                                  "its body allocates by cudaMallocAsync, and CUDA removes no nodes from a graph "
                                  "with allocations; use bg_scratch");
    }
done:
    free(nodes);
    return status;
}

bg_status bg__proof_capture_graph(bg__proof *p, bool op, int repeats, cudaGraphExec_t *exec)
{
    cudaGraph_t graph = NULL;
    cudaError_t error;
    bool failed, captured, capturing = true;
    bg_status status = BG_OK;

    bg__capturing_streams_enter();
    BG__TRY_CUDA(cudaStreamBeginCapture(p->stream, p->piece->capture->options.mode));
    bg__error_clear_cuda_cause();
    p->calls_ops = false;
    for (int i = 0; i < repeats && status == BG_OK; i++)
        status = capture_bodies(p, op);
    error = bg__stream_end_capture(p->stream, &graph);
    bg__capturing_streams_leave();
    capturing = false;
    failed = status != BG_OK && error == cudaSuccess;
    if (status == BG_OK && error != cudaSuccess)
        status = bg__fail_cuda(error, "cudaStreamEndCapture");
    else
        bg__clear_cuda_error(error);
    captured = status == BG_OK;
    if (captured && op && p->calls_ops)
        bg__proof_outcome_set(p->finding, BG_FUSION_DIFFERS,
                              "its body calls ops; the op of a rule must queue its work itself");
    if (status == BG_OK && bg__proof_is_open(p))
        BG__TRY(check_captured_nodes(p, graph, op));
    if (status == BG_OK && bg__proof_is_open(p)) {
        error = bg__instantiate_graph(graph, exec);
        if (error != cudaSuccess)
            status = bg__fail_cuda(error, "cudaGraphInstantiate");
    }
    status = bg__proof_classify_failure(p, status, op && !captured,
                                        op       ? (failed ? "its body failed" : "it cannot be captured")
                                        : failed ? "the calls cannot run again"
                                                 : "the calls cannot be captured again");
    if (status == BG_OK)
        status = bg__proof_agree_to_stop(p);
done:
    if (capturing)
        bg__capturing_streams_leave();
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    return status;
}
