/* The table of the program's graphs; the key is the executable graph. CUDA has no call that reads an executable graph.
 * So the table clones the source at instantiation (PyTorch destroys its own right afterwards), and applies to the clone
 * what the program changes in the executable graph. CUDA cannot clone some graphs (memory nodes, conditional nodes):
 * for these the table keeps the program's own graph, and destroys it only after the executable graph. */
#include "graph_table.h"
#include "in_place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "graph/debug_table.h"
#include "debug/attach/events/subscribers.h"
#include "debug/attach/stream_order/graph_inputs.h"
#include "debug/attach/checks/block_uses.h"
#include "debug/attach/memory/allocation_changes.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/nodes/node_memory.h"
#include "debug/attach/report/report_list.h"
#include "debug/attach/report/graph_rows.h"
#include "debug/check/node_pointers.h"
#include "debug/hooks/replay_tools.h"
#include "debug/hooks/step_replays.h"
#include "debug/report/process_report.h"
#include "debug/step/node_list.h"

#undef uthash_nonfatal_oom /* a graph owns more than itself */
#define uthash_nonfatal_oom(added) ((added)->lost = true)

static struct {
    pthread_mutex_t lock;
    bg__tracked_graph *by_exec;
    _Atomic unsigned long made; /* number of graphs instantiated */
    bool steps;
    bool blocks;                  /* record the allocators' blocks that nodes use */
    const bg__launcher *launcher; /* NULL: the program's launches are not replaced */
    _Atomic uint64_t blocks_moved;
    _Atomic int kept;           /* number of graphs whose source is the program's own */
    bg__ended_graph *ended;     /* rows of destroyed graphs */
    bg_report *list;            /* all graphs, as last written */
    _Atomic bool list_is_stale; /* list lacks some graphs */
    _Atomic double next_list;   /* when list may be written again, in seconds */
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

bg_status bg__graph_table_begin(void)
{
    unsigned check;
    int debug;
    bg_status status;

    bg__step_retry_begin();
    BG__TRY(bg__report_list_begin());
    BG__TRY(bg__env_choices("BG_CHECK", &check));
    BG__TRY(bg__env_choice("BG_DEBUG", &debug));
    bg__graph_inputs_enable((check & BG__CHECK_INPUTS) != 0);
    book.blocks = (check & (BG__CHECK_REPLAY | BG__CHECK_POISON)) != 0;
    book.steps = BG_DEBUG_OFF + debug == BG_DEBUG_STEP;
    if (book.steps)
        bg__events_set_replaced();
done:
    return status;
}

void bg__graph_table_exclude_thread(void)
{
    bg__shim->enter();
}

void bg__graph_table_set_launcher(const bg__launcher *launcher)
{
    book.launcher = launcher;
    bg__events_set_replaced();
}

const bg__launcher *bg__graph_table_launcher(void)
{
    return book.launcher;
}

static void drop_launcher_state(bg__tracked_graph *a)
{
    if (a->kept != NULL && book.launcher->settle != NULL)
        book.launcher->settle(a);
    if (a->kept != NULL && book.launcher->end != NULL)
        book.launcher->end(a);
    if (a->kept != NULL)
        book.launcher->drop(a->kept);
    a->kept = NULL;
}

void bg__tracked_graph_warn_partial(const bg__tracked_graph *a)
{
    bg__warn("--attach: %s is listed or checked only in part: %s",
             a->graph != NULL ? bg__graph_name(a->graph) : "a graph of the program", bg_last_error());
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

/* Returns a clone of `source`. If CUDA cannot clone it, returns `source` itself, and sets *own. */
static cudaGraph_t clone_source(cudaGraph_t source, bool *own)
{
    cudaGraph_t copy = NULL;
    cudaError_t error = cudaGraphClone(&copy, source);
    *own = error != cudaSuccess;
    bg__clear_cuda_error(error);
    return *own ? source : copy;
}

/* Whether another executable graph has the same source. */
static bool is_source_shared(cudaGraph_t source, const bg__tracked_graph *but)
{
    for (const bg__tracked_graph *a = book.by_exec; a != NULL; a = a->hh.next)
        if (a != but && a->source == source)
            return true;
    return false;
}

/* Replaces the source of a. Returns the old one if nobody needs it any more, else NULL. */
static cudaGraph_t exchange_source_locked(bg__tracked_graph *a, cudaGraph_t source, bool own)
{
    cudaGraph_t old = !a->own || (a->destroyed_by_program && !is_source_shared(a->source, a)) ? a->source : NULL;
    book.kept += own - a->own;
    a->source = source;
    a->own = own;
    a->destroyed_by_program = false;
    a->edited = false;
    return old;
}

static void destroy_source(cudaGraph_t source)
{
    if (source == NULL)
        return;
    bg__nodes_forget_makers(source);
    BG__RELEASE(cudaGraphDestroy(source));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static bg__tracked_graph *find_graph_locked(CUgraphExec exec)
{
    bg__tracked_graph *found;
    HASH_FIND_PTR(book.by_exec, &exec, found);
    return found;
}

static bg_status apply_name_locked(bg__tracked_graph *a)
{
    bg_status status;
    a->renamed = false;
    BG__TRY(bg__wrapped_set_name(a->graph, a->name));
    if (a->report != NULL)
        BG__TRY(bg__report_set_graph(a->report, a->name));
done:
    return status;
}

/* Applies a name that was set while another thread had the graph's lock. */
static void apply_pending_name(bg__tracked_graph *a)
{
    bg_status status;
    if (!a->renamed)
        return;
    pthread_mutex_lock(&book.lock);
    status = apply_name_locked(a);
    pthread_mutex_unlock(&book.lock);
    if (status != BG_OK)
        bg__tracked_graph_warn_partial(a);
}

static void update_row_locked(const bg__tracked_graph *a)
{
    bg__graph_row_set_counts(a->row, a->graph != NULL ? bg__graph_replays(a->graph) : 0, a->updates);
    bg__graph_row_set_outside_counts(a->row, a->cut, a->split, a->outside);
}

/* No thread has acquired a, and the table does not have it. */
static void free_tracked_graph(bg__tracked_graph *a)
{
    cudaGraph_t source;
    if (a == NULL)
        return;
    apply_pending_name(a);
    drop_launcher_state(a);
    bg__in_place_free(a);
    bg__block_uses_free(a->blocks);
    BG__DISPATCH(BG__EXEC_GONE, .graph = a, .exec = a->exec);
    if (a->report != NULL)
        bg__report_publish_new(a->report, &a->reported_count);
    free(a->states);
    bg__report_queue(a->report, a->returned_count);
    pthread_mutex_lock(&book.lock);
    update_row_locked(a);
    bg__ended_graphs_add(&book.ended, a->row, a->made);
    source = exchange_source_locked(a, NULL, false);
    pthread_mutex_unlock(&book.lock);
    bg_graph_destroy(a->graph);
    destroy_source(source);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Removes a from the table. The caller frees what is returned, without the lock. Returns NULL if a has users: the last
 * one frees it. */
static bg__tracked_graph *unlink_graph_locked(bg__tracked_graph *a)
{
    if (a == NULL)
        return NULL;
    HASH_DEL(book.by_exec, a);
    a->gone = true;
    return a->users == 0 ? a : NULL;
}

bg__tracked_graph *bg__tracked_graph_acquire(CUgraphExec exec)
{
    bg__tracked_graph *a;
    pthread_mutex_lock(&book.lock);
    a = find_graph_locked(exec);
    if (a != NULL && a->graph == NULL)
        a = NULL;
    if (a != NULL)
        a->users++;
    pthread_mutex_unlock(&book.lock);
    if (a != NULL) {
        pthread_mutex_lock(&a->lock);
        apply_pending_name(a);
    }
    return a;
}

void bg__tracked_graph_release(bg__tracked_graph *a)
{
    bool last;
    pthread_mutex_unlock(&a->lock);
    pthread_mutex_lock(&book.lock);
    last = --a->users == 0 && a->gone;
    pthread_mutex_unlock(&book.lock);
    if (last)
        free_tracked_graph(a);
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

static double now_seconds(void)
{
    return bg__now_ms() / 1000;
}

static bool add_row(cJSON *rows, cJSON *row)
{
    return row == NULL || cJSON_AddItemReferenceToArray(rows, row);
}

static void fill_list_locked(cJSON *rows)
{
    bool added = true;
    while (rows->child != NULL)
        cJSON_DeleteItemFromArray(rows, 0);
    for (bg__ended_graph *e = book.ended; e != NULL; e = e->hh.next)
        added = added && add_row(rows, e->row);
    for (bg__tracked_graph *a = book.by_exec; a != NULL; a = a->hh.next) {
        update_row_locked(a);
        added = added && add_row(rows, a->row);
    }
    if (!added)
        bg__warn("--attach: out of host memory: not all graphs are listed");
}

static void write_list_locked(void)
{
    double began = now_seconds();
    cJSON *rows;

    book.list_is_stale = false;
    if (book.list == NULL && bg__report_create(&book.list, "attach", program_invocation_short_name) != BG_OK)
        return;
    rows = bg__report_part(book.list, "graphs");
    if (rows == NULL)
        return;
    fill_list_locked(rows);
    bg__process_report_add(book.list);
    book.next_list = began + fmax(1, 20 * (now_seconds() - began));
}

void bg__graph_table_write_list_if_due(void)
{
    if (!book.list_is_stale || now_seconds() < book.next_list || pthread_mutex_trylock(&book.lock) != 0)
        return;
    write_list_locked();
    pthread_mutex_unlock(&book.lock);
}

static const struct timespec *lock_deadline(void)
{
    static struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec++;
    return &at;
}

static void end_launcher_locked(bg__tracked_graph *a)
{
    if (book.launcher == NULL || book.launcher->end == NULL || pthread_mutex_trylock(&a->lock) != 0)
        return;
    if (a->kept != NULL)
        book.launcher->end(a);
    pthread_mutex_unlock(&a->lock);
}

/* A program may end while its threads launch, so the wait for the lock is limited. */
static void end_graph_table(const bg__event *event)
{
    (void)event;
    if (book.made == 0 || pthread_mutex_timedlock(&book.lock, lock_deadline()) != 0)
        return;
    for (bg__tracked_graph *a = book.by_exec; a != NULL; a = a->hh.next)
        end_launcher_locked(a);
    write_list_locked();
    pthread_mutex_unlock(&book.lock);
}

const bg__subscriber bg__fact_graphs = {.name = "graphs", .on = {[BG__END] = end_graph_table}};

/* ---- graphs that come and go ----------------------------------------------------------------------------------- */

/* A launcher may choose nodes by their makers, so the nodes of the clone get the makers of the program's nodes. */
static void copy_makers(const bg__tracked_graph *a, cudaGraph_t source)
{
    if (book.launcher != NULL && a->source != source)
        bg__nodes_copy_makers(a->source, source);
}

/* nodes starts zeroed. */
static bg_status set_up_tracked_graph(bg__tracked_graph *a, cudaGraph_t source, size_t memory, bg__nodes *nodes)
{
    const bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    unsigned long number = book.made++;
    bg_status status;

    if (!bg__shim->pop_next_name(a->name))
        snprintf(a->name, sizeof a->name, "graph#%lu", number);
    BG__TRY(bg_graph_wrap(&a->graph, a->source, (cudaGraphExec_t)a->exec, a->name));
    a->nodes = bg__wrapped_count_nodes(a->graph);
    BG__TRY(bg__report_create(&a->report, "check", a->name));
    bg__wrapped_set_mirrored(a->graph, !a->own);
    BG__TRY(bg__node_calls_add(a->graph, source));
    copy_makers(a, source);
    if (book.blocks)
        BG__TRY(bg__block_uses_reset(source, &a->blocks));
    BG__TRY(bg__replay_tools_check_env(a->graph, book.steps));
    BG__TRY(bg__node_memory_check_steps(a->graph));
    BG__TRY(bg__recorded_allocations_update(a->graph));
    BG__TRY(bg__replay_tools_attach(a->graph, NULL, NULL, &options));
    BG__TRY(bg__graph_row_create(&a->row, a->graph, a->made, memory));
    BG__TRY(bg__nodes_read(a->graph, nodes));
    a->nodes_read = true;
done:
    return status;
}

static bg__tracked_graph *create_tracked_graph(CUgraphExec exec, const bg__stack *made)
{
    bg__tracked_graph *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->exec = exec;
    a->made = made;
    a->memory_checked_at = bg__changes_count();
    a->states = bg__subscribers_create_state();
    if (a->states != NULL && pthread_mutex_init(&a->lock, NULL) == 0)
        return a;
    free(a->states);
    free(a);
    return NULL;
}

/* The program cannot use exec before this returns, so a needs no lock. */
void bg__graph_table_add(CUgraphExec exec, cudaGraph_t source, const bg__stack *made, size_t memory, uint64_t flags)
{
    bg__tracked_graph *a = create_tracked_graph(exec, made), *old;
    bg__nodes nodes = {.node = NULL};
    bg__event event = {.kind = BG__EXEC_MADE, .graph = a, .exec = exec, .source = source};

    if (a == NULL) {
        bg__warn("--attach: out of host memory: a graph of the program's is not listed");
        return;
    }
    a->source = clone_source(source, &a->own);
    if (set_up_tracked_graph(a, source, memory, &nodes) != BG_OK)
        bg__tracked_graph_warn_partial(a);
    event.stack = made;
    event.bytes = memory;
    event.flags = flags;
    event.nodes = a->nodes_read ? &nodes : NULL;
    if (a->graph != NULL)
        bg__event_dispatch(&event);
    event.kind = BG__EXEC_NODES_READ;
    if (a->nodes_read)
        bg__event_dispatch(&event);
    bg__nodes_free(&nodes);
    pthread_mutex_lock(&book.lock);
    book.kept += a->own;
    old = unlink_graph_locked(find_graph_locked(exec));
    HASH_ADD_PTR(book.by_exec, exec, a);
    pthread_mutex_unlock(&book.lock);
    free_tracked_graph(old);
    if (a->lost)
        free_tracked_graph(a);
    book.list_is_stale = true;
    bg__graph_table_write_list_if_due();
}

void bg__graph_table_remove(CUgraphExec exec)
{
    bg__tracked_graph *a;
    pthread_mutex_lock(&book.lock);
    a = unlink_graph_locked(find_graph_locked(exec));
    pthread_mutex_unlock(&book.lock);
    free_tracked_graph(a);
}

bool bg__graph_table_defer_destroy(cudaGraph_t source)
{
    bool kept = false;
    pthread_mutex_lock(&book.lock);
    for (bg__tracked_graph *a = book.by_exec; a != NULL; a = a->hh.next) {
        if (a->source == source && a->own)
            a->destroyed_by_program = kept = true;
    }
    pthread_mutex_unlock(&book.lock);
    return kept;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

void bg__graph_table_update(CUgraphExec exec, cudaGraph_t source)
{
    bg__tracked_graph *a = bg__tracked_graph_acquire(exec);
    cudaGraph_t copy, old;
    bool own;

    if (a == NULL)
        return;
    drop_launcher_state(a);
    copy = clone_source(source, &own);
    pthread_mutex_lock(&book.lock);
    old = exchange_source_locked(a, copy, own);
    pthread_mutex_unlock(&book.lock);
    a->stale = false;
    copy_makers(a, source);
    bg__wrapped_set_mirrored(a->graph, !own);
    a->updates++;
    BG__DISPATCH(BG__EXEC_CHANGED, .graph = a, .exec = exec, .source = source, .place = -1);
    a->nodes_read = a->blocks_recorded = false;
    if (bg__wrapped_set_source(a->graph, copy) != BG_OK || bg__node_calls_add(a->graph, source) != BG_OK ||
        (book.blocks && bg__block_uses_reset(source, &a->blocks) != BG_OK)) {
        a->stale = true;
        bg__tracked_graph_warn_partial(a);
    }
    destroy_source(old);
    bg__tracked_graph_release(a);
}

void bg__tracked_graph_set_stale(bg__tracked_graph *a)
{
    if (!a->stale && a->report != NULL) {
        bg__report_add(
            a->report, "not-stepped", BG_NOTE, NULL, NULL,
            "update the executable graph from another graph instead (cuGraphExecUpdate)",
            "%s is neither checked nor stepped from now on: the program set something in its executable graph that "
            "CUDA cannot set in a copy, such as a disabled node",
            bg__graph_name(a->graph));
        bg__process_report_add(a->report);
    }
    a->stale = true;
}

/* Returns the index of node in cudaGraphGetNodes, or -1 if it is not in graph or the nodes cannot be listed. */
static long find_node_index(cudaGraph_t graph, cudaGraphNode_t node)
{
    cudaGraphNode_t *nodes = NULL;
    long found = -1;
    size_t count;
    const bool listed = bg__graph_list_nodes(graph, &nodes, &count) == BG_OK;

    for (size_t i = 0; listed && i < count && found < 0; i++)
        found = nodes[i] == node ? (long)i : -1;
    free(nodes);
    return found;
}

/* CUDA sets the parameters in the executable graph alone, so a source that is the program's own does not get them. */
void bg__graph_table_set_node(CUgraphExec exec, cudaGraphNode_t node, bg__node_setter *set, const void *params)
{
    bg__tracked_graph *a = bg__tracked_graph_acquire(exec);
    cudaGraphNode_t twin = NULL;
    cudaError_t error;

    if (a == NULL)
        return;
    drop_launcher_state(a);
    error = a->own ? cudaErrorNotSupported : cudaGraphNodeFindInClone(&twin, node, a->source);
    if (error == cudaSuccess)
        error = set != NULL ? (cudaError_t)set((CUgraphNode)twin, params) : cudaErrorNotSupported;
    bg__clear_cuda_error(error);
    if (error != cudaSuccess)
        bg__tracked_graph_set_stale(a);
    BG__DISPATCH(BG__EXEC_CHANGED, .graph = a, .exec = exec, .node = twin,
                 .place = find_node_index(a->source, a->own ? node : twin));
    a->updates++;
    a->nodes_read = a->blocks_recorded = false;
    bg__block_uses_clear(a->blocks);
    bg__tracked_graph_release(a);
}

/* After the edit, a source that is the program's own no longer equals the executable graph. */
void bg__graph_table_record_edit(cudaGraph_t source, cudaGraphNode_t node)
{
    if (book.kept == 0) /* programs add thousands of nodes */
        return;
    pthread_mutex_lock(&book.lock);
    for (bg__tracked_graph *a = book.by_exec; a != NULL; a = a->hh.next)
        if (a->own && (source != NULL ? a->source == source : find_node_index(a->source, node) >= 0))
            a->edited = true;
    pthread_mutex_unlock(&book.lock);
}

/* The caller has the lock of the program's interpreter. A graph that is being stepped may wait for it, so a locked
 * graph is skipped until the next call. */
void bg__graph_table_record_blocks(void)
{
    pthread_mutex_lock(&book.lock);
    for (bg__tracked_graph *a = book.by_exec; a != NULL && book.blocks; a = a->hh.next) {
        if (a->graph == NULL || pthread_mutex_trylock(&a->lock) != 0)
            continue;
        if (!a->blocks_recorded) {
            if (bg__block_uses_collect(a->graph, a->blocks) != BG_OK)
                bg__tracked_graph_warn_partial(a);
            a->checked = false; /* some blocks may have been freed before */
        }
        a->blocks_recorded = true;
        pthread_mutex_unlock(&a->lock);
    }
    pthread_mutex_unlock(&book.lock);
}

void bg__graph_table_count_block_move(void)
{
    book.blocks_moved++;
}

bool bg__graph_table_is_stepping(void)
{
    return book.steps;
}

uint64_t bg__graph_table_block_moves(void)
{
    return book.blocks_moved;
}

/* ---- requests of the program (attach_interface.c) ---------------------------------------------------------------- */

/* Does not wait for the graph's lock: a host function of a graph that is being stepped may call it. */
bg_status bg__graph_table_set_name(CUgraphExec exec, const char *name)
{
    bg_status status = BG_OK;
    bg__tracked_graph *a;

    pthread_mutex_lock(&book.lock);
    a = find_graph_locked(exec);
    if (a == NULL || a->graph == NULL)
        BG__FAIL(BG_ERROR_NOT_FOUND, "bg_attach_name_graph: %p is not an executable graph of this program",
                 (const void *)exec);
    snprintf(a->name, sizeof a->name, "%s", name);
    bg__graph_row_set_name(a->row, name);
    BG__DISPATCH(BG__EXEC_NAMED, .graph = a, .exec = exec, .name = name);
    a->renamed = true; /* the next thread that acquires it applies the name */
    if (pthread_mutex_trylock(&a->lock) == 0) {
        status = apply_name_locked(a);
        pthread_mutex_unlock(&a->lock);
    }
done:
    pthread_mutex_unlock(&book.lock);
    return status;
}

int bg__graph_table_count(void)
{
    int count;
    pthread_mutex_lock(&book.lock);
    count = (int)HASH_COUNT(book.by_exec);
    pthread_mutex_unlock(&book.lock);
    return count;
}

bool bg__graph_table_get(int index, bg_attach_graph *graph)
{
    bg__tracked_graph *a;

    pthread_mutex_lock(&book.lock);
    for (a = book.by_exec; a != NULL && index > 0; a = a->hh.next)
        index--;
    if (a != NULL) {
        graph->exec = (cudaGraphExec_t)a->exec;
        graph->nodes = a->nodes;
        graph->launches = a->graph != NULL ? bg__graph_replays(a->graph) : 0;
        graph->updates = a->updates;
        snprintf(graph->name, sizeof graph->name, "%s", a->name);
    }
    pthread_mutex_unlock(&book.lock);
    return a != NULL;
}

bg_status bg__graph_table_list_execs(CUgraphExec **list, size_t *count, bg__report_list *found)
{
    bg_status status = BG_OK;

    *count = 0;
    pthread_mutex_lock(&book.lock);
    *list = calloc(HASH_COUNT(book.by_exec) + 1, sizeof **list);
    if (*list == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_attach_check: out of host memory for the list of graphs");
    for (const bg__tracked_graph *a = book.by_exec; a != NULL && *list != NULL; a = a->hh.next) {
        if (a->graph != NULL)
            (*list)[(*count)++] = a->exec;
        else
            found->not_checked++;
    }
    pthread_mutex_unlock(&book.lock);
    return status;
}
