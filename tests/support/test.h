/* Tests that register themselves: TEST(name) { ... } is all that a program needs, tests/support/main.c runs them. */
#ifndef BG_TESTS_TEST_H
#define BG_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A test of this file. A program's tests run in the order of their lines. */
#define TEST(name)                                                                                                     \
    static void name(void);                                                                                            \
    static void run_##name(void **state)                                                                               \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        name();                                                                                                        \
    }                                                                                                                  \
    __attribute__((constructor)) static void register_##name(void)                                                     \
    {                                                                                                                  \
        register_test(#name, run_##name, NULL, NULL, __LINE__);                                                        \
    }                                                                                                                  \
    static void name(void)

/* A test that gets what the setup makes, declared by the parameter: TEST_F(test_size, open_pool, close_pool, pool *p).
 * Either function may be NULL. */
#define TEST_F(name, setup, teardown, parameter)                                                                       \
    static void name(parameter);                                                                                       \
    static void run_##name(void **state)                                                                               \
    {                                                                                                                  \
        name(*state);                                                                                                  \
    }                                                                                                                  \
    __attribute__((constructor)) static void register_##name(void)                                                     \
    {                                                                                                                  \
        register_test(#name, run_##name, setup, teardown, __LINE__);                                                   \
    }                                                                                                                  \
    static void name(__attribute__((unused)) parameter)

/* At file scope: the tests of the lines that follow are skipped on a GPU, since `what` belongs to the host device; up
 * to TESTS_ON_ANY_DEVICE. Their setup does not run either. */
#define TESTS_ON_HOST_DEVICE(what) BEFORE_TESTS(host_device, set_host_only(what, __LINE__))
#define TESTS_ON_ANY_DEVICE        BEFORE_TESTS(any_device, set_host_only(NULL, __LINE__))
/* At file scope: what all tests of the program share is made before the first and given back after the last one. */
#define TEST_GROUP(setup, teardown) BEFORE_TESTS(group, set_group(setup, teardown))
/* At file scope: make test-all alone runs that test, and whoever asks for it by its name. */
#define DEEP_TEST(name) BEFORE_TESTS(deep_##name, set_deep(#name))
/* At file scope: this program has no tests here, and says why. */
#define SKIP_PROGRAM(why) BEFORE_TESTS(skip, skip_program(why))
/* At file scope: a variable that the program's environment has before main, if it does not set it itself. */
#define TEST_VARIABLE(name, value) BEFORE_TESTS(variable_##name, set_test_variable(#name, value))

#define BEFORE_TESTS(name, call)                                                                                       \
    __attribute__((constructor)) static void before_tests_##name(void)                                                 \
    {                                                                                                                  \
        call;                                                                                                          \
    }                                                                                                                  \
    struct before_tests_##name /* takes the semicolon */

void register_test(const char *name, CMUnitTestFunction run, CMFixtureFunction setup, CMFixtureFunction teardown,
                   int line);
void set_host_only(const char *what, int line);
void set_group(CMFixtureFunction setup, CMFixtureFunction teardown);
void set_deep(const char *name);
void skip_program(const char *why);
void set_test_variable(const char *name, const char *value);

/* How much a test does: one of the numbers, by BREAKGRAPH_TEST_SIZE: small (under valgrind), fast (make test; also
 * where it is not set) or all (make test-all). */
int by_size(int small, int fast, int all);

/* Runs the tests of this program, or those whose names match a pattern. For a main of its own, which then decides when.
 * Returns how many failed. */
int run_registered_tests(const char *pattern);

#ifdef __cplusplus
}
#endif

#endif
