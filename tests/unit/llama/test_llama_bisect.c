/* Faults planted into the llama example, found again: by bg_bisect, which names the calls whose capture is at fault,
 * and by bg_shadow, which also sees those that cancel. */
#include "tests/support/test.h"
#include "tests/support/llama/faulty_llama.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/bisect.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct planted {
    const char *calls[LLAMA_FAULTS_MOST];
    int count;
} planted;

static planted plant(faulty *f, llama_fault kind, uint64_t seed)
{
    planted p;
    EXPECT_OK(llama_faults_plant(kind, seed, f->config));
    llama_faults_print(stdout);
    p.count = llama_faults_list(p.calls);
    return p;
}

/* ---- running the tools -------------------------------------------------------------------------- */

typedef bg_status (*tool)(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                          bg_report **report);

/* Where the model stands. */
typedef struct place {
    float *logits;
    int token;
} place;

static place place_of(const faulty *f)
{
    place p = {.logits = faulty_logits(f)};
    EXPECT_OK(llama_read_token(f->model, &p.token));
    return p;
}

/* From the settled model; f->passes is how many passes that took. What the tool left is what it met, and the next pass,
 * too, is what it would have been: so are the caches and the position. */
static bg_report *run(faulty *f, tool tool, bool repeatable)
{
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    bg_tensor logits = llama_logits(f->model);
    float *expected = faulty_eager(f), *next;
    bg_report *report = NULL;
    place before, after;

    options.outputs = &logits;
    options.outputs_count = 1;
    faulty_settle(f);
    before = place_of(f);
    f->passes = 0;
    EXPECT_OK(tool(faulty_forward, f, f->stream, &options, &report));
    after = place_of(f);
    assert_true(faulty_same(f, before.logits, after.logits));
    assert_int_equal(before.token, after.token);
    EXPECT_OK(llama_forward(f->model, f->stream));
    next = faulty_logits(f);
    assert_true(!repeatable || faulty_same(f, expected, next));
    free(expected);
    free(next);
    free(before.logits);
    free(after.logits);
    return report;
}

/* ---- what they find ----------------------------------------------------------------------------- */

static int count_kind(const bg_report *report, const char *kind)
{
    bg_finding finding = BG_FINDING_INIT;
    int count = 0;
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++)
        count += strcmp(finding.kind, kind) == 0;
    return count;
}

static bool is_found(const bg_report *report, const char *kind, const char *call, bg_site site)
{
    bg_finding finding = BG_FINDING_INIT;
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++)
        if (strcmp(finding.kind, kind) == 0 && strcmp(finding.call, call) == 0 &&
            strcmp(finding.file, site.file) == 0 && finding.line == site.line)
            return true;
    return false;
}

/* The findings of that kind, which are about the planted calls, all of them and no other. */
static bool are_found(const faulty *f, const bg_report *report, const char *kind, const planted *p)
{
    bg_finding finding = BG_FINDING_INIT;
    for (int i = 0; i < p->count; i++)
        if (!is_found(report, kind, p->calls[i], faulty_site(f, p->calls[i])))
            return false;
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++) {
        int j = 0;
        while (j < p->count && strcmp(finding.call, p->calls[j]) != 0)
            j++;
        if (strcmp(finding.kind, kind) == 0 && j == p->count)
            return false;
    }
    return true;
}

#define EXPECT_TRUE(report, condition) expect_true(report, condition, #condition, __FILE__, __LINE__)
static void expect_true(const bg_report *report, bool condition, const char *text, const char *file, int line)
{
    if (condition)
        return;
    print_error("not so: %s\n", text);
    EXPECT_OK(bg_report_write(report, BG_TEXT, "-"));
    _fail(file, line);
}

static void expect_culprits(faulty *f, const planted *p)
{
    int calls = info_of(f->pass).calls;
    bg_report *report = run(f, bg_bisect, true);

    EXPECT_TRUE(report, are_found(f, report, "culprit", p));
    EXPECT_TRUE(report, count_kind(report, "culprit") == p->count);
    EXPECT_TRUE(report, bg_report_count(report) == p->count);
    printf("%d culprits among %d calls by %d passes\n", p->count, calls, f->passes);
    if (p->count == 1)
        assert_in_range(f->passes, 1, 2 * (int)ceil(log2(calls)) + 8);
    bg_report_destroy(report);
}

