/* Observes each driver call during a capture. A failed call after which a capture is newly invalidated is the culprit.
 */
#include "captures.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/attach/events/subscribers.h"
#include "debug/attach/memory/block_table.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/report/running_file.h"
#include "debug/files/json.h"

static struct {
    pthread_mutex_t lock;
    bg__open_capture *list; /* the newest first */
    atomic_int count;
    atomic_int inside; /* observed calls that have not returned */
    bool checks;       /* findings are wanted */
} open_captures = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool bg__captures_are_open(void)
{
    return atomic_load(&open_captures.count) > 0;
}

/* CU_STREAM_PER_THREAD is another stream in each thread. */
static bool is_per_thread(CUstream stream)
{
    return stream == CU_STREAM_PER_THREAD;
}

static bool is_origin(const bg__open_capture *c, CUstream stream)
{
    return c->stream == stream && (!is_per_thread(stream) || c->thread.id == bg__thread_info_here().id);
}

static bool is_member(const bg__open_capture *c, CUstream stream)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->streams[i].stream == stream)
            return true;
    return is_origin(c, stream);
}

static CUstreamCaptureStatus capture_status(const bg__open_capture *c)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    bg__capture_info_function info;
    if ((is_per_thread(c->stream) && c->thread.id != bg__thread_info_here().id) ||
        bg__driver_find_capture_info(&info) != BG_OK ||
        info(c->stream, &status, NULL, NULL, NULL, NULL, NULL) != CUDA_SUCCESS)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return status;
}

static void remove_capture_locked(bg__open_capture **at)
{
    bg__open_capture *c = *at;
    *at = c->next;
    bg__blocks_capture_ended(c->id, NULL); /* no effect if it has ended well */
    if (!c->reported && c->suspect.function != NULL)
        bg__culprit_report(c, &c->suspect);
    for (size_t i = 0; i < c->count; i++)
        free(c->streams[i].node);
    bg__running_remove_row(c->running);
    free(c->streams);
    free(c);
    if (atomic_fetch_sub(&open_captures.count, 1) == 1)
        bg__shim->watch(false);
}

/* Returns the kernel's name, "set_flag"; "" if the node is no kernel node. The caller frees the name. */
static char *kernel_node_name(CUgraphNode node)
{
    CUresult (*get)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);
    void *address = bg__shim->real("cuGraphKernelNodeGetParams_v2");
    CUDA_KERNEL_NODE_PARAMS params;
    char *name = NULL;

    memcpy(&get, &address, sizeof get);
    if (get != NULL && get(node, &params) == CUDA_SUCCESS)
        name = bg__function_short_name(params.func != NULL ? (void *)params.func : (void *)params.kern);
    return name != NULL ? name : strdup("");
}

/* Records the last launch. The command shows it if the program dies during the capture, for example in a wait for work
 * that it has only captured. */
static void record_running_locked(bg__open_capture *c, CUgraphNode node, const bg__stack *stack)
{
    const bg_site begun = c->begun != NULL ? bg__stack_site(c->begun) : (bg_site){NULL, 0};
    const bg_site site = stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0};
    char *name = kernel_node_name(node), *text = NULL;
    cJSON *row = cJSON_CreateObject();

    if (row != NULL && name != NULL && cJSON_AddStringToObject(row, "call", name) &&
        cJSON_AddStringToObject(row, "file", site.file != NULL ? site.file : "") &&
        cJSON_AddNumberToObject(row, "line", site.line) &&
        cJSON_AddStringToObject(row, "begun", begun.file != NULL ? begun.file : "an unknown place") &&
        cJSON_AddNumberToObject(row, "begun_line", begun.line))
        text = bg__json_text(row, false);
    bg__running_remove_row(c->running);
    c->running = -1;
    if (text != NULL) {
        text[strlen(text) - 1] = '\0'; /* the last brace */
        c->running = bg__running_add_row(text, ++c->launches);
    }
    cJSON_free(text);
    cJSON_Delete(row);
    free(name);
}

static bg__open_capture **find_by_origin_locked(CUstream stream)
{
    bg__open_capture **at = &open_captures.list;
    while (*at != NULL && !is_origin(*at, stream))
        at = &(*at)->next;
    return at;
}

static void add_capture(CUstream stream, CUstreamCaptureMode mode)
{
    bg__open_capture *c = calloc(1, sizeof *c);
    CUstreamCaptureStatus status;
    bg__capture_info_function info;
    cuuint64_t id = 0;

    if (c == NULL || bg__driver_find_capture_info(&info) != BG_OK ||
        info(stream, &status, &id, NULL, NULL, NULL, NULL) != CUDA_SUCCESS) {
        bg__warn("--attach: a capture is not checked: out of host memory, or the driver does not report it");
        free(c);
        return;
    }
    *c = (bg__open_capture){.stream = stream,
                            .id = id,
                            .mode = mode,
                            .thread = bg__thread_info_here(),
                            .begun = bg__stack_here(),
                            .running = -1};
    pthread_mutex_lock(&open_captures.lock);
    if (*find_by_origin_locked(stream) != NULL) /* its end was missed */
        remove_capture_locked(find_by_origin_locked(stream));
    c->next = open_captures.list;
    open_captures.list = c;
    if (atomic_fetch_add(&open_captures.count, 1) == 0)
        bg__shim->watch(true);
    bg__blocks_capture_begun(id);
    pthread_mutex_unlock(&open_captures.lock);
}

