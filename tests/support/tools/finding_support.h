/* What tests of reports share. */
#ifndef BG_TESTS_FINDING_SUPPORT_H
#define BG_TESTS_FINDING_SUPPORT_H

#include "tests/support/support.h"

#include <stdio.h>

/* The report, which it destroys, has one finding: of that kind, at that call ("" for none) and line of this file (0:
 * not looked at), and with text in its message. */
#define EXPECT_FINDING(report, kind, call, line, text)                                                                 \
    expect_finding(report, kind, call, line, text, __FILE__, __LINE__)
void expect_finding(bg_report *report, const char *kind, const char *call, int at, const char *text, const char *file,
                    int line);
/* It has none. */
#define EXPECT_NO_FINDING(report) expect_no_finding(report, __FILE__, __LINE__)
void expect_no_finding(bg_report *report, const char *file, int line);

/* Keeps what is printed to standard error from here on; kept_errors ends that, and returns it in text, cut off at
 * bytes. */
FILE *keep_errors(void);
char *kept_errors(FILE *file, char *text, size_t bytes);

#endif
