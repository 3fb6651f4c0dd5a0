/* Nodes that CUDA no longer accepts in a graph, since their memory is gone. */
#ifndef BG_DEBUG_STEP_REFUSED_NODES_H
#define BG_DEBUG_STEP_REFUSED_NODES_H

#include "debug/report/report.h"
#include "node_list.h"

/* Adds a finding "fault" if CUDA refuses node. *refused: it does. */
bg_status bg__step_report_refused(const bg__node *node, const bg__nodes *nodes, cudaGraphExec_t *last,
                                  bg_report *report, bool *refused);

#endif
