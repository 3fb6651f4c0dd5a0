/* Which probes cannot be compared: what another node writes, that has no order with the probed one, may be there or
 * not. */
#include "probes.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

/* Marks the step and those behind it in each order: runs->steps has all, each behind what it waits for. */
static void find_later(const bg__runs *r, size_t step, bool *later)
{
    const bg__order *o = &r->order;

    memset(later, 0, o->count * sizeof *later);
    later[step] = true;
    for (size_t i = 0; i < o->count; i++)
        for (size_t e = o->first[r->steps[i]]; later[r->steps[i]] && e < o->first[r->steps[i] + 1]; e++)
            later[o->edges[e].to] = true;
}

static void find_earlier(const bg__runs *r, size_t step, bool *earlier)
{
    const bg__order *o = &r->order;

    memset(earlier, 0, o->count * sizeof *earlier);
    earlier[step] = true;
    for (size_t i = o->count; i-- > 0;)
        for (size_t e = o->first[r->steps[i]]; e < o->first[r->steps[i] + 1]; e++)
            earlier[r->steps[i]] |= earlier[o->edges[e].to];
}

static bool meets(const bg__probe *probe, const bg__span *range)
{
    return range->begin < probe->end && probe->begin < range->end;
}

bg_status bg__probes_mark(bg__probes *p, const bg__runs *r, const bg__probe_writes *writes)
{
    bool *later = NULL, *earlier = NULL;
    bg_status status;

    BG__TRY(BG__ALLOCATE(later, r->order.count, "nodes"));
    BG__TRY(BG__ALLOCATE(earlier, r->order.count, "nodes"));
    for (size_t i = 0; i < p->count; i++) {
        bg__probe *probe = &p->list[i];
        probe->unstable = bg__spans_overlap(&r->unstable, probe->begin, probe->end);
        if (r->ordered || probe->mixed != NULL)
            continue;
        find_later(r, probe->step, later);
        find_earlier(r, probe->step, earlier);
        for (size_t w = 0; w < writes->count && probe->mixed == NULL; w++)
            if (meets(probe, &writes->list[w].range) && !later[writes->list[w].step] && !earlier[writes->list[w].step])
                probe->mixed = "other nodes may write there";
        probe->format = probe->mixed != NULL ? BGK_NO_FLOATS : probe->format;
    }
done:
    free(later);
    free(earlier);
    return status;
}
