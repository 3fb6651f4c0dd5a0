/* Which sizes pad a mix of batches least: against all sets of sizes there are, for small random mixes. */
#include "tests/support/support.h"

#include "debug/report/runners/bucket_sizes.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 11, MIXES = 300, FAMILIES = 3 };

static uint64_t state;

static unsigned random_below(unsigned limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

typedef struct mix {
    bg__size_count counts[FAMILIES][MAX_TOKENS];
    bg__size_family families[FAMILIES];
    bg__size_mix all;
} mix;

/* Mixed batches, and decode batches of two query lengths. */
static void make_mix(mix *m, uint64_t seed)
{
    static const int query_lens[] = {1, 4, 3};
    state = seed;
    memset(m, 0, sizeof *m);
    m->all = (bg__size_mix){.families = m->families, .count = 1 + random_below(FAMILIES), .max_tokens = MAX_TOKENS};
    for (size_t f = 0; f < m->all.count; f++) {
        bg__size_family *family = &m->families[f];
        *family = (bg__size_family){.query_len = query_lens[f], .list = m->counts[f]};
        for (int tokens = query_lens[f]; tokens <= MAX_TOKENS; tokens += query_lens[f])
            if (random_below(3) > 0)
                family->list[family->count++] = (bg__size_count){tokens, 1 + random_below(20)};
    }
}

static uint64_t count_batches(const bg__size_mix *m)
{
    uint64_t batches = 0;
    for (size_t f = 0; f < m->count; f++)
        for (size_t i = 0; i < m->families[f].count; i++)
            batches += m->families[f].list[i].batches;
    return batches;
}

/* The fewest padding rows of all schedules of `length` sizes that cover so many percent. */
static uint64_t try_all(const bg__size_mix *m, size_t length, double cover)
{
    uint64_t least = UINT64_MAX;
    for (unsigned set = 1; set < 1u << MAX_TOKENS; set++) {
        int sizes[MAX_TOKENS];
        size_t count = 0;
        for (int size = 1; size <= MAX_TOKENS; size++)
            if ((set >> (size - 1) & 1) != 0)
                sizes[count++] = size;
        if (count != length)
            continue;
        bg__size_cost cost = bg__sizes_cost(m, sizes, count);
        if ((double)cost.batches >= (double)count_batches(m) * cover / 100 && cost.padding_rows < least)
            least = cost.padding_rows;
    }
    return least;
}

static void check_mix(const bg__size_mix *m, uint64_t seed, double cover)
{
    bg__size_choices choices;
    EXPECT_OK(bg__sizes_choose(m, cover, MAX_TOKENS, &choices));
    for (size_t length = 1; length <= choices.most; length++) {
        int sizes[MAX_TOKENS];
        bg__sizes_schedule(&choices, length, sizes);
        bg__sizes_round_up(m, sizes, length);
        for (size_t i = 0; i < length; i++)
            if (sizes[i] < 1 || sizes[i] > MAX_TOKENS || (i > 0 && sizes[i] <= sizes[i - 1]))
                fail_msg("seed %d: size %zu of %zu is %d", (int)seed, i, length, sizes[i]);
        bg__size_cost cost = bg__sizes_cost(m, sizes, length);
        if ((double)cost.batches < (double)count_batches(m) * cover / 100)
            fail_msg("seed %d: %zu sizes do not cover %g %%", (int)seed, length, cover);
        if (cost.padding_rows != try_all(m, length, cover))
            fail_msg("seed %d: %zu sizes pad %d rows, the best ones %d", (int)seed, length, (int)cost.padding_rows,
                     (int)try_all(m, length, cover));
    }
    bg__sizes_free(&choices);
}

TEST(test_best)
{
    static const double covers[] = {100, 90, 50, 1};
    for (uint64_t seed = 0; seed < MIXES; seed++) {
        mix m;
        make_mix(&m, seed);
        if (count_batches(&m.all) > 0)
            check_mix(&m.all, seed, covers[seed % 4]);
    }
}

TEST(test_judge)
{
    bg__size_count mixed[] = {{1, 5}, {3, 2}, {9, 1}}, decode[] = {{4, 10}, {8, 1}};
    bg__size_family families[] = {{.query_len = 1, .list = mixed, .count = 3},
                                  {.query_len = 4, .list = decode, .count = 2}};
    bg__size_mix m = {.families = families, .count = 2, .max_tokens = 10};
    bg__size_cost cost = bg__sizes_cost(&m, (int[]){2, 8}, 2);

    assert_int_equal(cost.batches, 5 + 2 + 10 + 1); /* 9 is too large */
    assert_int_equal(cost.rows, 5 + 6 + 40 + 8);
    assert_int_equal(cost.padding_rows, 5 * 1 + 2 * 5); /* 2 is a bucket of 4 for decode batches */
    m.max_padding = 2;
    cost = bg__sizes_cost(&m, (int[]){2, 8}, 2);
    assert_int_equal(cost.batches, 5 + 10 + 1); /* 8 is more than twice 3 */
    assert_int_equal(bg__size_round(9, 4, 10), 8);
}

/* 13 to 16 are one bucket of 4 tokens a request: the size is the one that a reader expects. */
TEST(test_requests)
{
    bg__size_count decode[] = {{8, 3}, {16, 3}};
    bg__size_family family = {.query_len = 4, .list = decode, .count = 2};
    bg__size_mix m = {.families = &family, .count = 1, .max_tokens = 64};
    bg__size_choices choices;
    int sizes[2];

    EXPECT_OK(bg__sizes_choose(&m, 100, 5, &choices));
    assert_int_equal(choices.most, 2);
    bg__sizes_schedule(&choices, 2, sizes);
    bg__sizes_round_up(&m, sizes, 2);
    assert_int_equal(sizes[0], 8);
    assert_int_equal(sizes[1], 16);
    bg__sizes_free(&choices);
}

/* More sizes than are looked at: some are left out, but never the largest. */
TEST(test_many)
{
    enum { SIZES = 2 * BG__SIZE_CANDIDATES + 5 };
    bg__size_count *list = calloc(SIZES, sizeof *list);
    bg__size_family family = {.query_len = 1, .list = list, .count = SIZES};
    bg__size_mix m = {.families = &family, .count = 1, .max_tokens = SIZES};
    bg__size_choices choices;
    int sizes[4];

    assert_non_null(list);
    for (int i = 0; i < SIZES; i++)
        list[i] = (bg__size_count){i + 1, 1};
    EXPECT_OK(bg__sizes_choose(&m, 100, 4, &choices));
    assert_true(choices.count <= BG__SIZE_CANDIDATES);
    bg__sizes_schedule(&choices, 4, sizes);
    assert_int_equal(sizes[3], SIZES);
    assert_int_equal(bg__sizes_cost(&m, sizes, 4).batches, SIZES);
    assert_in_range(sizes[1], SIZES / 2 - 4, SIZES / 2 + 4);
    bg__sizes_free(&choices);
    free(list);
}

TEST(test_none)
{
    bg__size_family family = {.query_len = 1};
    bg__size_mix m = {.families = &family, .count = 1, .max_tokens = 8};
    bg__size_choices choices;

    EXPECT_STATUS(bg__sizes_choose(&m, 100, 4, &choices), BG_ERROR_NOT_FOUND);
    assert_null(choices.candidates);
}
