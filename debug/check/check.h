/* bg_check, and the check before each replay. */
#ifndef BG_DEBUG_CHECK_H
#define BG_DEBUG_CHECK_H

#include "debug/report/report.h"

/* bg_check, for frame, that of the public function which the program has called; NULL: closures are not looked at. */
bg_status bg__check(bg_graph *graph, unsigned what, const void *frame, bg_report **report);
/* Whether anything that the tensors or nodes of the graph use has been freed or moved since it was captured, or last
 * checked without a finding. Cheap: one query for each allocation. */
bg_status bg__check_is_needed(bg_graph *graph, bool *needed);
/* Checks addresses before a replay (bg_capture_options.check). Errors: STALE_ADDRESS. */
bg_status bg__check_replay(bg_graph *graph);

#endif
