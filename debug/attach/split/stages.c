#include "stages.h"

#include "debug/memory/allocate.h"

typedef struct order_builder {
    bg__stages *stages;
    size_t next;
} order_builder;

static bg_status append_place(void *user, size_t place)
{
    order_builder *o = user;
    o->stages->order[o->next++] = place;
    return BG_OK;
}

/* Returns the first stage from `stage` on that the place may have: an even one in the graph, an odd one outside. */
static size_t round_up_stage(size_t stage, bool outside)
{
    return stage + (stage % 2 != outside);
}

/* Raises each stage to at least the stages of the nodes before it. */
static void raise_along_edges(bg__stages *s, const bg__layout *layout, const bool *outside)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t place = s->order[i];
        s->stage[place] = round_up_stage(s->stage[place], outside[place]);
        for (size_t e = layout->first_edge[place]; e < layout->first_edge[place + 1]; e++)
            if (s->stage[layout->edge_to[e]] < s->stage[place])
                s->stage[layout->edge_to[e]] = s->stage[place];
    }
}

static void mark_ahead(bg__stages *s, const bg__layout *layout, const bool *first)
{
    for (size_t i = s->count; i-- > 0;) {
        size_t place = s->order[i];
        s->ahead[place] = first[place];
        for (size_t e = layout->first_edge[place]; e < layout->first_edge[place + 1]; e++)
            s->ahead[place] = s->ahead[place] || s->ahead[layout->edge_to[e]];
    }
}

/* Raises the places that are not ahead to at least the last stage of those that are. Returns whether a stage was
 * raised. */
static bool raise_stages_behind(bg__stages *s)
{
    size_t last = 0;
    bool raised = false;

    for (size_t i = 0; i < s->count; i++)
        if (s->ahead[i] && s->stage[i] > last)
            last = s->stage[i];
    for (size_t i = 0; i < s->count; i++)
        if (!s->ahead[i] && s->stage[i] < last) {
            s->stage[i] = last;
            raised = true;
        }
    return raised;
}

/* Gives both places of each tie the same stage. Returns whether a stage was raised. */
static bool raise_coresident_stages(bg__stages *s, const bg__coresident_pairs *ties)
{
    bool raised = false;
    for (size_t i = 0; i < ties->count; i++) {
        size_t *one = &s->stage[ties->tie[i].one], *other = &s->stage[ties->tie[i].other];
        raised = raised || *one != *other;
        *one = *other = *one > *other ? *one : *other;
    }
    return raised;
}

bg_status bg__stages_assign(bg__stages *s, bg__layout *layout, const bool *outside, const bool *first,
                            const bg__coresident_pairs *ties, bool *possible)
{
    bool raised;
    bg_status status;

    s->count = layout->count;
    BG__TRY(BG__ALLOCATE(s->order, s->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->stage, s->count, "nodes"));
    BG__TRY(BG__ALLOCATE(s->ahead, s->count, "nodes"));
    BG__TRY(bg__layout_visit_in_order(layout, append_place, &(order_builder){s, 0}));
    mark_ahead(s, layout, first);
    do {
        raise_along_edges(s, layout, outside);
        s->last = 0;
        for (size_t i = 0; i < s->count; i++)
            s->last = s->stage[i] > s->last ? s->stage[i] : s->last;
        *possible = s->last <= 2 * s->count + 2; /* else ties raise stages without end */
        raised = raise_coresident_stages(s, ties);
        raised = raise_stages_behind(s) || raised;
    } while (*possible && raised);
done:
    return status;
}

void bg__stages_free(bg__stages *s)
{
    free(s->order);
    free(s->stage);
    free(s->ahead);
    *s = (bg__stages){0};
}