/* Returns the capture that the stream is in, or NULL. */
static const bg__open_capture *find_by_stream_locked(CUstream stream)
{
    CUstreamCaptureStatus status;
    bg__capture_info_function info;
    cuuint64_t id = 0;
    const bg__open_capture *c = open_captures.list;

    if (bg__driver_find_capture_info(&info) != BG_OK ||
        info(stream, &status, &id, NULL, NULL, NULL, NULL) != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE)
        return NULL;
    while (c != NULL && c->id != id)
        c = c->next;
    return c;
}

/* The call failed to begin a capture: on the legacy default stream, or on a stream that captures already. */
static void report_refused(const char *function, uint32_t result, CUstream stream)
{
    bg__culprit culprit = {.function = function, .result = result, .stack = bg__stack_here()};
    const bg__open_capture *other = NULL;

    if (!open_captures.checks)
        return;
    pthread_mutex_lock(&open_captures.lock);
    if (result == CUDA_ERROR_ILLEGAL_STATE)
        other = find_by_stream_locked(stream);
    if (other != NULL || result != CUDA_ERROR_ILLEGAL_STATE)
        bg__culprit_report_refused(other, &culprit);
    pthread_mutex_unlock(&open_captures.lock);
}

static void record_begun(const bg__event *event)
{
    if (event->result == CUDA_SUCCESS)
        add_capture(event->stream, event->mode);
    else if (event->result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || event->result == CUDA_ERROR_ILLEGAL_STATE)
        report_refused(bg__call_name(event->call), event->result, event->stream);
}

