#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/report/findings.h"

enum { READERS = 6, MOST = 1 << 16 };

typedef struct used {
    bg__user user; /* name NULL: nobody */
    bg__touch use;
} used;

/* Memory of a graph: what a copy or memset uses, or the byte that a kernel's pointer points to. */
typedef struct place {
    uintptr_t begin, end;
    used writer;
    used readers[READERS]; /* since then, one of each stream; or who may have written */
} place;

static struct {
    place *list; /* in the order of begin */
    size_t count, capacity;
    size_t longest; /* bytes of a place */
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

static bool is_place(uintptr_t begin, uintptr_t end)
{
    for (size_t i = first_place(begin); i < places.count && places.list[i].begin <= begin; i++)
        if (places.list[i].begin == begin && places.list[i].end == end)
            return true;
    return false;
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

bool bg__history_add(uintptr_t begin, uintptr_t end)
{
    size_t at = places.count;

    if (end <= begin || is_place(begin, end))
        return true;
    if (places.count == places.capacity && !grow())
        return false;
    while (at > 0 && places.list[at - 1].begin > begin)
        at--;
    memmove(&places.list[at + 1], &places.list[at], (places.count - at) * sizeof *places.list);
    places.list[at] = (place){.begin = begin, .end = end};
    places.count++;
    if (places.longest < end - begin)
        places.longest = end - begin;
    return true;
}

bool bg__history_has(uintptr_t begin, uintptr_t end)
{
    size_t at = first_place(begin);
    return next_place(&at, begin, end) != NULL;
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
    return use == BG__DOES_WRITE ? "writes" : use == BG__DOES_READ ? "reads" : "uses";
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

static void compare(const used *now, const used *before, uintptr_t address)
{
    const bool writes = now->use == BG__DOES_WRITE || before->use == BG__DOES_WRITE;
    if (before->user.name == NULL || !writes || (now->user.graph == NULL && before->user.graph == NULL) ||
        bg__clocks_is_behind(now->user.work, before->user.work))
        return;
    if (now->user.graph != NULL)
        tell(now, before, true, address);
    else
        tell(before, now, false, address);
}

/* In the place of its stream's last one, of one that is over, or else of the oldest. */
static used *reader_of(place *p, const bg__user *user)
{
    used *oldest = &p->readers[0];
    for (int i = 0; i < READERS; i++) {
        used *r = &p->readers[i];
        if (r->user.name == NULL || r->user.work.stream == user->work.stream || bg__clocks_host_knows(r->user.work))
            return r;
        if (r->user.work.time < oldest->user.work.time)
            oldest = r;
    }
    return oldest;
}

static void use_place(place *p, bg__touch use, const bg__user *user)
{
    const used now = {*user, use};

    compare(&now, &p->writer, p->begin);
    for (int i = 0; i < READERS; i++)
        compare(&now, &p->readers[i], p->begin);
    if (use == BG__DOES_WRITE) {
        p->writer = now;
        memset(p->readers, 0, sizeof p->readers);
    } else {
        *reader_of(p, user) = now;
    }
}

void bg__history_use(uintptr_t begin, uintptr_t end, bg__touch use, const bg__user *user)
{
    size_t at = first_place(begin);
    for (place *p = next_place(&at, begin, end); p != NULL; p = next_place(&at, begin, end))
        use_place(p, use, user);
}
