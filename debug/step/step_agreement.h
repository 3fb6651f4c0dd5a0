/* Ends a walk on all ranks together. */
#ifndef BG_DEBUG_STEP_AGREEMENT_H
#define BG_DEBUG_STEP_AGREEMENT_H

#include "step.h"

/* Call it after a step of the walk, with the step's status. If one rank has stopped or failed, all ranks stop, since
 * the next collective would wait for that rank. Does nothing without ranks. */
bg_status bg__step_agree_to_end(bg_graph *graph, bg__step_view step, bg_report *report, bg__walk_end *end,
                                bg_status status);

#endif
