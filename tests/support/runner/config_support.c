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
