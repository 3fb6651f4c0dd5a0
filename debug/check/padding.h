/* BG_CHECK=padding: what of a padded batch depends on the rows beyond it. */
#ifndef BG_DEBUG_PADDING_H
#define BG_DEBUG_PADDING_H

#include "graph/tools.h"
#include "debug/report/report.h"

/* Before a replay of a padded batch, which is in the buffers: replays with other values in the padding rows of inputs,
 * and restores memory. What stays, and what does not, is in padding.c. A finding "padding" is on the first
 * call whose rows of the batch, or whose state, depend on them. Errors: as bg_check_poison. */
bg_status bg__check_padding(bg_graph *graph, const bg__padded *buffers, size_t count, cudaStream_t stream,
                            bg_report **report);

#endif
