/* The program's graphs, by their executable graphs. No call of CUDA tells what an executable graph holds: so the graph
 * that it was made from is copied at once (PyTorch destroys its own right afterwards), and what changes the executable
 * graph changes the copy. Of a graph that CUDA cannot copy (memory nodes, conditional nodes) the program's own is kept:
 * its destruction waits for that of the executable graph. */
#include "attach.h"
#include "blocks.h"
#include "listing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>
#include <unistd.h>

#include "debug/check/check.h"
#include "debug/check/node_pointers.h"
#include "debug/graph/tools.h"
#include "debug/hooks/replay_tools.h"
#include "debug/report/process_report.h"

typedef struct attached {
    CUgraphExec exec;
    cudaGraph_t source; /* a copy, or the program's own; NULL: there is none */
    bool own;           /* it is the program's own */
    bool doomed;        /* which the program has destroyed */
    bg_graph *graph;    /* wraps source and exec; NULL: it could not be made */
    cJSON *row;         /* of the listing; NULL: it could not be made */
    uint64_t updates;
    bg_report *report;      /* what checks have found so far */
    int told;               /* of its findings */
    uint64_t version;       /* of memory, when it was last checked */
    bg__block_uses *blocks; /* of an allocator of the program's; NULL: not noted */
    bool blocks_noted;
    bool checked; /* at least once */
    bool stale;   /* the executable graph is another one than source: CUDA has no call that tells */
    bool noted;   /* where its addresses point is known */
    bool lost;    /* the table has no memory for it */
    UT_hash_handle hh;
} attached;

