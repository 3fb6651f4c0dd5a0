#include "config_support.h"

#define FIELD(name) #name, offsetof(bg_runner_config, name), sizeof((const bg_runner_config *)NULL)->name

static const struct field {
    const char *name;
    size_t offset, bytes;
} fields[] = {{FIELD(struct_size)},   {FIELD(mode)},           {FIELD(schedule)},         {FIELD(max_tokens)},
              {FIELD(max_query_len)}, {FIELD(warmups)},        {FIELD(max_padding)},      {FIELD(eager_ops)},
              {FIELD(lazy)},          {FIELD(copy_inputs)},    {FIELD(memory_limit)},     {FIELD(memory_fraction)},
              {FIELD(debug)},         {FIELD(veto)},           {FIELD(pad_across_ranks)}, {FIELD(prepare)},
              {FIELD(callback_user)}, {FIELD(worker_threads)}, {FIELD(variants)},         {FIELD(state)},
              {FIELD(state_count)},   {FIELD(text_)},          {FIELD(query_lens)},       {FIELD(level)},
              {FIELD(compile_sizes)}};

void expect_same_config(const bg_runner_config *found, const bg_runner_config *expected, const char *file, int line)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (memcmp((const char *)found + fields[i].offset, (const char *)expected + fields[i].offset,
                   fields[i].bytes) != 0) {
            print_error("%s differs\n", fields[i].name);
            _fail(file, line);
        }
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
