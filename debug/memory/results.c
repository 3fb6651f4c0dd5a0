#include "results.h"

#include <stdlib.h>

#include "allocate.h"
#include "memory/ledger.h"
#include "spans.h"

/* A call, and the index of its parent in the list. For an outermost call, it is the index of the call itself. */
typedef struct listed_call {
    const bg__call *call;
    size_t parent;
} listed_call;

typedef struct result_search {
    const bg_graph *graph;
    bg__results *results;
    listed_call *calls; /* in order of the pass */
    size_t count;
    bg__spans after; /* memory that the calls after the current one use */
} result_search;

static bg_status list_calls(result_search *s)
{
    const bg__call *root = bg__graph_root(s->graph);
    size_t count = 0, open = 0; /* open: the index of the call around the next one */
    bg_status status;

    for (const bg__call *call = bg__call_next(root); call != NULL; call = bg__call_next(call))
        count++;
    BG__TRY(BG__ALLOCATE(s->calls, count, "calls"));
    for (const bg__call *call = bg__call_next(root); call != NULL; call = bg__call_next(call)) {
        size_t at = s->count++;
        while (call->parent != root && s->calls[open].call != call->parent)
            open = s->calls[open].parent;
        s->calls[at] = (listed_call){call, call->parent == root ? at : open};
        open = at;
    }
done:
    return status;
}

static bool is_block_of_call(const bg__call *call, const void *ptr)
{
    for (size_t i = 0; i < call->own.count; i++)
        if ((uintptr_t)ptr - (uintptr_t)call->own.blocks[i].ptr < call->own.blocks[i].bytes)
            return true;
    return false;
}

/* *found: the output is in a block that the pass itself allocated from a pool. Such a block may be released and reused
 * after the call. Memory that the library gave to the call, or to a call around it, does not count. */
static bg_status is_in_pass_block(const bg__call *call, const bg_tensor *tensor, bool *found)
{
    bg__owner owner;
    bg_status status;

    BG__TRY(bg__owner_find(BG__POOLED, tensor->data, &owner));
    *found = owner.kind == BG__OWNER_POOL && owner.shared;
    for (; call != NULL && *found; call = call->parent)
        *found = !is_block_of_call(call, tensor->data);
done:
    return status;
}

static bg_status add_result(result_search *s, size_t place, const bg__field_tensor *t)
{
    bg__results *r = s->results;
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(r->list, r->count, r->capacity, "outputs"));
    r->list[r->count++] = (bg__result){s->calls[place].call, *t, place};
done:
    return status;
}

/* Adds the outputs of the call that no later call uses. Its inner calls do not count as later calls. */
static bg_status add_call_results(result_search *s, size_t place)
{
    const bg__call *call = s->calls[place].call;
    const void *args = bg__graph_call_args(s->graph, call);
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
        bool reached, passing = true;
        if (!t.output || bg__spans_overlap(&s->after, begin, end))
            continue;
        BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (reached)
            BG__TRY(is_in_pass_block(call, t.tensor, &passing));
        if (reached && !passing)
            BG__TRY(add_result(s, place, &t));
    }
done:
    return status;
}

static bg_status add_used_memory(result_search *s, const bg__call *call)
{
    const void *args = bg__graph_call_args(s->graph, call);
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (args != NULL && bg__field_tensor_next(call->op, args, &t))
        BG__TRY(bg__spans_add_tensor(&s->after, t.tensor));
done:
    return status;
}

/* Visits the calls from the last to the first. An outer call ends with the last of its inner calls. */
static bg_status search_backwards(result_search *s)
{
    bg_status status = BG_OK;
    for (size_t i = s->count; i-- > 0;) {
        bool ends = s->calls[i].call->child == NULL;
        for (size_t at = i; ends; at = s->calls[at].parent) {
            BG__TRY(add_call_results(s, at));
            ends = s->calls[at].call->next == NULL && s->calls[at].parent != at;
        }
        BG__TRY(add_used_memory(s, s->calls[i].call));
    }
done:
    return status;
}

static int compare_results(const void *a, const void *b)
{
    const bg__result *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->field.next_field != y->field.next_field)
        return x->field.next_field < y->field.next_field ? -1 : 1;
    return x->field.next_element < y->field.next_element ? -1 : 1;
}

bg_status bg__results_find(bg__results *r, const bg_graph *graph)
{
    result_search s = {.graph = graph, .results = r};
    bg_status status;

    BG__TRY(list_calls(&s));
    BG__TRY(search_backwards(&s));
    if (r->count > 0)
        qsort(r->list, r->count, sizeof *r->list, compare_results);
done:
    bg__spans_free(&s.after);
    free(s.calls);
    return status;
}

void bg__results_free(bg__results *r)
{
    free(r->list);
    *r = (bg__results){0};
}
