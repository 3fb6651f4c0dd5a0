/* Records which blocks the nodes of a graph point into, and finds out what became of these blocks.
 *
 * A graph may use a freed block of a private pool: graphs that share a pool lie in the same memory, one after the
 * other. Only some launch orders are wrong. In these, a graph reads what a second graph left in a block, but after the
 * block was freed and filled, a third graph was launched whose nodes point into the same memory. */
#include "block_uses.h"

#include "block_use.h"

#include <stdio.h>
#include <string.h>

#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/events/subscribers.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/check/node_pointers.h"
#include "debug/graph/nodes.h"

static uint64_t launch_count; /* guarded by the lock of blocks */
static bool own_blocks_wanted;

static void clear_uses(bg__block_uses *uses)
{
    bg__spans_free(&uses->unknown);
    for (size_t i = 0; i < uses->count; i++) {
        bg__block_release(uses->list[i].block);
        free(uses->list[i].text);
    }
    uses->count = 0;
    uses->in_pool = false;
}

/* ---- what a node points into ------------------------------------------------------------------------------------ */

typedef struct use_collector {
    bg__block_uses *uses;
    bg__heap_block **live[BG__ALLOCATORS]; /* sorted by address */
    size_t count[BG__ALLOCATORS];
    uintptr_t low, high; /* all freed blocks lie between these */
    uint64_t made;       /* when the node was made; 0: unknown */
    const bg__call *call;
    bool made_in_capture; /* the node was made during the graph's capture */
} use_collector;

static int compare_block_bases(const void *a, const void *b)
{
    uintptr_t first = (*(bg__heap_block *const *)a)->base, second = (*(bg__heap_block *const *)b)->base;
    return (first > second) - (first < second);
}

static bool block_contains(const bg__heap_block *b, uintptr_t address)
{
    return address - b->base < b->bytes;
}

/* Returns the block that contains the address and is not freed. NULL: there is none, or it is younger than the node. */
static bg__heap_block *find_live_block(const use_collector *n, bg__allocator allocator, uintptr_t address)
{
    bg__heap_block *const *order = n->live[allocator];
    size_t low = 0, high = n->count[allocator];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !block_contains(order[low - 1], address) || (n->made != 0 && order[low - 1]->born > n->made))
        return NULL;
    return order[low - 1];
}

/* A freed block counts only if it is known to have been live when the node was made. */
static bg__heap_block *find_block_in_use(const use_collector *n, bg__allocator allocator, uintptr_t address)
{
    bg__heap_block *found = find_live_block(n, allocator, address);
    if (found != NULL || n->made == 0 || address < n->low || address >= n->high)
        return found;
    for (bg__heap_block *b = bg__blocks_first_freed(); b != NULL; b = b->next)
        if (b->allocator == allocator && block_contains(b, address) && b->born <= n->made && n->made < b->died)
            return b;
    return NULL;
}

static bg_status add_use(use_collector *n, const bg__block_use *added)
{
    bg__block_uses *uses = n->uses;
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(uses->list, uses->count, uses->capacity, "uses of blocks"));
    bg__block_retain(added->block);
    uses->list[uses->count++] = *added;
    uses->in_pool |= added->block->pool == BG__POOL_PRIVATE && added->kind < BG__USE_OWN;
done:
    return status;
}

/* In a private pool, only blocks from before the graph's capture are checked, since the graph fills what its own
 * capture allocated. The program may fill a block that no capture allocated, and the tools do not see it. */
static bool is_checked_block(const use_collector *n, const bg__heap_block *b)
{
    if (b->pool != BG__POOL_PRIVATE)
        return b->pool == BG__POOL_SHARED;
    return b->maker != NULL && n->made_in_capture && b->born < n->uses->capture->begun;
}

/* The graph fills it itself (bg__block_uses_add_uninitialized). */
static bool is_own_block(const use_collector *n, const bg__heap_block *b)
{
    return own_blocks_wanted && b->pool == BG__POOL_PRIVATE && b->maker != NULL && b->maker == n->uses->capture;
}

/* The block is not empty when the graph begins, though the graph's own capture may reuse its memory later. */
static bool may_predate_capture(const bg__heap_block *b)
{
    return own_blocks_wanted && b->pool == BG__POOL_PRIVATE;
}

