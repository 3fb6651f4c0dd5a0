/* A walk of all ranks at once. */
#ifndef BG_DEBUG_STEP_AGREEMENT_H
#define BG_DEBUG_STEP_AGREEMENT_H

#include "step.h"

/* After a step of the walk, with its status: where one rank has ended or failed, all end, since they would wait for it
 * in what comes next. Nothing happens without ranks. */
bg_status bg__step_end_together(bg_graph *graph, bg__step_view step, bg_report *report, bg__walk_end *end,
                                bg_status status);

#endif
