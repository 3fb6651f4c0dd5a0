/* The example's command line, its prompts and its printing. */
#include "examples/llama/options.h"
#include "examples/llama/text/text.h"
#include "tests/support/llama/llama_support.h"
#include <stdlib.h>
#include <string.h>
static char error[GGUF_ERROR_SIZE];

enum { MAX_ARGUMENTS = 12 };

/* Reads "flag value flag ...", separated by |. */
static int read_line(llama_options *o, const char *line)
{
    char copy[256], *argv[MAX_ARGUMENTS] = {"llama"}, *rest = copy, *word;
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", line);
    while (*line && (word = strsep(&rest, "|")))
        argv[argc++] = word;
    return llama_options_read(o, argc, argv, error);
}

TEST(test_defaults)
{
    llama_options o;
    assert_int_equal(read_line(&o, ""), 0);
    assert_int_equal(o.mode, LLAMA_BREAKABLE);
    assert_int_equal(o.tokens, 32);
    assert_int_equal(o.seed, 1);
    assert_null(o.model);
    assert_null(o.prompt);
    assert_false(o.debug_cuda_graph || o.demo || o.plant_frozen_scalar || o.help || o.mode_given);
    assert_int_equal(o.serve, 0);
    assert_int_equal(o.rate, 20);
}

TEST(test_every_flag)
{
    llama_options o;
    assert_int_equal(read_line(&o, "--mode|full|--tokens|7|--context|99|--seed|18446744073709551615"), 0);
    assert_int_equal(o.mode, LLAMA_FULL);
    assert_int_equal(o.tokens, 7);
    assert_int_equal(o.context, 99);
    assert_true(o.seed == UINT64_MAX);
    assert_int_equal(
        read_line(&o, "--debug-cuda-graph|--demo|--plant-frozen-scalar|--help|--mode|eager|--weights|bf16"), 0);
    assert_true(o.debug_cuda_graph && o.demo && o.plant_frozen_scalar && o.help && o.bf16);
    assert_int_equal(o.mode, LLAMA_EAGER);
    assert_true(o.mode_given);
    assert_int_equal(read_line(&o, "--serve|64|--rate|1000"), 0);
    assert_int_equal(o.serve, 64);
    assert_int_equal(o.rate, 1000);
}

static void expect_refused(const char *line, const char *words)
{
    llama_options o;
    assert_int_equal(read_line(&o, line), -1);
    EXPECT_SAYS(error, words);
}

TEST(test_errors_list_what_is_allowed)
{
    expect_refused("--serve|4|--demo", "--serve with \"--demo\"; allowed: --model");
    expect_refused("--modes|full", "unknown flag \"--modes\"; allowed: --model, --weights");
    expect_refused("full", "unknown flag \"full\"");
    expect_refused("--mode|fast", "--mode \"fast\"; allowed: eager, full, breakable");
    expect_refused("--weights|int8", "--weights \"int8\"; allowed: fp32, bf16");
    expect_refused("--mode", "\"--mode\" needs a value");
    expect_refused("--tokens|0", "--tokens \"0\"; allowed: a whole number from 1 to");
    expect_refused("--tokens|9x", "--tokens \"9x\"");
    expect_refused("--tokens|99999999999999999999999", "--tokens");
    expect_refused("--tokens|-3", "--tokens \"-3\"");
    expect_refused("--context| 5", "--context \" 5\"");
    expect_refused("--seed|", "--seed \"\"");
}

TEST(test_help_names_every_flag)
{
    static const char *const flags[] = {
        "--model", "--weights", "--prompt",           "--tokens", "--context",
        "--seed",  "--mode",    "--debug-cuda-graph", "--demo",   "--plant-frozen-scalar",
        "--help"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        EXPECT_SAYS(llama_help, flags[i]);
}

TEST(test_prompt_of_numbers)
{
    static const char *const wrong[] = {"1 x", "10", "-1", "1.5", "3,4", "99999999999999999999"};
    int *tokens, count;
    assert_int_equal(llama_read_prompt(NULL, 10, " 1 2\n 9\t0 ", &tokens, &count, error), 0);
    assert_int_equal(count, 4);
    assert_memory_equal(tokens, ((int[]){1, 2, 9, 0}), 4 * sizeof(int));
    free(tokens);
    assert_int_equal(llama_read_prompt(NULL, 10, "", &tokens, &count, error), 0);
    assert_int_equal(count, 0);
    free(tokens);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(llama_read_prompt(NULL, 10, wrong[i], &tokens, &count, error), -1);
        EXPECT_SAYS(error, "token numbers from 0 to 9");
    }
}

TEST(test_prints_numbers)
{
    char *text = NULL;
    size_t size;
    llama_printer printer = {.out = open_memstream(&text, &size)};
    assert_non_null(printer.out);
    llama_print_token(&printer, 12);
    llama_print_token(&printer, 3);
    llama_print_end(&printer);
    fclose(printer.out);
    assert_string_equal(text, " 12 3\n");
    free(text);
}
