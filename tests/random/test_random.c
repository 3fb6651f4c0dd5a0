/* Random programs: each is run plainly, captured, and replayed on changing inputs, and must compute the same.
 *   test_random [--programs N] [--seed S] [--verbose]
 * Program i is made from seed S + i, so that --programs 1 --seed SEED runs the one that failed. */
#include <stdlib.h>

#include "model.h"
#include "settings.h"
#include "shrink.h"

enum { PROGRAMS = 500, RARE_PERCENT = 5, ENOUGH = 400 };

static uint64_t features_of(const program *p)
{
    model m;
    model_start(&m, p);
    for (int i = 0; i < p->length; i++)
        (void)model_step(&m, &p->list[i]);
    model_end(&m);
    return m.features;
}

/* Which features occur in how many programs. */
static bool show_histogram(const int *counts, int programs)
{
    bool good = true;
    printf("features, in percent of the programs:\n");
    for (int f = 0; f < FEATURE_COUNT; f++) {
        bool rare = counts[f] * 100 < programs * RARE_PERCENT;
        printf("  %5.1f  %s%s\n", 100.0 * counts[f] / programs, feature_texts[f], rare ? "  too rare" : "");
        good &= !rare;
    }
    if (programs < ENOUGH)
        printf("skip histogram: %d programs say little\n", programs);
    else
        printf(good ? "ok histogram\n" : "not ok histogram: a feature occurs in less than %d %% of the programs\n",
               RARE_PERCENT);
    return good || programs < ENOUGH;
}

static void show_failure(program *p, failure *f, const settings *s)
{
    static const char *const kinds[] = {
        "passed",         "a call failed",      "plain run differs", "capture pass differs",
        "replay differs", "state not restored", "calls differ"};
    int length = p->length, runs;

    printf("seed %llu fails: %s, pass %d: %s\n", (unsigned long long)p->seed, kinds[f->kind], f->pass, f->text);
    if (s->verbose)
        print_program(stdout, p);
    runs = shrink(p, f);
    printf("shrunk from %d to %d instructions, in %d runs; schedule %llu; %s, pass %d: %s\n", length, p->length, runs,
           (unsigned long long)p->schedule, kinds[f->kind], f->pass, f->text);
    print_program(stdout, p);
    printf("replay with: test_random --programs 1 --seed %llu\n", (unsigned long long)p->seed);
    printf("not ok programs: seed %llu fails: %s\n", (unsigned long long)p->seed, kinds[f->kind]);
}

static bool run_programs(const settings *s)
{
    int counts[FEATURE_COUNT] = {0};
    program p;
    failure f;

    printf("%d programs, seeds %llu to %llu\n", s->programs, (unsigned long long)s->seed,
           (unsigned long long)(s->seed + (uint64_t)s->programs - 1));
    for (int i = 0; i < s->programs; i++) {
        uint64_t features;
        generate(&p, s->seed + (uint64_t)i);
        features = features_of(&p);
        for (int b = 0; b < FEATURE_COUNT; b++)
            counts[b] += (int)(features >> b & 1);
        set_last_words(p.seed);
        if (s->verbose)
            print_program(stdout, &p);
        if (!run_program(&p, &f)) {
            show_failure(&p, &f, s);
            return false;
        }
    }
    printf("ok programs\n");
    return show_histogram(counts, s->programs);
}

int main(int count, char **words)
{
    settings s = {PROGRAMS, 1, false};
    bool good;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_settings(&s, "test_random", count, words))
        return 2;
    if (unsetenv("BG_DEBUG") || unsetenv("BG_EAGER_OPS") || unsetenv("BG_BREAKABLE") || unsetenv("BG_FOREIGN_INLINE"))
        return 2;
    if (!prepare_last_words() || !machine_open())
        return 1;
    good = run_programs(&s);
    machine_close();
    return good ? 0 : 1;
}
