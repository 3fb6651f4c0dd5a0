#include "cases.h"

static const struct case_topic *const captures[] = {
    &topic_begin,    &topic_fork,    &topic_event,  &topic_external, &topic_mode,
    &topic_unsafe,   &topic_thread,  &topic_share,  &topic_legacy,   &topic_per_thread,
    &topic_question, &topic_content, &topic_memory, &topic_update,   &topic_into_graph,
    &topic_failure,  &topic_invalid, &topic_nested, &topic_argument,
};

const struct case_page case_pages[] = {
    {"docs/records/capture-rules.md", "What CUDA answers during stream capture",
     "Which calls may a program make while a stream captures? Which error does it get otherwise, and what is left of "
     "the\n"
     "capture?",
     captures, sizeof captures / sizeof captures[0]},
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
