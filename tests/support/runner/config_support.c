#include "config_support.h"

#define COMPARE(field)                                                                                                 \
    do {                                                                                                               \
        if (found->field != expected->field) {                                                                         \
            print_error("%s differs\n", #field);                                                                       \
            _fail(file, line);                                                                                         \
        }                                                                                                              \
    } while (0)

void expect_same_config(const bg_runner_config *found, const bg_runner_config *expected, const char *file, int line)
{
    COMPARE(struct_size);
    COMPARE(mode);
    COMPARE(schedule);
    COMPARE(max_tokens);
    COMPARE(max_query_len);
    COMPARE(warmups);
    COMPARE(max_padding);
    COMPARE(eager_ops);
    COMPARE(lazy);
    COMPARE(copy_inputs);
    COMPARE(memory_limit);
    COMPARE(memory_fraction);
    COMPARE(debug);
    COMPARE(veto);
    COMPARE(pad_across_ranks);
    COMPARE(prepare);
    COMPARE(callback_user);
    COMPARE(worker_threads);
    COMPARE(variants);
    COMPARE(state);
    COMPARE(state_count);
    COMPARE(text_);
    COMPARE(query_lens);
    COMPARE(level);
    COMPARE(compile_sizes);
}

static const char *same_text(const char *found, const char *expected)
{
    return found != NULL && expected != NULL && strcmp(found, expected) == 0 ? expected : found;
}

void expect_config(const bg_runner_config *found, const bg_runner_config *expected, const char *file, int line)
{
    bg_runner_config copy = *found;
    copy.schedule = same_text(found->schedule, expected->schedule);
    copy.eager_ops = same_text(found->eager_ops, expected->eager_ops);
    copy.query_lens = same_text(found->query_lens, expected->query_lens);
    copy.compile_sizes = same_text(found->compile_sizes, expected->compile_sizes);
    copy.text_ = expected->text_;
    expect_same_config(&copy, expected, file, line);
}
