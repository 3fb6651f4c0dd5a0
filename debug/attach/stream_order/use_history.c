#include "use_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/report/process_findings.h"

enum { OTHERS_MAX = 6, PLACES_MAX = 1 << 17 };

typedef struct recorded_use {
    bg__memory_user user; /* name NULL: none */
    bg__access_kind use;
    bool exact;     /* all of the bytes are accessed */
    uint64_t reach; /* bytes from the begin of the place on */
    uint64_t order; /* number among all uses */
} recorded_use;

/* Memory of a graph: the range of a copy or memset node, or the byte that a kernel's pointer points to. */
typedef struct place {
    uintptr_t begin, end;
    size_t rest;
    bool written; /* the device may have written it; never reset */
    recorded_use writer;
    recorded_use graph;              /* the last writer in a graph: `writer` itself, or one before it */
    recorded_use others[OTHERS_MAX]; /* one for each stream: the stream's last use that reads, may write, or writes
                                      * without an order with `writer` */
} place;

/* The first `sorted` places are in the order of their addresses. */
typedef struct table {
    place **list;
    size_t count, capacity, sorted;
} table;

static struct {
    table bytes, ranges; /* bytes: places that kernels use, possibly very many; ranges: places of copies and memsets */
    uint64_t order;
} places;

/* ---- places ----------------------------------------------------------------------------------------------------- */

static bool add_place(table *t, const place *added)
{
    place *copy;
    if (t->count == t->capacity) {
        const size_t capacity = t->capacity > 0 ? 2 * t->capacity : 64;
        place **list = t->count < PLACES_MAX ? realloc(t->list, capacity * sizeof(place *)) : NULL;
        if (list == NULL)
            return false;
        t->list = list;
        t->capacity = capacity;
    }
    copy = malloc(sizeof *copy);
    if (copy == NULL)
        return false;
    *copy = *added;
    t->list[t->count++] = copy;
    return true;
}

bool bg__history_add_range(uintptr_t begin, uintptr_t end, size_t rest)
{
    return end <= begin || add_place(end - begin == 1 ? &places.bytes : &places.ranges,
                                     &(place){.begin = begin, .end = end, .rest = rest});
}

