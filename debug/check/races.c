/* Finds two calls of a segment that access the same bytes without an order between them, if one of the calls writes.
 * Then a join or a wait is missing. Uses the tensors of calls and the edges of the graph, but not the order in which a
 * replay ran. */
#include <stdio.h>
#include <string.h>

#include "races.h"
#include "accesses.h"
#include "addresses.h"
#include "early_waits.h"
#include "debug/graph/lanes.h"
#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"

/* A call, and its first and last node in each lane that access memory. */
typedef struct racing_call {
    const bg__call *call;
    size_t *firsts, *lasts;
    size_t lanes;
    size_t rank; /* the lowest rank of its nodes; of two ordered calls, the earlier call has the lower rank */
} racing_call;

/* A call that is searched. place: the index of the call among the searched calls. */
typedef struct listed_call {
    const bg__call *call;
    int segment;
    size_t place;
} listed_call;

/* A node of a call. */
typedef struct owned_node {
    const bg__call *call;
    size_t place;
} owned_node;

typedef struct race_search {
    const bg_graph *graph;
    bg__calls_of_nodes owners;
    void (*each)(void *user, const bg__race *race);
    void *user;
    listed_call *list; /* calls that are searched, segment by segment */
    size_t count;
    bg__early_waits waits;

    /* For one segment. */
    bg__layout layout;
    bg__lanes lanes;
    bool *has_work;      /* for each node: it accesses memory */
    owned_node *owned;   /* sorted by call */
    racing_call *calls;  /* sorted by rank */
    size_t *ends, *seen; /* ends: memory for the arrays `firsts` and `lasts` of all calls; seen: for each lane, the
                          * index in `firsts` that the last call with a node in the lane has for it */
    bg__accesses accesses;
    size_t *found;
} race_search;

static void free_segment(race_search *s)
{
    bg__layout_free(&s->layout);
    bg__lanes_free(&s->lanes);
    bg__accesses_free(&s->accesses);
    free(s->has_work);
    free(s->owned);
    free(s->calls);
    free(s->ends);
    free(s->seen);
    free(s->found);
    s->has_work = NULL;
    s->owned = NULL;
    s->calls = NULL;
    s->ends = s->seen = s->found = NULL;
}

/* ---- order ---- */

static bool nodes_are_chain(const bg__layout *l)
{
    if (l->edges + 1 != l->count)
        return l->count == 0;
    for (size_t i = 0; i + 1 < l->count; i++)
        if (l->first_edge[i + 1] - l->first_edge[i] != 1 || l->edge_to[l->first_edge[i]] != i + 1)
            return false;
    return true;
}

/* A capture makes only edges from earlier to later nodes. If the program has added other edges, it is not certain which
 * call made a node (src/capture/capture_marks.c), and the wrong call could be reported. In a segment that rules have
 * rewritten, it is certain which call made a node. */
static bool edges_go_forward(const bg__layout *l)
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

/* *forks: some calls of the segment may run at the same time. */
static bg_status read_segment(race_search *s, int segment, bool *forks)
{
    bg__layout *l = &s->layout;
    const bg__segment *of = bg__graph_segment(s->graph, segment);
    bg_status status;

    BG__TRY(bg__layout_read(l, of->graph));
    *forks = !nodes_are_chain(l) && (of->origins != NULL || edges_go_forward(l));
    if (!*forks)
        goto done;
    BG__TRY(BG__ALLOCATE(s->has_work, l->count, "nodes"));
    for (size_t i = 0; i < l->count; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(l->nodes[i], &type));
        s->has_work[i] = touches_memory(type);
    }
    BG__TRY(bg__lanes_find(&s->lanes, l));
done:
    return status;
}

