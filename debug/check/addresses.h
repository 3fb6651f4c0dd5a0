/* The check of addresses: whether the memory of tensors and closures still belongs to them. */
#ifndef BG_DEBUG_ADDRESSES_H
#define BG_DEBUG_ADDRESSES_H

#include "debug/graph/nodes.h"
#include "debug/report/report.h"

/* BG_CHECK_ADDRESSES (addresses.c). */
bg_status bg__check_addresses(bg_graph *graph, bg_report *report);
/* *same: every allocation that holds a tensor is certainly unchanged since the capture. If *same is false, run the
 * check. */
bg_status bg__addresses_are_unchanged(bg_graph *graph, bool *same);
/* Marks the recorded owners whose memory the graph's allocation nodes allocate: the driver may not report this memory
 * as allocated before a launch. */
bg_status bg__addresses_mark_own(bg_graph *graph, const bg__nodes *nodes);

/* Also BG_CHECK_ADDRESSES: checks the closures that eager calls keep for replays (closures.c). frame: as for
 * bg__maps_read. */
bg_status bg__check_closures(bg_graph *graph, const void *frame, bg_report *report);

/* A tensor's name in messages: "field x of op scale", "output parts[2] of op split", "buffer token of the runner". */
const char *bg__recorded_tensor_text(const bg__recorded_tensor *note, char *text, size_t bytes);
/* The owner, on that level, of the tensor's memory at capture; NULL: not known. */
const bg__owner *bg__recorded_tensor_owner(const bg__recorded_addresses *noted, const bg__recorded_tensor *note,
                                           int level);

#endif
