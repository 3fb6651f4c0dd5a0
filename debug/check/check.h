/* bg_check, and the check before each replay. */
#ifndef BG_DEBUG_CHECK_H
#define BG_DEBUG_CHECK_H

#include "debug/report/report.h"

/* As bg_check. frame: the stack frame of the public function that the program called; NULL: closures are not
 * checked. */
bg_status bg__check_graph(bg_graph *graph, unsigned what, const void *frame, bg_report **report);
/* Whether memory that tensors or nodes use was freed or moved since the capture, or since the last check without a
 * finding. Cheap: one query for each allocation. */
bg_status bg__check_is_needed(bg_graph *graph, bool *needed);
/* Checks addresses before a replay (bg_capture_options.check). Errors: STALE_ADDRESS. */
bg_status bg__check_replay(bg_graph *graph);

#endif