static int compare_owned_nodes(const void *a, const void *b)
{
    const owned_node *x = a, *y = b;
    if (x->call != y->call)
        return (uintptr_t)x->call < (uintptr_t)y->call ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bg_status sort_nodes_by_call(race_search *s, int segment)
{
    const bg__call **call = s->owners.call + s->owners.first[segment];
    bg_status status;

    BG__TRY(BG__ALLOCATE(s->owned, s->layout.count, "nodes"));
    for (size_t i = 0; i < s->layout.count; i++)
        s->owned[i] = (owned_node){call[i], i};
    qsort(s->owned, s->layout.count, sizeof *s->owned, compare_owned_nodes);
done:
    return status;
}

/* The nodes of a call; *count: their number. */
static const owned_node *find_call_nodes(const race_search *s, const bg__call *call, size_t *count)
{
    size_t from = 0, end = s->layout.count;

    while (from < end) { /* binary search for the first node of the call */
        size_t middle = from + (end - from) / 2;
        if ((uintptr_t)s->owned[middle].call < (uintptr_t)call)
            from = middle + 1;
        else
            end = middle;
    }
    for (end = from; end < s->layout.count && s->owned[end].call == call;)
        end++;
    *count = end - from;
    return s->owned + from;
}

/* Finds the first and the last node of the call in each lane. These two stand for all nodes of the call in the lane,
 * since the nodes of a lane run in order. `ends` has room for two entries for each node of the call. Returns the number
 * of entries used. */
static size_t find_lane_ends(race_search *s, racing_call *c, size_t *ends)
{
    size_t count;
    const owned_node *owned = find_call_nodes(s, c->call, &count);
    const unsigned *position = s->lanes.position;

    c->firsts = ends;
    c->lasts = ends + count;
    for (size_t i = 0; i < count; i++) {
        size_t node = owned[i].place;
        int lane = s->lanes.lane[node];
        size_t at = s->seen[lane];
        if (!s->has_work[node])
            continue;
        if (at >= c->lanes || s->lanes.lane[c->firsts[at]] != lane) {
            at = s->seen[lane] = c->lanes++;
            c->firsts[at] = c->lasts[at] = node;
        }
        if (position[node] < position[c->firsts[at]])
            c->firsts[at] = node;
        if (position[node] > position[c->lasts[at]])
            c->lasts[at] = node;
    }
    return 2 * count;
}

static size_t first_rank(const race_search *s, const racing_call *c)
{
    size_t first = SIZE_MAX;
    for (size_t at = 0; at < c->lanes; at++)
        if (s->lanes.rank[c->firsts[at]] < first)
            first = s->lanes.rank[c->firsts[at]];
    return first;
}

/* Whether all work of `a` comes before all work of `b`. */
static bool call_is_before(race_search *s, const racing_call *a, const racing_call *b)
{
    for (size_t to = 0; to < b->lanes; to++)
        for (size_t from = 0; from < a->lanes; from++)
            if (!bg__lanes_is_before(&s->lanes, a->lasts[from], b->firsts[to]))
                return false;
    return true;
}

/* ---- accesses ---- */

static bg__race_access describe_access(const race_search *s, const bg__access *access)
{
    const bg__call *call = s->calls[access->call].call;
    bg__race_access of = {.call = call, .write = access->write};
    bg__field_tensor t = {0};

    for (int i = 0; i <= access->tensor; i++)
        (void)bg__field_tensor_next(call->op, call->kept, &t);
    memcpy(of.name, t.name, sizeof of.name);
    return of;
}

static void swap_accesses(bg__race *race)
{
    bg__race_access earlier = race->earlier;
    race->earlier = race->later;
    race->later = earlier;
}

static bg_status report_found_race(race_search *s, const bg__access *one, const bg__access *other)
{
    uintptr_t begin = one->begin > other->begin ? one->begin : other->begin;
    uintptr_t end = one->end < other->end ? one->end : other->end;
    bg__race race = {describe_access(s, one), describe_access(s, other), begin, (size_t)(end - begin), NULL};
    bg_status status;

    BG__TRY(bg__early_waits_list(&s->waits, s->graph));
    /* Edges that the program has added may reverse the ranks. */
    if (bg__early_waits_call_place(&s->waits, race.earlier.call) >
        bg__early_waits_call_place(&s->waits, race.later.call))
        swap_accesses(&race);
    race.wait = bg__early_waits_find(&s->waits, race.earlier.call, race.later.call);
    s->each(s->user, &race);
done:
    return status;
}

/* Whether later calls need not be compared with `earlier`, since a call that comes after `one` also comes after
 * `earlier`. */
static bool covers_access(const bg__access *one, const bg__access *earlier)
{
    return one->begin <= earlier->begin && earlier->end <= one->end && (one->write || !earlier->write);
}

/* The tree has exactly the accesses that later calls must be compared with. */
static bg_status compare_with_earlier(race_search *s, size_t index)
{
    const bg__access *one = &s->accesses.list[index];
    size_t count = bg__accesses_find(&s->accesses, one->begin, one->end, s->found);
    bg_status status = BG_OK;

    for (size_t i = 0; i < count; i++) {
        const bg__access *earlier = &s->accesses.list[s->found[i]];
        bool share = earlier->call != one->call;
        bool clash = share && (earlier->write || one->write), covers = share && covers_access(one, earlier);
        bool before = (clash || covers) && call_is_before(s, &s->calls[earlier->call], &s->calls[one->call]);
        if (clash && !before)
            BG__TRY(report_found_race(s, earlier, one));
        if (before && covers)
            bg__accesses_remove(&s->accesses, s->found[i]);
    }
    bg__accesses_insert(&s->accesses, index);
done:
    return status;
}

static bg_status list_accesses(race_search *s, size_t number)
{
    const bg__call *call = s->calls[number].call;
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    for (int i = 0; bg__field_tensor_next(call->op, call->kept, &t); i++) {
        bg__access one = {.call = number, .tensor = i, .write = t.output, .begin = (uintptr_t)t.tensor->data};
        one.end = one.begin + bg_tensor_bytes(t.tensor);
        if (one.begin != 0 && one.end != one.begin)
            BG__TRY(bg__accesses_add(&s->accesses, &one));
    }
done:
    return status;
}

/* ---- segments ---- */

/* Calls with inner calls are skipped: the inner calls access the tensors. */
static bool is_searched_call(const bg__call *call, int segments)
{
    return !call->eager && call->child == NULL && call->kept != NULL && call->segment >= 0 &&
           call->segment < segments && call->end_segment == call->segment;
}

static int compare_listed_calls(const void *a, const void *b)
{
    const listed_call *x = a, *y = b;
    return x->segment != y->segment ? (x->segment > y->segment) - (x->segment < y->segment)
                                    : (x->place > y->place) - (x->place < y->place);
}

static bg_status collect_call(race_search *s, const bg__call *call, size_t *capacity)
{
    bg_status status = BG_OK;

    if (!is_searched_call(call, bg__graph_segment_count(s->graph)))
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(s->list, s->count, *capacity, "calls"));
    s->list[s->count] = (listed_call){call, call->segment, s->count};
    s->count++;
done:
    return status;
}

