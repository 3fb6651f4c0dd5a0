/* What the tests of stepping share. */
#ifndef BG_TESTS_STEP_SUPPORT_H
#define BG_TESTS_STEP_SUPPORT_H

#include "support.h"

/* The finding of that kind, the only one of its kind; fails the test where there is none. */
bg_finding the_finding(const bg_report *report, const char *kind);
int count_findings(const bg_report *report, const char *kind);
/* Fails the test with the findings' text unless there is none. */
void expect_clean_step(const bg_report *report);
void expect_in(const char *text, const char *part);

/* What lies in the fixture's memory, 3 N floats. */
void read_memory(const fixture *f, float host[3 * N]);
void write_memory(const fixture *f, const float host[3 * N]);

#endif
