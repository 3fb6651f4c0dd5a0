#include "footprint.h"

#include "tensors.h"

/* The members `outputs` and `owned` are candidates for `unread`. The member `state` is complete only after all calls
 * have been read. */
typedef struct footprint_reader {
    bg__footprint *footprint;
    const bg_graph *graph;
    bg__spans outputs, owned;
} footprint_reader;

static bg_status add_call_tensors(footprint_reader *r, const bg__call *call, bool leaving)
{
    const void *args = call->op != NULL ? bg__graph_call_args(r->graph, call) : NULL;
    bg__footprint *f = r->footprint;
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
        bool reached;
        if (leaving ? !t.output : !t.input)
            continue;
        BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (!reached)
            continue;
        BG__TRY(bg__spans_add(&f->all, begin, end));
        if (leaving)
            BG__TRY(bg__spans_add(&f->written, begin, end));
        else
            BG__TRY(bg__spans_add_rest(&f->state, begin, end, &f->written));
        if (leaving && !t.input)
            BG__TRY(bg__spans_add(&r->outputs, begin, end));
    }
done:
    return status;
}

static bg_status add_call(footprint_reader *r, const bg__call *call)
{
    bg_status status;
    BG__TRY(add_call_tensors(r, call, false));
    for (const bg__call *child = call->child; child != NULL; child = child->next)
        BG__TRY(add_call(r, child));
    BG__TRY(add_call_tensors(r, call, true));
    for (size_t i = 0; i < call->own.count; i++) {
        uintptr_t begin = (uintptr_t)call->own.blocks[i].ptr;
        BG__TRY(bg__spans_add(&r->owned, begin, begin + call->own.blocks[i].bytes));
    }
done:
    return status;
}

static bg_status add_unowned(void *user, void *ptr, size_t bytes)
{
    footprint_reader *r = user;
    return bg__spans_add(&r->owned, (uintptr_t)ptr, (uintptr_t)ptr + bytes);
}

/* Adds the static buffers of a runner. Tensors of calls may contain more rows of these buffers than this graph uses.
 * The other rows do not belong to the graph. */
static bg_status add_buffers(footprint_reader *r)
{
    const bg__recorded_addresses *noted = bg__graph_recorded_addresses(r->graph);
    bg_status status = BG_OK;
    for (int i = 0; i < noted->count; i++) {
        const bg__recorded_tensor *note = bg__recorded_addresses_get(noted, i);
        int owner = note->owners[BG__REGISTERED];
        if (note->call != NULL)
            continue;
        BG__TRY(bg__spans_add(&r->footprint->all, note->address, note->address + note->bytes));
        BG__TRY(bg__spans_add(&r->footprint->state, note->address, note->address + note->bytes));
        if (owner >= 0)
            BG__TRY(bg__spans_add(&r->footprint->state, noted->owners[owner].owner.base,
                                  noted->owners[owner].owner.base + noted->owners[owner].owner.bytes));
    }
done:
    return status;
}

bg_status bg__footprint_compute(bg__footprint *f, const bg_graph *graph)
{
    footprint_reader r = {.footprint = f, .graph = graph};
    bg_status status;

    BG__TRY(add_call(&r, bg__graph_root(graph)));
    if (bg__graph_get_facts(graph).pool != NULL)
        BG__TRY(bg__pool_visit_unowned(bg__graph_get_facts(graph).pool, add_unowned, &r));
    BG__TRY(add_buffers(&r));
    for (size_t i = 0; i < r.outputs.count; i++)
        BG__TRY(bg__spans_add_rest(&f->unread, r.outputs.list[i].begin, r.outputs.list[i].end, &f->state));
    BG__TRY(bg__spans_add_all(&f->unread, &r.owned)); /* also parts that a call reads first */
    BG__TRY(bg__spans_add_all(&f->all, &f->unread));
done:
    bg__spans_free(&r.outputs);
    bg__spans_free(&r.owned);
    return status;
}

void bg__footprint_free(bg__footprint *f)
{
    bg__spans_free(&f->all);
    bg__spans_free(&f->state);
    bg__spans_free(&f->written);
    bg__spans_free(&f->unread);
}
