#include "early_waits.h"

#include <stdint.h>
#include <stdlib.h>

#include "debug/memory/allocate.h"

static int compare_placed_calls(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const bg__placed_call *)a)->call, y = (uintptr_t)((const bg__placed_call *)b)->call;
    return (x > y) - (x < y);
}

/* Numbers the calls in the order of the pass; the root is 0. */
static bg_status place_calls(bg__early_waits *s, const bg_graph *graph)
{
    size_t count = 0;
    bg_status status = BG_OK;

    if (s->calls != NULL)
        return BG_OK;
    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call))
        count++;
    BG__TRY(BG__ALLOCATE(s->calls, count, "calls"));
    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call)) {
        s->calls[s->call_count] = (bg__placed_call){call, s->call_count};
        s->call_count++;
    }
    qsort(s->calls, count, sizeof *s->calls, compare_placed_calls);
done:
    return status;
}

size_t bg__early_waits_call_place(const bg__early_waits *s, const bg__call *call)
{
    const bg__placed_call wanted = {call->members != NULL ? call->members[0] : call, 0};
    const bg__placed_call *found = bsearch(&wanted, s->calls, s->call_count, sizeof wanted, compare_placed_calls);
    return found != NULL ? found->place : s->call_count;
}

static int compare_numbers(uintptr_t x, uintptr_t y)
{
    return (x > y) - (x < y);
}

static int compare_waits(const bg__placed_wait *x, const bg__placed_wait *y)
{
    int order = compare_numbers((uintptr_t)x->wait->waiter, (uintptr_t)y->wait->waiter);
    if (order == 0)
        order = compare_numbers((uintptr_t)x->wait->on, (uintptr_t)y->wait->on);
    return order != 0 ? order : compare_numbers(x->waited_after, y->waited_after);
}

/* Waits that compare equal keep the order in which they were made. */
static int compare_placed_waits(const void *a, const void *b)
{
    const bg__placed_wait *x = a, *y = b;
    int order = compare_waits(x, y);
    return order != 0 ? order : compare_numbers((uintptr_t)x->wait, (uintptr_t)y->wait);
}

static bg_status place_waits(bg__early_waits *s, const bg_graph *graph)
{
    int count;
    const bg__stream_wait *waits = bg__graph_waits(graph, &count);
    bg_status status = BG_OK;

    if (s->waits != NULL)
        return BG_OK;
    BG__TRY(BG__ALLOCATE(s->waits, count, "waits"));
    for (int i = 0; i < count; i++)
        s->waits[i] = (bg__placed_wait){&waits[i], bg__early_waits_call_place(s, waits[i].waited_after),
                                        bg__early_waits_call_place(s, waits[i].recorded_after)};
    s->wait_count = (size_t)count;
    qsort(s->waits, s->wait_count, sizeof *s->waits, compare_placed_waits);
done:
    return status;
}

/* The number of sorted waits before this one. */
static size_t count_waits_before(const bg__early_waits *s, const bg__placed_wait *wait)
{
    size_t low = 0, high = s->wait_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_waits(&s->waits[middle], wait) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const bg__stream_wait *bg__early_waits_find(const bg__early_waits *s, const bg__call *earlier, const bg__call *later)
{
    const bg__stream_wait wanted = {.waiter = later->stream, .on = earlier->stream};
    size_t first = bg__early_waits_call_place(s, earlier);
    size_t end = count_waits_before(s, &(bg__placed_wait){&wanted, bg__early_waits_call_place(s, later), 0});

    while (end-- > 0 && earlier->stream != later->stream) {
        const bg__placed_wait *at = &s->waits[end];
        if (at->wait->waiter != wanted.waiter || at->wait->on != wanted.on)
            return NULL;
        if (at->recorded_after < first)
            return at->wait;
    }
    return NULL;
}

bg_status bg__early_waits_list(bg__early_waits *s, const bg_graph *graph)
{
    bg_status status;
    BG__TRY(place_calls(s, graph));
    BG__TRY(place_waits(s, graph));
done:
    return status;
}

void bg__early_waits_free(bg__early_waits *s)
{
    free(s->calls);
    free(s->waits);
}
