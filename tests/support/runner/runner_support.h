/* What tests of the runner share: configurations, batches, buckets, counters. */
#ifndef BG_TESTS_RUNNER_SUPPORT_H
#define BG_TESTS_RUNNER_SUPPORT_H

#include "tests/support/runner/shared.h"

/* Buckets of 4 and 16 tokens, batches of up to TOKENS_MAX, which is a model's; and what is named. */
#define CONFIG(...) RUNNER_CONFIG(.schedule = "4,16", .max_tokens = TOKENS_MAX, __VA_ARGS__)

bg_batch mixed_batch(int tokens);
bg_batch decode_batch(int requests, int query_len);

/* Runs the batch in the static buffers, without tensors or a user. */
bg_status run_bare(bg_runner *runner, bg_batch batch);

/* Why the batch cannot run as a graph; BG_REASON_NONE: it can. */
#define EXPECT_REASON(runner, batch, reason) expect_reason(runner, batch, reason, __FILE__, __LINE__)
void expect_reason(bg_runner *runner, bg_batch batch, bg_reason expected, const char *file, int line);

bg_bucket_info bucket_of(const bg_runner *runner, int index);
bg_counters counters_now(void);

/* The runner and all counters, as text and JSON. */
void print_figures(const bg_runner *runner, FILE *out);
/* What the function prints of the runner: OWNED_TEXT(text, runner, bg_runner_print). */
#define OWNED_TEXT(name, runner, print)                                                                                \
    __attribute__((cleanup(free_text), unused)) char *name = print_runner(runner, print)
char *print_runner(const bg_runner *runner, void (*print)(const bg_runner *runner, FILE *out));
void free_text(char **text);

#endif
