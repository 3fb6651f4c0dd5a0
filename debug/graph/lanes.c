#include "lanes.h"

#include "debug/memory/allocate.h"

void bg__lanes_free(bg__lanes *s)
{
    free(s->lane);
    free(s->after);
    free(s->first_after);
    free(s->tail);
    free(s->left);
    free(s->seen);
    free(s->stack);
    *s = (bg__lanes){0};
}

static bg_status grow_lanes(bg__lanes *s, const bg__layout *l)
{
    bg_status status;
    BG__TRY(BG__ALLOCATE(s->lane, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->after, l->edges, "edges"));
    BG__TRY(BG__ALLOCATE(s->first_after, l->count + 1, "nodes"));
    BG__TRY(BG__ALLOCATE(s->tail, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->left, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->seen, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->stack, l->count, "nodes"));
done:
    return status;
}

/* Sorts the edges by the node that they lead to. */
static void turn_edges(bg__lanes *s, const bg__layout *l)
{
    for (size_t i = 0; i < l->count; i++) {
        s->first_after[i + 2] = s->first_after[i + 1] + l->waits[i];
        s->left[i] = l->first_edge[i + 1] - l->first_edge[i];
    }
    for (size_t i = 0; i < l->count; i++)
        for (size_t e = l->first_edge[i]; e < l->first_edge[i + 1]; e++)
            s->after[s->first_after[l->edge_to[e] + 1]++] = i;
}

/* ---- one node ---- */

static int find_continued(const bg__lanes *s, size_t node)
{
    int found = -1;
    for (size_t a = s->first_after[node]; a < s->first_after[node + 1]; a++) {
        int lane = s->lane[s->after[a]];
        if (s->tail[lane] == s->after[a] && (found < 0 || lane < found))
            found = lane;
    }
    return found;
}

/* Marks all ancestors of node, with a number that no other node uses. */
static size_t mark_before(bg__lanes *s, size_t node)
{
    size_t mark = node + 1, depth = 0;
    s->stack[depth++] = node;
    while (depth > 0) {
        size_t at = s->stack[--depth];
        for (size_t a = s->first_after[at]; a < s->first_after[at + 1]; a++) {
            if (s->seen[s->after[a]] == mark)
                continue;
            s->seen[s->after[a]] = mark;
            s->stack[depth++] = s->after[a];
        }
    }
    return mark;
}

/* The lane of a chain that has been joined by an ancestor of node; -1: none. */
static int find_ended(bg__lanes *s, size_t node)
{
    size_t mark = mark_before(s, node);
    for (int lane = 0; lane < s->count; lane++)
        if (s->left[s->tail[lane]] == 0 && s->seen[s->tail[lane]] == mark)
            return lane;
    return -1;
}

static bg_status place_node(void *user, size_t node)
{
    bg__lanes *s = user;
    int lane = find_continued(s, node);
    if (lane < 0)
        lane = find_ended(s, node);
    if (lane < 0)
        lane = s->count++;
    s->lane[node] = lane;
    s->tail[lane] = node;
    for (size_t a = s->first_after[node]; a < s->first_after[node + 1]; a++)
        s->left[s->after[a]]--;
    return BG_OK;
}

/* ---- all nodes, in the order of a step ---- */

bg_status bg__lanes_find(bg__lanes *s, bg__layout *l)
{
    bg_status status;

    BG__TRY(grow_lanes(s, l));
    turn_edges(s, l);
    BG__TRY(bg__layout_in_order(l, place_node, s));
done:
    return status;
}
