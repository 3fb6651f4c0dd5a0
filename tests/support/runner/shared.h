/* What tests of runners, captures and pools share: options as expressions, memory, threads, variables,
 * standard error. */
#ifndef BG_TESTS_SHARED_H
#define BG_TESTS_SHARED_H

#include "tests/support/support.h"

#include <hostcuda/hostcuda.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The members that are named, the others at their defaults: the one that comes last holds. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define RUNNER_CONFIG(...)                                                                                             \
    (&(bg_runner_config){.struct_size = sizeof(bg_runner_config),                                                      \
                         .mode = BG_MODE_PIECEWISE,                                                                    \
                         .schedule = "powers",                                                                         \
                         .max_tokens = 512,                                                                            \
                         .max_query_len = 1,                                                                           \
                         .warmups = 1,                                                                                 \
                         .copy_inputs = true,                                                                          \
                         .level = BG_LEVEL_FROM_ENV,                                                                   \
                         __VA_ARGS__})
#define POOL_OPTIONS(...) (&(bg_pool_options){.struct_size = sizeof(bg_pool_options), __VA_ARGS__})

#define EXPECT_INVALID(expression) EXPECT_STATUS(expression, BG_ERROR_INVALID_ARGUMENT)

/* Device memory, when the fixture's stream is done; the first of its floats. */
void read_device(const fixture *f, void *host, const void *device, size_t bytes);
float first_of(const fixture *f, const void *device);
/* All of these floats are the value. */
#define EXPECT_FLOATS(f, device, count, value) expect_floats(f, device, count, value, __FILE__, __LINE__)
void expect_floats(const fixture *f, const void *device, size_t count, float value, const char *file, int line);

/* Threads that run, and what they return. */
pthread_t start_thread(void *(*run)(void *), void *user);
void *join_thread(pthread_t thread);
void *run_thread(void *(*run)(void *), void *user);

/* From the one call to the other, what this process writes to standard error is held. The text is valid until the next
 * one. */
void hold_errors(void);
const char *held_errors(void);

/* The text holds that part. */
#define EXPECT_TEXT(text, part) expect_text(text, part, __FILE__, __LINE__)
void expect_text(const char *text, const char *part, const char *file, int line);

#pragma weak hostcuda_fail
#pragma weak hostcuda_faults
#pragma weak hostcuda_count_live

/* On the host device: calls that fail, as hostcuda_fail takes them; NULL: no more. A FAULT_TEST ends with none. */
void fail_calls(const char *faults);
#define FAULT_TEST(name) TEST_F(name, fixture_setup, fault_teardown, fixture *f)
int fault_teardown(void **state);

/* Skips the test where there is one device. */
void need_two_devices(void);

#endif
