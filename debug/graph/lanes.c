#include "lanes.h"

#include "debug/memory/allocate.h"

/* The number of rows is low if streams only fork and join. It is high if each node waits for nodes of hundreds of
 * lanes. */
enum { ENTRIES_MAX = 1 << 23 /* 64 MiB */ };

void bg__lanes_free(bg__lanes *s)
{
    free(s->lane);
    free(s->position);
    free(s->rank);
    free(s->after);
    free(s->first_after);
    free(s->row);
    free(s->rows);
    free(s->entries);
    free(s->tail);
    free(s->left);
    free(s->joined);
    free(s->waited);
    free(s->waited_at);
    free(s->seen);
    free(s->stack);
    *s = (bg__lanes){0};
}

static bg_status allocate_lanes(bg__lanes *s, const bg__layout *l)
{
    bg_status status;
    BG__TRY(BG__ALLOCATE(s->lane, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->position, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->rank, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->after, l->edges, "edges"));
    BG__TRY(BG__ALLOCATE(s->first_after, l->count + 1, "nodes"));
    BG__TRY(BG__ALLOCATE(s->row, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->tail, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->left, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->joined, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->waited, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->waited_at, l->count, "nodes"));
    BG__TRY(BG__ARRAY_GROW(s->rows, s->row_count, s->row_capacity, "nodes"));
    s->rows[s->row_count++] = (bg__lane_row){0, 0}; /* the row of nodes that wait for no other lane */
done:
    return status;
}

/* Sorts the edges by the node that they lead to. */
static void reverse_edges(bg__lanes *s, const bg__layout *l)
{
    for (size_t i = 0; i < l->count; i++) {
        s->first_after[i + 2] = s->first_after[i + 1] + l->waits[i];
        s->left[i] = l->first_edge[i + 1] - l->first_edge[i];
    }
    for (size_t i = 0; i < l->count; i++)
        for (size_t e = l->first_edge[i]; e < l->first_edge[i + 1]; e++)
            s->after[s->first_after[l->edge_to[e] + 1]++] = i;
}

/* ---- what one node waits for ---- */

static void add_waited_lane(bg__lanes *s, int lane, unsigned position)
{
    bg__lane_entry *entry;
    if (s->waited_at[lane] == 0) {
        s->waited_at[lane] = ++s->waited_count;
        s->waited[s->waited_count - 1] = (bg__lane_entry){lane, 0};
    }
    entry = &s->waited[s->waited_at[lane] - 1];
    if (entry->position < position)
        entry->position = position;
}

static void add_waited_lanes(bg__lanes *s, size_t node)
{
    size_t last = 0; /* the row that was added last: nodes after one fork share a row */
    for (size_t a = s->first_after[node]; a < s->first_after[node + 1]; a++) {
        size_t before = s->after[a];
        const bg__lane_row *row = &s->rows[s->row[before]];
        add_waited_lane(s, s->lane[before], s->position[before]);
        for (size_t i = 0; i < row->count && s->row[before] != last; i++)
            add_waited_lane(s, s->entries[row->first + i].lane, s->entries[row->first + i].position);
        last = s->row[before];
    }
}

static void clear_waited_lanes(bg__lanes *s)
{
    for (size_t i = 0; i < s->waited_count; i++)
        s->waited_at[s->waited[i].lane] = 0;
    s->waited_count = 0;
}

static int compare_entries(const void *a, const void *b)
{
    int x = ((const bg__lane_entry *)a)->lane, y = ((const bg__lane_entry *)b)->lane;
    return (x > y) - (x < y);
}

/* The position that the row has for that lane; 0: the row does not have the lane. */
static unsigned find_position(const bg__lanes *s, size_t index, int lane)
{
    const bg__lane_row *row = &s->rows[index];
    const bg__lane_entry wanted = {lane, 0}, *found = NULL;
    if (row->count > 0)
        found = bsearch(&wanted, s->entries + row->first, row->count, sizeof wanted, compare_entries);
    return found != NULL ? found->position : 0;
}

/* Whether the row has every lane in `waited`, at the same position; `lane` itself is not compared. */
static bool row_covers_waits(const bg__lanes *s, size_t index, int lane)
{
    for (size_t i = 0; i < s->waited_count; i++)
        if (s->waited[i].lane != lane && find_position(s, index, s->waited[i].lane) != s->waited[i].position)
            return false;
    return true;
}

/* Makes a row from `waited`. */
static bg_status add_row(bg__lanes *s, size_t *index)
{
    size_t need = s->entry_count + s->waited_count;
    bg_status status = BG_OK;

    if (need > ENTRIES_MAX) {
        s->searched = true;
        goto done;
    }
    if (need > s->entry_capacity)
        BG__TRY(bg__array_grow(&s->entries, &s->entry_capacity, need, sizeof *s->entries, "edges"));
    BG__TRY(BG__ARRAY_GROW(s->rows, s->row_count, s->row_capacity, "nodes"));
    qsort(s->waited, s->waited_count, sizeof *s->waited, compare_entries);
    for (size_t i = 0; i < s->waited_count; i++) {
        s->waited_at[s->waited[i].lane] = i + 1;
        s->entries[s->entry_count + i] = s->waited[i];
    }
    *index = s->row_count;
    s->rows[s->row_count++] = (bg__lane_row){s->entry_count, s->waited_count};
    s->entry_count = need;
done:
    return status;
}

