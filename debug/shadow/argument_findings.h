/* Why a call of the graph has other outputs than in the eager pass: its arguments, and the parameters of its nodes. */
#ifndef BG_DEBUG_ARGUMENT_FINDINGS_H
#define BG_DEBUG_ARGUMENT_FINDINGS_H

#include "comparison.h"

/* Called before a walk over the graph that calls the functions below. */
void bg__call_faults_reset(bg__shadow *shadow);

/* Adds a call of the graph that has another output than in the eager pass, or that changes an input of a call inside
 * it. what: "y of scale#0". found NULL: another shape or dtype. Adds nothing if the inputs of the call differ for
 * another reason than its arguments: then it is not at fault. */
bg_status bg__call_faults_add(bg__shadow *shadow, const bg__call *call, const char *what, const bg_tensor *tensor,
                              const bgk_difference *found);
/* Adds a finding on the cause of each fault, or "mismatch-origin" if none is found. May capture the pass once more,
 * once for each graph. */
bg_status bg__call_faults_report(bg__shadow *shadow);
/* Whether the report has a finding on a cause at that call (NULL: at any call). */
bool bg__report_has_cause(const bg_report *report, const bg__call *call);
/* Whether the report has faults, and each of them is a cause: a frozen value or a race. */
bool bg__report_is_explained(const bg_report *report);

#endif