const bg__stack *bg__capture_of_thread(CUstream *stream)
{
    const bg__stack *begun = NULL;
    const pid_t thread = bg__thread_info_here().id;
    pthread_mutex_lock(&open_captures.lock);
    for (bg__open_capture *c = open_captures.list; c != NULL && open_captures.checks; c = c->next)
        if (c->thread.id == thread && capture_status(c) == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
            begun = c->mode != CU_STREAM_CAPTURE_MODE_RELAXED ? c->begun : NULL;
            *stream = c->stream;
            break;
        }
    pthread_mutex_unlock(&open_captures.lock);
    return begun;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

static void record_launch_locked(bg__open_capture *c, CUstream stream, CUgraphNode node, const bg__stack *stack)
{
    size_t i = 0;
    while (i < c->count && c->streams[i].stream != stream)
        i++;
    if (i == c->count) {
        if (BG__ARRAY_GROW(c->streams, c->count, c->capacity, "streams of a capture") != BG_OK)
            return;
        c->count++;
    }
    c->streams[i] = (bg__capture_stream){stream, node, stack, false, NULL};
}

static void record_launch(const bg__event *event)
{
    pthread_mutex_lock(&open_captures.lock);
    for (bg__open_capture *c = open_captures.list; c != NULL && open_captures.checks; c = c->next)
        if (c->id == event->capture) {
            record_launch_locked(c, event->stream, event->node, event->stack);
            record_running_locked(c, event->node, event->stack);
        }
    pthread_mutex_unlock(&open_captures.lock);
}

static bool has_node(const CUgraphNode *nodes, size_t count, CUgraphNode node)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static bool has_dependents(CUgraphNode node)
{
    size_t count = 0;
    cudaError_t error = cudaGraphNodeGetDependentNodes((cudaGraphNode_t)node, NULL, NULL, &count);
    bg__clear_cuda_error(error);
    return error != cudaSuccess || count > 0; /* after an error no stream is named */
}

/* Marks the streams that are not joined: neither a node nor the stream where the capture began depends on their last
 * node. Such a stream makes the end of the capture fail. Call this before the end, which destroys the graph. */
static bg_status mark_unjoined_locked(bg__open_capture *c)
{
    CUstreamCaptureStatus captures = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUgraphEdgeData *data;
    const CUgraphNode *frontier;
    CUgraph graph;
    bg__capture_info_function info;
    size_t waited = 0;
    bg_status status;

    BG__TRY(bg__driver_find_capture_info(&info));
    if (info(c->stream, &captures, NULL, &graph, &frontier, &data, &waited) != CUDA_SUCCESS ||
        captures != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        goto done;
    for (size_t i = 0; i < c->count; i++) {
        bg__capture_stream *s = &c->streams[i];
        s->unjoined = !has_node(frontier, waited, s->last) && !has_dependents((CUgraphNode)s->last);
        if (s->unjoined && s->node == NULL)
            s->node = bg__node_name((cudaGraph_t)graph, (cudaGraphNode_t)s->last);
    }
done:
    return status;
}

static void prepare_end(const bg__event *event)
{
    CUstream stream = event->stream;
    bg__open_capture *c;
    pthread_mutex_lock(&open_captures.lock);
    c = *find_by_origin_locked(stream);
    if (c != NULL && (c->count > 1 || (c->count == 1 && c->streams[0].stream != stream)))
        (void)mark_unjoined_locked(c); /* after an error no stream is named */
    pthread_mutex_unlock(&open_captures.lock);
}

static void record_ended(const bg__event *event)
{
    const CUstream stream = event->stream;
    const uint32_t result = event->result;
    bg__open_capture **at, *c;
    bg__culprit end = {.function = "cuStreamEndCapture", .result = result};

    pthread_mutex_lock(&open_captures.lock);
    at = find_by_origin_locked(stream);
    c = *at;
    if (c != NULL && result != CUDA_SUCCESS && open_captures.checks && !c->reported) {
        end.thread = bg__thread_info_here();
        end.stack = bg__stack_here();
        if (result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
            bg__culprit_report_unjoined(c, &end);
        else if (result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && bg__culprit_explain(c, &end, true))
            bg__culprit_report(c, &end);
        else if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED && c->suspect.function == NULL)
            bg__culprit_report(c, &(bg__culprit){.stack = end.stack});
    }
    if (c != NULL && result == CUDA_SUCCESS)
        bg__blocks_capture_ended(c->id, event->source);
    if (c != NULL && (result == CUDA_SUCCESS || capture_status(c) == CU_STREAM_CAPTURE_STATUS_NONE))
        remove_capture_locked(at);
    pthread_mutex_unlock(&open_captures.lock);
}

/* ---- all calls -------------------------------------------------------------------------------------------------- */

/* Removes captures on streams that the call destroys: CUDA must not be asked about them afterwards. */
static void remove_destroyed_streams(const char *function, CUstream stream)
{
    bool all = strncmp(function, "cuCtxDestroy", 12) == 0 || strncmp(function, "cuDevicePrimaryCtxReset", 23) == 0;
    if (!all && strncmp(function, "cuStreamDestroy", 15) != 0)
        return;
    pthread_mutex_lock(&open_captures.lock);
    for (bg__open_capture **at = &open_captures.list; *at != NULL;)
        if (all || is_origin(*at, stream))
            remove_capture_locked(at);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&open_captures.lock);
}

static void begin_call(const bg__event *event)
{
    atomic_fetch_add(&open_captures.inside, 1);
    remove_destroyed_streams(bg__call_name(event->call), bg__call_argument(event->call, 0));
}

/* If several threads make calls, the culprit is the call that a rule forbids, not another call that merely fails. */
static void check_call_locked(bg__open_capture *c, const bg__driver_call *call)
{
    bg__culprit culprit = {.function = bg__call_name(call), .result = call->result};

    if (c->reported || capture_status(c) != CU_STREAM_CAPTURE_STATUS_INVALIDATED)
        return;
    culprit.thread = bg__thread_info_here();
    culprit.stack = bg__stack_here();
    if (bg__culprit_explain(c, &culprit, is_member(c, bg__call_stream(call, bg__call_argument(call, 0)))) ||
        atomic_load(&open_captures.inside) == 1) {
        bg__culprit_report(c, &culprit);
        c->reported = true;
    } else if (c->suspect.function == NULL) {
        c->suspect = culprit;
    }
}

/* No call that invalidates a capture returns these results. NOT_READY: the stream still has work. CAPTURE_INVALIDATED:
 * an earlier call invalidated the capture. */
static bool cannot_invalidate(uint32_t result)
{
    return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

static void end_call(const bg__event *event)
{
    if (!cannot_invalidate(event->result)) {
        pthread_mutex_lock(&open_captures.lock);
        for (bg__open_capture *c = open_captures.list; c != NULL; c = c->next)
            check_call_locked(c, event->call);
        pthread_mutex_unlock(&open_captures.lock);
    }
    atomic_fetch_sub(&open_captures.inside, 1);
}

static bg_status begin_checks(void)
{
    open_captures.checks = true;
    bg__running_create_file();
    return BG_OK;
}

/* Reports the remaining suspects when the program ends. */
static void report_suspects(const bg__event *event)
{
    (void)event;
    if (pthread_mutex_trylock(&open_captures.lock) != 0)
        return; /* another thread still uses the list */
    for (bg__open_capture *c = open_captures.list; c != NULL; c = c->next)
        if (!c->reported && c->suspect.function != NULL)
            bg__culprit_report(c, &c->suspect);
    pthread_mutex_unlock(&open_captures.lock);
}

const bg__subscriber bg__fact_captures = {
    .name = "open captures",
    .on = {[BG__CAPTURE_BEGUN] = record_begun,
           [BG__CAPTURE_ENDING] = prepare_end,
           [BG__CAPTURE_ENDED] = record_ended,
           [BG__NODE_CAPTURED] = record_launch},
};

const bg__subscriber bg__check_captures = {
    .name = "captures",
    .when = ~0U,
    .begin = begin_checks,
    .on = {[BG__CALL_BEGUN] = begin_call, [BG__CALL_ENDED] = end_call, [BG__END] = report_suspects},
};