/* Every fault is at a planted call, and each of these has one: the cause, or that the mismatch begins there. */
static bool are_explained(const faulty *f, const bg_report *report, const planted *p)
{
    static const char *const kinds[] = {"mismatch-origin", "frozen-value", "unstable-pointer", "frozen-control-flow"};
    bg_finding finding = BG_FINDING_INIT;

    for (int i = 0; i < p->count; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            found = found || is_found(report, kinds[k], p->calls[i], faulty_site(f, p->calls[i]));
        if (!found)
            return false;
    }
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++) {
        bool planted = false;
        for (int j = 0; j < p->count; j++)
            planted = planted || strcmp(finding.call, p->calls[j]) == 0;
        if (finding.severity == BG_FAULT && !planted)
            return false;
    }
    return true;
}

/* Which call a mismatch was born in, and whether it reached the logits. */
static void expect_born(faulty *f, const planted *p, bool reached)
{
    bg_report *report = run(f, bg_shadow, true);

    EXPECT_TRUE(report, are_explained(f, report, p));
    EXPECT_TRUE(report, count_kind(report, "mismatch") == reached);
    bg_report_destroy(report);
}

/* ---- the small model ---------------------------------------------------------------------------- */

static bool is_small(void)
{
    return getenv("BREAKGRAPH_TEST_SMALL") != NULL;
}

static uint64_t seeds(void)
{
    return is_small() ? 1 : 2;
}

static int open_small(void **state)
{
    static faulty f;
    faulty_open(&f, &llama_small);
    *state = &f;
    return 0;
}

static int close_small(void **state)
{
    faulty_close(*state);
    return 0;
}

#define LLAMA_BISECT_TEST(name) TEST_F(name, open_small, close_small, faulty *f)

LLAMA_BISECT_TEST(test_singles)
{
    for (int kind = 0; kind < LLAMA_FAULT_SINGLES; kind++)
        for (uint64_t seed = 1; seed <= seeds(); seed++) {
            planted p = plant(f, (llama_fault)kind, seed);
            expect_culprits(f, &p);
            expect_born(f, &p, true);
        }
}

LLAMA_BISECT_TEST(test_pairs)
{
    for (uint64_t seed = 1; seed <= 2 * seeds(); seed++) {
        planted p = plant(f, LLAMA_FAULT_PAIR, seed);
        expect_culprits(f, &p);
        expect_born(f, &p, true);
    }
}

LLAMA_BISECT_TEST(test_cancel)
{
    for (uint64_t seed = 1; seed <= 2 * seeds(); seed++) {
        planted p = plant(f, LLAMA_FAULT_CANCEL, seed);
        EXPECT_NO_FINDING(run(f, bg_bisect, true));
        expect_born(f, &p, false);
    }
}

LLAMA_BISECT_TEST(test_varies)
{
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        planted p = plant(f, LLAMA_FAULT_VARIES, seed);
        bg_report *report = run(f, bg_bisect, false);
        EXPECT_TRUE(report, are_found(f, report, "nondeterministic", &p));
        EXPECT_TRUE(report, count_kind(report, "culprit") == 0);
        bg_report_destroy(report);
    }
}

LLAMA_BISECT_TEST(test_none)
{
    EXPECT_NO_FINDING(run(f, bg_bisect, true));
    EXPECT_NO_FINDING(run(f, bg_shadow, true));
}

/* Everything captured, also what is declared eager. */
LLAMA_BISECT_TEST(test_full)
{
    planted p;
    EXPECT_OK(bg_override_eager("!*"));
    EXPECT_NO_FINDING(run(f, bg_bisect, true));
    EXPECT_NO_FINDING(run(f, bg_shadow, true));
    p = plant(f, LLAMA_FAULT_BRANCH, 1);
    expect_culprits(f, &p);
    expect_born(f, &p, true);
    EXPECT_OK(bg_override_eager(NULL));
}

/* ---- SmolLM2's shape ---------------------------------------------------------------------------- */

TEST(test_smollm2)
{
    faulty f;
    planted p;
    if (is_small()) {
        printf("skipped: BREAKGRAPH_TEST_SMALL is set, and SmolLM2's shape is large\n");
        skip();
    }
    faulty_open(&f, &llama_smollm2);
    EXPECT_NO_FINDING(run(&f, bg_bisect, true));
    p = plant(&f, LLAMA_FAULT_TEMPORARY, 1);
    expect_culprits(&f, &p);
    p = plant(&f, LLAMA_FAULT_PAIR, 1);
    expect_culprits(&f, &p);
    p = plant(&f, LLAMA_FAULT_CANCEL, 1);
    expect_born(&f, &p, false);
    faulty_close(&f);
}
