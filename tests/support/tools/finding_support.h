/* What tests of findings share: the one matcher of them, and what is said on standard error. */
#ifndef BG_TESTS_FINDING_SUPPORT_H
#define BG_TESTS_FINDING_SUPPORT_H

#include "capture_support.h"

#include <stdio.h>

/* A finding. What is 0 or NULL is not looked at. */
typedef struct expected {
    const char *kind;
    const char *call;     /* "": none; any other is a call of this file, or of tests/support */
    int line;             /* of that call */
    const char *words;    /* what the message has in it, with '|' between */
    const void *address;  /* that it is about */
    const char *severity; /* "note", "warning" or "fault" */
    const char *others;
} expected;
/* Its members, in order or by name: FINDING("freed", "scale#0", line, "x of scale|was freed", .severity = "fault") */
#define FINDING(...)                                                                                                   \
    {                                                                                                                  \
        .kind = __VA_ARGS__                                                                                            \
    }

/* The report, which it destroys, has these findings, in order, and no others. */
#define EXPECT_FINDINGS(report, ...)                                                                                   \
    expect_findings(report, (const expected[]){__VA_ARGS__}, sizeof((const expected[]){__VA_ARGS__}), __FILE__,        \
                    __LINE__)
#define EXPECT_FINDING(report, ...) EXPECT_FINDINGS(report, FINDING(__VA_ARGS__))
/* That one, or none. */
#define EXPECT_FINDING_IF(is_there, report, ...)                                                                       \
    expect_findings(report, (const expected[]){FINDING(__VA_ARGS__)}, (is_there) ? sizeof(expected) : 0, __FILE__,     \
                    __LINE__)
#define EXPECT_NO_FINDING(report) expect_findings(report, NULL, 0, __FILE__, __LINE__)
void expect_findings(bg_report *report, const expected *list, size_t bytes, const char *file, int line);

/* Of the report, which stays: it has findings, each is as said; or one of that kind, which is as said, and is returned.
 */
#define EXPECT_EACH(report, ...) expect_each(report, &(const expected)FINDING(__VA_ARGS__), __FILE__, __LINE__)
#define EXPECT_THE(report, ...)  expect_the(report, &(const expected)FINDING(__VA_ARGS__), __FILE__, __LINE__)
void expect_each(const bg_report *report, const expected *e, const char *file, int line);
bg_finding expect_the(const bg_report *report, const expected *e, const char *file, int line);
int count_findings(const bg_report *report, const char *kind);
bg_finding finding_of(const bg_report *report, int index);

/* The text has all of these words in it, or none of them; '|' is between them. */
#define EXPECT_IN(text, words)     expect_in(text, words, true, __FILE__, __LINE__)
#define EXPECT_NOT_IN(text, words) expect_in(text, words, false, __FILE__, __LINE__)
void expect_in(const char *text, const char *words, bool are_there, const char *file, int line);

/* Keeps what is printed to standard error from here on; kept_errors ends that, and returns it in text, cut off at
 * bytes. */
FILE *keep_errors(void);
char *kept_errors(FILE *file, char *text, size_t bytes);
/* As kept_errors; it is there up to the next call. */
const char *errors_said(FILE *errors);
/* What so many replays print to standard error, up to the next call. */
const char *replays_say(bg_graph *graph, cudaStream_t stream, int replays);

/* Runs it in a process of its own, with the default actions of signals, which must end with 0, or with 128 + the signal
 * that it dies of. */
#define EXPECT_CHILD(run, status) expect_child_status(run, status, __FILE__, __LINE__)
void expect_child_status(void (*run)(void), int status, const char *file, int line);

#endif
