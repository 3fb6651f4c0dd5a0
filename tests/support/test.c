#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_entry {
    struct CMUnitTest test; /* without a name: from this line on, tests are of the host device if `what` is given */
    const char *what;
    int line;
} test_entry;

enum { MOST_TESTS = 256, MOST_DEEP = 16 };
static test_entry entries[MOST_TESTS];
static size_t count;
static CMFixtureFunction group_setup, group_teardown;
static const char *skipped, *deep[MOST_DEEP];
static size_t deep_count;

static void add(test_entry entry)
{
    if (count == MOST_TESTS) {
        fprintf(stderr, "a test program has at most %d tests: raise MOST_TESTS in tests/support/test.c\n", MOST_TESTS);
        abort();
    }
    entries[count++] = entry;
}

void register_test(const char *name, CMUnitTestFunction run, CMFixtureFunction setup, CMFixtureFunction teardown,
                   int line)
{
    add((test_entry){.test = {name, run, setup, teardown, NULL}, .line = line});
}

void set_host_only(const char *what, int line)
{
    add((test_entry){.what = what, .line = line});
}

void set_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    group_setup = setup;
    group_teardown = teardown;
}

void set_deep(const char *name)
{
    if (deep_count == MOST_DEEP)
        abort();
    deep[deep_count++] = name;
}

int by_size(int small, int fast, int all)
{
    const char *size = getenv("BREAKGRAPH_TEST_SIZE");
    if (size == NULL || size[0] == '\0' || strcmp(size, "fast") == 0)
        return fast;
    return strcmp(size, "all") == 0 ? all : small;
}

void skip_program(const char *why)
{
    skipped = why;
}

void set_test_variable(const char *name, const char *value)
{
    if (setenv(name, value, 0) != 0)
        abort();
}

static int by_line(const void *a, const void *b)
{
    return ((const test_entry *)a)->line - ((const test_entry *)b)->line;
}

static void skip_host_only(void **state)
{
    print_message("skipped: %s belongs to the host device\n", (const char *)*state);
    skip();
}

static bool is_left_out(const char *name)
{
    for (size_t i = 0; i < deep_count; i++)
        if (strcmp(deep[i], name) == 0)
            return by_size(1, 1, 0);
    return false;
}

/* Compilers order neither functions nor variables as the source does, the lines do. */
static size_t list_tests(struct CMUnitTest *tests, bool all)
{
    const char *what = NULL;
    size_t listed = 0;

    qsort(entries, count, sizeof *entries, by_line);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].test.name == NULL)
            what = strcmp(BG_DEVICE_KIND, "host") == 0 ? NULL : entries[i].what;
        else if (!all && is_left_out(entries[i].test.name))
            continue;
        else if (what == NULL)
            tests[listed++] = entries[i].test;
        else
            tests[listed++] =
                (struct CMUnitTest){entries[i].test.name, skip_host_only, NULL, NULL, (void *)(uintptr_t)what};
    }
    return listed;
}

int run_registered_tests(const char *pattern)
{
    static struct CMUnitTest tests[MOST_TESTS];
    if (skipped != NULL) {
        print_message("skipped: %s\n", skipped);
        return 0;
    }
    if (pattern != NULL)
        cmocka_set_test_filter(pattern);
    return _cmocka_run_group_tests("tests", tests, list_tests(tests, pattern != NULL), group_setup, group_teardown);
}
