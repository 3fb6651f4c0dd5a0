#include "blocks.h"

#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(added) ((added)->lost = true)
#include <uthash.h>

#include "debug/check/node_pointers.h"
#include "debug/graph/nodes.h"

typedef enum state { LIVE, FREED, REUSED } state;

/* A block that was live when a graph was noted. It stays for the graph when the allocator has another one there. */
typedef struct block {
    uintptr_t base;
    size_t bytes;
    bool private_pool;
    state state;
    bg_site freed;
    int users;          /* uses by graphs' nodes, and the table of live blocks */
    struct block *next; /* of those that are freed, and that graphs use */
    bool lost;
    UT_hash_handle hh;
} block;

typedef struct use {
    block *block;
    const bg__call *call;
    const void *address;
    char text[160]; /* "parameter 2, offset 8, is 0x7f...": where the node has it */
    bool alone;
} use;

struct bg__block_uses {
    use *list;
    size_t count, capacity;
};

static struct {
    pthread_mutex_t lock;
    block *live; /* by base */
    block *gone; /* freed, and graphs use them */
} blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void release(block *b)
{
    if (--b->users > 0)
        return;
    for (block **at = &blocks.gone; *at != NULL; at = &(*at)->next)
        if (*at == b) {
            *at = b->next;
            break;
        }
    free(b);
}

/* With the lock: the allocator does not have it any more, or not as it was. */
static void drop(block *b)
{
    HASH_DEL(blocks.live, b);
    if (b->users > 1) {
        b->next = blocks.gone;
        blocks.gone = b;
    }
    release(b);
}

static block *find_block(uintptr_t base)
{
    block *b;
    HASH_FIND(hh, blocks.live, &base, sizeof base, b);
    return b;
}

void bg__block_live(uintptr_t base, size_t bytes, bool private_pool)
{
    block *b;
    pthread_mutex_lock(&blocks.lock);
    b = find_block(base);
    if (b != NULL && (b->bytes != bytes || b->private_pool != private_pool)) {
        b->state = FREED;
        drop(b);
        b = NULL;
    }
    if (b == NULL && (b = calloc(1, sizeof *b)) != NULL) {
        *b = (block){.base = base, .bytes = bytes, .private_pool = private_pool, .users = 1};
        HASH_ADD(hh, blocks.live, base, sizeof base, b);
        if (b->lost)
            free(b);
    }
    pthread_mutex_unlock(&blocks.lock);
}

bool bg__block_freed(uintptr_t base, bg_site site)
{
    block *b;
    bool used = false;
    pthread_mutex_lock(&blocks.lock);
    b = find_block(base);
    if (b != NULL) {
        used = b->users > 1;
        b->state = FREED;
        b->freed = site;
        drop(b);
    }
    pthread_mutex_unlock(&blocks.lock);
    return used;
}

bool bg__block_is_used(uintptr_t base)
{
    block *b;
    bool used;
    pthread_mutex_lock(&blocks.lock);
    b = find_block(base);
    used = b != NULL && b->users > 1;
    pthread_mutex_unlock(&blocks.lock);
    return used;
}

bool bg__block_allocated(uintptr_t base)
{
    bool used = false;
    pthread_mutex_lock(&blocks.lock);
    for (block *b = blocks.gone; b != NULL; b = b->next) {
        if (base - b->base >= b->bytes)
            continue;
        used |= b->state == FREED;
        b->state = REUSED;
    }
    pthread_mutex_unlock(&blocks.lock);
    return used;
}

void bg__block_narrow(uintptr_t address, uintptr_t *begin, uintptr_t *end)
{
    pthread_mutex_lock(&blocks.lock);
    for (const block *b = blocks.live; b != NULL; b = b->hh.next) {
        uintptr_t last = b->base + b->bytes;
        if (address - b->base < b->bytes) { /* it may be in several mappings */
            *begin = b->base;
            *end = last;
            break;
        }
        if (b->base > address && b->base < *end)
            *end = b->base;
        if (last <= address && last > *begin)
            *begin = last;
    }
    pthread_mutex_unlock(&blocks.lock);
}

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

typedef struct noting {
    bg__block_uses *uses;
    block **order; /* live blocks by their addresses */
    size_t count;
} noting;

