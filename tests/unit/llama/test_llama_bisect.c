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

static void free_place(place *p)
{
    free(p->logits);
}

/* From the settled model; f->passes is how many passes that took. What the tool left is what it met, and the next pass,
 * too, is what it would have been: so are the caches and the position. */
static bg_report *run(faulty *f, tool tool, bool repeatable)
{
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    bg_tensor logits = llama_get_logits(f->model);
    FREED_BY(free_block) float *expected = faulty_eager(f), *next = NULL;
    FREED_BY(free_place) place before, after;
    bg_report *report = NULL;

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

/* Of the i-th planted call. */
static bool is_found(const faulty *f, const bg_report *report, const char *kind, const planted *p, int i)
{
    bg_finding finding = BG_FINDING_INIT;
    bg_site site = faulty_site(f, p->calls[i]);
    for (int k = 0; bg_report_get(report, k, &finding) == BG_OK; k++)
        if (strcmp(finding.kind, kind) == 0 && strcmp(finding.call, p->calls[i]) == 0 &&
            strcmp(finding.file, site.file) == 0 && finding.line == site.line)
            return true;
    return false;
}

static bool is_planted(const planted *p, const char *call)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(call, p->calls[i]) == 0)
            return true;
    return false;
}

/* The findings of that kind, which are about the planted calls, all of them and no other. */
static bool are_found(const faulty *f, const bg_report *report, const char *kind, const planted *p)
{
    bg_finding finding = BG_FINDING_INIT;
    for (int i = 0; i < p->count; i++)
        if (!is_found(f, report, kind, p, i))
            return false;
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++)
        if (strcmp(finding.kind, kind) == 0 && !is_planted(p, finding.call))
            return false;
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
    OWNED_REPORT(report);

    report = run(f, bg_bisect, true);
    EXPECT_TRUE(report, are_found(f, report, "culprit", p));
    EXPECT_TRUE(report, count_kind(report, "culprit") == p->count);
    EXPECT_TRUE(report, bg_report_count(report) == p->count);
    printf("%d culprits among %d calls by %d passes\n", p->count, calls, f->passes);
    if (p->count == 1)
        assert_in_range(f->passes, 1, 2 * (int)ceil(log2(calls)) + 8);
}

/* Every fault is at a planted call, and each of these has one: the cause, or that the mismatch begins there. */
static bool are_explained(const faulty *f, const bg_report *report, const planted *p)
{
    static const char *const kinds[] = {"mismatch-origin", "frozen-value", "unstable-pointer", "frozen-control-flow"};
    bg_finding finding = BG_FINDING_INIT;

    for (int i = 0; i < p->count; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            found = found || is_found(f, report, kinds[k], p, i);
        if (!found)
            return false;
    }
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++)
        if (finding.severity == BG_FAULT && !is_planted(p, finding.call))
            return false;
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

static uint64_t seeds(void)
{
    return (uint64_t)by_size(1, 1, 2);
}

#define LLAMA_BISECT_TEST(name) TEST_F(name, faulty_setup, faulty_teardown, faulty *f)

/* The tools name the fault, which reaches the logits. */
static void expect_named(faulty *f, llama_fault kind, uint64_t seed)
{
    planted p = faulty_plant(f, kind, seed);
    expect_culprits(f, &p);
    expect_born(f, &p, true);
}

LLAMA_BISECT_TEST(test_singles)
{
    for (int kind = 0; kind < LLAMA_FAULT_SINGLE_KINDS; kind++)
        for (uint64_t seed = 1; seed <= seeds(); seed++)
            expect_named(f, (llama_fault)kind, seed);
}

LLAMA_BISECT_TEST(test_pairs)
{
    for (uint64_t seed = 1; seed <= 2 * seeds(); seed++)
        expect_named(f, LLAMA_FAULT_PAIR, seed);
}

LLAMA_BISECT_TEST(test_cancel)
{
    for (uint64_t seed = 1; seed <= 2 * seeds(); seed++) {
        planted p = faulty_plant(f, LLAMA_FAULT_CANCEL, seed);
        EXPECT_NO_FINDING(run(f, bg_bisect, true));
        expect_born(f, &p, false);
    }
}

LLAMA_BISECT_TEST(test_varies)
{
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        planted p = faulty_plant(f, LLAMA_FAULT_VARIES, seed);
        OWNED_REPORT(report);
        report = run(f, bg_bisect, false);
        EXPECT_TRUE(report, are_found(f, report, "nondeterministic", &p));
        EXPECT_TRUE(report, count_kind(report, "culprit") == 0);
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
    EXPECT_OK(bg_override_eager("!*"));
    EXPECT_NO_FINDING(run(f, bg_bisect, true));
    EXPECT_NO_FINDING(run(f, bg_shadow, true));
    expect_named(f, LLAMA_FAULT_BRANCH, 1);
    EXPECT_OK(bg_override_eager(NULL));
}

/* ---- SmolLM2's shape ---------------------------------------------------------------------------- */

DEEP_TEST(test_smollm2);
TEST(test_smollm2)
{
    static const llama_fault culprits[] = {LLAMA_FAULT_TEMPORARY, LLAMA_FAULT_PAIR};
    FREED_BY(faulty_close) faulty f;
    planted p;
    faulty_open_smollm2(&f);
    EXPECT_NO_FINDING(run(&f, bg_bisect, true));
    for (int i = 0; i < 2; i++) {
        p = faulty_plant(&f, culprits[i], 1);
        expect_culprits(&f, &p);
    }
    p = faulty_plant(&f, LLAMA_FAULT_CANCEL, 1);
    expect_born(&f, &p, false);
}