static bool is_overlay_recorded(const use_collector *n, const bg__heap_block *b)
{
    for (size_t i = n->uses->count; i > 0; i--)
        if (n->uses->list[i - 1].block == b && n->uses->list[i - 1].kind == BG__USE_OVERLAYS)
            return true;
    return false;
}

/* Records blocks of other graphs that contain the address and were freed before this node was made: the graph's own
 * block lies in their memory, and the graph writes it. If the address now lies in a block from before the capture, the
 * memory is not the graph's own. */
static bg_status record_overlaid_blocks(use_collector *n, uintptr_t address)
{
    const bg__heap_block *now;
    bg_status status = BG_OK;
    if (!n->made_in_capture || address < n->low || address >= n->high)
        return BG_OK;
    now = find_block_in_use(n, BG__ALLOCATOR_PYTORCH, address);
    if (now != NULL && now->born < n->uses->capture->begun)
        return BG_OK;
    for (bg__heap_block *b = bg__blocks_first_freed(); b != NULL; b = b->next)
        if (b->users > 0 && b->pool == BG__POOL_PRIVATE && block_contains(b, address) && b->died <= n->made &&
            !is_overlay_recorded(n, b))
            BG__TRY(add_use(
                n, &(bg__block_use){.block = b, .call = n->call, .address = address, .kind = BG__USE_OVERLAYS}));
done:
    return status;
}

static bg__block_use_kind use_kind(const bg__node_pointer *held)
{
    if (!held->is_end)
        return BG__USE_POINTS;
    return held->which == BG__SOURCE ? BG__USE_READS : BG__USE_WRITES;
}

static bg_status record_address(void *user, const bg__node_pointer *held)
{
    use_collector *n = user;
    char place[64];
    bg_status status = BG_OK;

    for (bg__allocator allocator = 0; allocator < BG__ALLOCATORS; allocator++) {
        bg__block_use u = {
            .block = find_block_in_use(n, allocator, held->address), .address = held->address, .alone = held->alone};
        if (u.block == NULL && allocator == BG__ALLOCATOR_PYTORCH && own_blocks_wanted)
            BG__TRY(bg__spans_add(&n->uses->unknown, held->address, held->address + 1));
        if (u.block == NULL ||
            (!is_checked_block(n, u.block) && !is_own_block(n, u.block) && !may_predate_capture(u.block)))
            continue;
        u.call = held->node->call;
        u.kind = is_own_block(n, u.block)       ? BG__USE_OWN
                 : is_checked_block(n, u.block) ? use_kind(held)
                                                : BG__USE_PREEXISTING;
        u.text = strdup(bg__node_pointer_text(held, place, sizeof place));
        status = add_use(n, &u);
        if (status != BG_OK)
            free(u.text);
        BG__TRY(status);
    }
    if (use_kind(held) != BG__USE_READS)
        BG__TRY(record_overlaid_blocks(n, held->address));
done:
    return status;
}

void bg__block_uses_include_own(void)
{
    own_blocks_wanted = true;
}

/* ---- recording a graph ------------------------------------------------------------------------------------------ */

