/* A runner's configuration from a JSON file; and the page that describes it. */
#include "tests/support/runner/config_support.h"

#include "runner/config.h"

#include <unistd.h>

static const bg_runner_config fallback = BG_RUNNER_CONFIG_INIT;
static char path[] = "/tmp/test_config_file.XXXXXX";

static int make_file(void **state)
{
    int file = mkstemp(path);
    (void)state;
    return file < 0 || close(file) != 0;
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_bytes(const char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void read_ok(bg_runner_config *config, const char *json)
{
    write_bytes(json, strlen(json));
    EXPECT_OK(bg_runner_config_read(config, path));
}

/* Refused, with the file and text; the configuration is as it was. */
static void refuse_as(const char *json, bg_status status, const char *text)
{
    bg_runner_config config = fallback, before;
    EXPECT_OK(bg_runner_config_set(&config, "schedule", "1,2,3"));
    before = config;
    write_bytes(json, strlen(json));
    EXPECT_FAILS(bg_runner_config_read(&config, path), status, path);
    EXPECT_ERROR(text);
    EXPECT_SAME_CONFIG(&config, &before);
    assert_string_equal(config.schedule, "1,2,3");
    bg_runner_config_clear(&config);
}

static void refuse(const char *json, const char *text)
{
    refuse_as(json, BG_ERROR_INVALID_ARGUMENT, text);
}

TEST(test_read)
{
    bg_runner_config config = fallback;
    read_ok(&config, "{}");
    EXPECT_SAME_CONFIG(&config, &fallback);
    read_ok(&config, "{\"mode\": \"full_and_piecewise\", \"schedule\": [1, 2, 4, 1000], \"max_tokens\": 2048,\n"
                     " \"max_query_len\": 4, \"warmups\": 2, \"max_padding\": 1.3, \"eager_ops\": \"rope,!rope#1\",\n"
                     " \"lazy\": true, \"copy_inputs\": false, \"memory_limit\": 8589934592, \"debug\": \"ops\",\n"
                     " \"worker_threads\": 8, \"variants\": 3}\n");
    EXPECT_CONFIG(&config,
                  RUNNER_CONFIG(.mode = BG_MODE_FULL_AND_PIECEWISE, .schedule = "1,2,4,1000", .max_tokens = 2048,
                                .max_query_len = 4, .warmups = 2, .max_padding = 1.3, .eager_ops = "rope,!rope#1",
                                .lazy = true, .copy_inputs = false, .memory_limit = (size_t)8 << 30,
                                .debug = BG_DEBUG_OPS, .worker_threads = 8, .variants = 3));
    EXPECT_OK(bg__config_check(&config));
    /* What a later file does not name stays. */
    read_ok(&config, "{\"schedule\": \"atom\", \"memory_limit\": \"512K\"}");
    assert_string_equal(config.schedule, "atom");
    assert_string_equal(config.eager_ops, "rope,!rope#1");
    assert_int_equal(config.memory_limit, 512 << 10);
    assert_int_equal(config.max_tokens, 2048);
    read_ok(&config, "{\"max_query_len\": [1, 4]}");
    assert_string_equal(config.query_lens, "1,4");
    read_ok(&config, "{\"max_query_len\": \"2,3\"}");
    assert_string_equal(config.query_lens, "2,3");
    read_ok(&config, "{\"max_query_len\": [4]}");
    assert_null(config.query_lens);
    assert_int_equal(config.max_query_len, 4);
    read_ok(&config, "{\"eager_ops\": \"\", \"max_padding\": 2}");
    assert_null(config.eager_ops);
    assert_true(config.max_padding == 2);
    bg_runner_config_clear(&config);
}

TEST(test_syntax)
{
    const char zero[] = "{\"warmups\": 2}\0{";
    bg_runner_config config = fallback;
    refuse("", "near line 1, column 1: this is not JSON");
    refuse("{\n  \"warmups\": 2,\n  \"lazy\": tru\n}", "near line 3, column 11");
    refuse("{\"warmups\": 2", "not JSON");
    refuse("{\"warmups\": 2,}", "near line 1, column 1");
    refuse("{\"warmups\": 2}\n x", "near line 2, column 2: this is not JSON: \" x\"");
    refuse("{\"warmups\": 2} {}", "line 1, column 16");
    refuse("{'warmups': 2}", "not JSON");
    refuse("[1]", "does not hold an object");
    refuse("7", "does not hold an object");
    refuse("{\"schedule\": \"powers\\u0000x\"}", "zero byte");
    write_bytes(zero, sizeof zero);
    EXPECT_FAILS(bg_runner_config_read(&config, path), BG_ERROR_INVALID_ARGUMENT, "zero byte");
    EXPECT_SAME_CONFIG(&config, &fallback);
}

TEST(test_keys)
{
    refuse("{\"warmups\": 2, \"warmups\": 2}", "the key \"warmups\" appears twice");
    refuse_as("{\"warmup\": 2}", BG_ERROR_NOT_FOUND,
              "key \"warmup\": there is no key \"warmup\" (did you mean warmups?)");
    refuse_as("{\"Warmups\": 2}", BG_ERROR_NOT_FOUND, "no key \"Warmups\" (did you mean warmups?)");
    refuse_as("{\"speed\": 2}", BG_ERROR_NOT_FOUND, "there is no key \"speed\"; the keys are: mode,");
    refuse_as("{\"\": 2}", BG_ERROR_NOT_FOUND, "no key \"\"");
    refuse_as("{\"a\": {\"b\": [1]}}", BG_ERROR_NOT_FOUND, "no key \"a\"");
}

TEST(test_values)
{
    refuse("{\"mode\": 2}", "key \"mode\": mode is a number; write a string");
    refuse("{\"mode\": null}", "mode is null; write a string");
    refuse("{\"mode\": \"fast\"}", "mode is \"fast\"; allowed are none");
    refuse("{\"debug\": true}", "debug is a boolean; write a string");
    refuse("{\"max_tokens\": \"512\"}", "max_tokens is a string; write a number");
    refuse("{\"max_tokens\": 1.5}", "max_tokens is \"1.5\"");
    refuse("{\"max_tokens\": -3}", "max_tokens is \"-3\"");
    refuse("{\"max_tokens\": 1e400}", "key \"max_tokens\": the number inf is too large");
    refuse("{\"memory_limit\": 9007199254740994}", "too large");
    refuse("{\"memory_limit\": \"1X\"}", "memory_limit is \"1X\"");
    refuse("{\"memory_limit\": [1]}", "memory_limit is an array");
    refuse("{\"max_padding\": 0.5}", "max_padding is \"0.5\"");
    refuse("{\"lazy\": 1}", "lazy is a number; write true, false or a string");
    refuse("{\"lazy\": \"later\"}", "lazy is \"later\"; allowed are no, on-demand");
    refuse("{\"copy_inputs\": \"true\"}", "copy_inputs is a string; write true or false");
    refuse("{\"schedule\": 4}", "schedule is a number; write a string or an array");
    refuse("{\"schedule\": {}}", "schedule is an object");
    refuse("{\"schedule\": []}", "schedule is empty");
    refuse("{\"schedule\": [1, \"2\"]}", "key \"schedule\": element 2 is not a number");
    refuse("{\"schedule\": [4, 2]}", "element 2, \"2\", is below");
    refuse("{\"schedule\": [1, 2.5]}", "element 2, \"2.5\", is not a whole number");
    refuse("{\"eager_ops\": \"a b\"}", "eager_ops: \"a b\" is not a pattern");
    /* All or nothing, where the last of them is wrong. */
    refuse("{\"schedule\": \"atom\", \"eager_ops\": \"x\", \"warmups\": 9, \"variants\": 99}", "variants is \"99\"");
}

TEST(test_files)
{
    bg_runner_config config = fallback;
    static char large[(1 << 20) + 1];
    memset(large, ' ', sizeof large);
    large[0] = '{', large[1] = '}';
    write_bytes(large, 1 << 20);
    EXPECT_OK(bg_runner_config_read(&config, path));
    write_bytes(large, sizeof large);
    EXPECT_FAILS(bg_runner_config_read(&config, path), BG_ERROR_INVALID_ARGUMENT, "larger than 1048576 bytes");
    EXPECT_FAILS(bg_runner_config_read(&config, "/nowhere/runner.json"), BG_ERROR_IO,
                 "/nowhere/runner.json cannot be read: No such file");
    EXPECT_FAILS(bg_runner_config_read(&config, "/"), BG_ERROR_IO,
                 "/ cannot be read: it is a directory, not a file; name a regular file");
    EXPECT_INVALID(bg_runner_config_read(&config, NULL));
    EXPECT_INVALID(bg_runner_config_read(NULL, path));
    config.struct_size = 8;
    EXPECT_FAILS(bg_runner_config_read(&config, path), BG_ERROR_INVALID_ARGUMENT, "struct_size is 8");
}

/* ---- docs/runner-config.md ---- */

static char *read_page(void)
{
    FILE *file = fopen("docs/runner-config.md", "rb");
    char *page = calloc(1, 1 << 16);
    if (file == NULL || page == NULL)
        fail_msg("%s", "docs/runner-config.md: run this from the top of the tree");
    assert_true(fread(page, 1, (1 << 16) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    return page;
}

/* The page's table has a row for every key, in their order, with variable and default, and no other row. */
TEST(test_page)
{
    char *page = read_page();
    const char *row = page;
    for (int i = 0; i < bg__config_key_count; i++) {
        const bg__config_key *key = &bg__config_keys[i];
        const char *fallback_of = bg__variable_find(key->variable)->fallback;
        const char *shown = fallback_of[0] != '\0' ? fallback_of : "\"\"";
        char expected[256];
        snprintf(expected, sizeof expected, "| `%s` | `%s` | `%s` | ", key->name, key->variable, shown);
        row = strstr(row, "\n| `");
        if (row == NULL || strncmp(row + 1, expected, strlen(expected)) != 0)
            fail_msg("docs/runner-config.md has \"%.60s\", expected \"%s\"", row ? row + 1 : "no more rows", expected);
        row++;
    }
    assert_null(strstr(row, "\n| `"));
    free(page);
}

/* The page's example is a file that can be read. */
TEST(test_page_example)
{
    char *page = read_page(), *json = strstr(page, "```json\n"), *end;
    bg_runner_config config = fallback;
    assert_non_null(json);
    json += strlen("```json\n");
    end = strstr(json, "```");
    assert_non_null(end);
    write_bytes(json, (size_t)(end - json));
    free(page);
    EXPECT_OK(bg_runner_config_read(&config, path));
    EXPECT_OK(bg__config_check(&config));
    bg_runner_config_clear(&config);
}

TEST_GROUP(make_file, drop_file);
