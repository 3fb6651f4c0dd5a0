/* BG_CHECK=padding: finds what depends on the padding rows of a batch. */
#ifndef BG_DEBUG_PADDING_H
#define BG_DEBUG_PADDING_H

#include "graph/debug_table.h"
#include "debug/report/report.h"

/* Called before a replay of a padded batch, when the batch is in the buffers. Replays with other values in the padding
 * rows of inputs (padding.c describes the values), and restores memory. Adds a finding "padding" on the first call
 * whose state or rows of the batch depend on the padding rows. Errors: as bg_check_poison. */
bg_status bg__check_padding(bg_graph *graph, const bg__padded_buffer *buffers, size_t count, cudaStream_t stream,
                            bg_report **report);

#endif
