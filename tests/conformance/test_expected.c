/* The recorded answers: what is missing, stale or was never recorded fails, and says what to do. */
#include "tests/support/test.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expected.h"

#define HEAD "# gpu: A GPU\n# driver: 1.0\n"

static void no_calls(struct scene *s)
{
    (void)s;
}

static const struct case_body body = {"one", no_calls, "{ one }"};
static const struct case_rule rule = {&body, "A rule."};

static bool read_text(struct expected *expected, const char *text, char *problem)
{
    char path[] = "/tmp/expected-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(file), 0);
    bool read = expected_read(expected, path, problem);
    assert_int_equal(unlink(path), 0);
    return read;
}

static void refuse(const char *text, const char *why)
{
    struct expected expected;
    char problem[EXPECTED_PROBLEM_MAX] = "";
    if (read_text(&expected, text, problem)) {
        expected_free(&expected);
        fail_msg("read, although: %s\n%s", why, text);
    }
    if (!strstr(problem, why) || !strstr(problem, "make record"))
        fail_msg("'%s' names neither '%s' nor 'make record'", problem, why);
}

TEST(test_unrecorded_is_refused)
{
    refuse("# gpu: unrecorded\n# driver: 1.0\none\t0\tcall\tanswer\n", "no GPU's record");
    refuse("# gpu: A GPU\n# driver: unrecorded\none\t0\tcall\tanswer\n", "no GPU's record");
    refuse("# gpu: \n# driver: 1.0\none\t0\tcall\tanswer\n", "no GPU's record");
    refuse("# driver: 1.0\none\t0\tcall\tanswer\n", "no line");
    refuse(HEAD "one\t0\tcall\tanswer\ntwo\t0\tcall\tunrecorded\n", "two is unrecorded");
}

TEST(test_malformed_is_refused)
{
    refuse(HEAD "one\t0\tcall\n", ":3: not four fields");
    refuse(HEAD "one\t0\tcall\tanswer\tmore\n", ":3: not four fields");
    refuse(HEAD "one\t0\tcall\t\n", ":3: not four fields");
}

/* The rows of case one, each of its call and answer after a hash; then what a run of it must be told. NULL: nothing. */
static void compare(const char *hash, const char *const *rows, const char *why)
{
    static struct scene scene = {
        .lines = {{false, "step", ""}, {true, "first", "1"}, {true, "second", "2"}},
        .count = 3,
    };
    struct expected expected;
    char text[EXPECTED_PROBLEM_MAX] = HEAD, problem[EXPECTED_PROBLEM_MAX] = "";
    for (; *rows; rows++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "one\t%s\t%s\n", hash, *rows);
    assert_true(read_text(&expected, text, problem));
    bool same = expected_compare(&expected, &rule, &scene, problem);
    expected_free(&expected);
    if (same != !why || (why && !strstr(problem, why)))
        fail_msg("%s\ngave '%s', not '%s'", text, same ? "the same" : problem, why ? why : "the same");
}
#define ROWS(...)                                                                                                      \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

TEST(test_rows_are_held_to)
{
    char hash[EXPECTED_HASH_MAX];
    expected_hash(&body, hash);
    compare(hash, ROWS("first\t1", "second\t2"), NULL);
    compare(hash, ROWS("first\t1", "second\t3"), "expected 3, found 2");
    compare(hash, ROWS("first\t1", "other\t2"), "the row is stale");
    compare(hash, ROWS("first\t1"), "no row for the observation 'second'");
    compare(hash, ROWS("first\t1", "second\t2", "third\t3"), "no longer observed");
    compare("0123456789abcdef", ROWS("first\t1", "second\t2"), "no longer what was recorded");
    compare(hash, (const char *const[]){NULL}, "no row of this case");
}
