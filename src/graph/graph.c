/* Graphs: create, destroy and query. */
#include "graph/graph.h"

#include "graph/compile_table.h"

#include "op/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- create and destroy ---- */

bg_status bg__graph_create(bg_graph **result, const char *name, bg_pool *pool)
{
    bg_status status = BG_OK;
    bg_graph *graph = calloc(1, sizeof *graph);
    if (graph != NULL)
        graph->name = strdup(name ? name : "graph");
    if (graph == NULL || graph->name == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a graph");
    graph->root.recorded = true;
    graph->root.memory = &graph->root.own;
    BG__TRY_CUDA(cudaGetDevice(&graph->device));
    graph->pool = pool;
    bg__pool_retain(pool);
    graph->use = pool ? bg__pool_last_use(pool) : &graph->own_use;
    if (pool == NULL)
        BG__TRY(bg__last_use_init(graph->use));
    *result = graph;
    graph = NULL;
done:
    bg_graph_destroy(graph);
    return status;
}

cudaError_t bg__instantiate_graph(cudaGraph_t graph, cudaGraphExec_t *exec)
{
    /* Memory that a segment allocates and no segment frees is freed by its next launch. */
    return cudaGraphInstantiate(exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
}

static void free_eager_call(bg__eager_call *eager)
{
    for (int i = 0; eager->copies != NULL && i < eager->outputs; i++)
        free(eager->copies[i]);
    free(eager->copies);
    bg__writeback_free(eager->writeback_nodes);
    free(eager->captured);
    free(eager->args);
    free(eager->work);
    free(eager);
}

bg_status bg__graph_add_eager_call(bg_graph *graph, bg__call *call, const void *args, bg__eager_call **result)
{
    size_t outputs = (size_t)bg__output_count(call->op);
    bg__eager_call *eager = calloc(1, sizeof *eager);
    if (eager == NULL)
        goto out_of_memory;
    eager->call = call;
    eager->outputs = (int)outputs;
    eager->results = bg__op_has_results(call->op);
    eager->body = call->op->body;
    eager->args = malloc(call->op->args_size);
    eager->work = malloc(call->op->args_size);
    eager->copies = calloc(outputs + 1, sizeof(bg__writeback_copy *));
    eager->captured = calloc(outputs + 1, sizeof *eager->captured);
    if (eager->args == NULL || eager->work == NULL || eager->copies == NULL || eager->captured == NULL)
        goto out_of_memory;
    memcpy(eager->args, args, call->op->args_size);
    eager->previous = graph->eagers;
    graph->eagers = eager;
    call->eager_record = eager;
    *result = eager;
    return BG_OK;
out_of_memory:
    if (eager != NULL)
        free_eager_call(eager);
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a call of %s", call->op->name);
}

static void free_forward(bg__forward *forward)
{
    if (forward == NULL)
        return;
    bg__override_free(forward->override);
    if (forward->event != NULL)
        BG__RELEASE(cudaEventDestroy(forward->event));
    free(forward);
}

/* Work on the device may read the closures of calls, such as the data of a host node. No event is recorded on a stream
 * that captures: use->event then stands for the uses before that stream's. */
static void wait_for_last_use(const bg_graph *graph)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    const bg__last_use *use = graph->use;
    const char *call = "cudaStreamIsCapturing";
    cudaError_t error = cudaSuccess;

    if (!graph->keeps)
        return;
    if (use->stream != NULL)
        error = cudaStreamIsCapturing(use->stream, &capturing);
    if (error == cudaSuccess && use->stream != NULL && capturing == cudaStreamCaptureStatusNone)
        call = "cudaEventRecord", error = cudaEventRecord(use->event, use->stream);
    if (error == cudaSuccess)
        call = "cudaEventSynchronize", error = cudaEventSynchronize(use->event);
    bg__clear_cuda_error(error);
    if (error != cudaSuccess && !bg__device_is_gone(error))
        bg__warn("%s: %s failed with %s, so bg_graph_destroy did not wait for its work, which may still read "
                 "closures that are now destroyed",
                 graph->name, call, cudaGetErrorName(error));
}

/* The program may destroy the stream of the last replay after the graph, but the pool still orders uses after it:
 * record an event. Not on the legacy stream, which stays, nor on a stream that captures: the event would join the
 * capture. */
static void record_last_use(const bg_graph *graph)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusActive;
    const char *call = "cudaStreamIsCapturing";
    bg__last_use *use = graph->use;
    cudaError_t error;

    if (graph->pool == NULL || bg__last_use_is_busy(use) || use->stream == NULL || use->stream == cudaStreamLegacy)
        return;
    error = cudaStreamIsCapturing(use->stream, &capturing);
    if (error == cudaSuccess && capturing == cudaStreamCaptureStatusNone)
        call = "cudaEventRecord", error = bg__last_use_record_event(use, use->stream);
    bg__clear_cuda_error(error);
    if (error != cudaSuccess && !bg__device_is_gone(error))
        bg__warn("%s: %s failed with %s; keep the stream of the graph's last replay until the pool is used again, or "
                 "that use may begin before the replay has ended",
                 graph->name, call, cudaGetErrorName(error));
}

