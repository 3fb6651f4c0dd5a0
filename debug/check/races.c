/* Finds two calls of a segment that access the same bytes, one of them writing, without an order between them: a join
 * or a wait is missing. It uses the calls' tensors and the graph's edges, not the order in which a replay happened to
 * run.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "races.h"
#include "check.h"
#include "debug/graph/layout.h"
#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"

typedef struct access {
    bg__race_access of;
    uintptr_t begin, end;
} access;

typedef struct search {
    const bg_graph *graph;
    void (*each)(void *user, const bg__race *race);
    void *user;
    bg__layout layout;
    bool *works;              /* of each node: it accesses memory */
    unsigned long *ancestors; /* a row of bits for each node */
    size_t words;             /* of a row */
    access *list;             /* accesses that later calls must be compared with */
    size_t count, capacity;
} search;

enum { BITS = sizeof(unsigned long) * CHAR_BIT, NODES_MAX = 1 << 15 /* of a segment: 128 MiB of ancestors */ };

static void free_races(search *s)
{
    bg__layout_free(&s->layout);
    free(s->works);
    free(s->ancestors);
    s->works = NULL;
    s->ancestors = NULL;
    s->count = 0;
}

/* ---- order ---- */

static bool is_chain(const bg__layout *l)
{
    if (l->edges + 1 != l->count)
        return l->count == 0;
    for (size_t i = 0; i + 1 < l->count; i++)
        if (l->first_edge[i + 1] - l->first_edge[i] != 1 || l->edge_to[l->first_edge[i]] != i + 1)
            return false;
    return true;
}

/* Captures make only edges from earlier to later nodes; a program may add others. */
static bool is_in_order(const bg__layout *l)
{
    for (size_t i = 0; i < l->count; i++)
        for (size_t e = l->first_edge[i]; e < l->first_edge[i + 1]; e++)
            if (l->edge_to[e] <= i)
                return false;
    return true;
}

static bool touches_memory(enum cudaGraphNodeType type)
{
    switch (type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeHost:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeConditional: return true;
    default: return false;
    }
}

static void find_ancestors(search *s)
{
    const bg__layout *l = &s->layout;
    for (size_t i = 0; i < l->count; i++) {
        const unsigned long *row = s->ancestors + i * s->words;
        for (size_t e = l->first_edge[i]; e < l->first_edge[i + 1]; e++) {
            unsigned long *to = s->ancestors + l->edge_to[e] * s->words;
            for (size_t w = 0; w <= i / BITS; w++)
                to[w] |= row[w];
            to[i / BITS] |= 1ul << i % BITS;
        }
    }
}

/* *forks: calls of the segment may run at the same time. */
static bg_status read_segment(search *s, int segment, bool *forks)
{
    bg__layout *l = &s->layout;
    bg_status status;

    BG__TRY(bg__layout_read(l, bg__graph_segment(s->graph, segment)->graph));
    *forks = !is_chain(l) && l->count <= NODES_MAX && is_in_order(l);
    if (!*forks)
        goto done;
    s->words = (l->count + BITS - 1) / BITS;
    BG__TRY(BG__ALLOCATE(s->works, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->ancestors, l->count * s->words, "words of the order of nodes"));
    for (size_t i = 0; i < l->count; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(l->nodes[i], &type));
        s->works[i] = touches_memory(type);
    }
    find_ancestors(s);
done:
    return status;
}

/* Whether all work of a comes before all of b. */
static bool is_before(const search *s, const bg__call *a, const bg__call *b)
{
    for (long to = b->first_node; to < b->end_node; to++)
        for (long from = a->first_node; s->works[to] && from < a->end_node; from++)
            if (s->works[from] && (s->ancestors[(size_t)to * s->words + (size_t)from / BITS] >> from % BITS & 1) == 0)
                return false;
    return true;
}

/* ---- accesses ---- */

/* Whether b is the same call as a, or begins after it. a may be the root. */
static bool begins_after(const bg__call *a, const bg__call *b)
{
    while (a != NULL && a != b)
        a = bg__call_next(a);
    return a == b;
}

/* Of waits before `later` on its stream, for work on the stream of `earlier`, the last; the work ended before
 * `earlier`, or the calls would have an order. */
static const bg__wait *find_wait(const bg_graph *graph, const bg__call *earlier, const bg__call *later)
{
    const bg__wait *found = NULL;
    int count;
    const bg__wait *waits = bg__graph_waits(graph, &count);

    for (int i = 0; i < count && earlier->stream != later->stream; i++)
        if (waits[i].waiter == later->stream && waits[i].on == earlier->stream && waits[i].waited_after != later &&
            begins_after(waits[i].waited_after, later) && waits[i].recorded_after != earlier &&
            begins_after(waits[i].recorded_after, earlier))
            found = &waits[i];
    return found;
}

