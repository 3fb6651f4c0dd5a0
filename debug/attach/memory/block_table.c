/* The table of blocks, live and freed. A freed block is kept as long as a graph uses it, or may use it because a
 * capture was open when it was freed. */
#include "block_table.h"

#include <stdatomic.h>

#include "debug/attach/events/subscribers.h"

enum {
    BLOCK_BYTES_MIN = 512,     /* bytes; PyTorch's block sizes are multiples of this */
    PENDING_EVENTS_MAX = 4096, /* number of events after which a capture without recorded uses keeps no freed blocks */
};

static struct {
    pthread_mutex_t lock;
    bg__heap_block *live[BG__ALLOCATORS]; /* by base */
    bg__heap_block *freed;
    bg__block_capture *captures;
    atomic_uint_fast64_t time;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .time = 1};

bg__block_state bg__blocks_state;

void bg__blocks_lock(void)
{
    pthread_mutex_lock(&table.lock);
}

void bg__blocks_unlock(void)
{
    pthread_mutex_unlock(&table.lock);
}

uint64_t bg__blocks_time(void)
{
    return atomic_load(&table.time);
}

uint64_t bg__blocks_next_event(void)
{
    return atomic_fetch_add(&table.time, 1) + 1;
}

/* ---- captures --------------------------------------------------------------------------------------------------- */

static void free_unused_capture(bg__block_capture *capture)
{
    if (capture->users > 0 || capture->ended == 0 || capture->graph != NULL)
        return;
    for (bg__block_capture **at = &table.captures; *at != NULL; at = &(*at)->next)
        if (*at == capture) {
            *at = capture->next;
            break;
        }
    free(capture);
}

/* Whether nodes of the capture's graph may point into blocks that are freed now, since the graph's uses are not
 * recorded yet. */
static bool is_pending(const bg__block_capture *capture)
{
    if (capture->ended == 0)
        return true;
    return !capture->recorded && (capture->graph != NULL || capture->users > 0) &&
           bg__blocks_time() - capture->ended < PENDING_EVENTS_MAX;
}

bool bg__blocks_is_capture_pending(void)
{
    for (const bg__block_capture *c = table.captures; c != NULL; c = c->next)
        if (is_pending(c))
            return true;
    return false;
}

/* If several captures are open, an allocation counts only for the capture that the calling thread has begun. */
bg__block_capture *bg__block_capture_current(void)
{
    bg__block_capture *found = NULL, *own = NULL;
    int open = 0;
    for (bg__block_capture *c = table.captures; c != NULL; c = c->next) {
        if (c->ended != 0)
            continue;
        open++;
        found = c;
        if (pthread_equal(c->thread, pthread_self()))
            own = c;
    }
    return open > 1 ? own : found;
}

void bg__blocks_remove_unused(void)
{
    bg__heap_block *next;
    if (bg__blocks_is_capture_pending() || bg__blocks_state.snapshot != 0)
        return;
    for (bg__heap_block *b = table.freed; b != NULL; b = next) {
        next = b->next;
        b->users++;
        bg__block_release(b);
    }
}

void bg__blocks_capture_begun(uint64_t id)
{
    bg__block_capture *c = calloc(1, sizeof *c);
    if (c == NULL)
        return; /* blocks that are freed during this capture are not found */
    bg__blocks_lock();
    *c = (bg__block_capture){
        .id = id, .thread = pthread_self(), .begun = bg__blocks_next_event(), .next = table.captures};
    table.captures = c;
    bg__blocks_unlock();
}

void bg__blocks_capture_ended(uint64_t id, cudaGraph_t graph)
{
    bg__blocks_lock();
    for (bg__block_capture *c = table.captures; c != NULL; c = c->next)
        if (c->id == id && c->ended == 0) {
            c->ended = bg__blocks_next_event();
            c->graph = graph;
            free_unused_capture(c);
            break;
        }
    bg__blocks_remove_unused();
    bg__blocks_unlock();
}

static void forget_graph(const bg__event *event)
{
    bg__block_capture *next;
    bg__blocks_lock();
    for (bg__block_capture *c = table.captures; c != NULL; c = next) {
        next = c->next;
        if (c->graph == event->source) {
            c->graph = NULL;
            free_unused_capture(c);
        }
    }
    bg__blocks_unlock();
}

const bg__subscriber bg__fact_block_captures = {.name = "captures of blocks",
                                                .on = {[BG__GRAPH_DESTROYING] = forget_graph}};

bg__block_capture *bg__block_capture_acquire(cudaGraph_t graph)
{
    for (bg__block_capture *c = table.captures; c != NULL; c = c->next)
        if (c->graph == graph) {
            c->users++;
            return c;
        }
    return NULL;
}

void bg__block_capture_set_recorded(bg__block_capture *capture)
{
    capture->recorded = true;
    bg__blocks_remove_unused();
}

void bg__block_capture_release(bg__block_capture *capture)
{
    if (capture == NULL)
        return;
    capture->users--;
    free_unused_capture(capture);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static void free_block(bg__heap_block *b)
{
    bg__block_capture_release(b->maker);
    free(b->name);
    free(b);
}

bg__heap_block *bg__blocks_first_live(bg__allocator allocator)
{
    return table.live[allocator];
}

bg__heap_block *bg__blocks_first_freed(void)
{
    return table.freed;
}

bool bg__block_overlaps(const bg__heap_block *a, const bg__heap_block *b)
{
    return a->base < b->base ? b->base - a->base < a->bytes : a->base - b->base < b->bytes;
}

void bg__block_retain(bg__heap_block *b)
{
    b->users++;
    bg__blocks_state.freed_in_use_known &= b->died == 0;
}

void bg__block_release(bg__heap_block *b)
{
    if (--b->users > 0 || b->died == 0 || bg__blocks_is_capture_pending() || bg__blocks_state.snapshot != 0)
        return;
    *b->link = b->next;
    if (b->next != NULL)
        b->next->link = b->link;
    bg__blocks_state.freed_in_use_known = false;
    free_block(b);
}

bg__heap_block *bg__block_find(bg__allocator allocator, uintptr_t base)
{
    bg__heap_block *b;
    HASH_FIND(hh, table.live[allocator], &base, sizeof base, b);
    return b;
}

bg__heap_block *bg__block_add(bg__allocator allocator, uintptr_t base, size_t bytes, uint64_t born)
{
    bg__heap_block *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    *b = (bg__heap_block){
        .allocator = allocator, .base = base, .bytes = bytes > 0 ? bytes : BLOCK_BYTES_MIN, .size_known = bytes > 0};
    b->born = born;
    b->pool = allocator == BG__ALLOCATOR_PYTORCH ? BG__POOL_UNKNOWN : BG__POOL_SHARED;
    HASH_ADD(hh, table.live[allocator], base, sizeof base, b);
    return b;
}

bool bg__block_mark_freed(bg__heap_block *b, bool free_reported, bg_site site)
{
    bool used = b->users > 0;
    bg__blocks_state.freed_in_use_known &= !used;
    HASH_DEL(table.live[b->allocator], b);
    b->died = bg__blocks_next_event();
    b->free_reported = free_reported;
    b->freed = site;
    b->next = table.freed;
    b->link = &table.freed;
    if (b->next != NULL)
        b->next->link = &b->next;
    table.freed = b;
    b->users++;
    bg__block_release(b);
    return used;
}

bool bg__block_mark_freed_unseen(bg__heap_block *b)
{
    return bg__block_mark_freed(b, false, (bg_site){NULL, 0});
}
