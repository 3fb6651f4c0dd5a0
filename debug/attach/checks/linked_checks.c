/* Runs the checks of debug/check, which were written for programs that link the library, on the graphs of any
 * program. */
#include "debug/attach/events/subscribers.h"
#include "debug/attach/events/tracked_graph.h"
#include "debug/check/check.h"
#include "debug/check/node_pointers.h"

/* Findings "dangling" and "reused". Runs after bg__check_blocks, which knows the tensors, and does not repeat its
 * findings. */
static bg_status check_pointers(const bg__look *look)
{
    return bg__check_nodes(look->graph->graph, look->nodes, look->report);
}

/* Findings "pageable-copy" and "stack-copy". */
static bg_status check_host_memory(const bg__look *look)
{
    return bg__check_host_memory(look->graph->graph, look->nodes, look->frame, look->report);
}

const bg__subscriber bg__check_pointers = {.name = "pointers", .when = BG__CHECK_EXECS, .look = check_pointers};
const bg__subscriber bg__check_copies = {.name = "host memory", .when = BG__CHECK_EXECS, .look = check_host_memory};