static void tell_race(const search *s, const access *one, const access *other)
{
    uintptr_t begin = one->begin > other->begin ? one->begin : other->begin;
    uintptr_t end = one->end < other->end ? one->end : other->end;
    const bg__race race = {one->of, other->of, begin, (size_t)(end - begin),
                           find_wait(s->graph, one->of.call, other->of.call)};
    s->each(s->user, &race);
}

/* Whether later calls need not be compared with the earlier access: a call that is ordered after this one is ordered
 * after the earlier one, too. */
static bool replaces(const access *one, const access *earlier)
{
    return one->begin <= earlier->begin && earlier->end <= one->end && (one->of.write || !earlier->of.write);
}

static void compare_with_others(search *s, const access *one)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        const access *earlier = &s->list[i];
        bool share = earlier->of.call != one->of.call && earlier->begin < one->end && one->begin < earlier->end;
        bool clash = share && (earlier->of.write || one->of.write), covers = share && replaces(one, earlier);
        bool before = (clash || covers) && is_before(s, earlier->of.call, one->of.call);
        if (clash && !before)
            tell_race(s, earlier, one);
        if (!before || !covers)
            s->list[kept++] = *earlier;
    }
    s->count = kept;
}

static bg_status add_access(search *s, const access *one)
{
    bg_status status;
    BG__TRY(BG__GROW(s->list, s->count, s->capacity, "tensors"));
    s->list[s->count++] = *one;
done:
    return status;
}

static bg_status check_call_accesses(search *s, const bg__call *call)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (bg__field_tensor_next(call->op, call->kept, &t)) {
        access one = {.of = {.call = call, .write = t.output}, .begin = (uintptr_t)t.tensor->data};
        one.end = one.begin + bg_tensor_bytes(t.tensor);
        if (one.begin == 0 || one.end == one.begin)
            continue;
        memcpy(one.of.name, t.name, sizeof one.of.name);
        compare_with_others(s, &one);
        BG__TRY(add_access(s, &one));
    }
done:
    return status;
}

/* Calls with inner calls are skipped: the inner calls access the tensors. */
static bool is_looked_at(const search *s, const bg__call *call, int segment)
{
    return !call->eager && call->child == NULL && call->kept != NULL && call->segment == segment &&
           call->end_segment == segment && call->first_node >= 0 && call->end_node > call->first_node &&
           (size_t)call->end_node <= s->layout.count;
}

bg_status bg__find_races(const bg_graph *graph, void (*each)(void *user, const bg__race *race), void *user)
{
    search s = {.graph = graph, .each = each, .user = user};
    bg_status status = BG_OK;

    for (int segment = 0; segment < bg__graph_segment_count(graph) && bg__graph_root(graph)->child != NULL; segment++) {
        bool forks;
        BG__TRY(read_segment(&s, segment, &forks));
        for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL && forks;
             call = bg__call_next(call))
            if (is_looked_at(&s, call, segment))
                BG__TRY(check_call_accesses(&s, call));
        free_races(&s);
    }
done:
    free_races(&s);
    free(s.list);
    return status;
}

/* ---- findings ---- */

static const char *file_of(const bg__call *call)
{
    return call->site.file != NULL ? call->site.file : "unknown file";
}

static const char *wait_text(const bg__race *race, char *text, size_t bytes)
{
    const bg__wait *wait = race->wait;
    char recorded[300] = "";

    *text = '\0';
    if (wait == NULL)
        return text;
    if (wait->recorded.line != wait->waited.line)
        snprintf(recorded, sizeof recorded, "is on an event recorded at %.200s:%d, ",
                 wait->recorded.file != NULL ? wait->recorded.file : "unknown file", wait->recorded.line);
    snprintf(text, bytes, "; the wait at %.200s:%d %s%s %.150s",
             wait->waited.file != NULL ? wait->waited.file : "unknown file", wait->waited.line,
             recorded[0] != '\0' ? recorded : "is for work ", "before", race->earlier.call->name);
    return text;
}

void bg__report_race(bg_report *report, bg_severity severity, const bg__race *race)
{
    const bg__race_access *one = &race->earlier, *other = &race->later;
    char who[200] = "both write them", wait[700];

    if (!one->write || !other->write)
        snprintf(who, sizeof who, "only %.150s writes them", (other->write ? other : one)->call->name);
    bg__report_add(
        report, "race", severity, other->call, (const void *)race->begin,
        "let the stream of one call wait for that of the other (bg_stream_wait_stream, bg_stream_wait_event)",
        "%s of %s and %s of %s at %s:%d share %zu bytes at %p, and work of the two calls may run at the same time; "
        "%s%s",
        other->name, other->call->name, one->name, one->call->name, file_of(one->call), one->call->site.line,
        race->bytes, (void *)race->begin, who, wait_text(race, wait, sizeof wait));
}

static void report_warning(void *user, const bg__race *race)
{
    bg__report_race(user, BG_WARNING, race);
}

bg_status bg__check_races(bg_graph *graph, bg_report *report)
{
    return bg__find_races(graph, report_warning, report);
}
