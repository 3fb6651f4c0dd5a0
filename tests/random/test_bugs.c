/* Random programs with one bug each, which bg_check, bg_check_recapture or bg_step must name by its call and line; and
 * clean ones, in which they and bg_shadow must find nothing.
 *   test_bugs [--programs N] [--seed S] [--verbose]
 * N programs have a bug, two and a half times as many have none. Those of number i are made from seed S + i, which also
 * tells the bug's sort, so that --programs 1 --seed SEED runs the one that failed. */
#include <stdlib.h>

#include "bugs.h"
#include "model.h"
#include "ops.h"
#include "run.h"
#include "settings.h"
#include "tests/support/test.h"

enum { BUGGY = 200, BUGGY_SMALL = 40, PERCENT = 95, TRIES = 400 };

/* Programs of the same seed, where no call of the first can have the bug. */
static const uint64_t next_seed = 0x100000001;

static void print_finding(const bg_finding *finding)
{
    printf("    [%s] %s at %s:%d: %s\n", finding->kind, finding->call, finding->file, finding->line, finding->message);
}

static void print_findings(const bg_report *report)
{
    bg_finding finding = BG_FINDING_INIT;
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++)
        print_finding(&finding);
}

/* One without a pool, which the tools' own captures would not have, and without bodies that fail. */
static void generate_sound(program *p, uint64_t seed)
{
    generate(p, seed);
    p->pool = false;
    p->faults = FAULTS_NONE;
    (void)repair(p);
}

static bool called(bg_status status, const char *what)
{
    if (status != BG_OK)
        printf("    %s: %s: %s\n", what, bg_status_name(status), bg_last_error());
    return status == BG_OK;
}

/* Prints what is in the report, which should be empty; then it is no more. */
static bool is_empty(bg_report *report)
{
    bool empty = bg_report_count(report) == 0;
    print_findings(report);
    bg_report_destroy(report);
    return empty;
}

static bool check_is_clean(bg_graph *graph)
{
    bg_report *report = NULL;
    return called(bg_check(graph, BG_CHECK_ALL, &report), "bg_check") && is_empty(report);
}

/* A step looks at outputs when the call ends: they must be there by then. */
static bool step(bg_graph *graph, cudaStream_t stream, bg_report **report)
{
    bool good;
    this_pass.drains = true;
    good = called(bg_step(graph, stream, NULL, NULL, report), "bg_step");
    this_pass.drains = false;
    return good;
}

static bool step_is_clean(bg_graph *graph, cudaStream_t stream)
{
    bg_report *report = NULL;
    return step(graph, stream, &report) && is_empty(report);
}

/* ---- a bug ---- */

/* A finding is the bug's, and no other one is about another call. */
static bool names(const bug *b, bg_report *report)
{
    bg_finding finding = BG_FINDING_INIT;
    bool good = true, named = false;
    for (int i = 0; bg_report_get(report, i, &finding) == BG_OK; i++) {
        named |= bug_is_named(b, &finding);
        good &= bug_is_near(b, &finding);
    }
    good &= named;
    if (!good)
        print_findings(report);
    bg_report_destroy(report);
    return good;
}

static bool is_there_at_capture(const bug *b)
{
    return b->sort == BUG_OUT_OF_RANGE || b->sort == BUG_OVERLAP || b->sort == BUG_STACK;
}

static bool find_in_graph(void *user, bg_graph *graph, cudaStream_t stream)
{
    bug *b = user;
    bg_report *report = NULL;

    if (b->sort == BUG_NAN)
        return step(graph, stream, &report) && names(b, report);
    if (!is_there_at_capture(b) && !check_is_clean(graph))
        return false;
    return bug_happen(b) && called(bg_check(graph, BG_CHECK_ALL, &report), "bg_check") && names(b, report);
}

static bool is_found(bug *b, const program *p, failure *f)
{
    bg_report *report = NULL;
    bool good;

    if (!bug_needs_recapture(b->sort))
        return run_captured(p, find_in_graph, b, f);
    good = run_recapture(p, bug_change, &report, f);
    return names(b, report) && good;
}

typedef struct tally {
    int planted[BUG_SORT_COUNT], named[BUG_SORT_COUNT];
} tally;

