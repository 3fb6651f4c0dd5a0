/* Sets of address ranges, beside a table with an entry for each byte. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/spans.h"

enum { BYTES = 2000, LONGEST = 30, ROUNDS = 1500 };

/* Where the ranges of a round begin: upwards, downwards or anywhere. */
static uintptr_t begin_of(int way, int round)
{
    switch (way) {
    case 0: return (uintptr_t)(round * (BYTES - LONGEST) / ROUNDS);
    case 1: return (uintptr_t)((ROUNDS - round) * (BYTES - LONGEST) / ROUNDS);
    default: return (uintptr_t)rand() % (BYTES - LONGEST);
    }
}

static void expect_spans(const bg__spans *spans, const bool *has)
{
    uintptr_t at = 0;
    for (size_t i = 0; i < spans->count; i++) {
        assert_true(at <= spans->list[i].begin && spans->list[i].begin < spans->list[i].end);
        for (; at < spans->list[i].begin; at++)
            assert_false(has[at]);
        for (; at < spans->list[i].end; at++)
            assert_true(has[at]);
    }
    for (; at < BYTES; at++)
        assert_false(has[at]);
}

static void expect_range(const bg__spans *spans, const bool *has, uintptr_t begin, uintptr_t end)
{
    bool any = false, all = true;
    for (uintptr_t at = begin; at < end; at++) {
        any |= has[at];
        all &= has[at];
    }
    assert_int_equal(bg__spans_overlap(spans, begin, end), any);
    assert_int_equal(bg__spans_cover(spans, begin, end), all);
}

TEST(test_add)
{
    srand(1);
    for (int way = 0; way < 3; way++) {
        bg__spans spans = {0};
        bool has[BYTES] = {false};
        for (int round = 0; round < ROUNDS; round++) {
            uintptr_t begin = begin_of(way, round), end = begin + (uintptr_t)rand() % 4, asked = begin_of(2, round);
            if (round % 100 == 99) /* joins several */
                end = begin + LONGEST;
            EXPECT_OK(bg__spans_add(&spans, begin, end));
            memset(has + begin, true, end - begin);
            expect_range(&spans, has, asked, asked + (uintptr_t)rand() % LONGEST);
            if (round % 50 == 0)
                expect_spans(&spans, has);
        }
        expect_spans(&spans, has);
        bg__spans_free(&spans);
    }
}

TEST(test_rest)
{
    srand(2);
    for (int round = 0; round < 100; round++) {
        bg__spans without = {0}, rest = {0};
        bool has[BYTES] = {false}, left[BYTES] = {false};
        uintptr_t from = begin_of(2, 0), until = from + LONGEST;
        for (int i = 0; i < 200; i++) {
            uintptr_t begin = begin_of(2, i), end = begin + (uintptr_t)rand() % 6;
            EXPECT_OK(bg__spans_add(&without, begin, end));
            memset(has + begin, true, end - begin);
        }
        for (uintptr_t at = from; at < until; at++)
            left[at] = !has[at];
        EXPECT_OK(bg__spans_add_rest(&rest, from, until, &without));
        expect_spans(&rest, left);
        bg__spans_free(&rest);
        bg__spans_free(&without);
    }
}

static void add_random(bg__spans *spans, bool *has)
{
    for (int i = 0; i < 100; i++) {
        uintptr_t begin = begin_of(2, i), end = begin + (uintptr_t)rand() % LONGEST;
        EXPECT_OK(bg__spans_add(spans, begin, end));
        memset(has + begin, true, end - begin);
    }
}

TEST(test_common)
{
    srand(3);
    for (int round = 0; round < 100; round++) {
        bg__spans one = {0}, other = {0}, common = {0};
        bool in_one[BYTES] = {false}, in_other[BYTES] = {false}, both[BYTES];
        size_t bytes = 0;
        add_random(&one, in_one);
        add_random(&other, in_other);
        EXPECT_OK(bg__spans_add_common(&common, &one, &other));
        for (int at = 0; at < BYTES; at++) {
            both[at] = in_one[at] && in_other[at];
            bytes += both[at];
        }
        expect_spans(&common, both);
        assert_int_equal(bg__spans_bytes(&common), bytes);
        bg__spans_free(&one);
        bg__spans_free(&other);
        bg__spans_free(&common);
    }
}

/* Each float has a large number of either sign: a maximum shows one, a minimum the other. */
TEST(test_both_signs)
{
    for (uintptr_t address = 4000000; address < 4020000; address++) {
        unsigned char placed = bg__pattern_byte(BG__PLACED, address),
                      opposite = bg__pattern_byte(BG__OPPOSITE, address);
        assert_int_equal(placed ^ opposite, address % 4 == 3 ? 0x80 : 0);
    }
}
