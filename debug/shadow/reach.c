#include "reach.h"

#include "debug/memory/tensors.h"

typedef struct reach {
    const bg_graph *graph;
    const bg__call *from;
    const void *eager; /* its arguments in the eager pass */
    bg__spans now;     /* memory that depends on it after the calls visited */
} reach;

static bool reads_reached(const reach *r, const bg__call *call, const void *args)
{
    bg__field_tensor t = {0};
    while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data;
        if (t.input && bg__spans_overlap(&r->now, begin, begin + bg_tensor_bytes(t.tensor)))
            return true;
    }
    return false;
}

static bg_status add_outputs(bg__spans *to, const bg__call *call, const void *args)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (args != NULL && bg__field_tensor_next(call->op, args, &t))
        if (t.output && t.tensor->data != NULL)
            BG__TRY(bg__spans_add_tensor(to, t.tensor));
done:
    return status;
}

/* Removes the outputs of a call that writes them from values that do not depend on `from`. */
static bg_status remove_outputs(reach *r, const bg__call *call, const void *args)
{
    bg__spans written = {0}, rest = {0};
    bg_status status;

    BG__TRY(add_outputs(&written, call, args));
    for (size_t i = 0; i < r->now.count; i++)
        BG__TRY(bg__spans_add_rest(&rest, r->now.list[i].begin, r->now.list[i].end, &written));
    bg__spans_free(&r->now);
    r->now = rest;
    rest = (bg__spans){0};
done:
    bg__spans_free(&written);
    bg__spans_free(&rest);
    return status;
}

/* *hit: the call is `from`, or it or a call inside it reads memory that depends on `from`. */
static bg_status follow_call(reach *r, const bg__call *call, bool inside, bool *hit)
{
    const void *args = call->op != NULL ? bg__graph_call_args(r->graph, call) : NULL;
    bg_status status = BG_OK;

    inside |= call == r->from;
    *hit = inside || reads_reached(r, call, args);
    if (!*hit && r->now.count > 0)
        BG__TRY(remove_outputs(r, call, args));
    for (const bg__call *child = call->child; child != NULL; child = child->next) {
        bool in_child;
        BG__TRY(follow_call(r, child, inside, &in_child));
        *hit |= in_child;
    }
    if (*hit)
        BG__TRY(add_outputs(&r->now, call, args));
    if (call == r->from)
        BG__TRY(add_outputs(&r->now, call, r->eager));
done:
    return status;
}

bg_status bg__reach_add(bg__spans *reached, const bg_graph *graph, const bg__call *from, const void *eager)
{
    reach r = {.graph = graph, .from = from, .eager = eager};
    bool hit;
    bg_status status;

    BG__TRY(follow_call(&r, bg__graph_root(graph), false, &hit));
    BG__TRY(bg__spans_add_all(reached, &r.now));
done:
    bg__spans_free(&r.now);
    return status;
}
