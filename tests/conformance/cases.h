/* All topics of the conformance table, in the order of docs/records/capture-rules.md. */
#ifndef CONFORMANCE_CASES_H
#define CONFORMANCE_CASES_H

#include "case.h"

extern const struct case_topic topic_begin, topic_fork, topic_event, topic_external, topic_mode, topic_unsafe,
    topic_thread, topic_share, topic_legacy, topic_per_thread, topic_question, topic_content, topic_memory,
    topic_update, topic_into_graph, topic_failure, topic_invalid, topic_nested, topic_argument;

extern const struct case_topic *const case_topics[];
extern const size_t case_topic_count;

#endif