void bg_graph_destroy(bg_graph *graph)
{
    bg__relaxed_mode relaxed;
    bg__eager_call *previous;

    if (graph == NULL)
        return;
    bg__foreign_error_note();
    relaxed = bg__relaxed_mode_try_begin();
    for (int i = 0; i < graph->segment_count; i++) {
        /* CUDA keeps what a launch in flight needs. */
        if (graph->segments[i].exec != NULL && (!graph->wrapped || graph->instantiated))
            BG__RELEASE(cudaGraphExecDestroy(graph->segments[i].exec));
        if (!graph->wrapped)
            BG__RELEASE(cudaGraphDestroy(graph->segments[i].graph));
        free(graph->segments[i].origins);
    }
    wait_for_last_use(graph);
    record_last_use(graph);
    bg__last_use_clear(&graph->own_use);
    bg__relaxed_mode_end(relaxed);
    for (bg__eager_call *eager = graph->eagers; eager != NULL; eager = previous) {
        previous = eager->previous;
        free_eager_call(eager);
    }
    bg__owned_free(&graph->owned); /* the destroy functions may use the pool, or other memory of the graph */
    /* cudaFree waits for the work that uses the memory. */
    bg__call_clear(&graph->root);
    bg__recorded_addresses_clear(&graph->noted);
    bg_pool_destroy(graph->pool);
    if (graph->tools != NULL)
        bg__debug_hooks.destroyed(graph);
    if (graph->compiled != NULL)
        bg__compile_get_table()->destroyed(graph);
    bg__graph_leave_ranks(graph); /* after its executable graphs are destroyed */
    free_forward(graph->forward);
    free(graph->steps);
    free(graph->segments);
    free(graph->sites);
    free(graph->waits);
    free(graph->folded);
    free(graph->name);
    free(graph);
}

bg_status bg_graph_own(bg_graph *graph, void *object, void (*destroy)(void *object))
{
    BG__NEED(graph);
    BG__NEED(destroy);
    return bg__owned_add(&graph->owned, object, destroy);
}

/* ---- queries ---- */

