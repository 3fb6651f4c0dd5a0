#include "results.h"

#include <stdlib.h>

#include "footprint.h"
#include "memory/ledger.h"

/* The next call after this one and the calls inside it. */
static const bg__call *next_outside(const bg__call *call)
{
    while (call != NULL && call->next == NULL)
        call = call->parent;
    return call != NULL ? call->next : NULL;
}

/* Whether a later call of the pass reads or writes the tensor. */
static bool is_used_after(const bg_graph *graph, const bg__call *call, const bg_tensor *tensor)
{
    for (call = next_outside(call); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__graph_call_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (bg__tensor_overlaps(t.tensor, tensor))
                return true;
    }
    return false;
}

static bool is_memory_of(const bg__call *call, const void *ptr)
{
    for (size_t i = 0; i < call->own.count; i++)
        if ((uintptr_t)ptr - (uintptr_t)call->own.blocks[i].ptr < call->own.blocks[i].bytes)
            return true;
    return false;
}

/* *found: the output lies in a block that the pass allocated from a pool itself. Such a block may be released and
 * reused after the call. Memory that the library gave to the call, or to a call around it, does not count. */
static bg_status find_block_of_pass(const bg__call *call, const bg_tensor *tensor, bool *found)
{
    bg__owner owner;
    bg_status status;

    BG__TRY(bg__owner_find(BG__POOLED, tensor->data, &owner));
    *found = owner.kind == BG__OWNER_POOL && owner.shared;
    for (; call != NULL && *found; call = call->parent)
        *found = !is_memory_of(call, tensor->data);
done:
    return status;
}

static bg_status add_result(bg__results *r, const bg__call *call, const bg__field_tensor *t)
{
    bg_status status;
    BG__TRY(BG__GROW(r->list, r->count, r->capacity, "outputs"));
    r->list[r->count++] = (bg__result){call, *t};
done:
    return status;
}

bg_status bg__results_take(bg__results *r, const bg_graph *graph)
{
    bg_status status = BG_OK;
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__graph_call_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
            bool reached, passing = true;
            if (!t.output || is_used_after(graph, call, t.tensor))
                continue;
            BG__TRY(bg__tensor_reach(t.tensor, &reached));
            if (reached)
                BG__TRY(find_block_of_pass(call, t.tensor, &passing));
            if (reached && !passing)
                BG__TRY(add_result(r, call, &t));
        }
    }
done:
    return status;
}

void bg__results_free(bg__results *r)
{
    free(r->list);
    *r = (bg__results){0};
}