static bg_status collect_calls(race_search *s)
{
    size_t capacity = 0;
    bg_status status = BG_OK;

    for (const bg__call *call = bg__call_next(bg__graph_root(s->graph)); call != NULL; call = bg__call_next(call))
        BG__TRY(collect_call(s, call, &capacity));
    for (const bg__call *run = bg__graph_root(s->graph)->runs; run != NULL; run = run->last_run)
        BG__TRY(collect_call(s, run, &capacity));
    if (s->count > 0)
        qsort(s->list, s->count, sizeof *s->list, compare_listed_calls);
done:
    return status;
}

static int compare_ranks(const void *a, const void *b)
{
    size_t x = ((const racing_call *)a)->rank, y = ((const racing_call *)b)->rank;
    return (x > y) - (x < y);
}

/* Leaves out calls without work: each of them would count as both before and after all other calls. */
static bg_status prepare_segment_calls(race_search *s, const listed_call *list, const listed_call *end)
{
    size_t count = 0, ends = 0;
    bg_status status;

    BG__TRY(sort_nodes_by_call(s, list->segment));
    BG__TRY(BG__ALLOCATE(s->calls, end - list, "calls"));
    BG__TRY(BG__ALLOCATE(s->ends, 2 * s->layout.count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->seen, s->lanes.count, "lanes"));
    for (const listed_call *at = list; at < end; at++) {
        s->calls[count].call = at->call;
        ends += find_lane_ends(s, &s->calls[count], s->ends + ends);
        s->calls[count].rank = first_rank(s, &s->calls[count]);
        count += s->calls[count].lanes > 0;
    }
    qsort(s->calls, count, sizeof *s->calls, compare_ranks);
    for (size_t i = 0; i < count; i++)
        BG__TRY(list_accesses(s, i));
    BG__TRY(bg__accesses_sort(&s->accesses));
    BG__TRY(BG__ALLOCATE(s->found, s->accesses.count, "tensors"));
done:
    return status;
}

bg_status bg__find_races(const bg_graph *graph, void (*each)(void *user, const bg__race *race), void *user)
{
    race_search s = {.graph = graph, .each = each, .user = user};
    bg_status status = BG_OK;

    BG__TRY(collect_calls(&s));
    BG__TRY(bg__calls_of_nodes_list(&s.owners, graph));
    for (size_t from = 0, end; from < s.count; from = end) {
        bool forks;
        for (end = from; end < s.count && s.list[end].segment == s.list[from].segment;)
            end++;
        BG__TRY(read_segment(&s, s.list[from].segment, &forks));
        if (forks)
            BG__TRY(prepare_segment_calls(&s, s.list + from, s.list + end));
        for (size_t i = 0; i < s.accesses.count; i++)
            BG__TRY(compare_with_earlier(&s, i));
        free_segment(&s);
    }
done:
    free_segment(&s);
    bg__calls_of_nodes_free(&s.owners);
    free(s.list);
    bg__early_waits_free(&s.waits);
    return status;
}

/* ---- findings ---- */

static const char *call_file(const bg__call *call)
{
    return call->site.file != NULL ? call->site.file : "unknown file";
}

static const char *wait_text(const bg__race *race, char *text, size_t bytes)
{
    const bg__stream_wait *wait = race->wait;
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
        "make the stream of one call wait for the stream of the other (bg_stream_wait_stream, bg_stream_wait_event)",
        "%s of %s and %s of %s at %s:%d share %zu bytes at %p, and work of the two calls may run at the same time; "
        "%s%s",
        other->name, other->call->name, one->name, one->call->name, call_file(one->call), one->call->site.line,
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
