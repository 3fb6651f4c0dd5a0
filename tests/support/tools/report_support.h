/* What tests of reports share. */
#ifndef BG_TESTS_REPORT_SUPPORT_H
#define BG_TESTS_REPORT_SUPPORT_H

#include "file_support.h"
#include "finding_support.h"

#include "debug/report/report.h"

extern const bg__call rope_call; /* rope#3 at model.c:42 */

/* An empty one of the check of graph decode. */
bg_report *make_report(void);
/* What it is as a file, test_file. Up to four more calls. */
const char *written(const bg_report *report, bg_format format);
/* The finding's severity, line and address are those, and its strings that are not NULL. */
#define EXPECT_IS(finding, ...) expect_is(finding, &(const bg_finding){__VA_ARGS__}, __FILE__, __LINE__)
void expect_is(bg_finding finding, const bg_finding *expected, const char *file, int line);
/* Writes it with files of at most so many bytes, and gives the status of that. */
bg_status write_limited(const bg_report *report, bg_format format, unsigned bytes);

#endif
