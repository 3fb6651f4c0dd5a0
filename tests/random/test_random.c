/* Random programs: each is run plainly, captured, replayed on changing inputs, and in the other ways that there are to
 * run a pass; all must compute the same, fail with the same calls, and give back what they took.
 *   test_random [--programs N] [--seed S] [--plant-rules] [--verbose]
 * --plant-rules: with rules that are wrong, too, in ways that go by the seed; none may be used (BG_COMPILE=2).
 * Program i is made from seed S + i, so that --programs 1 --seed SEED runs the one that failed. */
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "ops.h"
#include "settings.h"
#include "shrink.h"
#include "tests/support/test.h"

/* Where freed memory stays fenced, each access is looked up among all that ever was: the time goes with the square. */
enum { PROGRAMS = 500, FENCED_PROGRAMS = 150, RARE_PERCENT = 5, ENOUGH = 400 };

/* In how many programs each occurs. */
typedef struct coverage {
    int features[FEATURE_COUNT], ways[WAY_COUNT];
} coverage;

static void cover(coverage *c, const program *p)
{
    program other;
    model m;
    int at;

    (void)model_run(&m, p, &at);
    model_end(&m);
    for (int f = 0; f < FEATURE_COUNT; f++)
        c->features[f] += m.features[f];
    for (int w = 0; w < WAY_COUNT; w++)
        c->ways[w] += (p->ways >> w & 1) && model_way(p, (way)w, &other);
}

static bool show_counts(const char *what, const char *const *texts, const int *counts, int count, int programs)
{
    bool good = true;
    printf("%s, in percent of the programs:\n", what);
    for (int i = 0; i < count; i++) {
        bool rare = counts[i] * 100 < programs * RARE_PERCENT;
        printf("  %5.1f  %s%s\n", 100.0 * counts[i] / programs, texts[i], rare ? "  too rare" : "");
        good &= !rare;
    }
    return good;
}

/* Which features occur in how many programs, and which ways beside the own one. */
static bool show_histogram(const coverage *c, int programs)
{
    bool good = show_counts("features", feature_texts, c->features, FEATURE_COUNT, programs);
    good &= show_counts("other ways", way_texts, c->ways, WAY_COUNT, programs);
    if (programs < ENOUGH)
        printf("skip histogram: %d programs say little\n", programs);
    else
        printf(good ? "ok histogram\n"
                    : "not ok histogram: a feature or way occurs in less than %d %% of the programs\n",
               RARE_PERCENT);
    return good || programs < ENOUGH;
}

static void show_failure(program *p, failure *f, const settings *s)
{
    static const char *const kinds[] = {
        "passed",          "a call failed",         "plain run differs", "capture pass differs",
        "replay differs",  "state not restored",    "calls differ",      "eager pass differs",
        "failure differs", "memory not given back", "a tool's finding"};
    int length = p->length, runs;

    printf("seed %llu fails: %s, %s, pass %d: %s\n", (unsigned long long)p->seed, kinds[f->kind], way_texts[f->where],
           f->pass, f->text);
    if (s->verbose)
        print_program(stdout, p);
    runs = shrink(p, f);
    printf("shrunk from %d to %d instructions, in %d runs; schedule %llu; %s, pass %d: %s\n", length, p->length, runs,
           (unsigned long long)p->schedule, kinds[f->kind], f->pass, f->text);
    print_program(stdout, p);
    printf("replay with: test_random --programs 1 --seed %llu\n", (unsigned long long)p->seed);
    printf("not ok programs: seed %llu fails: %s\n", (unsigned long long)p->seed, kinds[f->kind]);
}

/* With planted rules: both kinds have been there. */
static bool show_rules(const settings *s)
{
    bool good = counted_rules.used > 0 && counted_rules.left_out > 0;
    if (!s->plant_rules)
        return true;
    printf("right rules used %llu times, planted ones left out %llu times\n%s rules%s\n", counted_rules.used,
           counted_rules.left_out, good ? "ok" : "not ok", good ? "" : ": set BG_COMPILE=2");
    return good;
}

static bool run_programs(const settings *s)
{
    coverage covered = {{0}, {0}};
    program p;
    failure f;
    bool good;

    printf("%d programs, seeds %llu to %llu\n", s->programs, (unsigned long long)s->seed,
           (unsigned long long)(s->seed + (uint64_t)s->programs - 1));
    for (int i = 0; i < s->programs; i++) {
        generate(&p, s->seed + (uint64_t)i);
        cover(&covered, &p);
        set_last_words(p.seed);
        this_pass.planted = s->plant_rules ? 1 + (int)(p.seed % PLANTED_WAYS) : 0;
        if (s->verbose)
            print_program(stdout, &p);
        if (!run_program(&p, &f)) {
            show_failure(&p, &f, s);
            return false;
        }
    }
    printf("ok programs\n");
    good = show_rules(s);
    return show_histogram(&covered, s->programs) && good;
}

int main(int count, char **words)
{
    const char *memory = getenv("HOSTCUDA_MEMORY");
    settings s = {memory != NULL && strstr(memory, "fence") != NULL
                      ? FENCED_PROGRAMS
                      : by_size(FENCED_PROGRAMS, FENCED_PROGRAMS, PROGRAMS),
                  1, false, false};
    int status = begin(&s, "test_random", count, words);
    bool good;

    if (status != 0)
        return status;
    good = run_programs(&s);
    machine_close();
    return good ? 0 : 1;
}