static int compare_blocks(const void *a, const void *b)
{
    uintptr_t first = (*(block *const *)a)->base, second = (*(block *const *)b)->base;
    return (first > second) - (first < second);
}

static block *find_holder(const noting *n, uintptr_t address)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->order[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address - n->order[low - 1]->base < n->order[low - 1]->bytes ? n->order[low - 1] : NULL;
}

/* Of a pool of graphs, a freed block is memory that the graphs themselves use again. */
static bg_status note_use(void *user, const bg__held *held)
{
    noting *n = user;
    block *b = find_holder(n, held->address);
    bg__block_uses *uses = n->uses;
    char place[64];
    bg_status status = BG_OK;

    if (b == NULL || b->private_pool)
        return BG_OK;
    BG__TRY(BG__GROW(uses->list, uses->count, uses->capacity, "uses of blocks"));
    b->users++;
    uses->list[uses->count] = (use){.block = b, .call = held->node->call, .address = (const void *)held->address};
    uses->list[uses->count].alone = held->alone;
    snprintf(uses->list[uses->count].text, sizeof uses->list->text, "%s", bg__held_text(held, place, sizeof place));
    uses->count++;
done:
    return status;
}

static void clear_uses(bg__block_uses *uses)
{
    pthread_mutex_lock(&blocks.lock);
    for (size_t i = 0; i < uses->count; i++)
        release(uses->list[i].block);
    pthread_mutex_unlock(&blocks.lock);
    uses->count = 0;
}

static bg_status note_all(noting *n, const bg__nodes *nodes)
{
    bg_status status = BG_OK;
    n->order = calloc(HASH_COUNT(blocks.live) + 1, sizeof(block *));
    if (n->order == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the blocks of an allocator");
    for (block *b = blocks.live; b != NULL; b = b->hh.next)
        n->order[n->count++] = b;
    qsort(n->order, n->count, sizeof(block *), compare_blocks);
    for (size_t i = 0; i < nodes->count; i++)
        BG__TRY(bg__node_addresses(&nodes->node[i], note_use, n));
done:
    free(n->order);
    return status;
}

bg_status bg__blocks_note(const bg_graph *graph, bg__block_uses **uses)
{
    bg__nodes nodes = {.node = NULL};
    noting n = {.uses = *uses};
    bg_status status;

    if (n.uses == NULL)
        n.uses = *uses = calloc(1, sizeof *n.uses);
    if (n.uses == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the blocks of %s", bg__graph_name(graph));
    clear_uses(n.uses);
    BG__TRY(bg__nodes_take(graph, &nodes));
    pthread_mutex_lock(&blocks.lock);
    status = note_all(&n, &nodes);
    pthread_mutex_unlock(&blocks.lock);
done:
    bg__nodes_free(&nodes);
    return status;
}

static void report_use(const use *u, bg_report *report)
{
    const block *b = u->block;
    bool reused = b->state == REUSED;
    char where[300] = "";

    if (b->freed.file != NULL && b->freed.line > 0)
        snprintf(where, sizeof where, ", at %s:%d", b->freed.file, b->freed.line);
    bg__report_add(report, reused ? "reused" : "freed", u->alone ? BG_FAULT : BG_WARNING, u->call, u->address,
                   "keep the tensor as long as the graph is replayed, and copy new values into it; or capture again",
                   "%s is %p, in a tensor of %zu bytes at %p that was freed after the capture%s%s%s", u->text,
                   (const void *)u->address, b->bytes, (const void *)b->base, where,
                   reused ? ", and whose memory the allocator has given to another one" : "",
                   u->alone ? "" : " (in a struct, where it may be a number or unused)");
}

void bg__blocks_check(bg__block_uses *uses, bg_report *report)
{
    if (uses == NULL)
        return;
    pthread_mutex_lock(&blocks.lock);
    for (size_t i = 0; i < uses->count; i++)
        if (uses->list[i].block->state != LIVE)
            report_use(&uses->list[i], report);
    pthread_mutex_unlock(&blocks.lock);
}

void bg__blocks_free(bg__block_uses *uses)
{
    if (uses == NULL)
        return;
    clear_uses(uses);
    free(uses->list);
    free(uses);
}
