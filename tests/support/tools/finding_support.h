/* What tests of findings share: the one matcher of them, and what is said on standard error. */
#ifndef BG_TESTS_FINDING_SUPPORT_H
#define BG_TESTS_FINDING_SUPPORT_H

#include "owned.h"

#include <breakgraph/cublas.h>

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
/* Its members, in order: FINDING("freed", "scale#0", line, "x of scale|was freed", memory), .severity = "fault" */
#define FINDING(...)                                                                                                   \
    {                                                                                                                  \
        .kind = __VA_ARGS__                                                                                            \
    }

/* BG_CALL and BG_CALL_ARGS that keep their line. */
#define CALL_AT(line, op, stream, ...)       ((line) = __LINE__, BG_CALL(op, stream, __VA_ARGS__))
#define CALL_ARGS_AT(line, op, stream, args) ((line) = __LINE__, BG_CALL_ARGS(op, stream, args))

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

/* Options of a capture, and of a comparison: those that are named, the others as their INIT has them. An unlaunched
 * capture launches no segment. */
#define CAPTURE_WITH(...)    CAPTURE_OPTIONS(true, __VA_ARGS__)
#define UNLAUNCHED_WITH(...) CAPTURE_OPTIONS(false, __VA_ARGS__)
#define UNLAUNCHED           UNLAUNCHED_WITH(.name = NULL)
#define CAPTURE_OPTIONS(launch, ...)                                                                                   \
    (&(const bg_capture_options){.struct_size = sizeof(bg_capture_options),                                            \
                                 .mode = cudaStreamCaptureModeThreadLocal,                                             \
                                 .launch_segments = (launch),                                                          \
                                 .expect_breaks = -1,                                                                  \
                                 .level = BG_LEVEL_FROM_ENV,                                                           \
                                 __VA_ARGS__})
#define COMPARE_WITH(...)                                                                                              \
    (&(const bg_compare_options){.struct_size = sizeof(bg_compare_options), .repeats = 1, __VA_ARGS__})

/* For passes and bodies: returns the status of a call that fails. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

/* y = factor x x, of 8 x 8 elements. */
bg_status multiply(cublasHandle_t handle, float factor, const bg_tensor *x, const bg_tensor *y, cudaStream_t stream);

/* Device memory that holds 0. */
char *allocate(size_t bytes);

/* Sets the fixture's tensors; or checks what they hold. */
void put_all(const fixture *f, float x, float y, float z);
#define EXPECT_ALL(f, x, y, z) expect_all(f, x, y, z, __FILE__, __LINE__)
void expect_all(const fixture *f, float x, float y, float z, const char *file, int line);

/* The graph of a pass; with a variable in the environment, which is taken away again. */
bg_graph *capture_of(bg_forward pass, void *user, cudaStream_t stream, const bg_capture_options *options);
bg_graph *capture_under(const char *variable, const char *value, bg_forward pass, void *user, cudaStream_t stream,
                        const bg_capture_options *options);
bg_capture *begin_capture(cudaStream_t stream, const bg_capture_options *options);
bg_graph *end_capture(bg_capture *capture);
void set_variable(const char *name, const char *value);
void unset_variable(const char *name);

#endif