static bg_status count_kernels(cudaGraph_t graph, size_t nodes, size_t *kernels)
{
    bg_status status = BG_OK;
    enum cudaGraphNodeType type;
    cudaGraphNode_t *list = calloc(nodes + 1, sizeof *list);
    if (list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", nodes);
    if (nodes > 0) /* CUDA refuses a list of none: docs/records/graph-rules.md#list_nodes */
        BG__TRY_CUDA(cudaGraphGetNodes(graph, list, &nodes));
    for (size_t i = 0; i < nodes; i++) {
        BG__TRY_CUDA(cudaGraphNodeGetType(list[i], &type));
        *kernels += type == cudaGraphNodeTypeKernel;
    }
done:
    free(list);
    return status;
}

bg_status bg_graph_get_info(const bg_graph *graph, bg_graph_info *info)
{
    bg_graph_info full = BG_GRAPH_INFO_INIT;
    bg_status status = BG_OK;

    BG__NEED(graph);
    BG__NEED(info);
    bg__foreign_error_note();
    full.name = graph->name;
    full.segments = graph->segment_count;
    full.breaks = graph->breaks;
    full.steps = graph->step_count;
    full.pool_bytes = graph->pool_bytes;
    full.graph_bytes = graph->graph_bytes;
    full.capture_ms = graph->capture_ms;
    full.instantiate_ms = graph->instantiate_ms;
    full.replays = graph->replays;
    for (const bg__call *call = &graph->root; call != NULL; call = bg__call_next(call)) {
        full.calls += call->op != NULL;
        full.bridge_bytes += bg__block_list_bytes(&call->own);
    }
    for (const bg__call *run = graph->root.runs; run != NULL; run = run->last_run)
        full.bridge_bytes += bg__block_list_bytes(&run->own);
    for (int i = 0; i < graph->segment_count; i++) {
        size_t nodes = graph->segments[i].nodes;
        if (graph->wrapped) /* the program may have changed it */
            BG__TRY_CUDA(cudaGraphGetNodes(graph->segments[i].graph, NULL, &nodes));
        full.nodes += nodes;
        BG__TRY(count_kernels(graph->segments[i].graph, nodes, &full.kernel_nodes));
    }
    status = bg__struct_copy_out(info, &full, sizeof full, "bg_graph_get_info: info", "BG_GRAPH_INFO_INIT");
done:
    return status;
}

bg_status bg_graph_get_call(const bg_graph *graph, int index, bg_call_info *info)
{
    bg_call_info full = BG_CALL_INFO_INIT;
    const bg__call *call;

    BG__NEED(graph);
    BG__NEED(info);
    call = bg__call_next(&graph->root);
    for (int i = 0; call != NULL && i < index; i++)
        call = bg__call_next(call);
    if (call == NULL || index < 0)
        return bg__fail(BG_ERROR_NOT_FOUND,
                        "bg_graph_get_call: graph %s has no call %d; bg_graph_info.calls is their number", graph->name,
                        index);
    full.name = call->name;
    full.op = call->op->name;
    full.file = call->site.file ? call->site.file : "";
    full.line = call->site.line;
    full.eager = call->eager;
    full.segment = call->eager ? -1 : call->segment;
    return bg__struct_copy_out(info, &full, sizeof full, "bg_graph_get_call: info", "BG_CALL_INFO_INIT");
}

static void *fail_unknown_call(const bg_graph *graph, const char *name)
{
    bg__nearest nearest = bg__nearest_begin(name, strlen(name));
    char hint[BG__HINT_BYTES];
    for (const bg__eager_call *eager = graph->eagers; eager != NULL; eager = eager->previous)
        bg__nearest_add(&nearest, eager->call->name, strlen(eager->call->name));
    bg__fail(BG_ERROR_NOT_FOUND,
             "bg_graph_args: graph %s has no eager call \"%s\" at a break%s; bg_graph_get_call lists the calls",
             graph->name, name, bg__nearest_hint(&nearest, "", hint));
    return NULL;
}

static void *fail_region_args(const char *name)
{
    bg__fail(
        BG_ERROR_INVALID_ARGUMENT,
        "bg_graph_args: %s is a call of bg_eager or bg_region_call, whose arguments cannot be changed; declare the "
        "op with BG_EAGER_OP",
        name);
    return NULL;
}

void *bg_graph_args(bg_graph *graph, const char *name, size_t size)
{
    if (graph == NULL || name == NULL) {
        bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_graph_args: %s is NULL", graph ? "call" : "graph");
        return NULL;
    }
    for (bg__eager_call *eager = graph->eagers; eager != NULL; eager = eager->previous) {
        if (strcmp(eager->call->name, name) != 0)
            continue;
        if (bg__region_get_args(eager->call->op, eager->args) != NULL)
            return fail_region_args(name);
        if (eager->call->op->args_size == size) {
            eager->exposed = true;
            return eager->args;
        }
        bg__fail(BG_ERROR_INVALID_ARGUMENT,
                 "bg_graph_args: the arguments of %s have %u bytes, not %zu; pass sizeof(%s_args)", name,
                 eager->call->op->args_size, size, eager->call->op->name);
        return NULL;
    }
    return fail_unknown_call(graph, name);
}

cudaGraph_t bg_graph_segment(const bg_graph *graph, int index)
{
    if (graph == NULL) {
        bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_graph_segment: graph is NULL");
        return NULL;
    }
    if (index < 0 || index >= graph->segment_count) {
        bg__fail(BG_ERROR_NOT_FOUND, "bg_graph_segment: there is no segment %d; graph %s has %d", index, graph->name,
                 graph->segment_count);
        return NULL;
    }
    return graph->segments[index].graph;
}
