/* The table of blocks, live and freed. A freed one is kept as long as a graph uses it, or a capture that was open then
 * may have used it. */
#include "block_table.h"

#include <stdatomic.h>
#include <string.h>

#include "base/base.h"
#include "base/grow.h"
#include "rows.h"

enum {
    SMALLEST = 512,  /* bytes: PyTorch's blocks are multiples of it */
    WINDOW = 4096,   /* events that a capture's graph has until it is instantiated, for freed blocks to be known */
    SEARCHES = 1000, /* of the table, for whether an allocation without a size may cover a graph's memory */
    QUESTIONS = 50,  /* snapshots that are taken for it */
};

typedef struct segment {
    uintptr_t base;
    size_t bytes;
    bool private_pool;
} segment;

static struct {
    pthread_mutex_t lock;
    bg__heap_block *live[BG__ALLOCATORS]; /* by base */
    bg__heap_block *freed;
    bg__block_capture *captures;
    atomic_uint_fast64_t time;
    uint64_t snapshot, snapshot_begun; /* number of the one that is taken, and when; 0: none is */
    uint64_t snapshots;
    segment *segments;
    size_t segment_count, segment_capacity;
    int searches, questions;
    /* Of the freed blocks those that a graph uses, and whose memory was not given out again, as far as that is a fault.
     */
    bg__heap_block **watched;
    size_t watched_count, watched_capacity;
    bool watched_known;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .time = 1};

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

static uint64_t next_event(void)
{
    return atomic_fetch_add(&table.time, 1) + 1;
}

/* ---- captures --------------------------------------------------------------------------------------------------- */

static void free_if_done(bg__block_capture *capture)
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

/* Whether its graph's nodes may point into what is freed now. PyTorch destroys a graph as soon as it is instantiated.
 */
static bool is_awaited(const bg__block_capture *capture)
{
    if (capture->ended == 0)
        return true;
    return !capture->noted && (capture->graph != NULL || capture->users > 0) &&
           bg__blocks_time() - capture->ended < WINDOW;
}

static bool captures_wait(void)
{
    for (const bg__block_capture *c = table.captures; c != NULL; c = c->next)
        if (is_awaited(c))
            return true;
    return false;
}

/* Where several are open, the thread's own: which one an allocation belongs to is otherwise unknown. */
static bg__block_capture *current_capture(void)
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

static void remove_unused(void)
{
    bg__heap_block *next;
    if (captures_wait() || table.snapshot != 0)
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
        return; /* what is freed during it is then not found */
    bg__blocks_lock();
    *c = (bg__block_capture){.id = id, .thread = pthread_self(), .begun = next_event(), .next = table.captures};
    table.captures = c;
    bg__blocks_unlock();
}

void bg__blocks_capture_ended(uint64_t id, cudaGraph_t graph)
{
    bg__blocks_lock();
    for (bg__block_capture *c = table.captures; c != NULL; c = c->next)
        if (c->id == id && c->ended == 0) {
            c->ended = next_event();
            c->graph = graph;
            free_if_done(c);
            break;
        }
    remove_unused();
    bg__blocks_unlock();
}

void bg__blocks_graph_destroyed(cudaGraph_t graph)
{
    bg__block_capture *next;
    bg__blocks_lock();
    for (bg__block_capture *c = table.captures; c != NULL; c = next) {
        next = c->next;
        if (c->graph == graph) {
            c->graph = NULL;
            free_if_done(c);
        }
    }
    bg__blocks_unlock();
}

bg__block_capture *bg__block_capture_of(cudaGraph_t graph)
{
    for (bg__block_capture *c = table.captures; c != NULL; c = c->next)
        if (c->graph == graph) {
            c->users++;
            return c;
        }
    return NULL;
}

void bg__block_capture_noted(bg__block_capture *capture)
{
    capture->noted = true;
    remove_unused();
}