/* ---- one node ---- */

static int find_continued_lane(const bg__lanes *s, size_t node)
{
    int found = -1;
    for (size_t a = s->first_after[node]; a < s->first_after[node + 1]; a++) {
        int lane = s->lane[s->after[a]];
        if (s->tail[lane] == s->after[a] && (found < 0 || lane < found))
            found = lane;
    }
    return found;
}

/* Finds a lane whose last node comes before this node and has no successor without a lane; -1: none. */
static int find_ended_lane(const bg__lanes *s)
{
    int found = -1;
    for (size_t i = 0; i < s->waited_count; i++) {
        int lane = s->waited[i].lane;
        size_t tail = s->tail[lane];
        if (s->left[tail] == 0 && s->position[tail] == s->waited[i].position && (found < 0 || lane < found))
            found = lane;
    }
    return found;
}

/* Finds the row of a node. It is the row of the previous node in its lane, a row shared by all nodes that wait only for
 * the same node, or a new row. */
static bg_status find_row(bg__lanes *s, size_t node, bool continues)
{
    size_t count = s->first_after[node + 1] - s->first_after[node], *joined = NULL;
    bg_status status = BG_OK;

    if (s->waited_count == 0)
        goto done;
    if (continues && row_covers_waits(s, s->row[s->tail[s->lane[node]]], s->lane[node])) {
        s->row[node] = s->row[s->tail[s->lane[node]]];
        goto done;
    }
    if (count == 1)
        joined = &s->joined[s->after[s->first_after[node]]];
    if (joined != NULL && *joined == 0)
        BG__TRY(add_row(s, joined));
    if (joined != NULL)
        s->row[node] = *joined;
    else
        BG__TRY(add_row(s, &s->row[node]));
done:
    return status;
}

/* A node that only continues a lane has the row of the previous node in that lane. */
static bool has_one_dependency(const bg__lanes *s, size_t node)
{
    return s->first_after[node + 1] - s->first_after[node] == 1;
}

static bg_status place_node(void *user, size_t node)
{
    bg__lanes *s = user;
    int lane = find_continued_lane(s, node);
    bool continues = lane >= 0;
    bg_status status = BG_OK;

    if (!s->searched && !(continues && has_one_dependency(s, node)))
        add_waited_lanes(s, node);
    if (lane < 0)
        lane = find_ended_lane(s);
    s->lane[node] = lane < 0 ? s->count : lane;
    if (continues && has_one_dependency(s, node))
        s->row[node] = s->row[s->tail[lane]];
    else
        BG__TRY(find_row(s, node, continues));
    s->position[node] = lane < 0 ? 1 : s->position[s->tail[lane]] + 1;
    s->count += lane < 0;
    s->tail[s->lane[node]] = node;
    s->rank[node] = s->placed++;
    for (size_t a = s->first_after[node]; a < s->first_after[node + 1]; a++)
        s->left[s->after[a]]--;
done:
    clear_waited_lanes(s);
    return status;
}

/* ---- all nodes, in the order of a step ---- */

bg_status bg__lanes_find(bg__lanes *s, bg__layout *l)
{
    bg_status status;

    BG__TRY(allocate_lanes(s, l));
    reverse_edges(s, l);
    BG__TRY(bg__layout_visit_in_order(l, place_node, s));
    if (s->searched) {
        BG__TRY(BG__ALLOCATE(s->seen, l->count, "nodes"));
        BG__TRY(BG__ALLOCATE(s->stack, l->count, "nodes"));
    }
done:
    return status;
}

/* ---- which node is before which ---- */

/* Marks all nodes that come before node, with a number that no other node uses. */
static void mark_predecessors(bg__lanes *s, size_t node)
{
    size_t depth = 0;
    s->mark = node + 1;
    s->stack[depth++] = node;
    while (depth > 0) {
        size_t at = s->stack[--depth];
        for (size_t a = s->first_after[at]; a < s->first_after[at + 1]; a++) {
            if (s->seen[s->after[a]] == s->mark)
                continue;
            s->seen[s->after[a]] = s->mark;
            s->stack[depth++] = s->after[a];
        }
    }
}

bool bg__lanes_is_before(bg__lanes *s, size_t a, size_t b)
{
    if (s->lane[a] == s->lane[b])
        return s->position[a] < s->position[b];
    if (!s->searched)
        return find_position(s, s->row[b], s->lane[a]) >= s->position[a];
    if (s->mark != b + 1)
        mark_predecessors(s, b);
    return s->seen[a] == s->mark;
}
