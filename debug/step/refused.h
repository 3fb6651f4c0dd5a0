/* Nodes that CUDA does not take in a graph of their own, since their memory is gone. */
#ifndef BG_DEBUG_STEP_REFUSED_H
#define BG_DEBUG_STEP_REFUSED_H

#include "debug/report/report.h"
#include "node_list.h"

/* *refused: it is such a node; then adds a finding "fault". */
bg_status bg__step_report_refused(const bg__node *node, const bg__nodes *nodes, cudaGraphExec_t *last,
                                  bg_report *report, bool *refused);

#endif
