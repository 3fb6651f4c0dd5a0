/* The table of the program's graphs; the key is the executable graph. CUDA has no call that reads an executable graph.
 * So the table clones the source at instantiation (PyTorch destroys its own right afterwards), and applies to the clone
 * what the program changes in the executable graph. CUDA cannot clone some graphs (memory nodes, conditional nodes):
 * for these the table keeps the program's own graph, and destroys it only after the executable graph. */
#include "book.h"
#include "attached.h"
#include "in_place.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "graph/tools.h"
#include "debug/attach/around/inventory.h"
#include "debug/attach/checks/host_functions.h"
#include "debug/attach/checks/kept_memory.h"
#include "debug/attach/checks/node_lives.h"
#include "debug/attach/memory/changes.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/nodes/node_copies.h"
#include "debug/attach/nodes/node_memory.h"
#include "debug/attach/report/found.h"
#include "debug/attach/report/listing.h"
#include "debug/check/node_pointers.h"
#include "debug/hooks/replay_tools.h"
#include "debug/hooks/step_replays.h"
#include "debug/report/process_report.h"
#include "debug/step/node_list.h"

static struct {
    pthread_mutex_t lock;
    bg__attached *by_exec;
    _Atomic unsigned long made; /* number of graphs instantiated */
    pid_t process;              /* the process that recorded this; a forked child does not write it */
    bool checks, steps;
    bool blocks;                  /* record the allocators' blocks that nodes use */
    const bg__launcher *launcher; /* NULL: the program's launches are not replaced */
    const bg__attach_shim *shim;
    _Atomic uint64_t blocks_moved;
    _Atomic int kept;         /* number of graphs whose source is the program's own */
    bg__ended *ended;         /* rows of destroyed graphs */
    bg_report *list;          /* all graphs, as last written */
    _Atomic bool unlisted;    /* list lacks some graphs */
    _Atomic double next_list; /* when list may be written again, in seconds */
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

bg_status bg__book_begin(const bg__attach_shim *shim)
{
    unsigned check;
    int debug;
    bg_status status;

    book.shim = shim;
    book.process = getpid();
    bg__step_insist();
    BG__TRY(bg__found_begin());
    BG__TRY(bg__values_begin());
    BG__TRY(bg__env_choices("BG_CHECK", &check));
    BG__TRY(bg__env_choice("BG_DEBUG", &debug));
    book.checks = (check & (BG__CHECK_REPLAY | BG__CHECK_INPUTS)) != 0;
    bg__inventory_want((check & BG__CHECK_INPUTS) != 0);
    book.blocks = (check & (BG__CHECK_REPLAY | BG__CHECK_POISON)) != 0;
    book.steps = BG_DEBUG_OFF + debug == BG_DEBUG_STEP;
done:
    return status;
}

void bg__book_own_thread(void)
{
    book.shim->enter();
}

void bg__book_use(const bg__launcher *launcher)
{
    book.launcher = launcher;
}

const bg__launcher *bg__book_launcher(void)
{
    return book.launcher;
}

static void drop_kept(bg__attached *a)
{
    if (a->kept != NULL && book.launcher->settle != NULL)
        book.launcher->settle(a);
    if (a->kept != NULL && book.launcher->end != NULL)
        book.launcher->end(a);
    if (a->kept != NULL)
        book.launcher->drop(a->kept);
    a->kept = NULL;
}

void bg__attached_warn(const bg__attached *a)
{
    bg__warn("--attach: %s is listed or checked in part: %s",
             a->graph != NULL ? bg__graph_name(a->graph) : "a graph of the program", bg_last_error());
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

/* *own: CUDA cannot clone source, which is returned itself. */
static cudaGraph_t copy_of(cudaGraph_t source, bool *own)
{
    cudaGraph_t copy = NULL;
    cudaError_t error = cudaGraphClone(&copy, source);
    *own = error != cudaSuccess;
    bg__ignore(error);
    return *own ? source : copy;
}

/* Whether another executable graph has the same source. */
static bool is_shared(cudaGraph_t source, const bg__attached *but)
{
    for (const bg__attached *a = book.by_exec; a != NULL; a = a->hh.next)
        if (a != but && a->source == source)
            return true;
    return false;
}

/* Replaces the source of a. Returns the old one if nobody needs it any more, else NULL. */
static cudaGraph_t exchange_source(bg__attached *a, cudaGraph_t source, bool own)
{
    cudaGraph_t old = !a->own || (a->doomed && !is_shared(a->source, a)) ? a->source : NULL;
    book.kept += own - a->own;
    a->source = source;
    a->own = own;
    a->doomed = false;
    a->edited = false;
    return old;
}

static void drop_source(cudaGraph_t source)
{
    if (source == NULL)
        return;
    bg__nodes_gone(source);
    BG__RELEASE(cudaGraphDestroy(source));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static bg__attached *find_attached(CUgraphExec exec)
{
    bg__attached *found;
    HASH_FIND_PTR(book.by_exec, &exec, found);
    return found;
}

static bg_status use_name(bg__attached *a)
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
static void catch_up(bg__attached *a)
{
    bg_status status;
    if (!a->renamed)
        return;
    pthread_mutex_lock(&book.lock);
    status = use_name(a);
    pthread_mutex_unlock(&book.lock);
    if (status != BG_OK)
        bg__attached_warn(a);
}

static void count_row(const bg__attached *a)
{
    bg__listing_count(a->row, a->graph != NULL ? bg__graph_replays(a->graph) : 0, a->updates);
    bg__listing_count_outside(a->row, a->cut, a->split, a->outside);
}

/* No thread has acquired a, and the table does not have it. */
static void free_attached(bg__attached *a)
{
    cudaGraph_t source;
    if (a == NULL)
        return;
    catch_up(a);
    drop_kept(a);
    bg__in_place_free(a);
    bg__blocks_free(a->blocks);
    bg__kernels_free(a->kernels);
    bg__around_free(a->around);
    bg__growth_remove(a->grown);
    bg__values_free(a->values);
    bg__found_leave(a->report, a->asked);
    pthread_mutex_lock(&book.lock);
    count_row(a);
    bg__ended_add(&book.ended, a->row, a->made);
    source = exchange_source(a, NULL, false);
    pthread_mutex_unlock(&book.lock);
    bg_graph_destroy(a->graph);
    drop_source(source);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Removes a from the table. The caller frees what is returned, without the lock. Returns NULL if a has users: the last
 * one frees it. */
static bg__attached *retire(bg__attached *a)
{
    if (a == NULL)
        return NULL;
    HASH_DEL(book.by_exec, a);
    a->gone = true;
    return a->users == 0 ? a : NULL;
}

bg__attached *bg__attached_take(CUgraphExec exec)
{
    bg__attached *a;
    pthread_mutex_lock(&book.lock);
    a = find_attached(exec);
    if (a != NULL && a->graph == NULL)
        a = NULL;
    if (a != NULL)
        a->users++;
    pthread_mutex_unlock(&book.lock);
    if (a != NULL) {
        pthread_mutex_lock(&a->lock);
        catch_up(a);
    }
    return a;
}

void bg__attached_give(bg__attached *a)
{
    bool last;
    pthread_mutex_unlock(&a->lock);
    pthread_mutex_lock(&book.lock);
    last = --a->users == 0 && a->gone;
    pthread_mutex_unlock(&book.lock);
    if (last)
        free_attached(a);
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

static void fill_list(cJSON *rows)
{
    bool added = true;
    while (rows->child != NULL)
        cJSON_DeleteItemFromArray(rows, 0);
    for (bg__ended *e = book.ended; e != NULL; e = e->hh.next)
        added = added && add_row(rows, e->row);
    for (bg__attached *a = book.by_exec; a != NULL; a = a->hh.next) {
        count_row(a);
        added = added && add_row(rows, a->row);
    }
    if (!added)
        bg__warn("--attach: out of host memory: not all graphs are listed");
}

static void write_list(void)
{
    double began = now_seconds();
    cJSON *rows;

    book.unlisted = false;
    if (book.list == NULL && bg__report_create(&book.list, "attach", program_invocation_short_name) != BG_OK)
        return;
    rows = bg__report_part(book.list, "graphs");
    if (rows == NULL)
        return;
    fill_list(rows);
    bg__process_report_add(book.list);
    book.next_list = began + fmax(1, 20 * (now_seconds() - began));
}

void bg__book_list_if_due(void)
{
    if (!book.unlisted || now_seconds() < book.next_list || pthread_mutex_trylock(&book.lock) != 0)
        return;
    write_list();
    pthread_mutex_unlock(&book.lock);
}

static const struct timespec *deadline(void)
{
    static struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec++;
    return &at;
}

static void end_launches(bg__attached *a)
{
    if (book.launcher == NULL || book.launcher->end == NULL || pthread_mutex_trylock(&a->lock) != 0)
        return;
    if (a->kept != NULL)
        book.launcher->end(a);
    pthread_mutex_unlock(&a->lock);
}

/* A program may end while its threads launch, so the wait for the lock is limited. */
__attribute__((destructor)) static void end_book(void)
{
    if (book.process != getpid() || book.made == 0 || pthread_mutex_timedlock(&book.lock, deadline()) != 0)
        return;
    for (bg__attached *a = book.by_exec; a != NULL; a = a->hh.next)
        end_launches(a);
    bg__around_end();
    write_list();
    pthread_mutex_unlock(&book.lock);
}

/* ---- graphs that come and go ----------------------------------------------------------------------------------- */

/* A launcher may choose nodes by their makers, so the nodes of the clone get the makers of the program's nodes. */
static void note_makers(const bg__attached *a, cudaGraph_t source)
{
    if (book.launcher != NULL && a->source != source)
        bg__nodes_cloned(a->source, source);
}

bg_status bg__attached_note_around(bg__attached *a)
{
    bg__allocations *used;
    bg_status status = BG_OK;

    if (a->around_noted || !book.checks || book.launcher != NULL || book.steps)
        return BG_OK;
    BG__TRY(bg__nodes_notes(a->graph, &used));
    BG__TRY(bg__around_note(a->graph, used, &a->around));
    a->around_noted = true;
done:
    return status;
}

static bg_status describe(bg__attached *a, cudaGraph_t source, size_t memory)
{
    const bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    unsigned long number = book.made++;
    bg_status status;

    if (!book.shim->take_name(a->name))
        snprintf(a->name, sizeof a->name, "graph#%lu", number);
    BG__TRY(bg_graph_wrap(&a->graph, a->source, (cudaGraphExec_t)a->exec, a->name));
    a->nodes = bg__wrapped_count_nodes(a->graph);
    BG__TRY(bg__report_create(&a->report, "check", a->name));
    bg__wrapped_set_mirrored(a->graph, !a->own);
    BG__TRY(bg__node_calls_add(a->graph, source));
    note_makers(a, source);
    if (book.blocks)
        BG__TRY(bg__blocks_prepare(source, &a->blocks));
    BG__TRY(bg__replay_tools_check_env(a->graph, book.steps));
    BG__TRY(bg__node_memory_watch(a->graph));
    BG__TRY(bg__nodes_note(a->graph));
    BG__TRY(bg__kernels_note(a->graph, &a->kernels));
    a->noted = true;
    BG__TRY(bg__attached_note_around(a));
    BG__TRY(bg__replay_tools_attach(a->graph, NULL, NULL, &options));
    BG__TRY(bg__listing_row(&a->row, a->graph, a->made, memory));
done:
    return status;
}

static bg__attached *create_attached(CUgraphExec exec, const bg__stack *made)
{
    bg__attached *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->exec = exec;
    a->made = made;
    a->looked = bg__changes();
    if (pthread_mutex_init(&a->lock, NULL) == 0)
        return a;
    free(a);
    return NULL;
}

static void watch_exec(CUgraphExec exec, cudaGraph_t source, bg__attached *a, uint64_t flags)
{
    const bg_graph *graph = a->graph;
    bg__node_lives_check(graph, a->source, a->report);
    bg__node_copies_check(graph, source, a->report);
    bg__host_functions_watch(exec, source, graph);
    bg__kept_memory_watch(exec, graph, (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0);
}

/* The program cannot use exec before this returns, so a needs no lock. */
void bg__book_add(CUgraphExec exec, cudaGraph_t source, const bg__stack *made, size_t memory, uint64_t flags)
{
    bg__attached *a = create_attached(exec, made), *old;

    if (a == NULL) {
        bg__warn("--attach: out of host memory: a graph of the program's is not listed");
        return;
    }
    a->source = copy_of(source, &a->own);
    if (describe(a, source, memory) != BG_OK)
        bg__attached_warn(a);
    else if (book.checks)
        watch_exec(exec, source, a, flags);
    if (book.checks)
        a->grown = bg__growth_add(made, memory);
    if (a->graph != NULL)
        a->values = bg__values_write(a->graph, a->source, made);
    pthread_mutex_lock(&book.lock);
    book.kept += a->own;
    old = retire(find_attached(exec));
    HASH_ADD_PTR(book.by_exec, exec, a);
    pthread_mutex_unlock(&book.lock);
    free_attached(old);
    if (a->lost)
        free_attached(a);
    book.unlisted = true;
    bg__book_list_if_due();
}

void bg__book_remove(CUgraphExec exec)
{
    bg__attached *a;
    pthread_mutex_lock(&book.lock);
    a = retire(find_attached(exec));
    pthread_mutex_unlock(&book.lock);
    free_attached(a);
}

bool bg__book_keeps(cudaGraph_t source)
{
    bool kept = false;
    pthread_mutex_lock(&book.lock);
    for (bg__attached *a = book.by_exec; a != NULL; a = a->hh.next) {
        if (a->source == source && a->own)
            a->doomed = kept = true;
    }
    pthread_mutex_unlock(&book.lock);
    return kept;
}

/* ---- changes --------------------------------------------------------------------------------------------------- */

void bg__book_update(CUgraphExec exec, cudaGraph_t source)
{
    bg__attached *a = bg__attached_take(exec);
    cudaGraph_t copy, old;
    bool own;

    if (a == NULL)
        return;
    drop_kept(a);
    copy = copy_of(source, &own);
    pthread_mutex_lock(&book.lock);
    old = exchange_source(a, copy, own);
    pthread_mutex_unlock(&book.lock);
    a->stale = false;
    note_makers(a, source);
    bg__wrapped_set_mirrored(a->graph, !own);
    bg__kernels_free(a->kernels);
    a->kernels = NULL;
    a->updates++;
    bg__values_updated(a->values, -1);
    a->noted = a->blocks_noted = false;
    if (bg__wrapped_replace(a->graph, copy) != BG_OK || bg__node_calls_add(a->graph, source) != BG_OK ||
        (book.blocks && bg__blocks_prepare(source, &a->blocks) != BG_OK)) {
        a->stale = true;
        bg__attached_warn(a);
    }
    drop_source(old);
    bg__attached_give(a);
}

void bg__attached_set_stale(bg__attached *a)
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

/* Returns the index of node in cudaGraphGetNodes, or -1 if it is not in graph or CUDA reports an error. */
static long place_of(cudaGraph_t graph, cudaGraphNode_t node)
{
    cudaGraphNode_t *nodes = NULL;
    long found = -1;
    size_t count = 0;
    cudaError_t error = cudaGraphGetNodes(graph, NULL, &count);

    if (error == cudaSuccess)
        nodes = calloc(count + 1, sizeof *nodes);
    if (nodes != NULL && count > 0)
        error = cudaGraphGetNodes(graph, nodes, &count);
    bg__ignore(error);
    for (size_t i = 0; nodes != NULL && error == cudaSuccess && i < count && found < 0; i++)
        found = nodes[i] == node ? (long)i : -1;
    free(nodes);
    return found;
}

/* CUDA sets the parameters in the executable graph alone, so a source that is the program's own does not get them. */
void bg__book_set_node(CUgraphExec exec, cudaGraphNode_t node, bg__node_setter *set, const void *params)
{
    bg__attached *a = bg__attached_take(exec);
    cudaGraphNode_t twin = NULL;
    cudaError_t error;

    if (a == NULL)
        return;
    drop_kept(a);
    error = a->own ? cudaErrorNotSupported : cudaGraphNodeFindInClone(&twin, node, a->source);
    if (error == cudaSuccess)
        error = set != NULL ? (cudaError_t)set((CUgraphNode)twin, params) : cudaErrorNotSupported;
    bg__ignore(error);
    if (error != cudaSuccess)
        bg__attached_set_stale(a);
    bg__kernels_forget(a->kernels, twin);
    bg__values_updated(a->values, place_of(a->source, a->own ? node : twin));
    a->updates++;
    a->noted = a->blocks_noted = false;
    bg__blocks_changed(a->blocks);
    bg__attached_give(a);
}

/* A source that is the program's own no longer equals the executable graph after that. */
void bg__book_edit(cudaGraph_t source, cudaGraphNode_t node)
{
    if (book.kept == 0) /* programs add thousands of nodes */
        return;
    pthread_mutex_lock(&book.lock);
    for (bg__attached *a = book.by_exec; a != NULL; a = a->hh.next)
        if (a->own && (source != NULL ? a->source == source : place_of(a->source, node) >= 0))
            a->edited = true;
    pthread_mutex_unlock(&book.lock);
}

/* The caller has the lock of the program's interpreter. A graph that is being stepped may wait for it, so a locked
 * graph is skipped until the next call. */
void bg__book_note_blocks(void)
{
    pthread_mutex_lock(&book.lock);
    for (bg__attached *a = book.by_exec; a != NULL && book.blocks; a = a->hh.next) {
        if (a->graph == NULL || pthread_mutex_trylock(&a->lock) != 0)
            continue;
        if (!a->blocks_noted) {
            if (bg__blocks_note(a->graph, a->blocks) != BG_OK)
                bg__attached_warn(a);
            a->checked = false; /* some blocks may have been freed before */
        }
        a->blocks_noted = true;
        pthread_mutex_unlock(&a->lock);
    }
    pthread_mutex_unlock(&book.lock);
}

void bg__book_memory_moved(void)
{
    book.blocks_moved++;
}

bool bg__book_checks(void)
{
    return book.checks;
}

bool bg__book_steps(void)
{
    return book.steps;
}

uint64_t bg__book_moves(void)
{
    return book.blocks_moved;
}

bool bg__book_is_empty(void)
{
    return book.made == 0;
}

/* ---- the program asks (interface.c) ----------------------------------------------------------------------------- */

/* Does not wait for the graph's lock: a host function of a graph that is being stepped may call it. */
bg_status bg__book_name(CUgraphExec exec, const char *name)
{
    bg_status status = BG_OK;
    bg__attached *a;

    pthread_mutex_lock(&book.lock);
    a = find_attached(exec);
    if (a == NULL || a->graph == NULL)
        BG__FAIL(BG_ERROR_NOT_FOUND, "bg_attach_name_graph: %p is not an executable graph of this program",
                 (const void *)exec);
    snprintf(a->name, sizeof a->name, "%s", name);
    bg__listing_name(a->row, name);
    bg__values_renamed(a->values, name);
    a->renamed = true; /* the next thread that acquires it applies the name */
    if (pthread_mutex_trylock(&a->lock) == 0) {
        status = use_name(a);
        pthread_mutex_unlock(&a->lock);
    }
done:
    pthread_mutex_unlock(&book.lock);
    return status;
}

int bg__book_count(void)
{
    int count;
    pthread_mutex_lock(&book.lock);
    count = (int)HASH_COUNT(book.by_exec);
    pthread_mutex_unlock(&book.lock);
    return count;
}

bool bg__book_get(int index, bg_attach_graph *graph)
{
    bg__attached *a;

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

bg_status bg__book_graphs(CUgraphExec **list, size_t *count, bg__found *found)
{
    bg_status status = BG_OK;

    *count = 0;
    pthread_mutex_lock(&book.lock);
    *list = calloc(HASH_COUNT(book.by_exec) + 1, sizeof **list);
    if (*list == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_attach_check: out of host memory for the list of graphs");
    for (const bg__attached *a = book.by_exec; a != NULL && *list != NULL; a = a->hh.next) {
        if (a->graph != NULL)
            (*list)[(*count)++] = a->exec;
        else
            found->not_checked++;
    }
    pthread_mutex_unlock(&book.lock);
    return status;
}
