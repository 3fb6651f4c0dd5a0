#include "config_support.h"

#define COMPARE(field)                                                                                                 \
    do {                                                                                                               \
        if (found->field != expected->field) {                                                                         \
            print_error("%s differs\n", #field);                                                                       \
            _fail(file, line);                                                                                         \
        }                                                                                                              \
    } while (0);

#define ALL_FIELDS(X)                                                                                                  \
    X(struct_size)                                                                                                     \
    X(mode) X(schedule) X(max_tokens) X(max_query_len) X(warmups) X(max_padding) X(eager_ops) X(lazy) X(copy_inputs)   \
        X(memory_limit) X(memory_fraction) X(debug) X(veto) X(pad_across_ranks) X(prepare) X(callback_user)            \
            X(worker_threads) X(variants) X(state) X(state_count) X(text_) X(query_lens) X(level) X(compile_sizes)

void expect_same_config(const bg_runner_config *found, const bg_runner_config *expected, const char *file, int line)
{
    ALL_FIELDS(COMPARE)
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