bg_status bg__block_uses_reset(cudaGraph_t source, bg__block_uses **given)
{
    bg__block_uses *uses = *given;
    cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    if (uses == NULL)
        uses = *given = calloc(1, sizeof *uses);
    if (uses == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the blocks of a graph");
    free(uses->made);
    uses->made = NULL;
    uses->nodes = 0;
    bg__blocks_lock();
    clear_uses(uses);
    bg__block_capture_release(uses->capture);
    uses->capture = bg__block_capture_acquire(source);
    bg__blocks_unlock();
    BG__TRY(bg__graph_list_nodes(source, &nodes, &count));
    uses->made = calloc(count + 1, sizeof *uses->made);
    if (uses->made == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", count);
    for (size_t i = 0; i < count; i++)
        uses->made[i] = bg__node_creation_time(nodes[i]);
    uses->nodes = count;
done:
    free(nodes);
    return status;
}

void bg__block_uses_clear(bg__block_uses *uses)
{
    if (uses == NULL)
        return;
    bg__blocks_lock();
    clear_uses(uses);
    uses->nodes = 0;
    bg__blocks_unlock();
}

static bg_status sort_live_blocks(use_collector *n, bg__allocator allocator)
{
    bg__heap_block *first = bg__blocks_first_live(allocator);
    n->live[allocator] = calloc(HASH_COUNT(first) + 1, sizeof(bg__heap_block *));
    if (n->live[allocator] == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the blocks of an allocator");
    for (bg__heap_block *b = first; b != NULL; b = b->hh.next)
        n->live[allocator][n->count[allocator]++] = b;
    qsort(n->live[allocator], n->count[allocator], sizeof(bg__heap_block *), compare_block_bases);
    return BG_OK;
}

/* CUDA may reuse a node's handle, so the time of a node from before the capture counts as unknown. */
static void set_current_node(use_collector *n, const bg__node *node)
{
    const bg__block_uses *uses = n->uses;
    n->call = node->call;
    n->made = node->parent < 0 && node->place < uses->nodes ? uses->made[node->place] : 0;
    n->made_in_capture = uses->capture != NULL && n->made >= uses->capture->begun;
    if (!n->made_in_capture)
        n->made = 0;
}

static bg_status record_nodes(use_collector *n, const bg__nodes *nodes)
{
    bg_status status = BG_OK;
    for (bg__allocator allocator = 0; allocator < BG__ALLOCATORS; allocator++)
        BG__TRY(sort_live_blocks(n, allocator));
    n->low = UINTPTR_MAX;
    for (const bg__heap_block *b = bg__blocks_first_freed(); b != NULL; b = b->next) {
        n->low = b->base < n->low ? b->base : n->low;
        n->high = b->base + b->bytes > n->high ? b->base + b->bytes : n->high;
    }
    for (size_t i = 0; i < nodes->count; i++) {
        set_current_node(n, &nodes->node[i]);
        BG__TRY(bg__node_visit_pointers(&nodes->node[i], record_address, n));
    }
done:
    for (bg__allocator allocator = 0; allocator < BG__ALLOCATORS; allocator++)
        free(n->live[allocator]);
    return status;
}

/* Marks blocks whose memory the allocator has given out again. Until a graph used a freed block, nobody checked it for
 * this. */
static void mark_reused_blocks(const bg__block_uses *uses)
{
    for (size_t i = 0; i < uses->count; i++) {
        bg__heap_block *old = uses->list[i].block;
        if (old->died == 0 || old->reused || uses->list[i].kind == BG__USE_OVERLAYS ||
            uses->list[i].kind >= BG__USE_OWN)
            continue;
        for (const bg__heap_block *b = bg__blocks_first_live(old->allocator); b != NULL && !old->reused; b = b->hh.next)
            old->reused = b->born > old->died && bg__block_overlaps(b, old);
        for (const bg__heap_block *b = bg__blocks_first_freed(); b != NULL && b->died > old->died && !old->reused;
             b = b->next)
            old->reused = b->allocator == old->allocator && b->born > old->died && bg__block_overlaps(b, old);
    }
}

bg_status bg__block_uses_collect(const bg_graph *graph, bg__block_uses *uses)
{
    bg__nodes nodes = {.node = NULL};
    use_collector n = {.uses = uses};
    bg_status status;

    if (uses == NULL)
        return BG_OK;
    BG__TRY(bg__nodes_read(graph, &nodes));
    bg__blocks_lock();
    clear_uses(uses);
    status = record_nodes(&n, &nodes);
    mark_reused_blocks(uses);
    if (uses->capture != NULL)
        bg__block_capture_set_recorded(uses->capture);
    bg__blocks_unlock();
done:
    bg__nodes_free(&nodes);
    return status;
}

void bg__block_uses_free(bg__block_uses *uses)
{
    if (uses == NULL)
        return;
    bg__blocks_lock();
    clear_uses(uses);
    bg__block_capture_release(uses->capture);
    bg__blocks_unlock();
    free(uses->list);
    free(uses->made);
    free(uses);
}

/* ---- findings --------------------------------------------------------------------------------------------------- */

/* ", at model.py:21" */
static const char *format_site(bg_site site, char *text, size_t bytes)
{
    text[0] = '\0';
    if (site.file != NULL && site.line > 0)
        snprintf(text, bytes, ", at %s:%d", site.file, site.line);
    else if (site.file != NULL)
        snprintf(text, bytes, ", at %s", site.file);
    return text;
}

/* "a tensor of 4096 bytes at 0x7f..." */
static const char *format_block(const bg__heap_block *b, char *text, size_t bytes)
{
    static const char *const nouns[] = {
        [BG__ALLOCATOR_LEDGER] = "a block", [BG__ALLOCATOR_PYTORCH] = "a tensor", [BG__ALLOCATOR_CUPY] = "an array"};
    char size[40] = "";
    if (b->size_known)
        snprintf(size, sizeof size, " of %zu bytes", b->bytes);
    snprintf(text, bytes, "%s%s at %p", nouns[b->allocator], size, (const void *)b->base);
    return text;
}

static const char *format_use(const bg__block_use *u)
{
    return u->text != NULL ? u->text : "an address";
}

static const char *struct_remark(const bg__block_use *u)
{
    return u->alone ? "" : " (in a struct, so it may be a number or padding)";
}

/* Returns the address where the object is now that the program had named at this address; 0: nowhere. Ignores a name
 * that is older than the block, since it belonged to another block. Ignores a new address inside the block, since a
 * slice of the block was freed together with it. */
static uintptr_t find_moved_address(const bg__block_uses *uses, size_t index)
{
    const bg__block_use *u = &uses->list[index];
    for (size_t i = index; i > 0 && uses->list[i - 1].call == u->call; i--) {
        const bg__heap_block *named = uses->list[i - 1].block;
        if (uses->list[i - 1].address == u->address && named->moved != 0 && named->born > u->block->born &&
            !block_contains(u->block, named->moved))
            return named->moved;
    }
    return 0;
}

static void report_freed_block(const bg__block_uses *uses, size_t index, const bg__finding_calls *about,
                               bg_report *report)
{
    const bg__block_use *u = &uses->list[index];
    const bg__block_capture *capture = uses->capture;
    const bg__heap_block *b = u->block;
    const uintptr_t moved = find_moved_address(uses, index);
    bool during = capture != NULL && (capture->ended == 0 || b->died < capture->ended);
    const char *kind = moved != 0 ? "moved" : b->reused ? "reused" : "freed";
    char text[200], where[300], fate[120] = "";

    if (moved != 0)
        snprintf(fate, sizeof fate, ", and that the program has at %p now", (const void *)moved);
    else if (b->reused)
        snprintf(fate, sizeof fate, ", and whose memory the allocator has given to another one");
    bg__report_add_for_calls(
        report, kind, u->alone ? BG_FAULT : BG_WARNING, about, (const void *)u->address,
        moved != 0 ? "capture again when it moves; or allocate it once, as large as it gets, before the capture"
                   : "keep it as long as the graph is replayed, and copy new values into it; or capture again",
        "%s is %p, in %s that was freed %s the capture%s%s%s", format_use(u), (const void *)u->address,
        format_block(b, text, sizeof text), during ? "during" : "after", format_site(b->freed, where, sizeof where),
        fate, struct_remark(u));
}

static bool is_dangling(const bg__block_use *u)
{
    return u->block->died != 0 && u->block->free_reported && u->block->pool == BG__POOL_SHARED;
}

/* Uses of the same freed block become one finding. */
static bool is_same_dangling_block(const bg__block_uses *uses, size_t a, size_t b)
{
    const bg__block_use *first = &uses->list[a], *second = &uses->list[b];
    return first->block == second->block && first->alone == second->alone && is_dangling(second) &&
           (first->call == second->call || (first->call != NULL && second->call != NULL)) &&
           find_moved_address(uses, a) == find_moved_address(uses, b);
}

/* Out of host memory, the finding names fewer nodes. */
static void report_dangling_block(const bg__block_uses *uses, size_t index, bg_report *report)
{
    bg__finding_calls about = {.calls = NULL};
    for (size_t i = index; i < uses->count; i++)
        if (uses->list[i].call != NULL && is_same_dangling_block(uses, index, i) &&
            bg__finding_calls_add(&about, uses->list[i].call) != BG_OK)
            bg__warn("--attach: %s", bg_last_error());
    report_freed_block(uses, index, &about, report);
    bg__finding_calls_free(&about);
}

static bool is_first_dangling_use(const bg__block_uses *uses, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_dangling(&uses->list[i]) && is_same_dangling_block(uses, i, index))
            return false;
    return true;
}

/* Adds a finding "freed", "reused" or "moved" for each block that has changed since its uses were recorded. */
static bg_status check_blocks(const bg__look *look)
{
    const bg__block_uses *uses = look->graph->blocks;

    if (uses == NULL)
        return BG_OK;
    bg__blocks_lock();
    for (size_t i = 0; i < uses->count; i++)
        if (is_dangling(&uses->list[i]) && is_first_dangling_use(uses, i))
            report_dangling_block(uses, i, look->report);
    bg__blocks_unlock();
    return BG_OK;
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

static void report_pool_alias(const bg__block_use *u, const bg_graph *graph, bg_report *report)
{
    const bg__heap_block *b = u->block;
    char text[200], where[300];
    bg__report_add(report, "pool-alias", u->kind == BG__USE_READS ? BG_FAULT : BG_WARNING, u->call,
                   (const void *)u->address,
                   "keep the tensor as long as the graph is replayed, or give the graphs pools of their own; or "
                   "launch the graph that fills it again before this one",
                   "%s %s overwritten what %s %s here: %s, which %s fills; it was freed%s, and its memory given to "
                   "%s, whose %s points there, and which was launched after %s; %s is %p%s",
                   b->overwriter, u->kind == BG__USE_READS ? "has" : "may have", bg__graph_name(graph),
                   u->kind == BG__USE_READS ? "reads" : "reads or writes", format_block(b, text, sizeof text),
                   b->maker->name, format_site(b->freed, where, sizeof where), b->overwriter, b->overwriter_node,
                   b->maker->name, format_use(u), (const void *)u->address, struct_remark(u));
}

static uint64_t last_filled_at(const bg__heap_block *b)
{
    return b->maker->launched > b->filled ? b->maker->launched : b->filled;
}

/* What a node may write counts as written, so that no earlier launch is blamed for the block afterwards. */
static void record_use_at_launch(const bg__block_use *u, const bg_graph *graph, bg_report *report)
{
    bg__heap_block *b = u->block;
    if (b->pool != BG__POOL_PRIVATE || u->kind == BG__USE_OVERLAYS || u->kind >= BG__USE_OWN)
        return;
    if (report != NULL && u->kind != BG__USE_WRITES && b->died != 0 && b->free_reported && b->maker->launched > 0 &&
        b->overwritten > last_filled_at(b))
        report_pool_alias(u, graph, report);
    if (u->kind != BG__USE_READS)
        b->filled = launch_count;
}

static void record_overwrite(const bg__block_use *u, const bg_graph *graph)
{
    bg__heap_block *b = u->block;
    char where[160] = "";
    if (u->call != NULL)
        format_site(u->call->site, where, sizeof where);
    b->overwritten = launch_count;
    snprintf(b->overwriter, sizeof b->overwriter, "%s", bg__graph_name(graph));
    snprintf(b->overwriter_node, sizeof b->overwriter_node, "%s%s", u->call != NULL ? u->call->name : "node", where);
}

/* Adds a finding "pool-alias" for each freed block of a private pool that this graph may read, and that another graph
 * has overwritten since the block was filled. */
static void record_launch(const bg__event *event)
{
    const bg__tracked_graph *graph = event->graph;
    bg__block_uses *uses = graph != NULL && !graph->unreadable ? graph->blocks : NULL;
    bg_report *report;

    if (uses == NULL || (uses->capture == NULL && !uses->in_pool))
        return;
    report = graph->stale ? NULL : graph->report;
    bg__blocks_lock();
    launch_count++;
    if (uses->capture != NULL) {
        uses->capture->launched = launch_count;
        snprintf(uses->capture->name, sizeof uses->capture->name, "%s", bg__graph_name(graph->graph));
    }
    for (size_t i = 0; i < uses->count && uses->in_pool; i++)
        record_use_at_launch(&uses->list[i], graph->graph, report);
    for (size_t i = 0; i < uses->count && uses->in_pool; i++)
        if (uses->list[i].kind == BG__USE_OVERLAYS)
            record_overwrite(&uses->list[i], graph->graph);
    bg__blocks_unlock();
}

const bg__subscriber bg__check_blocks = {
    .name = "blocks",
    .when = BG__CHECK_EXECS,
    .look = check_blocks,
    .on = {[BG__EXEC_LAUNCHING] = record_launch},
};
