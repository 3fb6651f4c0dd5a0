/* BG_ATTACH_SHADOW: each launch of a graph beside its nodes, one after the other, from the same memory. */
#include "launches.h"

#include <limits.h>

#include "debug/attach/runs/runs.h"
#include "shadow_origin.h"

static bg_status compare(bg__runs *r)
{
    bg__digests now = {0};
    bg__spans all = {0}, differing = {0};
    bg_status status;

    BG__TRY(bg__digests_compute(&now, &r->image.reach, r->image.page, r->stream));
    BG__TRY(bg__digests_compare(&r->result, &now, &r->image.reach, &all));
    for (size_t i = 0; i < all.count; i++)
        BG__TRY(bg__spans_add_rest(&differing, all.list[i].begin, all.list[i].end, &r->unstable));
    if (differing.count > 0)
        BG__TRY(bg__shadow_find_origin(r, &differing, &now));
done:
    bg__digests_free(&now);
    bg__spans_free(&all);
    bg__spans_free(&differing);
    return status;
}

/* What the graph leaves in memory stays there: it is the program's launch. */
static bg_status look(bg__runs *r, bg__seen *s)
{
    bg_status status;
    BG__TRY(bg__image_restore(&r->image, r->stream));
    BG__TRY(bg__runs_launch_graph(r));
    if (r->answer == CUDA_SUCCESS)
        BG__TRY(compare(r));
    bg__seen_count(s, r);
done:
    return status;
}

static bool launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    static const bg__fusions_check check = {"shadow", INT_MAX, .complete = true, .look = look};
    return bg__runs_launch(a, stream, result, &check);
}

bg_status bg__attach_shadow_begin(const bg__launcher **launcher)
{
    static const bg__launcher this = {.name = "shadow", .launch = launch, .drop = bg__seen_drop, .end = bg__runs_end};
    bool on;
    bg_status status;

    BG__TRY(bg__env_flag("BG_ATTACH_SHADOW", &on));
    if (!on)
        goto done;
    BG__TRY(bg__image_begin());
    *launcher = &this;
done:
    return status;
}
