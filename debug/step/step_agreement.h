/* A walk on all ranks at the same time. */
#ifndef BG_DEBUG_STEP_AGREEMENT_H
#define BG_DEBUG_STEP_AGREEMENT_H

#include "step.h"

/* Called after a step of the walk with its status. If one rank has stopped or failed, all ranks stop, since they would
 * wait for it in the next collective. Does nothing without ranks. */
bg_status bg__step_end_together(bg_graph *graph, bg__step_view step, bg_report *report, bg__walk_end *end,
                                bg_status status);

#endif
