/* Conformance: every case of the table answers as a GPU did, on both devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "expected.h"
#include "guide.h"

static struct expected expected;

static size_t rule_count(void)
{
    size_t count = 0;
    while (case_rule_at(count))
        count++;
    return count;
}

static void test_case(void **state)
{
    static struct scene scene;
    char problem[EXPECTED_PROBLEM_MAX];
    const struct case_rule *rule = *state;
    case_run(rule->body, &scene);
    if (!expected_compare(&expected, rule, &scene, problem))
        fail_msg("%s", problem);
}

static bool is_case(const char *name)
{
    const struct case_rule *rule;
    for (size_t i = 0; (rule = case_rule_at(i)); i++)
        if (strcmp(rule->body->name, name) == 0)
            return true;
    return false;
}

static void test_no_row_without_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < expected.count; i++)
        if (!is_case(expected.rows[i].name))
            fail_msg("%s has rows of %s, which is no case; on a machine with a GPU, 'make record' renews it",
                     EXPECTED_FILE, expected.rows[i].name);
}

static void test_names_differ(void **state)
{
    const struct case_rule *rule;
    (void)state;
    for (size_t i = 0; (rule = case_rule_at(i)); i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(rule->body->name, case_rule_at(k)->body->name);
}

static void test_pages_are_current(void **state)
{
    char problem[EXPECTED_PROBLEM_MAX];
    (void)state;
    if (getenv("HOSTCUDA_SEED")) {
        print_message("skipped: the pages are the same under each seed\n");
        skip();
    }
    for (size_t p = 0; p < case_page_count; p++)
        if (!guide_check(&expected, &case_pages[p], problem))
            fail_msg("%s", problem);
}

static int read_expected(void **state)
{
    char problem[EXPECTED_PROBLEM_MAX];
    (void)state;
    if (expected_read(&expected, EXPECTED_FILE, problem))
        return 0;
    print_error("%s\n", problem);
    return -1;
}

static int free_expected(void **state)
{
    (void)state;
    expected_free(&expected);
    return 0;
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(test_no_row_without_a_case),
        cmocka_unit_test(test_names_differ),
        cmocka_unit_test(test_pages_are_current),
    };
    const size_t cases = rule_count(), more = sizeof others / sizeof others[0];
    struct CMUnitTest *tests = calloc(cases + more, sizeof *tests);
    /* Cases wait without a call, as programs do; on a GPU, work goes on meanwhile. */
    if (!tests || setenv("HOSTCUDA_PROGRESS", "20", 0) != 0)
        return 1;
    for (size_t i = 0; i < cases; i++) {
        const struct case_rule *rule = case_rule_at(i);
        tests[i] = (struct CMUnitTest){rule->body->name, test_case, NULL, NULL, (void *)(uintptr_t)rule};
    }
    memcpy(tests + cases, others, sizeof others);
    int failed = _cmocka_run_group_tests("capture rules", tests, cases + more, read_expected, free_expected);
    free(tests);
    return failed ? 1 : 0; /* as a status, 256 failures would be none */
}