static void plant_one(tally *t, uint64_t seed, bool verbose)
{
    bug_sort sort = (bug_sort)(seed % BUG_SORT_COUNT);
    failure f = {.kind = PASSED};
    bool planted = false;
    program p;
    bug b;

    for (int tries = 0; tries < TRIES && !planted; tries++) {
        generate_sound(&p, seed + (uint64_t)tries * next_seed);
        planted = bug_plant(&b, sort, &p);
    }
    if (!planted)
        return;
    t->planted[sort]++;
    if (verbose)
        printf("seed %llu: %s in %s, line %d\n", (unsigned long long)seed, bug_texts[sort], b.call, b.line);
    if (is_found(&b, &p, &f)) {
        t->named[sort]++;
    } else {
        printf("seed %llu: %s in %s, line %d, is not named; %s\n", (unsigned long long)seed, bug_texts[sort], b.call,
               b.line, f.kind == PASSED ? "the findings are those above" : f.text);
        print_program(stdout, &p);
    }
    bug_remove(&b);
}

static bool find_bugs(const settings *s)
{
    tally t = {{0}, {0}};
    int planted = 0, named = 0;
    bool all_sorts = true;

    for (int i = 0; i < s->programs; i++) {
        set_last_words(s->seed + (uint64_t)i);
        plant_one(&t, s->seed + (uint64_t)i, s->verbose);
    }
    printf("bugs named to the right call and line:\n");
    for (int sort = 0; sort < BUG_SORT_COUNT; sort++) {
        printf("  %3d of %3d  %s\n", t.named[sort], t.planted[sort], bug_texts[sort]);
        planted += t.planted[sort];
        named += t.named[sort];
        all_sorts &= t.planted[sort] > 0 || s->programs < BUG_SORT_COUNT;
    }
    printf("  %3d of %3d  in all\n", named, planted);
    if (!all_sorts || planted < s->programs)
        printf("not ok bugs: %d of %d could be planted%s\n", planted, s->programs,
               all_sorts ? "" : ", not of all sorts");
    else if (named * 100 < planted * PERCENT)
        printf("not ok bugs: fewer than %d %% are named\n", PERCENT);
    else
        return printf("ok bugs\n") > 0;
    return false;
}

/* ---- none ---- */

static bool look_at_clean(void *user, bg_graph *graph, cudaStream_t stream)
{
    (void)user;
    return check_is_clean(graph) && step_is_clean(graph, stream) && check_is_clean(graph);
}

static bool is_clean(program *p, failure *f)
{
    bg_report *report = NULL;
    bool good;
    if (!run_captured(p, look_at_clean, NULL, f))
        return false;
    if (!make_capturable(p)) {
        snprintf(f->text, sizeof f->text, "it cannot be made one that bg_check_recapture can capture");
        return false;
    }
    good = run_recapture(p, NULL, &report, f);
    if (!is_empty(report) || !good)
        return false;
    if (model_has_op(p, OP_TELL,
                     p->length)) /* what a body has recorded in the eager pass is outside of a capture that runs none */
        return true;
    good = run_shadowed(p, &report, f);
    return is_empty(report) && good;
}

static bool find_nothing(const settings *s)
{
    int programs = (s->programs * 5 + 1) / 2, clean = 0;
    failure f;
    program p;

    for (int i = 0; i < programs; i++) {
        uint64_t seed = s->seed + (uint64_t)i;
        set_last_words(seed);
        generate_sound(&p, seed);
        if (is_clean(&p, &f)) {
            clean++;
        } else {
            printf("seed %llu, a clean program, is not: %s\n", (unsigned long long)seed,
                   f.text[0] != '\0' ? f.text : "the findings are those above");
            print_program(stdout, &p);
        }
    }
    printf("clean programs without a finding: %d of %d\n", clean, programs);
    printf(clean == programs ? "ok clean\n" : "not ok clean: the tools find what is not there\n");
    return clean == programs;
}

int main(int count, char **words)
{
    settings s = {by_size(BUGGY_SMALL, BUGGY, BUGGY), 1, false, false};
    int status = unsetenv("BG_CHECK") ? 2 : begin(&s, "test_bugs", count, words);
    bool good;

    if (status != 0)
        return status;
    this_pass.floats = true; /* for NaN to be born in */
    printf("seeds from %llu on\n", (unsigned long long)s.seed);
    good = find_bugs(&s);
    good &= find_nothing(&s);
    machine_close();
    return good ? 0 : 1;
}
