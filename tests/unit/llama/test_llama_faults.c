/* The faults that tests of debugging tools plant into the llama example are there when a call is captured, and only
 * then. */
#include "tests/support/llama/faulty_llama.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double difference(const faulty *f, const float *expected, const float *found)
{
    return relative_difference(found, expected, (size_t)f->config->vocabulary);
}

/* How far what a graph with these calls eager leaves is from an eager pass; twice the same. */
static double apart(faulty *f, const char *eager)
{
    FREED_BY(free_block) float *expected = faulty_eager(f), *first = NULL, *second = NULL;
    OWNED_GRAPH(graph);

    graph = faulty_capture(f, eager);
    first = faulty_replay(f, graph);
    second = faulty_replay(f, graph);
    assert_true(faulty_same(f, first, second));
    return faulty_same(f, expected, first) ? 0 : difference(f, expected, first);
}

static void expect_fault(double found, bool nan, const char *what)
{
    if (nan ? isinf(found) : found > 1e-4 && isfinite(found))
        return;
    fail_msg("%s: relative difference %g, expected %s", what, found, nan ? "NaN" : "more than 0.0001, and finite");
}

static void check_single(faulty *f, llama_fault kind, uint64_t seed)
{
    FREED_BY(free_block) float *clean = faulty_eager(f), *eager = NULL;
    planted p = faulty_plant(f, kind, seed);

    assert_int_equal(p.count, 1);
    eager = faulty_eager(f);
    assert_true(faulty_same(f, clean, eager));
    expect_fault(apart(f, NULL), kind == LLAMA_FAULT_NAN, p.calls[0]);
    expect_fault(apart(f, "!*"), kind == LLAMA_FAULT_NAN, p.calls[0]);
    assert_true(apart(f, p.calls[0]) == 0);
    llama_faults_clear();
}

static void check_pair(faulty *f, uint64_t seed)
{
    planted p = faulty_plant(f, LLAMA_FAULT_PAIR, seed);
    char both[80];

    assert_int_equal(p.count, 2);
    assert_string_not_equal(p.calls[0], p.calls[1]);
    snprintf(both, sizeof both, "%s,%s", p.calls[0], p.calls[1]);
    assert_true(apart(f, NULL) > 0);
    assert_true(apart(f, p.calls[0]) > 0);
    assert_true(apart(f, p.calls[1]) > 0);
    assert_true(apart(f, both) == 0);
}

static void check_cancel(faulty *f, uint64_t seed)
{
    planted p = faulty_plant(f, LLAMA_FAULT_CANCEL, seed);

    assert_int_equal(p.count, 2);
    assert_true(apart(f, NULL) == 0);
    for (int i = 0; i < 2; i++)
        expect_fault(apart(f, p.calls[i]), false, p.calls[i]);
}

static void check_varies(faulty *f, uint64_t seed)
{
    planted p = faulty_plant(f, LLAMA_FAULT_VARIES, seed);
    FREED_BY(free_block) float *first = faulty_eager(f), *second = faulty_eager(f), *third = NULL, *fourth = NULL;
    OWNED_GRAPH(graph);

    assert_int_equal(p.count, 1);
    graph = faulty_capture(f, NULL);
    third = faulty_replay(f, graph);
    fourth = faulty_replay(f, graph);
    expect_fault(difference(f, first, second), false, p.calls[0]);
    expect_fault(difference(f, third, fourth), false, p.calls[0]);
}

/* ---- the small model ---------------------------------------------------------------------------- */

/* Under valgrind with half of its layers. */
static int open_checked(void **state)
{
    static llama_config config;
    static faulty f;
    config = llama_small;
    config.layers /= small_workload() ? 2 : 1;
    faulty_open(&f, &config);
    *state = &f;
    return 0;
}

#define LLAMA_FAULTS_TEST(name) TEST_F(name, open_checked, faulty_teardown, faulty *f)

static uint64_t seeds(void)
{
    return (uint64_t)by_size(1, 1, 4);
}

LLAMA_FAULTS_TEST(test_none)
{
    assert_true(apart(f, NULL) == 0);
    assert_true(apart(f, "!*") == 0);
}

LLAMA_FAULTS_TEST(test_singles)
{
    for (int kind = 0; kind < LLAMA_FAULT_SINGLE_KINDS; kind++)
        for (uint64_t seed = 1; seed <= seeds(); seed++)
            check_single(f, (llama_fault)kind, seed);
}

