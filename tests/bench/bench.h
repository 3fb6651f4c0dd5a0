/* The benchmarks: breakgraph beside hand-written CUDA that does the same work. The contenders take turns in one run. */
#ifndef BG_BENCH_H
#define BG_BENCH_H

#include <breakgraph/breakgraph.h>

#include "base/base.h"

/* ---- measuring (harness.c) ----------------------------------------------------------------------------------- */

/* One way to do the work. */
typedef struct contender {
    bg_status (*run)(void *state);  /* what is timed; it returns when all is queued */
    bg_status (*undo)(void *state); /* after each sample, untimed; NULL: nothing */
    void *state;
} contender;

typedef struct spread {
    double p10, median, p90;
} spread;

/* Microseconds a run: until the calls return, with an idle device before; until the device has done it all. */
typedef struct timing {
    spread cpu, total;
} timing;

typedef struct plan {
    cudaStream_t stream;
    int samples, warm_up; /* of each contender; the first warm_up samples are not kept */
    int batch;            /* runs a sample */
} plan;

/* The same failure as of BG__TRY_CUDA, with the call's name. */
static inline bg_status bench_cuda(cudaError_t error, const char *call)
{
    return error == cudaSuccess ? BG_OK : bg__fail_cuda(error, call);
}

/* For functions with nothing to release: a failure is what they return. */
#define BENCH_TRY(call)                                                                                                \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)
#define BENCH_TRY_CUDA(call) BENCH_TRY(bench_cuda(call, #call))

/* Before a declaration: the function gets the variable's address at the end of the scope. */
#define CLOSED_BY(close) __attribute__((cleanup(close)))

enum { CONTENDERS_MAX = 7 };
/* Samples in turn, each round beginning with another contender: who comes later may find warmer caches. */
bg_status bench_measure(const contender *contenders, int count, const plan *plan, timing *timings);
/* Sorts the values. */
spread bench_spread(double *values, int count);
/* Of one value. */
spread bench_exactly(double value);
/* log2, rounded up. */
int bench_bits(int number);
/* Frees what the pointer there points to. */
void bench_free(void *block);

/* ---- what was found (report.c) ------------------------------------------------------------------------------- */

typedef enum unit { MICROSECONDS, KIBIBYTES, TRIALS } unit;

typedef struct row {
    const char *section;
    char what[80];
    const char *measure; /* "CPU", "total", "device memory" */
    unit unit;
    const char *against; /* the hand-written way */
    int breaks;          /* 0: no figure for each */
    spread ours, hand;
    double target;   /* the ratio may be this at most; 0: none */
    double apart;    /* instead: ours may be this much more at most; 0: no such target */
    bool everywhere; /* the target holds on the host device, too */
} row;

typedef struct report {
    row *rows;
    int count, capacity;
    int samples, captures, warm_up; /* how it was measured */
    bool on_gpu;
} report;

/* Prints the row, and keeps it. */
bg_status report_add(report *report, const row *row);
void report_begin(const report *report);
void report_section(const char *title);
/* How many targets are met, and the rows that miss theirs. Returns how many miss. */
int report_end(const report *report);
/* All rows as JSON: the whole file or none. */
bg_status report_write(const report *report, const char *path);

/* Two rows, CPU and total, with their targets. */
bg_status report_timings(report *report, row row, const timing *ours, const timing *hand, double cpu_target,
                         double total_target);

/* ---- the benchmarks ------------------------------------------------------------------------------------------ */

typedef struct bench {
    cudaStream_t stream;
    report report;
    int calls; /* of the largest pass of growth */
} bench;

bg_status bench_replay(bench *b);     /* replay.c */
bg_status bench_breaks(bench *b);     /* replay.c */
bg_status bench_write_back(bench *b); /* replay.c */
bg_status bench_capture(bench *b);    /* capture.c */
bg_status bench_memory(bench *b);     /* memory.c */
bg_status bench_runner(bench *b);     /* runner.c */
bg_status bench_start(bench *b);      /* start.c */
bg_status bench_model(bench *b);      /* model.c */
bg_status bench_batches(bench *b);    /* batches.c */
bg_status bench_growth(bench *b);     /* growth.c */
bg_status bench_compile(bench *b);    /* compile.c */

#endif
