/* Finds closures of eager calls that point into the stack frame of a function that has returned. Each replay runs the
 * closure, and the frame may be gone by then. */
#include <string.h>

#include "addresses.h"
#include "debug/memory/maps.h"
#include "op/region.h"

typedef struct closure_words {
    const unsigned char *bytes;
    size_t count;
} closure_words;

/* Finds the words that the program gave to the call for its replays. If the program gave only a pointer, the pointer is
 * the only word. */
static closure_words find_closure_words(const bg_graph *graph, const bg__call *call)
{
    const void *args = call->eager_record != NULL ? bg__graph_call_args(graph, call) : NULL;
    const bg__region_args *region = args != NULL ? bg__region_get_args(call->op, args) : NULL;

    if (region == NULL)
        return (closure_words){NULL, 0};
    if (region->keep == NULL)
        return (closure_words){(const unsigned char *)&region->user, 1};
    return (closure_words){region->user, region->user != NULL ? region->user_bytes / sizeof(uintptr_t) : 0};
}

static uintptr_t word_at(closure_words in, size_t index)
{
    uintptr_t word;
    memcpy(&word, in.bytes + index * sizeof word, sizeof word);
    return word;
}

/* The finding is a warning: the word may also be padding, or a value that is not set. */
static void check_closure_words(const bg__call *call, closure_words in, const bg__maps *maps, bg_report *report)
{
    for (size_t i = 0; i < in.count; i++) {
        uintptr_t word = word_at(in, i);
        if (!bg__maps_is_dead_frame(maps, word))
            continue;
        bg__report_add(report, "dangling", BG_WARNING, call, (const void *)word,
                       "capture by value (in C++ [=]), or point to memory that lives as long as the graph",
                       "the closure of %s points to %p on a thread's stack, in the frame of a function that has "
                       "returned (offset %zu of its closure)",
                       call->name, (const void *)word, i * sizeof word);
        return; /* the other words mostly have the same cause */
    }
}

bg_status bg__check_closures(bg_graph *graph, const void *frame, bg_report *report)
{
    bg__maps maps = {0};
    bg_status status = BG_OK;

    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call)) {
        closure_words in = find_closure_words(graph, call);
        if (in.count > 0 && maps.list == NULL)
            BG__TRY(bg__maps_read(&maps, frame));
        check_closure_words(call, in, &maps, report);
    }
done:
    bg__maps_free(&maps);
    return status;
}
