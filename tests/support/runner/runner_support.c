#include "runner_support.h"

bg_batch mixed_batch(int tokens)
{
    return (bg_batch){.tokens = tokens, .requests = 1, .max_query_len = tokens};
}

bg_batch decode_batch(int requests, int query_len)
{
    return (bg_batch){
        .tokens = requests * query_len, .requests = requests, .max_query_len = query_len, .uniform_decode = true};
}

bg_status run_bare(bg_runner *runner, bg_batch batch)
{
    return bg_runner_run(runner, &batch, NULL, NULL, NULL);
}

void expect_reason(bg_runner *runner, bg_batch batch, bg_reason expected, const char *file, int line)
{
    bg_reason reason = BG_REASON_NONE;
    bool can_run = bg_runner_can_run(runner, &batch, &reason);
    if (reason == expected && can_run == (expected == BG_REASON_NONE))
        return;
    print_error("the batch can %srun, for the reason %d, not %d\n", can_run ? "" : "not ", reason, expected);
    _fail(file, line);
}

bg_bucket_info bucket_of(const bg_runner *runner, int index)
{
    bg_bucket_info info = BG_BUCKET_INFO_INIT;
    EXPECT_OK(bg_runner_get_bucket(runner, index, &info));
    return info;
}

bg_counters counters_now(void)
{
    bg_counters now = BG_COUNTERS_INIT;
    bg_counters_get(&now);
    return now;
}

void print_figures(const bg_runner *runner, FILE *out)
{
    bg_runner_print(runner, out);
    bg_counters_print(out);
    bg_counters_print_json(out);
}

char *print_runner(const bg_runner *runner, void (*print)(const bg_runner *runner, FILE *out))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print(runner, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

void free_text(char **text)
{
    free(*text);
}
