/* The checks of BG_CHECK, on a new graph and before its replays. */
#ifndef BG_DEBUG_CAPTURE_CHECKS_H
#define BG_DEBUG_CAPTURE_CHECKS_H

#include "graph/inspect.h"
#include "graph/debug_table.h"

/* Prints findings to standard error. If a check fails, prints a warning and leaves the graph unchanged. */
void bg__env_check_recapture(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options);
/* The check "recapture" for a bucket of a runner. `around` NULL: not for a bucket. */
void bg__env_check_bucket(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options,
                          const bg__bucket_hooks *around);
void bg__env_check_poison(bg_graph *graph, cudaStream_t stream);
void bg__env_check_padding(bg_graph *graph, const bg__padded_buffer *buffers, size_t count, cudaStream_t stream);

/* Entries of the table of hooks (graph/debug_table.h). */
void bg__env_check_graph(bg_graph *graph, bool failed, const void *frame);
void bg__env_record_unchecked(const bg_graph *graph, unsigned check, const char *why);
bg_status bg__env_check_replay(bg_graph *graph, unsigned checks, const void *frame);

#endif