LLAMA_FAULTS_TEST(test_pairs)
{
    for (uint64_t seed = 1; seed <= 2 * seeds(); seed++)
        check_pair(f, seed);
}

LLAMA_FAULTS_TEST(test_cancel)
{
    for (uint64_t seed = 1; seed <= 2 * seeds(); seed++)
        check_cancel(f, seed);
}

LLAMA_FAULTS_TEST(test_varies)
{
    for (uint64_t seed = 1; seed <= seeds(); seed++)
        check_varies(f, seed);
}

LLAMA_FAULTS_TEST(test_cleared)
{
    EXPECT_OK(llama_faults_plant(LLAMA_FAULT_BRANCH, 1, f->config));
    assert_true(apart(f, NULL) > 0);
    llama_faults_clear();
    assert_true(apart(f, NULL) == 0);
}

/* ---- places ------------------------------------------------------------------------------------- */

enum { PLACES = 40 };

static int count_places(llama_fault kind, char names[PLACES][32])
{
    int distinct = 0;
    for (uint64_t seed = 0; seed < PLACES; seed++) {
        const char *calls[LLAMA_FAULTS_MAX];
        int same = 0;
        EXPECT_OK(llama_faults_plant(kind, seed, &llama_small));
        assert_true(llama_faults_list(calls) > 0);
        while (same < distinct && strcmp(names[same], calls[0]) != 0)
            same++;
        if (same == distinct)
            snprintf(names[distinct++], sizeof names[0], "%s", calls[0]);
    }
    return distinct;
}

/* Other seeds are other calls, all of them calls of the pass; the same seed is the same call. */
TEST_F(test_places, faulty_setup, faulty_teardown, faulty *f)
{
    static char names[PLACES][32], again[PLACES][32];
    for (int kind = 0; kind < LLAMA_FAULT_KINDS; kind++) {
        int distinct = count_places((llama_fault)kind, names);
        assert_in_range(distinct, 8, PLACES);
        assert_int_equal(count_places((llama_fault)kind, again), distinct);
        assert_memory_equal(names, again, (size_t)distinct * sizeof names[0]);
        for (int i = 0; i < distinct; i++)
            assert_true(faulty_site(f, names[i]).line > 0);
    }
    llama_faults_clear();
}

/* ---- the command line --------------------------------------------------------------------------- */

static int read_option(const char *value, char *error)
{
    char *words[] = {"llama", "--plant-faults", (char *)value, "--demo", NULL}, **argv = words;
    int argc = 4, result = llama_faults_parse_option(&argc, &argv, error);
    if (result == 0) {
        assert_int_equal(argc, 2);
        assert_string_equal(argv[1], "--demo");
    }
    return result;
}

TEST(test_option)
{
    static const char *const wrong[] = {
        "", "branch", "branch:", "branch:-1", "branch:1x", "branc:1", "branches:1", ":1", "nan:99999999999999999999"};
    char error[GGUF_ERROR_SIZE];
    const char *calls[LLAMA_FAULTS_MAX], *expected[LLAMA_FAULTS_MAX];
    char name[32];

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(read_option(wrong[i], error), -1);
        assert_non_null(strstr(error, "host-copy"));
        assert_non_null(strstr(error, wrong[i]));
    }
    EXPECT_OK(llama_faults_plant(LLAMA_FAULT_HOST_COPY, 5, &llama_small));
    assert_int_equal(llama_faults_list(expected), 1);
    snprintf(name, sizeof name, "%s", expected[0]);
    llama_faults_clear();
    assert_int_equal(read_option("host-copy:5", error), 0);
    EXPECT_OK(llama_faults_plant_option(&llama_small));
    assert_int_equal(llama_faults_list(calls), 1);
    assert_string_equal(calls[0], name);
    llama_faults_clear();
}

/* ---- SmolLM2's shape ---------------------------------------------------------------------------- */

DEEP_TEST(test_smollm2);
TEST(test_smollm2)
{
    FREED_BY(faulty_close) faulty f;
    faulty_open_smollm2(&f);
    check_single(&f, LLAMA_FAULT_SKIPPED, 1);
    check_cancel(&f, 1);
}
