/* The copy of a graph with the probes, and what they tell. */
#include "probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/memory/allocate.h"
#include "debug/report/json.h"

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

/* The device writes it, behind the row. */
static unsigned long long count_told(const bg__probes *p)
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
    bg__capture_info info;
    CUstreamCaptureStatus capturing;
    const CUgraphNode *nodes;
    size_t count;
    bg_status status = BG_OK;

    BG__TRY(bg__driver_capture_info(&info));
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
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    adding a = {.probes = p};
    bg_status status;

    BG__TRY(bg__relax_begin(&relaxed));
    BG__TRY(BG__ALLOCATE(a.added, p->count, "probes"));
    BG__TRY(allocate(p));
    BG__TRY_CUDA(cudaEventCreateWithFlags(&p->ended, cudaEventDisableTiming));
    BG__TRY_CUDA(cudaGraphClone(&a.graph, r->attached->source));
    BG__TRY_CUDA(cudaStreamCreateWithFlags(&a.stream, cudaStreamNonBlocking));
    BG__TRY(add_all(&a));
done:
    if (a.stream != NULL)
        BG__RELEASE(cudaStreamDestroy(a.stream));
    if (a.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(a.graph));
    free(a.added);
    bg__relax_end(relaxed);
    return status;
}

void bg__probes_free(bg__probes *p)
{
    bg__relaxed relaxed;
    bool idle;

    if (p == NULL)
        return;
    idle = p->ring == NULL || count_told(p) == p->launched; /* else the device may still write there, and it stays */
    relaxed = bg__relax_to_release();
    if (p->exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(p->exec));
    if (p->ended != NULL)
        BG__RELEASE(cudaEventDestroy(p->ended));
    if (p->ring != NULL && idle)
        BG__RELEASE(cudaFreeHost(p->ring));
    if (idle)
        bg__device_free(p->results);
    bg__relax_end(relaxed);
    free(p->list);
    free(p);
}

/* ---- what they tell --------------------------------------------------------------------------------------------- */

void bg__probes_wait(const bg__probes *p)
{
    enum { WAIT_MS = 10000, PAUSE_US = 100 };
    static _Atomic bool hopeless; /* once is enough */
    bg__relaxed relaxed = bg__relax_to_release();
    double until = bg__now_ms() + WAIT_MS;
    cudaError_t error = cudaErrorNotReady;

    while (count_told(p) < p->launched && error == cudaErrorNotReady && !hopeless) {
        error = cudaEventQuery(p->ended);
        bg__ignore(error);
        hopeless = bg__now_ms() > until;
        if (error == cudaErrorNotReady)
            usleep(PAUSE_US);
    }
    bg__relax_end(relaxed);
}

static bool is_told(const bg__probes *p, const bg__probe *probe)
{
    return probe->call != NULL ? bg__report_has(p->attached->report, "nan-seen", probe->name) : probe->nan > 0;
}

static void report_nan(const bg__probes *p, const bg__probe *probe, const bgk_probe *now)
{
    static const char *const formats[] = {"f32", "f64", "f16", "bf16"};
    if (is_told(p, probe))
        return;
    bg__report_add(
        p->attached->report, "nan-seen", BG_WARNING, probe->call, (const void *)probe->begin,
        "probe the nodes before it, too; breakgraph step --attach finds where NaN come from, if they come "
        "there, too",
        "%s left %llu NaN and %llu infinities of type %s in the %zu bytes from %p, in launch %llu of the graph: of "
        "the nodes that are probed it is the first one with NaN in that launch",
        probe->name, now->nan, now->inf, formats[probe->format], probe->end - probe->begin, (const void *)probe->begin,
        p->before + p->read + 1);
}

static void report_difference(const bg__probes *p, const bg__probe *probe)
{
    bg__report_add(
        p->attached->report, "mismatch-origin", BG_WARNING, probe->call, (const void *)probe->begin,
        "breakgraph check --attach --what=orders finds which of the nodes lack an order",
        "%s left other bytes in launch %llu of the graph than where its nodes ran one after the other from the same "
        "memory, in the %zu bytes from %p: of the nodes that are probed it is the first one",
        probe->name, p->before + 1, probe->end - probe->begin, (const void *)probe->begin);
}

static bool is_comparable(const bg__probes *p, const bg__probe *probe)
{
    return !p->partial && probe->mixed == NULL && !probe->unstable;
}

static unsigned long long count_over(unsigned long long now, unsigned long long before)
{
    return now > before ? now - before : 0;
}

