#include "runs.h"

#include <stdlib.h>

#include "debug/memory/allocate.h"

static bg_status run_steps(bg__runs *r, const size_t *steps, bg__digests *digests)
{
    bg_status status;
    BG__TRY(bg__serial_run(&r->order, steps, r->order.count, r->stream));
    BG__TRY(bg__digests_take(digests, &r->image.reach, r->image.page, r->stream));
done:
    return status;
}

static bg_status try_steps(bg__runs *r, const size_t *steps, bg__digests *digests)
{
    bg_status status;
    BG__TRY(bg__image_restore(&r->image, r->stream));
    BG__TRY(run_steps(r, steps, digests));
done:
    return status;
}

bg_status bg__runs_begin(bg__runs *r, bool *contained)
{
    bg__digests again = {0};
    bg_status status;

    BG__TRY(BG__ALLOCATE(r->steps, r->order.count, "nodes"));
    BG__TRY(bg__order_list(&r->order, NULL, r->steps));
    BG__TRY(run_steps(r, r->steps, &r->result));
    BG__TRY(bg__image_contains_changes(&r->image, &r->result, contained));
    if (!*contained)
        goto done;
    BG__TRY(try_steps(r, r->steps, &again));
    BG__TRY(bg__digests_compare(&r->result, &again, &r->image.reach, &r->unstable));
done:
    bg__digests_free(&again);
    return status;
}

bg_status bg__runs_compare(bg__runs *r, const size_t *steps, bg__spans *differing)
{
    bg__digests now = {0};
    bg__spans all = {0};
    bg_status status;

    BG__TRY(try_steps(r, steps, &now));
    BG__TRY(bg__digests_compare(&r->result, &now, &r->image.reach, &all));
    for (size_t i = 0; i < all.count; i++)
        BG__TRY(bg__spans_add_rest(differing, all.list[i].begin, all.list[i].end, &r->unstable));
done:
    bg__digests_free(&now);
    bg__spans_free(&all);
    return status;
}

void bg__runs_free(bg__runs *r)
{
    bg__nodes_free(&r->nodes);
    bg__order_free(&r->order);
    bg__image_free(&r->image);
    bg__digests_free(&r->result);
    bg__spans_free(&r->unstable);
    free(r->steps);
}