void bg__block_capture_release(bg__block_capture *capture)
{
    if (capture == NULL)
        return;
    capture->users--;
    free_if_done(capture);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static void free_block(bg__heap_block *b)
{
    bg__block_capture_release(b->maker);
    free(b->name);
    free(b);
}

bg__heap_block *bg__blocks_live(bg__allocator allocator)
{
    return table.live[allocator];
}

bg__heap_block *bg__blocks_freed(void)
{
    return table.freed;
}

bool bg__block_overlaps(const bg__heap_block *a, const bg__heap_block *b)
{
    return a->base < b->base ? b->base - a->base < a->bytes : a->base - b->base < b->bytes;
}

void bg__block_hold(bg__heap_block *b)
{
    b->users++;
    table.watched_known &= b->died == 0;
}

void bg__block_release(bg__heap_block *b)
{
    if (--b->users > 0 || b->died == 0 || captures_wait() || table.snapshot != 0)
        return;
    *b->link = b->next;
    if (b->next != NULL)
        b->next->link = b->link;
    table.watched_known = false;
    free_block(b);
}

static bg__heap_block *find_block(bg__allocator allocator, uintptr_t base)
{
    bg__heap_block *b;
    HASH_FIND(hh, table.live[allocator], &base, sizeof base, b);
    return b;
}

static bg__heap_block *add_block(bg__allocator allocator, uintptr_t base, size_t bytes, uint64_t born)
{
    bg__heap_block *b = calloc(1, sizeof *b);
    if (b == NULL)
        return NULL;
    *b = (bg__heap_block){
        .allocator = allocator, .base = base, .bytes = bytes > 0 ? bytes : SMALLEST, .sized = bytes > 0};
    b->born = born;
    b->pool = allocator == BG__PYTORCH ? BG__POOL_UNKNOWN : BG__POOL_SHARED;
    HASH_ADD(hh, table.live[allocator], base, sizeof base, b);
    if (!b->lost)
        return b;
    free(b);
    return NULL;
}

/* The allocator does not have it any more. told: it said so itself. true: a graph uses it. */
static bool end_block(bg__heap_block *b, bool told, bg_site site)
{
    bool used = b->users > 0;
    table.watched_known &= !used;
    HASH_DEL(table.live[b->allocator], b);
    b->died = next_event();
    b->told = told;
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

/* When is unknown, and what was there since: such as what CuPy freed in another thread. */
static bool end_untold(bg__heap_block *b)
{
    return end_block(b, false, (bg_site){NULL, 0});
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

bool bg__block_free_matters(bg__allocator allocator, uintptr_t base)
{
    bg__heap_block *b;
    bool matters;
    bg__blocks_lock();
    b = find_block(allocator, base);
    matters = b != NULL && (b->users > 0 || (b->pool != BG__POOL_PRIVATE && captures_wait()));
    bg__blocks_unlock();
    return matters;
}

bool bg__block_freed(bg__allocator allocator, uintptr_t base, size_t bytes, bg_site site)
{
    bg__heap_block *b;
    bool used;
    bg__blocks_lock();
    b = find_block(allocator, base);
    bg__rows_drop(base, b != NULL && b->bytes > 0 ? b->bytes : 1);
    used = b != NULL && end_block(b, bytes == 0 || !b->sized || b->bytes == bytes, site);
    bg__blocks_unlock();
    return used;
}

/* Whether b, whose size is unknown, may reach to a block behind it: allocators give out nothing twice. */
static bool may_reach(const bg__heap_block *b, const bg__heap_block *behind)
{
    if (b->base >= behind->base || table.searches >= SEARCHES)
        return false;
    table.searches++;
    for (const bg__heap_block *between = table.live[b->allocator]; between != NULL; between = between->hh.next)
        if (between->base > b->base && between->base < behind->base)
            return false;
    return true;
}

static void find_watched(void)
{
    table.watched_known = true;
    table.watched_count = 0;
    for (bg__heap_block *b = table.freed; b != NULL; b = b->next) {
        if (b->users == 0 || b->reused || b->pool == BG__POOL_PRIVATE)
            continue;
        if (BG__GROW(table.watched, table.watched_count, table.watched_capacity, "blocks that were freed") != BG_OK)
            return; /* the others are "freed", not "reused" */
        table.watched[table.watched_count++] = b;
    }
}

/* true: a graph uses memory of b's. */
static bool mark_reused(const bg__heap_block *b, bool *may_cover)
{
    bool marked = false;
    if (!table.watched_known)
        find_watched();
    for (size_t i = 0; i < table.watched_count; i++) {
        bg__heap_block *old = table.watched[i];
        if (old->reused || old->allocator != b->allocator || old->died > b->born)
            continue;
        if (bg__block_overlaps(old, b))
            marked = old->reused = true;
        else if (!b->sized && !*may_cover)
            *may_cover = may_reach(b, old);
    }
    return marked;
}

/* The new block; NULL: out of host memory. */
static bg__heap_block *begin_block(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved, bool *ask)
{
    bg__heap_block *b = find_block(allocator, base);
    *moved = b != NULL && end_untold(b);
    b = add_block(allocator, base, bytes, next_event());
    if (b == NULL)
        return NULL;
    b->maker = current_capture();
    if (b->maker != NULL)
        b->maker->users++;
    *moved |= mark_reused(b, ask);
    return b;
}

bool bg__block_allocated(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved)
{
    bool ask = false;
    bg__rows_drop(base, bytes > 0 ? bytes : 1);
    bg__blocks_lock();
    (void)begin_block(allocator, base, bytes, moved, &ask);
    ask = ask && table.questions++ < QUESTIONS;
    bg__blocks_unlock();
    return ask;
}

/* b has the name now, and no other block. */
static void move_name(const bg__heap_block *b)
{
    bg__heap_block *next;
    for (bg__heap_block *old = table.live[BG__NAMED]; old != NULL; old = next) {
        next = old->hh.next;
        if (old != b && old->name != NULL && strcmp(old->name, b->name) == 0)
            (void)end_untold(old);
    }
    for (bg__heap_block *old = table.freed; old != NULL; old = old->next)
        if (old->name != NULL && strcmp(old->name, b->name) == 0)
            old->moved = old->base != b->base ? b->base : 0;
}

void bg__block_named(const char *name, uintptr_t base, size_t bytes)
{
    bool moved, ask = false;
    bg__heap_block *b;

    bg__blocks_lock();
    b = find_block(BG__NAMED, base);
    if (b == NULL || b->bytes != bytes || b->name == NULL || strcmp(b->name, name) != 0) {
        b = begin_block(BG__NAMED, base, bytes, &moved, &ask);
        if (b != NULL && (b->name = strdup(name)) != NULL)
            move_name(b);
    }
    bg__blocks_unlock();
}

/* true: b has it. Of a block without a size the end is unknown. */
static bool narrow(const bg__heap_block *b, uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    uintptr_t last = b->base + (b->sized ? b->bytes : 0);
    if (address >= b->base && address < last) { /* it may be in several mappings */
        *begin = b->base;
        *end = last;
        return true;
    }
    if (b->base > address && b->base < *end)
        *end = b->base;
    if (last <= address && last > *begin)
        *begin = last;
    return false;
}

void bg__block_narrow(uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    bool found = false;
    bg__blocks_lock();
    for (bg__allocator allocator = 0; allocator < BG__ALLOCATORS; allocator++)
        for (const bg__heap_block *b = table.live[allocator]; b != NULL && !found; b = b->hh.next)
            found = narrow(b, address, begin, end);
    bg__blocks_unlock();
}

bool bg__blocks_in(uintptr_t base, size_t bytes)
{
    bool found = false;
    bg__blocks_lock();
    for (bg__allocator allocator = BG__NAMED + 1; allocator < BG__ALLOCATORS; allocator++)
        for (const bg__heap_block *b = table.live[allocator]; b != NULL && !found; b = b->hh.next)
            found = b->base - base < bytes;
    bg__blocks_unlock();
    return found;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

void bg__blocks_snapshot_begin(void)
{
    bg__blocks_lock();
    table.snapshot = ++table.snapshots;
    table.snapshot_begun = next_event();
    table.segment_count = 0;
    bg__blocks_unlock();
}

void bg__block_segment(uintptr_t base, size_t bytes, bool private_pool)
{
    bg__blocks_lock();
    if (BG__GROW(table.segments, table.segment_count, table.segment_capacity, "segments of an allocator") == BG_OK)
        table.segments[table.segment_count++] = (segment){base, bytes, private_pool};
    bg__blocks_unlock(); /* without it, its blocks are of no known pool, and not judged */
}

static bool was_freed_since(bg__allocator allocator, uintptr_t base, uint64_t time)
{
    for (const bg__heap_block *b = table.freed; b != NULL && b->died > time; b = b->next)
        if (b->allocator == allocator && b->base == base)
            return true;
    return false;
}

void bg__block_live(bg__allocator allocator, uintptr_t base, size_t bytes)
{
    bg__heap_block *b;
    bg__blocks_lock();
    b = find_block(allocator, base);
    if (b != NULL && b->born < table.snapshot_begun && b->sized && b->bytes != bytes) {
        (void)end_untold(b);
        b = NULL;
    }
    if (b == NULL && !was_freed_since(allocator, base, table.snapshot_begun))
        b = add_block(allocator, base, bytes, 0);
    if (b != NULL && b->born < table.snapshot_begun) {
        b->bytes = bytes;
        b->sized = true;
        b->seen = table.snapshot;
    }
    bg__blocks_unlock();
}

static int compare_segments(const void *a, const void *b)
{
    uintptr_t first = ((const segment *)a)->base, second = ((const segment *)b)->base;
    return (first > second) - (first < second);
}

static const segment *find_segment(uintptr_t address)
{
    size_t low = 0, high = table.segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table.segments[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address - table.segments[low - 1].base < table.segments[low - 1].bytes ? &table.segments[low - 1]
                                                                                             : NULL;
}

uintptr_t bg__block_segment_end(uintptr_t address)
{
    const segment *found = find_segment(address);
    return found != NULL ? found->base + found->bytes : 0;
}

static void find_pool(bg__heap_block *b)
{
    const segment *found = find_segment(b->base);
    if (b->allocator == BG__PYTORCH && b->pool == BG__POOL_UNKNOWN && found != NULL)
        b->pool = found->private_pool ? BG__POOL_PRIVATE : BG__POOL_SHARED;
}

bool bg__blocks_snapshot_end(bg__allocator allocator)
{
    bg__heap_block *b, *next;
    bool moved = false, unused = false;

    bg__blocks_lock();
    if (table.segment_count > 0)
        qsort(table.segments, table.segment_count, sizeof(segment), compare_segments);
    for (b = table.live[allocator]; b != NULL; b = next) {
        next = b->hh.next;
        find_pool(b);
        if (b->born < table.snapshot_begun && b->seen != table.snapshot && b->pool != BG__POOL_UNKNOWN)
            moved |= end_untold(b);
        else
            moved |= mark_reused(b, &unused);
    }
    for (b = table.freed; b != NULL; b = b->next)
        find_pool(b);
    table.watched_known = false;
    table.snapshot = 0;
    remove_unused();
    bg__blocks_unlock();
    return moved;
}