static void read_launch(bg__probes *p, const bgk_probe *row)
{
    bool nan = false, differs = false;
    for (size_t i = 0; i < p->count; i++) {
        bg__probe *probe = &p->list[i];
        bgk_probe now = {row[i].digest, count_over(row[i].nan, probe->other.nan),
                         count_over(row[i].inf, probe->other.inf)};
        if (now.nan > 0 && !nan)
            report_nan(p, probe, &now);
        if (p->read == 0 && is_comparable(p, probe) && now.digest != probe->alone.digest && !differs)
            report_difference(p, probe);
        nan |= now.nan > 0;
        differs |= is_comparable(p, probe) && now.digest != probe->alone.digest;
        probe->changes += p->read > 0 && now.digest != probe->last.digest;
        probe->nan += now.nan > 0;
        probe->inf += now.inf > 0;
        probe->last = now;
    }
}

void bg__probes_read(bg__probes *p)
{
    unsigned long long told = count_told(p);
    if (told - p->read > BG__PROBE_ROWS) {
        p->lost += told - BG__PROBE_ROWS - p->read;
        p->read = told - BG__PROBE_ROWS;
    }
    for (; p->read < told; p->read++)
        read_launch(p, p->ring + p->read % BG__PROBE_ROWS * p->count);
}

/* ---- rows of the report ----------------------------------------------------------------------------------------- */

/* Which of the probes of that name it is. */
static int place_of(const bg__probes *p, size_t index)
{
    int place = 0;
    for (size_t i = 0; i < index; i++)
        place += strcmp(p->list[i].name, p->list[index].name) == 0;
    return place;
}

static bool is_row_of(const cJSON *row, const char *name, int place)
{
    return row != NULL && strcmp(bg__json_string(row, "node"), name) == 0 &&
           (int)bg__json_number(row, "place") == place;
}

/* That of the same node's probe before the graph was updated; most often the one at the same index. NULL: none. */
static cJSON *find_row(cJSON *rows, const char *name, int place, size_t index)
{
    cJSON *row = cJSON_GetArrayItem(rows, (int)index);

    if (is_row_of(row, name, place))
        return row;
    cJSON_ArrayForEach(row, rows)
    {
        if (is_row_of(row, name, place))
            return row;
    }
    return NULL;
}

static cJSON *add_row(cJSON *rows, const bg__probes *p, const char *name, int place)
{
    cJSON *row = bg__json_add_object(rows);
    cJSON_AddStringToObject(row, "graph", bg__graph_name(p->attached->graph));
    cJSON_AddStringToObject(row, "node", name);
    cJSON_AddNumberToObject(row, "place", place);
    return row;
}

static void set_text(cJSON *row, const char *name, const char *text)
{
    cJSON_DeleteItemFromObjectCaseSensitive(row, name);
    cJSON_AddStringToObject(row, name, text);
}

static void add_number(cJSON *row, const char *name, unsigned long long number)
{
    double before = bg__json_number(row, name);
    cJSON_DeleteItemFromObjectCaseSensitive(row, name);
    cJSON_AddNumberToObject(row, name, before + (double)number);
}

static void list_probe(const bg__probes *p, size_t index, cJSON *row)
{
    const bg__probe *probe = &p->list[index];
    char digest[20], range[60];

    snprintf(digest, sizeof digest, "%016llx", probe->last.digest);
    snprintf(range, sizeof range, "%p+%zu", (const void *)probe->begin, probe->end - probe->begin);
    set_text(row, "range", range);
    add_number(row, "launches", p->read - p->lost);
    add_number(row, "not_read", p->launched - p->read + p->lost);
    add_number(row, "changes", probe->changes);
    add_number(row, "nan", probe->nan);
    add_number(row, "inf", probe->inf);
    if (p->read > 0 || bg__json_string(row, "digest")[0] == '\0')
        set_text(row, "digest", digest);
    set_text(row, "not_counted",
             probe->mixed != NULL             ? probe->mixed
             : probe->format == BGK_NO_FLOATS ? "the type is unknown"
                                              : "");
}

void bg__probes_list(const bg__probes *p)
{
    cJSON *rows = bg__report_part(p->attached->report, "probes"), *row;
    bool first = rows != NULL && rows->child == NULL;

    for (size_t i = 0; rows != NULL && i < p->count; i++) {
        const char *name = p->list[i].name;
        int place = place_of(p, i);
        row = first ? NULL : find_row(rows, name, place, i);
        list_probe(p, i, row != NULL ? row : add_row(rows, p, name, place));
    }
}
