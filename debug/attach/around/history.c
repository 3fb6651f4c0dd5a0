#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/report/findings.h"

enum { READERS = 6, MOST = 1 << 16 };

typedef struct used {
    bg__user user; /* name NULL: nobody */
    bg__touch use;
    bool exact;     /* it uses all of the bytes */
    uint64_t reach; /* bytes from the place on */
    uint64_t order; /* among all uses */
} used;

/* Memory of a graph: what a copy or memset uses, or the byte that a kernel's pointer points to. */
typedef struct place {
    uintptr_t begin, end;
    size_t rest;
    bool written; /* by the device, as far as it may be told; stays */
    used writer;
    used readers[READERS]; /* since then, one of each stream; or who may have written */
} place;

static struct {
    place *list; /* in the order of begin */
    size_t count, capacity;
    size_t longest; /* bytes of a place */
    uint64_t order;
} places;

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* The first place that may reach beyond begin. */
static size_t first_place(uintptr_t begin)
{
    const uintptr_t from = begin > places.longest ? begin - places.longest : 0;
    size_t low = 0, high = places.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places.list[middle].begin < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static place *next_place(size_t *at, uintptr_t begin, uintptr_t end)
{
    for (; *at < places.count && places.list[*at].begin < end; ++*at)
        if (places.list[*at].end > begin)
            return &places.list[(*at)++];
    return NULL;
}

static bool grow(void)
{
    size_t capacity = places.capacity > 0 ? 2 * places.capacity : 64;
    place *list = places.count < MOST ? realloc(places.list, capacity * sizeof *list) : NULL;
    if (list == NULL)
        return false;
    places.list = list;
    places.capacity = capacity;
    return true;
}

bool bg__history_add(uintptr_t begin, uintptr_t end, size_t rest)
{
    if (end <= begin)
        return true;
    if (places.count == places.capacity && !grow())
        return false;
    places.list[places.count++] = (place){.begin = begin, .end = end, .rest = rest};
    if (places.longest < end - begin)
        places.longest = end - begin;
    return true;
}

/* Of the same place, the one with uses comes first. */
static int compare_places(const void *first, const void *second)
{
    const place *a = first, *b = second;
    const uint64_t a_used = a->writer.order + a->readers[0].order, b_used = b->writer.order + b->readers[0].order;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a_used < b_used) - (a_used > b_used);
}

void bg__history_sort(void)
{
    size_t kept = 0;
    if (places.count > 1)
        qsort(places.list, places.count, sizeof *places.list, compare_places);
    for (size_t i = 0; i < places.count; i++) {
        place *last = kept > 0 ? &places.list[kept - 1] : NULL;
        if (last == NULL || last->begin != places.list[i].begin || last->end != places.list[i].end)
            places.list[kept++] = places.list[i];
        else
            last->written = last->written || places.list[i].written;
    }
    places.count = kept;
}

bool bg__history_has(uintptr_t begin, uintptr_t end)
{
    size_t at = first_place(begin);
    return next_place(&at, begin, end) != NULL;
}

bool bg__history_may_write(uintptr_t begin, uintptr_t end)
{
    size_t at = first_place(begin);
    for (const place *p = next_place(&at, begin, end); p != NULL; p = next_place(&at, begin, end))
        if (p->written)
            return true;
    return false;
}

void bg__history_forget(uintptr_t begin, uintptr_t end)
{
    size_t at = first_place(begin);
    for (place *p = next_place(&at, begin, end); p != NULL; p = next_place(&at, begin, end)) {
        p->writer.user.name = NULL;
        memset(p->readers, 0, sizeof p->readers);
    }
}

/* ---- what nothing orders ---------------------------------------------------------------------------------------- */

static const char *place_of(const bg__user *user, char *text, size_t bytes)
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

static const char *verb(bg__touch use)
{
    return use == BG__DOES_WRITE ? "writes" : use == BG__DOES_READ ? "reads" : "may use";
}

/* node: in a graph; other: what nothing orders with it, launched before it or after. */
static void tell(const used *node, const used *other, bool before, uintptr_t address)
{
    const bg__user *n = &node->user, *o = &other->user;
    char where[300], into[2][32], of_graph[120] = "", subject[300], message[1400];

    if (o->graph != NULL)
        snprintf(of_graph, sizeof of_graph, " of %s", o->graph);
    snprintf(message, sizeof message,
             "nothing orders %s of %s, launched into %s, and %s%s, launched %s it%s into %s: %s %s %p, which %s %s",
             n->name, n->graph, stream_name(n->stream, into[0]), o->name, of_graph, before ? "before" : "after",
             place_of(o, where, sizeof where), stream_name(o->stream, into[1]), n->name, verb(node->use),
             (void *)address, o->name, verb(other->use));
    snprintf(subject, sizeof subject, "%s %s %s", n->graph, n->name, o->name);
    bg__attach_report_site(
        "unordered", BG_WARNING, subject, n->name, n->site,
        "let the stream of the later one wait for the other (cudaEventRecord, cudaStreamWaitEvent), or "
        "launch both into one stream",
        message);
}

/* A kernel need not use what its pointer points to, such as in a cache of slots: it is taken to if it has enough
 * threads for all of the block, or the other one uses most of the block. */
static bool do_meet(const place *p, const used *one, const used *other)
{
    return (one->exact && other->exact) || (one->exact ? 2 : 1) * one->reach >= p->rest ||
           (other->exact ? 2 : 1) * other->reach >= p->rest;
}

static void compare(const place *p, const used *now, const used *before)
{
    const bool writes = now->use == BG__DOES_WRITE || before->use == BG__DOES_WRITE;
    if (before->user.name == NULL || !writes || (now->user.graph == NULL && before->user.graph == NULL) ||
        bg__clocks_is_behind(now->user.work, before->user.work) || !do_meet(p, now, before))
        return;
    if (now->user.graph != NULL)
        tell(now, before, true, p->begin);
    else
        tell(before, now, false, p->begin);
}

/* In the place of its stream's last one, of one that is over, or else of the oldest. */
static used *reader_of(place *p, const bg__user *user)
{
    used *oldest = &p->readers[0];
    for (int i = 0; i < READERS; i++) {
        used *r = &p->readers[i];
        if (r->user.name == NULL || r->user.work.stream == user->work.stream || bg__clocks_host_knows(r->user.work))
            return r;
        if (r->order < oldest->order)
            oldest = r;
    }
    return oldest;
}

static void use_place(place *p, const used *now)
{
    compare(p, now, &p->writer);
    for (int i = 0; i < READERS; i++)
        compare(p, now, &p->readers[i]);
    p->written = p->written || now->use != BG__DOES_READ;
    if (now->use == BG__DOES_WRITE) {
        p->writer = *now;
        memset(p->readers, 0, sizeof p->readers);
    } else {
        *reader_of(p, &now->user) = *now;
    }
}

void bg__history_use(uintptr_t begin, uintptr_t end, uint64_t threads, bg__touch use, const bg__user *user)
{
    enum { A_THREAD = 16 }; /* bytes at most */
    used now = {.user = *user, .use = use, .exact = threads == 0, .order = ++places.order};
    size_t at = first_place(begin);

    for (place *p = next_place(&at, begin, end); p != NULL; p = next_place(&at, begin, end)) {
        now.reach = now.exact ? end - p->begin : threads * A_THREAD;
        use_place(p, &now);
    }
}
