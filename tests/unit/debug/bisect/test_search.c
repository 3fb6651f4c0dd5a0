/* bg_search against programs whose faults are known: what it finds, in how many trials, and in what order. */
#include "tests/support/tools/owned.h"

#include <breakgraph/bisect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 600, NAME = 64, CLAUSES = 5, MEMBERS = 3, TRIALS = 4096, SEEDS = 300 };

/* A fault vanishes where one of its members is eager, by itself or inside an eager call. */
typedef struct fault {
    size_t members[MEMBERS];
    size_t count;
} fault;

typedef struct program {
    char names[CALLS][NAME];
    const char *calls[CALLS];
    long parents[CALLS];
    size_t count;
    fault faults[CLAUSES];
    size_t fault_count;
    /* A pair: the first eager without the second is BAD, whatever else is. */
    size_t spoiler, cure;
    bool spoils;
    unsigned skips;        /* of 100 sets, how many tell nothing; not the empty one, nor that of all outermost calls */
    uint64_t salt;         /* which */
    size_t skipped_prefix; /* the set of just this many calls tells nothing; 0: none */
    size_t inseparable[2]; /* from the first to before the second: sets with some of these tell nothing */
    size_t fails_at;       /* this trial, from 1, fails; 0: none */
    uint64_t *hashes;      /* of the sets that were tried, in order, TRIALS long; may be NULL */
    size_t trials;
    size_t culprits[CALLS], found;
} program;

static uint64_t state;

static uint64_t random_next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t below(size_t limit)
{
    return (size_t)(random_next() % limit);
}

static void seed_with(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; i++)
        random_next();
}

/* ---- programs ---- */

static void free_program(program **p)
{
    free((*p)->hashes);
    free(*p);
}

#define PROGRAM(name, value) OWN(program *, name, free_program, value)

static size_t add_call(program *p, long parent)
{
    size_t i = p->count++;
    char outer[NAME] = "";
    assert_true(i < CALLS);
    if (parent >= 0)
        strcpy(stpcpy(outer, p->names[parent]), "/");
    assert_true(snprintf(p->names[i], NAME, "%sop%zu#%zu", outer, i % 3, i) < NAME);
    p->calls[i] = p->names[i];
    p->parents[i] = parent;
    return i;
}

static program *make_flat(size_t count)
{
    program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        add_call(p, -1);
    return p;
}

/* A tree in the order of a pass. */
static void grow(program *p, long parent, int depth, size_t limit)
{
    size_t children = 1 + below(4);
    for (size_t i = 0; i < children && p->count < limit; i++) {
        size_t child = add_call(p, parent);
        if (depth < 4 && below(2) == 0)
            grow(p, (long)child, depth + 1, limit);
    }
}

static program *make_tree(size_t limit)
{
    program *p = make_flat(0);
    while (p->count < limit)
        grow(p, -1, 0, limit);
    return p;
}

static fault *add_fault(program *p, size_t member)
{
    fault *f = &p->faults[p->fault_count++];
    f->members[f->count++] = member;
    return f;
}

static bool is_covered(const program *p, const bool *eager, size_t call)
{
    for (long i = (long)call; i >= 0; i = p->parents[i])
        if (eager[i])
            return true;
    return false;
}

static bg_verdict judge_faults(const program *p, const bool *eager)
{
    if (p->spoils && is_covered(p, eager, p->spoiler) && !is_covered(p, eager, p->cure))
        return BG_BAD;
    for (size_t i = 0; i < p->fault_count; i++) {
        const fault *f = &p->faults[i];
        bool gone = false;
        for (size_t m = 0; m < f->count; m++)
            gone = gone || is_covered(p, eager, f->members[m]);
        if (!gone)
            return BG_BAD;
    }
    return BG_GOOD;
}

