/* All topics of the conformance table, in the order of their pages in docs/records. */
#ifndef CONFORMANCE_CASES_H
#define CONFORMANCE_CASES_H

#include "case.h"

extern const struct case_topic topic_begin, topic_fork, topic_event, topic_external, topic_mode, topic_unsafe,
    topic_thread, topic_share, topic_legacy, topic_per_thread, topic_question, topic_content, topic_memory,
    topic_update, topic_into_graph, topic_failure, topic_invalid, topic_nested, topic_argument;
extern const struct case_topic topic_kernel_node, topic_attribute, topic_memset_node, topic_memcpy_node,
    topic_symbol_node, topic_alloc_node, topic_other_node, topic_clone, topic_dependency, topic_exec;
extern const struct case_topic topic_pitch, topic_fill, topic_driver_fill, topic_copy, topic_pending,
    topic_captured_copy, topic_copy_rows, topic_driver_copy, topic_symbol, topic_ordered, topic_pool,
    topic_graph_memory, topic_host_memory, topic_pointer;
extern const struct case_topic topic_stream, topic_stream_end, topic_default_wait, topic_default_work, topic_record,
    topic_elapsed, topic_callback, topic_inside, topic_launch, topic_launch_captured, topic_launch_attribute,
    topic_function, topic_function_attribute, topic_shared, topic_occupancy, topic_device, topic_peer,
    topic_driver_device, topic_context, topic_entry, topic_error, topic_error_name, topic_object;

/* A page of topics. */
struct case_page {
    const char *file; /* from the repository's root */
    const char *title;
    const char *introduction;
    const struct case_topic *const *topics;
    size_t count;
};

extern const struct case_page case_pages[];
extern const size_t case_page_count;

/* The rule of this number, over all pages; NULL behind the last one. */
const struct case_rule *case_rule_at(size_t index);

#endif
