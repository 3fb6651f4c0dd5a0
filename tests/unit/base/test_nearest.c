/* Names that were probably meant. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static size_t distance(const char *a, const char *b)
{
    size_t there = bg__edit_distance(a, strlen(a), b, strlen(b));
    assert_int_equal(bg__edit_distance(b, strlen(b), a, strlen(a)), there);
    return there;
}

TEST(test_distances)
{
    char longest[BG__EDIT_BYTES + 2];
    assert_int_equal(distance("", ""), 0);
    assert_int_equal(distance("", "rope"), 4);
    assert_int_equal(distance("rope", "rope"), 0);
    assert_int_equal(distance("ROPE", "rope"), 0);
    assert_int_equal(distance("rpoe", "rope"), 1); /* swapped: with Levenshtein 2 */
    assert_int_equal(distance("prpoe", "rope"), 2);
    assert_int_equal(distance("rop", "rope"), 1);
    assert_int_equal(distance("roope", "rope"), 1);
    assert_int_equal(distance("rape", "rope"), 1);
    assert_int_equal(distance("kitten", "sitting"), 3);
    assert_int_equal(distance("ca", "abc"), 3); /* what was swapped is not edited again */
    assert_int_equal(distance("abcdef", "badcfe"), 3);
    memset(longest, 'x', sizeof longest);
    longest[BG__EDIT_BYTES] = '\0';
    assert_int_equal(distance(longest, "xx"), BG__EDIT_BYTES - 2);
    assert_int_equal(bg__edit_distance(longest, BG__EDIT_BYTES + 1, "x", 1), SIZE_MAX);
}

static const char *const ops[] = {"attention", "rope", "rope_scaled", "sample_top_k",
                                  "norm",      "a",    "copy#1",      "decode#0/twist#2"};

static const char *hint(const char *given, const char *lead)
{
    static char text[BG__HINT_BYTES];
    bg__nearest nearest = bg__nearest_begin(given, strlen(given));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        bg__nearest_add(&nearest, ops[i], strlen(ops[i]));
    return bg__nearest_hint(&nearest, lead, text);
}

TEST(test_hints)
{
    assert_string_equal(hint("attenton", ""), " (did you mean attention?)");
    assert_string_equal(hint("Attention", ""), " (did you mean attention?)");
    assert_string_equal(hint("rpoe", "--"), " (did you mean --rope?)");
    assert_string_equal(hint("sample", ""), " (did you mean sample_top_k?)"); /* it begins so */
    assert_string_equal(hint("rope_", ""), " (did you mean rope?)");          /* and this is nearer */
    assert_string_equal(hint("sample-topk", ""), " (did you mean sample_top_k?)");
    assert_string_equal(hint("copy#2", ""), " (did you mean copy#1?)");
    assert_string_equal(hint("decode#0/twits#2", ""), " (did you mean decode#0/twist#2?)");
}

/* Where nothing is near, no name is better than a wrong one. */
TEST(test_no_hints)
{
    static const char *const far[] = {"",     "b",      "sa", "loud", "frobnicate", "bnorms!", "sampler_of_top_k_and_p",
                                      "aaaa", "body#1", "#1", "7"};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        assert_string_equal(hint(far[i], ""), "");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        assert_string_equal(hint(ops[i], ""), ""); /* it is there: another one is not meant */
}

/* The path that both begin with makes no names alike. */
TEST(test_shared_paths)
{
    static const struct {
        const char *given, *name;
        bool near;
    } pairs[] = {{"decode#0/norm#0", "decode#0/rope#0", false}, {"decode#0/rpoe#0", "decode#0/rope#0", true},
                 {"decode#0/rop", "decode#0/rope#0", true},     {"decode#0/", "decode#0/rope#0", false},
                 {"decod#0/rope#0", "decode#0/rope#0", true},   {"/", "//", false}};
    char text[BG__HINT_BYTES];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        bg__nearest nearest = bg__nearest_begin(pairs[i].given, strlen(pairs[i].given));
        bg__nearest_add(&nearest, pairs[i].name, strlen(pairs[i].name));
        if ((bg__nearest_hint(&nearest, "", text)[0] != '\0') != pairs[i].near)
            fail_msg("%s, %s: \"%s\"", pairs[i].given, pairs[i].name, text);
    }
}

/* A hint never makes a sentence long. */
TEST(test_long_names)
{
    char given[4096], name[4096], text[BG__HINT_BYTES];
    for (size_t length = 1; length < sizeof given; length += length < 140 ? 1 : 997) {
        bg__nearest nearest;
        memset(given, 'x', length);
        memset(name, 'x', length);
        name[length - 1] = 'y';
        nearest = bg__nearest_begin(given, length);
        bg__nearest_add(&nearest, name, length);
        bg__nearest_hint(&nearest, "--", text);
        assert_int_equal(text[0] != '\0', length >= 2 && length <= BG__HINT_LONGEST);
    }
}
