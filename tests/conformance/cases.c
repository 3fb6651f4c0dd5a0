#include "cases.h"

static const struct case_topic *const captures[] = {
    &topic_begin,    &topic_fork,    &topic_event,  &topic_external, &topic_mode,
    &topic_unsafe,   &topic_thread,  &topic_share,  &topic_legacy,   &topic_per_thread,
    &topic_question, &topic_content, &topic_memory, &topic_update,   &topic_into_graph,
    &topic_failure,  &topic_invalid, &topic_nested, &topic_argument,
};

static const struct case_topic *const graphs[] = {
    &topic_dependency,  &topic_kernel_node, &topic_attribute,  &topic_memset_node, &topic_memcpy_node,
    &topic_symbol_node, &topic_alloc_node,  &topic_other_node, &topic_clone,       &topic_exec,
};

static const struct case_topic *const memory[] = {
    &topic_pitch,         &topic_fill,         &topic_driver_fill, &topic_copy,    &topic_pending,
    &topic_captured_copy, &topic_copy_rows,    &topic_driver_copy, &topic_symbol,  &topic_ordered,
    &topic_pool,          &topic_graph_memory, &topic_host_memory, &topic_pointer,
};

static const struct case_topic *const others[] = {
    &topic_stream,
    &topic_stream_end,
    &topic_default_wait,
    &topic_default_work,
    &topic_record,
    &topic_elapsed,
    &topic_callback,
    &topic_inside,
    &topic_launch,
    &topic_launch_captured,
    &topic_launch_attribute,
    &topic_function,
    &topic_function_attribute,
    &topic_shared,
    &topic_occupancy,
    &topic_device,
    &topic_peer,
    &topic_driver_device,
    &topic_context,
    &topic_entry,
    &topic_error,
    &topic_error_name,
    &topic_object,
};

const struct case_page case_pages[] = {
    {"docs/records/capture-rules.md", "What CUDA answers during stream capture",
     "Which calls may a program make while a stream captures? Which error does it get otherwise, and what is left of "
     "the\n"
     "capture?",
     captures, sizeof captures / sizeof captures[0]},
    {"docs/records/graph-rules.md", "What CUDA answers to calls on graphs",
     "What do the calls that make, change and run graphs take, and what do they answer to the rest?", graphs,
     sizeof graphs / sizeof graphs[0]},
    {"docs/records/memory-rules.md", "What CUDA answers to calls on memory",
     "What do calls on memory answer to sizes of 0, to pointers that are not theirs, and in a capture?", memory,
     sizeof memory / sizeof memory[0]},
    {"docs/records/api-rules.md", "What CUDA answers to calls on streams, events, kernels and devices",
     "What do they do outside captures, and which error does a mistake give?", others,
     sizeof others / sizeof others[0]},
};
const size_t case_page_count = sizeof case_pages / sizeof case_pages[0];

const struct case_rule *case_rule_at(size_t index)
{
    for (size_t p = 0; p < case_page_count; p++)
        for (size_t t = 0; t < case_pages[p].count; index -= case_pages[p].topics[t++]->count)
            if (index < case_pages[p].topics[t]->count)
                return &case_pages[p].topics[t]->rules[index];
    return NULL;
}