static int compare_places(const place *a, const place *b)
{
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static int compare_place_pointers(const void *first, const void *second)
{
    return compare_places(*(place *const *)first, *(place *const *)second);
}

/* Merges the unsorted places into the sorted ones. A place that is there already stays, and the new one is freed.
 * Returns false if out of host memory. */
static bool sort_table(table *t)
{
    place **merged = malloc((t->capacity + 1) * sizeof(place *));
    size_t old = 0, new = t->sorted, count = 0;

    if (merged == NULL)
        return false;
    if (t->count > t->sorted)
        qsort(t->list + t->sorted, t->count - t->sorted, sizeof(place *), compare_place_pointers);
    while (old < t->sorted || new < t->count) {
        bool takes_old = old < t->sorted && (new == t->count || compare_places(t->list[old], t->list[new]) <= 0);
        place *next = t->list[takes_old ? old++ : new ++];
        if (count > 0 && compare_places(merged[count - 1], next) == 0)
            free(next);
        else
            merged[count++] = next;
    }
    free(t->list);
    t->list = merged;
    t->count = t->sorted = count;
    return true;
}

bool bg__history_sort(void)
{
    return sort_table(&places.bytes) && sort_table(&places.ranges);
}

static size_t find_first_byte(uintptr_t begin)
{
    size_t low = 0, high = places.bytes.sorted;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places.bytes.list[middle]->begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A search for the places that overlap [begin, end). The other members start zeroed. */
typedef struct search {
    uintptr_t begin, end;
    size_t byte, range; /* the next candidates */
    bool began;
} search;

static place *find_next_place(search *f)
{
    const table *bytes = &places.bytes, *ranges = &places.ranges;
    if (!f->began)
        f->byte = find_first_byte(f->begin);
    f->began = true;
    if (f->byte < bytes->sorted && bytes->list[f->byte]->begin < f->end)
        return bytes->list[f->byte++];
    while (f->range < ranges->sorted && ranges->list[f->range]->begin < f->end)
        if (ranges->list[f->range++]->end > f->begin)
            return ranges->list[f->range - 1];
    return NULL;
}

bool bg__history_has_range(uintptr_t begin, uintptr_t end)
{
    return find_next_place(&(search){begin, end, 0, 0, false}) != NULL;
}

bool bg__history_may_be_written(uintptr_t begin, uintptr_t end)
{
    search f = {begin, end, 0, 0, false};
    for (const place *p = find_next_place(&f); p != NULL; p = find_next_place(&f))
        if (p->written)
            return true;
    return false;
}

/* Whether the place was read after the last write. */
static bool is_read_since_write(const place *p)
{
    for (int i = 0; i < OTHERS_MAX; i++)
        if (p->others[i].user.name != NULL && p->others[i].order > p->writer.order)
            return true;
    return false;
}

/* Returns the name of another owner's access that came after `since` and may have written. */
static const char *find_possible_writer(const place *p, uint64_t owner, uint64_t since)
{
    for (int i = 0; i < OTHERS_MAX; i++) {
        const recorded_use *o = &p->others[i];
        if (o->user.name != NULL && o->use == BG__ACCESS_UNKNOWN && o->order > since && o->user.owner != owner)
            return o->user.name;
    }
    return NULL;
}

bg__last_write bg__history_last_write(uintptr_t begin, uintptr_t end, uint64_t owner, uint64_t since)
{
    search f = {begin, end, 0, 0, false};
    bg__last_write last = {.is_unread = true};

    for (const place *p = find_next_place(&f); p != NULL; p = find_next_place(&f)) {
        last.is_unread = last.is_unread && !is_read_since_write(p);
        last.perhaps = last.perhaps != NULL ? last.perhaps : find_possible_writer(p, owner, since);
        if (p->writer.user.name != NULL && p->writer.order > last.order) {
            last.user = p->writer.user;
            last.order = p->writer.order;
        }
    }
    return last;
}

uint64_t bg__history_last_order(void)
{
    return places.order;
}

void bg__history_forget_range(uintptr_t begin, uintptr_t end)
{
    search f = {begin, end, 0, 0, false};
    for (place *p = find_next_place(&f); p != NULL; p = find_next_place(&f)) {
        p->writer.user.name = p->graph.user.name = NULL;
        memset(p->others, 0, sizeof p->others);
    }
}

/* ---- findings -------------------------------------------------------------------------------------------------- */

static const char *site_text(const bg__memory_user *user, char *text, size_t bytes)
{
    const bg_site site = user->site;
    if (site.file == NULL)
        text[0] = '\0';
    else if (site.line > 0)
        snprintf(text, bytes, " at %s:%d", site.file, site.line);
    else
        snprintf(text, bytes, " at %s", site.file);
    return text;
}

static const char *stream_name(CUstream stream, char text[32])
{
    if (stream == NULL || stream == CU_STREAM_LEGACY)
        return "the default stream";
    if (stream == CU_STREAM_PER_THREAD)
        return "the per-thread default stream";
    snprintf(text, 32, "stream %p", (void *)stream);
    return text;
}

static const char *access_verb(bg__access_kind use)
{
    return use == BG__ACCESS_WRITE ? "writes" : use == BG__ACCESS_READ ? "reads" : "may use";
}

/* `node` is in a graph. Nothing orders `other` with it. before: `other` was launched before `node`. */
static void report_unordered(const recorded_use *node, const recorded_use *other, bool before, uintptr_t address)
{
    const bg__memory_user *n = &node->user, *o = &other->user;
    char where[300], into[2][32], of_graph[120] = "", subject[300], message[1400];

    if (o->graph != NULL)
        snprintf(of_graph, sizeof of_graph, " of %s", o->graph);
    snprintf(message, sizeof message,
             "%s of %s (launched into %s) and %s%s (launched %s it%s into %s) use the same memory, and nothing "
             "orders them: %s %s %p, which %s %s",
             n->name, n->graph, stream_name(n->stream, into[0]), o->name, of_graph, before ? "before" : "after",
             site_text(o, where, sizeof where), stream_name(o->stream, into[1]), n->name, access_verb(node->use),
             (void *)address, o->name, access_verb(other->use));
    snprintf(subject, sizeof subject, "%s %s %s", n->graph, n->name, o->name);
    bg__attach_report_once_at(
        "unordered", BG_WARNING, subject, n->name, n->site,
        "let the stream of the later work wait for the earlier work (cudaEventRecord, cudaStreamWaitEvent), or "
        "launch both into one stream",
        message);
}

/* Whether both access the same bytes. A kernel may access only a part of the block behind its pointer, such as a slot
 * of a cache. It is taken to access all of it if it has enough threads, or if the other access covers most of it. */
static bool do_overlap(const place *p, const recorded_use *one, const recorded_use *other)
{
    return (one->exact && other->exact) || (one->exact ? 2 : 1) * one->reach >= p->rest ||
           (other->exact ? 2 : 1) * other->reach >= p->rest;
}

static void report_if_unordered(const place *p, const recorded_use *now, const recorded_use *before)
{
    const bool writes = now->use == BG__ACCESS_WRITE || before->use == BG__ACCESS_WRITE;
    if (before->user.name == NULL || !writes || (now->user.graph == NULL && before->user.graph == NULL) ||
        bg__clocks_is_ordered_after(now->user.work, before->user.work) || !do_overlap(p, now, before))
        return;
    if (now->user.graph != NULL)
        report_unordered(now, before, true, p->begin);
    else
        report_unordered(before, now, false, p->begin);
}

/* Chooses the entry to replace: that of the same stream, one that is done, or else the oldest. */
static recorded_use *find_other_slot(place *p, const bg__memory_user *user)
{
    recorded_use *oldest = &p->others[0];
    for (int i = 0; i < OTHERS_MAX; i++) {
        recorded_use *r = &p->others[i];
        if (r->user.name == NULL || r->user.work.stream == user->work.stream || bg__clocks_host_knows(r->user.work))
            return r;
        if (r->order < oldest->order)
            oldest = r;
    }
    return oldest;
}

/* Keeps the accesses that later ones must still be compared with: those without an order with the new writer, and, if
 * the writer is outside of graphs, those in graphs, since two accesses outside of graphs are no finding. */
static void replace_writer(place *p, const recorded_use *now)
{
    const recorded_use before = p->writer;

    for (int i = 0; i < OTHERS_MAX; i++)
        if (p->others[i].user.name != NULL && bg__clocks_is_ordered_after(now->user.work, p->others[i].user.work) &&
            (now->user.graph != NULL || p->others[i].user.graph == NULL))
            p->others[i].user.name = NULL;
    p->writer = *now;
    if (now->user.graph != NULL)
        p->graph = *now;
    if (before.user.name != NULL && !bg__clocks_is_ordered_after(now->user.work, before.user.work))
        *find_other_slot(p, &before.user) = before;
}

static void record_place_use(place *p, const recorded_use *now)
{
    report_if_unordered(p, now, &p->writer);
    if (p->writer.user.graph == NULL)
        report_if_unordered(p, now, &p->graph);
    for (int i = 0; i < OTHERS_MAX; i++)
        report_if_unordered(p, now, &p->others[i]);
    p->written = p->written || now->use != BG__ACCESS_READ;
    if (now->use == BG__ACCESS_WRITE) {
        replace_writer(p, now);
    } else {
        *find_other_slot(p, &now->user) = *now;
    }
}

void bg__history_record_use(uintptr_t begin, uintptr_t end, uint64_t threads, bg__access_kind use,
                            const bg__memory_user *user)
{
    enum { BYTES_PER_THREAD = 16 }; /* bytes that a thread accesses, at most */
    recorded_use now = {.user = *user, .use = use, .exact = threads == 0, .order = ++places.order};
    search f = {begin, end, 0, 0, false};

    for (place *p = find_next_place(&f); p != NULL; p = find_next_place(&f)) {
        now.reach = now.exact ? end - p->begin : threads * BYTES_PER_THREAD;
        record_place_use(p, &now);
    }
}
