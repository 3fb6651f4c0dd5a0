/* Which node made the first difference between a graph's launch and its nodes one after the other. */
#ifndef BG_ATTACH_SHADOW_ORIGIN_H
#define BG_ATTACH_SHADOW_ORIGIN_H

#include "debug/attach/runs/runs.h"

/* Memory holds what the graph's launch left, which differs there from the result of runs, and holds it at the end, too.
 * launch: digests of runs->image.reach after it. Adds the finding. */
bg_status bg__shadow_find_origin(bg__runs *runs, const bg__spans *differing, const bg__digests *launch);

#endif
