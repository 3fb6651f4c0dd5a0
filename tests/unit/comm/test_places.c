/* The sentences that name many ranks and where they are. */
#include "tests/support/ranks/comm_ranks.h"

#ifdef TEST_NCCL
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/link.h"

enum { MANY = 64, MOST = 4096 };

static void expect_cut(const char *from, size_t room, const char *expected)
{
    char text[64];
    bg__truncate_text(text, room, from);
    assert_string_equal(text, expected);
    assert_true(strlen(text) < room);
}

TEST(test_cut)
{
    expect_cut("bucket 8", 9, "bucket 8");
    expect_cut("bucket 8, replay 12", 16, "bucket 8...");
    expect_cut("bucket 8 replay 12", 12, "bucket 8...");
    expect_cut("decode tokens 4096", 17, "decode tokens...");
    expect_cut("one_long_word_of_a_name", 12, "one_long...");
    expect_cut("sch\xc3\xb6n_und_lang", 8, "sch...");
    expect_cut("", 8, "");
}

TEST(test_together)
{
    static const char hung[] = "bucket 8, replay 12, step 3 of 7 (segment 3, op call all_reduce#1) has not finished";
    static const char idle[] = "not in a replay";
    static const char *const texts[] = {hung, idle, hung, hung, hung, hung, idle, NULL, "does not answer"};
    bg__rank_place places[9];
    char text[BG__FAILURE_TEXT_MAX];
    for (int i = 0; i < 9; i++)
        places[i].text = texts[i];
    bg__format_places(text, sizeof text, "too late", places, 9);
    assert_string_equal(text, "too late: ranks 0, 2-5: bucket 8, replay 12, step 3 of 7 (segment 3, op call "
                              "all_reduce#1) has not finished; ranks 1, 6: not in a replay; rank 8: does not answer");
}

/* ---- many, each with a long place -------------------------------------------------------------------------------- */

struct crowd {
    char text[MOST][BG__PLACE_MAX];
    bg__rank_place places[MOST];
};

static struct crowd *make_crowd(int count, const char *format)
{
    struct crowd *c = calloc(1, sizeof *c);
    assert_non_null(c);
    for (int i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of this file */
        (void)snprintf(c->text[i], sizeof c->text[i], format, i, i);
        c->places[i].text = c->text[i];
    }
    return c;
}

/* Marks those of "0, 2-5" up to what is none of it. */
static const char *mark(const char *at, bool *named)
{
    for (;;) {
        char *end;
        long from = strtol(at, &end, 10), to = from;
        assert_true(end > at);
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (long i = from; i <= to; i++) {
            assert_true(i < MOST && !named[i]);
            named[i] = true;
        }
        at = end + 2;
        if (strncmp(end, ", ", 2) != 0)
            return end;
    }
}

static int count_named(const char *text, bool *named)
{
    int count = 0;
    memset(named, 0, MOST * sizeof *named);
    while ((text = strstr(text, " rank"))) {
        text += strlen(" rank");
        text += *text == 's';
        text = mark(text + 1, named);
        assert_true(*text == ':');
    }
    for (int i = 0; i < MOST; i++)
        count += named[i];
    return count;
}

/* Every word of it is whole, or followed by "...". */
static void expect_whole_end(const char *text)
{
    const char *last = strrchr(text, ' ');
    assert_non_null(last);
    assert_true(strcmp(last, " places") == 0 || strcmp(last, " finished") == 0 || strstr(last, "..."));
}

static void expect_all_named(int count, const char *format)
{
    static const char why[] = "the replay on rank 5 has made no progress for 60 s";
    static bool named[MOST];
    struct crowd *c = make_crowd(count, format);
    char text[BG__FAILURE_TEXT_MAX];
    bg__format_places(text, sizeof text, why, c->places, count);
    print_message("%s\n", text);
    assert_memory_equal(text, why, sizeof why - 1);
    assert_int_equal(count_named(text + sizeof why - 1, named), count);
    for (int i = 0; i < count; i++)
        assert_true(named[i]);
    expect_whole_end(text);
    free(c);
}

TEST(test_many)
{
    for (int count = 1; count <= MANY; count++)
        expect_all_named(count, "piecewise decode 4096 variant 17, replay 123456, step 17 of 99 (segment 8 of a long "
                                "name, op call a_quite_long_name_of_an_op#%d) has not finished");
    expect_all_named(MANY, "bucket %d, replay 123456, step 17 of 99 (segment 8) has not finished");
    expect_all_named(MANY, "b%d, replay 123456, step 17 of 99 (segment 8) has not finished");
}

/* Scattered over two places: the longest list that 64 ranks make. */
TEST(test_scattered)
{
    static bool named[MOST];
    bg__rank_place places[MANY];
    char text[BG__FAILURE_TEXT_MAX];
    for (int step = 2; step <= 3; step++) {
        for (int i = 0; i < MANY; i++)
            places[i].text = i % step
                                 ? "not in a replay; its last exchange with the others was \"the choice of batch 1\""
                                 : "does not answer";
        bg__format_places(text, sizeof text, "why", places, MANY);
        assert_int_equal(count_named(text, named), MANY);
    }
}

/* So scattered that no list has room: it tells how many more there are. */
TEST(test_too_many)
{
    struct crowd *c = make_crowd(MOST, "%d bucket");
    char text[BG__FAILURE_TEXT_MAX];
    bg__format_places(text, sizeof text, "why", c->places, MOST);
    print_message("%s\n", text);
    assert_non_null(strstr(text, "; rank 9: 9 bucket; rank 10: 10 bucket; "));
    assert_string_equal(text + strlen(text) - strlen("-4095: at other places"), "-4095: at other places");
    for (int i = 0; i < MOST; i++)
        c->places[i].text = i % 2 ? "here" : "there";
    bg__format_places(text, sizeof text, "why", c->places, MOST);
    print_message("%s\n", text);
    assert_non_null(strstr(text, ", 98, 100, 102, 104 and 1995 more: there; ranks 1, 3, 5"));
    free(c);
}
#endif
