/* Comparing runner configurations, whose structs have padding. */
#ifndef BG_TESTS_CONFIG_SUPPORT_H
#define BG_TESTS_CONFIG_SUPPORT_H

#include "tests/support/runner/shared.h"

/* Every field is the same; strings are the same pointers. */
#define EXPECT_SAME_CONFIG(found, expected) expect_same_config(found, expected, __FILE__, __LINE__)
void expect_same_config(const bg_runner_config *found, const bg_runner_config *expected, const char *file, int line);

/* What is set by text is as in the other one; strings are the same text. */
#define EXPECT_CONFIG(found, expected) expect_config(found, expected, __FILE__, __LINE__)
void expect_config(const bg_runner_config *found, const bg_runner_config *expected, const char *file, int line);

#endif