static uint64_t hash_of(const program *p, const bool *eager)
{
    uint64_t hash = 0xcbf29ce484222325u ^ p->salt;
    for (size_t i = 0; i < p->count; i++)
        hash = (hash ^ eager[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static size_t count_eager(const bool *eager, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += eager[i];
    return count;
}

static bool is_skipped(const program *p, const bool *eager)
{
    size_t prefix = count_eager(eager, 0, p->skipped_prefix), all = count_eager(eager, 0, p->count);
    size_t some = count_eager(eager, p->inseparable[0], p->inseparable[1]);
    return hash_of(p, eager) % 100 < p->skips || (all > 0 && prefix == all && all == p->skipped_prefix) ||
           (some > 0 && some < p->inseparable[1] - p->inseparable[0]);
}

static bg_verdict judge(const program *p, const bool *eager)
{
    return is_skipped(p, eager) ? BG_SKIP : judge_faults(p, eager);
}

static void mark(const program *p, const char *const *names, size_t count, bool *eager)
{
    size_t next = 0;
    memset(eager, 0, CALLS * sizeof *eager);
    for (size_t i = 0; i < p->count && next < count; i++)
        if (strcmp(p->calls[i], names[next]) == 0) {
            eager[i] = true;
            next++;
        }
    assert_int_equal(next, count); /* all are calls, in order of the pass */
}

static bg_status trial(void *user, const char *const *names, size_t count, bg_verdict *verdict)
{
    program *p = user;
    bool eager[CALLS];

    mark(p, names, count, eager);
    assert_true(p->trials < TRIALS);
    if (p->hashes != NULL) {
        uint64_t hash = hash_of(p, eager);
        for (size_t i = 0; i < p->trials; i++)
            assert_true(p->hashes[i] != hash); /* nothing is tried twice */
        p->hashes[p->trials] = hash;
    }
    p->trials++;
    if (p->trials == p->fails_at)
        return BG_ERROR_IO;
    *verdict = judge(p, eager);
    return BG_OK;
}

/* ---- what must hold ---- */

static void search(program *p)
{
    p->trials = 0;
    EXPECT_OK(bg_search(p->calls, p->count, trial, p, p->culprits, &p->found));
}

static void expect_found(const program *p, const size_t *expected, size_t count, uint64_t seed)
{
    bool same = p->found == count && memcmp(p->culprits, expected, count * sizeof *expected) == 0;
    if (same)
        return;
    for (size_t i = 0; i < count; i++)
        print_error("expected %s\n", p->calls[expected[i]]);
    for (size_t i = 0; i < p->found; i++)
        print_error("found    %s\n", p->calls[p->culprits[i]]);
    fail_msg("seed %llu, %zu calls: other culprits", (unsigned long long)seed, p->count);
}

/* What is found was seen to be GOOD, and without any one of it is not. */
static void expect_minimal(const program *p, uint64_t seed)
{
    bool eager[CALLS] = {false};
    for (size_t i = 0; i < p->found; i++) {
        assert_true(i == 0 || p->culprits[i] > p->culprits[i - 1]);
        eager[p->culprits[i]] = true;
    }
    if (judge_faults(p, eager) != BG_GOOD)
        fail_msg("seed %llu: the %zu calls found are not GOOD", (unsigned long long)seed, p->found);
    for (size_t i = 0; p->found > 1 && i < p->found; i++) {
        eager[p->culprits[i]] = false;
        if (judge(p, eager) == BG_GOOD)
            fail_msg("seed %llu: %s is one too many", (unsigned long long)seed, p->calls[p->culprits[i]]);
        eager[p->culprits[i]] = true;
    }
}

static size_t log2_up(size_t n)
{
    size_t steps = 0;
    while (((size_t)1 << steps) < n)
        steps++;
    return steps;
}

/* count different calls in order of the pass. */
static void choose(const program *p, size_t *chosen, size_t count)
{
    size_t given = 0;
    for (size_t i = 0; i < p->count && given < count; i++)
        if (below(p->count - i) < count - given)
            chosen[given++] = i;
    assert_int_equal(given, count);
}

static void add_faults(program *p, size_t *chosen, size_t count)
{
    choose(p, chosen, count);
    for (size_t i = 0; i < count; i++)
        add_fault(p, chosen[i]);
}

/* ---- tests ---- */

TEST(test_one)
{
    for (size_t n = 1; n <= CALLS; n++) {
        PROGRAM(p, make_flat(n));
        size_t culprits[] = {0, n / 2, n - 1, 0};
        seed_with(n);
        culprits[3] = below(n);
        for (int i = 0; i < 4; i++) {
            p->fault_count = 0;
            p->faults[0].count = 0;
            add_fault(p, culprits[i]);
            search(p);
            expect_found(p, &culprits[i], 1, n);
            if (p->trials > log2_up(n) + 1)
                fail_msg("%zu calls, culprit %zu: %zu trials", n, culprits[i], p->trials);
        }
    }
}

TEST(test_several)
{
    printf("seeds 1 to %d\n", SEEDS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t culprits[CLAUSES];
        seed_with(seed);
        PROGRAM(p, make_flat(CLAUSES + below(CALLS - CLAUSES)));
        size_t count = 2 + below(CLAUSES - 1), most = count * (log2_up(p->count) + 2);
        add_faults(p, culprits, count);
        search(p);
        expect_found(p, culprits, count, seed);
        if (p->trials > most)
            fail_msg("seed %llu: %zu trials, at most %zu", (unsigned long long)seed, p->trials, most);
    }
}

/* Each fault vanishes where any of its members is eager: a set of fewest is not unique. */
TEST(test_either)
{
    printf("seeds 1 to %d\n", SEEDS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t members[MEMBERS];
        seed_with(seed);
        PROGRAM(p, make_flat(8 + below(200)));
        size_t faults = 1 + below(CLAUSES);
        for (size_t i = 0; i < faults; i++) {
            choose(p, members, MEMBERS);
            *add_fault(p, members[0]) = (fault){{members[0], members[1], members[2]}, 2 + below(2)};
        }
        search(p);
        assert_true(p->found >= 1 && p->found <= faults);
        expect_minimal(p, seed);
    }
}

/* One call eager is BAD unless another is: sets that are GOOD only together. */
TEST(test_together)
{
    printf("seeds 1 to %d\n", SEEDS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t chosen[3];
        seed_with(seed);
        PROGRAM(p, make_flat(3 + below(200)));
        choose(p, chosen, 3);
        add_fault(p, chosen[below(3)]);
        p->spoils = true;
        p->spoiler = chosen[below(3)];
        p->cure = chosen[below(3)];
        search(p);
        expect_minimal(p, seed);
    }
}

/* The prefix that is GOOD ends with a call that only another in it asks for. */
TEST(test_too_many)
{
    const size_t last = 2;
    PROGRAM(p, make_flat(8));
    add_fault(p, last);
    p->spoils = true;
    p->spoiler = 3;
    p->cure = 5;
    search(p);
    expect_found(p, &last, 1, 0);
}

/* ---- calls inside calls ---- */

static bool has_culprit_around(const program *p, const size_t *culprits, size_t count, size_t call)
{
    for (long outer = p->parents[call]; outer >= 0; outer = p->parents[outer])
        for (size_t i = 0; i < count; i++)
            if (culprits[i] == (size_t)outer)
                return true;
    return false;
}

TEST(test_nested)
{
    printf("seeds 1 to %d\n", SEEDS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t culprits[CLAUSES], expected[CLAUSES], left = 0;
        seed_with(seed);
        PROGRAM(p, make_tree(CLAUSES + below(200)));
        size_t count = 1 + below(CLAUSES);
        add_faults(p, culprits, count);
        for (size_t i = 0; i < count; i++)
            if (!has_culprit_around(p, culprits, count, culprits[i]))
                expected[left++] = culprits[i];
        search(p);
        expect_found(p, expected, left, seed);
    }
}

TEST(test_inner_and_outer)
{
    static const char *const calls[] = {"norm#0",
                                        "attention#0",
                                        "attention#0/rope#0",
                                        "attention#0/rope#0/table#0",
                                        "attention#0/softmax#0",
                                        "attention#1",
                                        "attention#10",
                                        "mlp#0"};
    for (size_t culprit = 0; culprit < 8; culprit++) {
        static const long parents[] = {-1, -1, 1, 2, 1, -1, -1, -1};
        PROGRAM(p, make_flat(8));
        for (size_t i = 0; i < 8; i++)
            p->calls[i] = calls[i];
        memcpy(p->parents, parents, sizeof parents);
        add_fault(p, culprit);
        search(p);
        expect_found(p, &culprit, 1, 0);
    }
}

/* ---- skips, failures, order ---- */

static program *make_random(uint64_t seed, unsigned skips)
{
    size_t culprits[3];
    seed_with(seed);
    program *p = make_tree(3 + below(80));
    add_faults(p, culprits, 1 + below(3));
    p->skips = skips;
    p->salt = random_next();
    p->hashes = calloc(TRIALS, sizeof *p->hashes);
    assert_non_null(p->hashes);
    return p;
}

TEST(test_skips)
{
    printf("seeds 1 to %d\n", SEEDS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (unsigned skips = 0; skips <= 100; skips += 20) {
            PROGRAM(p, make_random(seed, skips));
            search(p);
            expect_minimal(p, seed);
        }
}

/* A skipped set has neighbours that tell nearly as much. */
TEST(test_one_skip)
{
    for (size_t culprit = 0; culprit < 64; culprit++)
        for (size_t skipped = 1; skipped < 64; skipped++) {
            PROGRAM(p, make_flat(64));
            add_fault(p, culprit);
            p->skipped_prefix = skipped;
            search(p);
            if (culprit > 0 || skipped > 1) /* else the culprit alone is what is skipped */
                expect_found(p, &culprit, 1, skipped);
            assert_true(p->trials <= log2_up(64) + (skipped == culprit || skipped == culprit + 1 ? 6 : 3));
        }
}

/* Calls that must all be eager or none: a set with some of them tells nothing. */
TEST(test_inseparable)
{
    static const size_t expected[] = {20, 21, 22, 23};
    PROGRAM(p, make_flat(64));
    add_fault(p, 22);
    p->inseparable[0] = 20;
    p->inseparable[1] = 24;
    search(p);
    expect_found(p, expected, 4, 0);
    assert_true(p->trials < 20);
}

static bg_status skip_all(void *user, const char *const *names, size_t count, bg_verdict *verdict)
{
    (void)user;
    (void)names;
    (void)count;
    *verdict = BG_SKIP;
    return BG_OK;
}

TEST(test_all_skipped)
{
    PROGRAM(p, make_flat(9));
    EXPECT_OK(bg_search(p->calls, 9, skip_all, p, p->culprits, &p->found));
    assert_int_equal(p->found, 9);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(p->culprits[i], i);
}

TEST(test_order)
{
    printf("seeds 1 to %d\n", SEEDS);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        PROGRAM(first, make_random(seed, 10));
        PROGRAM(second, make_random(seed, 10));
        search(first);
        search(second);
        assert_int_equal(first->trials, second->trials);
        assert_memory_equal(first->hashes, second->hashes, first->trials * sizeof *first->hashes);
        assert_memory_equal(first->culprits, second->culprits, first->found * sizeof *first->culprits);
    }
}

TEST(test_failure)
{
    PROGRAM(p, make_random(7, 0));
    search(p);
    size_t trials = p->trials;
    assert_true(trials > 3);
    for (size_t at = 1; at <= trials; at++) {
        p->fails_at = at;
        p->trials = 0;
        p->found = 99;
        EXPECT_STATUS(bg_search(p->calls, p->count, trial, p, p->culprits, &p->found), BG_ERROR_IO);
        assert_int_equal(p->trials, at);
        assert_int_equal(p->found, 0);
    }
}

TEST(test_arguments)
{
    const char *const calls[] = {"a#0", NULL};
    size_t culprits[2], found = 9;
    EXPECT_STATUS(bg_search(NULL, 1, skip_all, NULL, culprits, &found), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("calls is NULL");
    EXPECT_STATUS(bg_search(calls, 1, NULL, NULL, culprits, &found), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_search(calls, 1, skip_all, NULL, NULL, &found), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_search(calls, 1, skip_all, NULL, culprits, NULL), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg_search(calls, 0, skip_all, NULL, culprits, &found), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("there are no calls");
    EXPECT_STATUS(bg_search(calls, 2, skip_all, NULL, culprits, &found), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("calls[1] is NULL");
    assert_int_equal(found, 0);
    EXPECT_OK(bg_search(calls, 1, skip_all, NULL, culprits, &found));
    assert_int_equal(found, 1);
}
