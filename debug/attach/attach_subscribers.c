/* The list of subscribers. Each event goes to them in this order: first to the facts, then to the checks, in the order
 * in which the checks run and report. */
#include "attach_interface.h"

#include "debug/attach/events/subscribers.h"

const bg__subscriber *const bg__attach_subscribers[] = {
    &bg__fact_graphs,
    &bg__fact_node_makers,
    &bg__fact_block_captures,
    &bg__fact_owners,
    &bg__fact_rows,
    &bg__fact_changes,
    &bg__fact_captures,
    &bg__fact_allocators,
    &bg__fact_waits,
    &bg__fact_run_gate,

    &bg__check_lifetimes,
    &bg__check_node_copies,
    &bg__check_host_functions,
    &bg__check_unfreed_memory,
    &bg__check_growth,
    &bg__check_values,
    &bg__check_modules,
    &bg__check_blocks,
    &bg__check_pointers, /* after bg__check_blocks, which knows the tensors */
    &bg__check_copies,
    &bg__check_other_graph,
    &bg__check_captures,
    &bg__check_work_outside,
    &bg__check_stream_order,
    NULL,
};
