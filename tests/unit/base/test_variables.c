/* The table of environment variables, and the readers that go by it. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/variables.h"

enum { LONGEST_TEXT = 130 };

static bool is_checked_by_table(const bg__variable *v)
{
    return v->form == BG__FORM_CHOICE || v->form == BG__FORM_CHOICES || v->form == BG__FORM_INTEGER ||
           v->form == BG__FORM_SECONDS || v->form == BG__FORM_RATIO;
}

static bool fits(const bg__variable *v, const char *value)
{
    double number;
    unsigned set;
    int index;
    if (v->form == BG__FORM_CHOICES)
        return bg__variable_parse_choices(v, value, &set);
    return v->form == BG__FORM_CHOICE ? bg__variable_parse_choice(v, value, &index)
                                      : bg__variable_parse_number(v, value, &number);
}

/* A row's own default and limits are allowed, what is beyond them is not, and it says what is. */
TEST(test_rows)
{
    for (size_t i = 0; i < bg__variables_count; i++) {
        const bg__variable *v = &bg__variables[i];
        char allowed[BG__ALLOWED_BYTES], value[32];
        assert_ptr_equal(bg__variable_find(v->name), v);
        assert_in_range(strlen(v->text), 10, LONGEST_TEXT);
        assert_true(strchr(v->text, '\n') == NULL);
        assert_true(is_checked_by_table(v) || v->allowed != NULL);
        assert_true(strlen(bg__variable_describe_allowed(v, NULL, allowed)) > 3);
        if (is_checked_by_table(v) && strchr(v->fallback, ' ') == NULL && bg__variable_find(v->fallback) == NULL)
            assert_true(fits(v, v->fallback));
        if (is_checked_by_table(v))
            assert_false(fits(v, "") || fits(v, "x") || fits(v, "off|ops") || fits(v, "1e999") || fits(v, " 1"));
        if (v->form != BG__FORM_INTEGER)
            continue;
        for (int beyond = 0; beyond < 2; beyond++) {
            snprintf(value, sizeof value, "%.0f", v->most + beyond);
            assert_true(fits(v, value) == !beyond);
            snprintf(value, sizeof value, "%.0f", v->least - beyond);
            assert_true(fits(v, value) == !beyond);
        }
        assert_false(fits(v, "1.5") || fits(v, "1e0"));
    }
    assert_null(bg__variable_find("BG_DEBU"));
}

/* Several choices: in any order, also twice; none alone. */
TEST(test_choices)
{
    static const char *const bad[] = {"",           ",",          "replay,",        ",replay", "replay,,poison",
                                      "off,replay", "replay,off", "replay, poison", "replays", "graph|replay"};
    unsigned set = 7;
    assert_int_equal(unsetenv("BG_CHECK"), 0);
    EXPECT_OK(bg__env_choices("BG_CHECK", &set));
    assert_int_equal(set, 0);
    assert_int_equal(setenv("BG_CHECK", "off", 1), 0);
    EXPECT_OK(bg__env_choices("BG_CHECK", &set));
    assert_int_equal(set, 0);
    assert_int_equal(setenv("BG_CHECK", "poison,graph,poison", 1), 0);
    EXPECT_OK(bg__env_choices("BG_CHECK", &set));
    assert_int_equal(set, 1 << 4 | 1 << 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(bg__variable_parse_choices(bg__variable_find("BG_CHECK"), bad[i], &set));
    assert_int_equal(setenv("BG_CHECK", "replay,all", 1), 0);
    EXPECT_STATUS(bg__env_choices("BG_CHECK", &set), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_CHECK is \"replay,all\"; allowed are off, or some of graph, replay, recapture, poison");
    assert_int_equal(setenv("BG_CHECK", "replay,recpature", 1), 0);
    EXPECT_STATUS(bg__env_choices("BG_CHECK", &set), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("poison, orders, padding, inputs with commas between (did you mean recapture?)");
    assert_int_equal(unsetenv("BG_CHECK"), 0);
}

static const char *allowed_for(const char *variable, const char *value)
{
    static char text[BG__ALLOWED_BYTES];
    return bg__variable_describe_allowed(bg__variable_find(variable), value, text);
}

/* The value that was meant follows what is allowed. */
TEST(test_meant)
{
    assert_string_equal(allowed_for("BG_DEBUG", "opps"), "off, forward, ops, sync, step (did you mean ops?)");
    assert_string_equal(allowed_for("BG_DEBUG", "loud"), "off, forward, ops, sync, step");
    assert_string_equal(allowed_for("BG_DEBUG", ""), "off, forward, ops, sync, step");
    assert_string_equal(allowed_for("BG_SHADOW", "call"), "0, 1, calls (did you mean calls?)");
    assert_string_equal(allowed_for("BG_SHADOW", "2"), "0, 1, calls");
    assert_non_null(strstr(allowed_for("BG_CHECK", "grpah"), "between (did you mean graph?)"));
    assert_non_null(strstr(allowed_for("BG_CHECK", "graph,repaly,poison"), "between (did you mean replay?)"));
    assert_null(strstr(allowed_for("BG_CHECK", "graph,all"), "did you mean"));
    assert_null(strstr(allowed_for("BG_CHECK", "graph,,"), "did you mean"));
    assert_non_null(strstr(allowed_for("BG_RUNNER_MODE", "full_decod"), "piecewise (did you mean full_decode_only?)"));
    assert_string_equal(allowed_for("BG_RUNNER_MAX_TOKENS", "x"), "whole numbers from 1 to 16777216");
    assert_ptr_equal(allowed_for("BG_EAGER_OPS", "x"), bg__variable_find("BG_EAGER_OPS")->allowed);
}

TEST(test_readers)
{
    double seconds = 7;
    int index = -1;
    bool flag = false;
    assert_int_equal(unsetenv("BG_DEBUG") | unsetenv("BG_BREAKABLE") | unsetenv("BG_RANKS_TIMEOUT"), 0);
    assert_int_equal(unsetenv("BG_RANKS_WATCHDOG"), 0);
    EXPECT_OK(bg__env_choice("BG_DEBUG", &index));
    EXPECT_OK(bg__env_flag("BG_BREAKABLE", &flag));
    EXPECT_OK(bg__env_number("BG_RANKS_WATCHDOG", &seconds));
    assert_true(index == 0 && flag && seconds == 7); /* the watchdog's default is no number */
    EXPECT_OK(bg__env_number("BG_RANKS_TIMEOUT", &seconds));
    assert_true(seconds == 60);
    assert_int_equal(setenv("BG_DEBUG", "step", 1) | setenv("BG_RANKS_WATCHDOG", "-1", 1), 0);
    EXPECT_OK(bg__env_choice("BG_DEBUG", &index));
    EXPECT_OK(bg__env_number("BG_RANKS_WATCHDOG", &seconds));
    assert_true(index == 4 && seconds == -1);
    assert_int_equal(setenv("BG_DEBUG", "loud", 1) | setenv("BG_RANKS_TIMEOUT", "-1", 1), 0);
    EXPECT_STATUS(bg__env_choice("BG_DEBUG", &index), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("the environment variable BG_DEBUG is \"loud\"; allowed are off, forward, ops, sync, step");
    EXPECT_STATUS(bg__env_number("BG_RANKS_TIMEOUT", &seconds), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("BG_RANKS_TIMEOUT is \"-1\"; allowed are seconds, above 0");
    assert_int_equal(unsetenv("BG_DEBUG") | unsetenv("BG_RANKS_TIMEOUT") | unsetenv("BG_RANKS_WATCHDOG"), 0);
}