static struct {
    pthread_mutex_t lock;
    attached *by_exec;
    _Atomic unsigned long made; /* graphs: the next one's number */
    uint64_t version;           /* of memory: it moves with each allocation and free */
    pid_t process;              /* that it is of; not of a child */
    bool checks, steps;
    cJSON *ended; /* rows of graphs that are gone */
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

bg_status bg__book_begin(void)
{
    int check, debug;
    bg_status status;

    book.process = getpid();
    book.ended = cJSON_CreateArray();
    if (book.ended == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the list of graphs");
    BG__TRY(bg__env_choice("BG_CHECK", &check));
    BG__TRY(bg__env_choice("BG_DEBUG", &debug));
    book.checks = check > 0;
    book.steps = BG_DEBUG_OFF + debug == BG_DEBUG_STEP;
done:
    return status;
}

static attached *find_attached(CUgraphExec exec)
{
    attached *found;
    HASH_FIND_PTR(book.by_exec, &exec, found);
    return found;
}

static void warn_incomplete(const attached *a)
{
    bg__warn("--attach: %s is listed or checked in part: %s",
             a->graph != NULL ? bg__graph_name(a->graph) : "a graph of the program", bg_last_error());
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

static void take_copy(attached *a, cudaGraph_t source)
{
    cudaError_t error = cudaGraphClone(&a->source, source);
    a->own = error != cudaSuccess;
    if (a->own) {
        bg__ignore(error);
        a->source = source;
    }
}

/* Whether another executable graph was made from it, too. */
static bool is_shared(cudaGraph_t source, const attached *but)
{
    for (const attached *a = book.by_exec; a != NULL; a = a->hh.next)
        if (a != but && a->source == source)
            return true;
    return false;
}

static void drop_source(attached *a)
{
    cudaGraph_t source = a->source;
    bool ours = !a->own || (a->doomed && !is_shared(source, a));
    a->source = NULL;
    a->own = a->doomed = false;
    if (source != NULL && ours)
        BG__RELEASE(cudaGraphDestroy(source));
}

/* With the lock; it is no longer in the table. */
static void free_attached(attached *a)
{
    if (a == NULL)
        return;
    if (a->row != NULL) {
        bg__listing_count(a->row, bg__graph_replays(a->graph), a->updates);
        cJSON_AddItemToArray(book.ended, a->row);
    }
    bg__blocks_free(a->blocks);
    bg_report_destroy(a->report);
    bg_graph_destroy(a->graph);
    drop_source(a);
    free(a);
}

static bg_status describe(attached *a, cudaGraph_t source, const bg__stack *made, size_t memory)
{
    const bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    char name[32];
    bg_status status;

    snprintf(name, sizeof name, "graph#%lu", book.made++);
    BG__TRY(bg_graph_wrap(&a->graph, a->source, (cudaGraphExec_t)a->exec, name));
    BG__TRY(bg__report_create(&a->report, "check", name));
    bg__wrapped_set_mirrored(a->graph, !a->own);
    BG__TRY(bg__node_calls_add(a->graph, source));
    BG__TRY(bg__replay_tools_check_env(a->graph, book.steps));
    BG__TRY(bg__nodes_note(a->graph));
    a->noted = true;
    BG__TRY(bg__replay_tools_attach(a->graph, NULL, NULL, &options));
    a->version = book.version;
    a->row = bg__listing_row(a->graph, made, memory);
done:
    return status;
}

void bg__book_add(CUgraphExec exec, cudaGraph_t source, const bg__stack *made, size_t memory)
{
    attached *a = calloc(1, sizeof *a), *old = NULL;

    if (a == NULL) {
        bg__warn("--attach: out of host memory: a graph of the program's is not listed");
        return;
    }
    a->exec = exec;
    pthread_mutex_lock(&book.lock);
    take_copy(a, source);
    HASH_REPLACE_PTR(book.by_exec, exec, a, old);
    free_attached(old);
    if (describe(a, source, made, memory) != BG_OK)
        warn_incomplete(a);
    if (a->lost)
        free_attached(a);
    pthread_mutex_unlock(&book.lock);
}

void bg__book_remove(CUgraphExec exec)
{
    attached *a;
    pthread_mutex_lock(&book.lock);
    a = find_attached(exec);
    if (a != NULL)
        HASH_DEL(book.by_exec, a);
    free_attached(a);
    pthread_mutex_unlock(&book.lock);
}

bool bg__book_keeps(cudaGraph_t source)
{
    bool kept = false;
    pthread_mutex_lock(&book.lock);
    for (attached *a = book.by_exec; a != NULL; a = a->hh.next) {
        if (a->source == source && a->own)
            a->doomed = kept = true;
    }
    pthread_mutex_unlock(&book.lock);
    return kept;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

void bg__book_update(CUgraphExec exec, cudaGraph_t source)
{
    attached *a;
    pthread_mutex_lock(&book.lock);
    a = find_attached(exec);
    if (a != NULL && a->graph != NULL) {
        drop_source(a);
        take_copy(a, source);
        a->stale = false;
        bg__wrapped_set_mirrored(a->graph, !a->own);
        a->updates++;
        a->noted = a->blocks_noted = false;
        if (bg__wrapped_replace(a->graph, a->source) != BG_OK || bg__node_calls_add(a->graph, source) != BG_OK)
            warn_incomplete(a);
    }
    pthread_mutex_unlock(&book.lock);
}

/* What is in it then, nobody knows: it is launched as it is. */
static void set_stale(attached *a)
{
    if (!a->stale && a->report != NULL) {
        bg__report_add(
            a->report, "not-stepped", BG_NOTE, NULL, NULL,
            "update the executable graph from another graph instead (cuGraphExecUpdate)",
            "%s is neither checked nor stepped from now on: the program set something in its executable graph "
            "that CUDA cannot set in a copy, such as a disabled node",
            bg__graph_name(a->graph));
        bg__process_report_add(a->report);
    }
    a->stale = true;
}

/* The program's own graph is not changed: what it sets is in the executable graph alone. */
void bg__book_set_node(CUgraphExec exec, cudaGraphNode_t node, bg__node_setter *set, const void *params)
{
    cudaGraphNode_t twin = NULL;
    attached *a;

    pthread_mutex_lock(&book.lock);
    a = find_attached(exec);
    if (a != NULL && a->graph != NULL) {
        cudaError_t error =
            a->own || set == NULL ? cudaErrorNotSupported : cudaGraphNodeFindInClone(&twin, node, a->source);
        if (error == cudaSuccess)
            error = (cudaError_t)set((CUgraphNode)twin, params);
        bg__ignore(error);
        if (error != cudaSuccess)
            set_stale(a);
        a->updates++;
        a->noted = a->blocks_noted = false;
    }
    pthread_mutex_unlock(&book.lock);
}

void bg__book_note_blocks(void)
{
    pthread_mutex_lock(&book.lock);
    for (attached *a = book.by_exec; a != NULL && book.checks; a = a->hh.next) {
        if (a->blocks_noted || a->graph == NULL)
            continue;
        if (bg__blocks_note(a->graph, &a->blocks) != BG_OK)
            warn_incomplete(a);
        a->blocks_noted = true;
    }
    pthread_mutex_unlock(&book.lock);
}

bool bg__book_is_empty(void)
{
    return book.made == 0;
}

void bg__book_memory_moved(void)
{
    pthread_mutex_lock(&book.lock);
    book.version++;
    pthread_mutex_unlock(&book.lock);
}

/* ---- launches -------------------------------------------------------------------------------------------------- */

/* What was set in it since the last look is the program's will: only what moved since then is a finding. */
static bg_status note_nodes(attached *a)
{
    bg_status status = BG_OK;
    if (!a->noted) {
        bg__nodes_forget(a->graph);
        BG__TRY(bg__nodes_note(a->graph));
        a->noted = true;
    }
done:
    return status;
}

static bg_status check_launch(attached *a)
{
    bg_status status = BG_OK;

    BG__TRY(note_nodes(a));
    if (a->checked && a->version == book.version)
        goto done;
    BG__TRY(bg__check_nodes(a->graph, a->report));
    bg__blocks_check(a->blocks, a->report);
    BG__TRY(bg__check_host_memory(a->graph, __builtin_frame_address(0), a->report));
    a->version = book.version;
    a->checked = true;
    if (bg_report_count(a->report) > a->told) {
        a->told = bg_report_count(a->report);
        bg__report_print(a->report, stderr);
        bg__process_report_add(a->report);
    }
done:
    return status;
}

/* true: the program gets *result. Where the tool failed, and not the graph, it is launched as a whole. */
static bool step_launch(attached *a, cudaStream_t stream, CUresult *result)
{
    bg_status status = bg_replay(a->graph, stream != NULL ? stream : cudaStreamLegacy);
    *result = status == BG_OK ? CUDA_SUCCESS : (CUresult)bg__fail_cause();
    if (status == BG_OK || status == BG_ERROR_STOPPED || *result != CUDA_SUCCESS)
        return true;
    bg__warn("--attach: %s is launched as a whole: %s", bg__graph_name(a->graph), bg_last_error());
    return false;
}

bool bg__book_launch(CUgraphExec exec, cudaStream_t stream, CUresult *result)
{
    attached *a;
    bool answered = false;

    pthread_mutex_lock(&book.lock);
    a = find_attached(exec);
    if (a != NULL && a->graph != NULL) {
        if (book.checks && !a->stale && check_launch(a) != BG_OK)
            warn_incomplete(a);
        answered = book.steps && !a->stale && step_launch(a, stream, result);
        if (!answered) {
            bg__graph_count_replay(a->graph);
            bg__process_report_count_replay();
        }
    }
    pthread_mutex_unlock(&book.lock);
    return answered;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

static const struct timespec *deadline(void)
{
    static struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec++;
    return &at;
}

/* A program may end while its threads launch: what is listed is what they had done so far. */
__attribute__((destructor)) static void end_book(void)
{
    bg_report *report = NULL;
    cJSON *rows;

    if (book.process != getpid() || pthread_mutex_timedlock(&book.lock, deadline()) != 0)
        return; /* a thread that steps may wait for what this one does no more */
    if (book.made > 0 && bg__report_create(&report, "attach", program_invocation_short_name) == BG_OK &&
        (rows = bg__report_part(report, "graphs")) != NULL) {
        for (cJSON *row = cJSON_DetachItemFromArray(book.ended, 0); row != NULL;
             row = cJSON_DetachItemFromArray(book.ended, 0))
            cJSON_AddItemToArray(rows, row);
        for (attached *a = book.by_exec; a != NULL; a = a->hh.next) {
            bg__listing_count(a->row, a->graph != NULL ? bg__graph_replays(a->graph) : 0, a->updates);
            if (a->row != NULL)
                cJSON_AddItemToArray(rows, a->row);
            a->row = NULL;
        }
        bg__process_report_add(report);
    }
    bg_report_destroy(report);
    pthread_mutex_unlock(&book.lock);
}
