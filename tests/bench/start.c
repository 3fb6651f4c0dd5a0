/* The start of a server: the time until the first batch is done, and how long each of the first batches takes from its
 * arrival on, where all sizes are captured first, each by the first batch that needs it, or in the background. */
#include "bench.h"
#include "kernels/model/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES_MAX = 1000 };
enum { WIDTH = 1024, OPS = 8, LAZIES = 3, STARTS_MAX = 16, GAP_US = 200, PAUSE_US = 10000, PAUSES = 10 };
static const char *const lazy_names[LAZIES] = {"all first", "on demand", "in the background"};

typedef struct scale {
    int layers, most, batches; /* most: rows of the largest batch */
    const char *schedule;
} scale;

typedef struct server {
    const scale *scale;
    bg_runner *runner;
    bg_tensor x;
    cudaStream_t stream;
    unsigned seed;
    double latency[BATCHES_MAX]; /* milliseconds, of each batch */
} server;

static bg_status add(float *x, int rows, cudaStream_t stream)
{
    return bench_cuda(bgk_add(x, x, x, (size_t)rows * WIDTH, stream), "bgk_add");
}

BG_OP(start_add, BG_INOUT(x), BG_VALUE(int, rows))
{
    return add(args->x.data, args->rows, stream);
}

BG_EAGER_OP(start_eager, BG_INOUT(x), BG_VALUE(int, rows))
{
    return add(args->x.data, args->rows, stream);
}

static bg_status forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    const server *s = user;

    for (int layer = 0; layer < s->scale->layers; layer++) {
        for (int i = 0; i < OPS; i++)
            BENCH_TRY(BG_CALL(start_add, stream, .x = s->x, .rows = context->padded_tokens));
        BENCH_TRY(BG_CALL(start_eager, stream, .x = s->x, .rows = context->padded_tokens));
    }
    return BG_OK;
}

/* Small batches are as frequent as large ones: any number of bits, then any number of so many. */
static int next_size(server *s)
{
    int size = 1 << rand_r(&s->seed) % (bench_bits(s->scale->most) + 1);
    size += rand_r(&s->seed) % size;
    return size < s->scale->most ? size : s->scale->most;
}

/* A batch arrives a gap after the one before was done, and one of PAUSES after a pause. An idle call that takes longer
 * makes it late. */
static bg_status serve(server *s, int index)
{
    const int size = next_size(s), gap_us = rand_r(&s->seed) % PAUSES == 0 ? PAUSE_US : GAP_US;
    const double arrival = bg__now_ms() + (double)gap_us / 1000;
    bg_batch batch = {.tokens = size, .requests = 1, .max_query_len = size};

    BENCH_TRY(bg_runner_idle(s->runner, gap_us)); /* in the background; otherwise it does nothing */
    while (bg__now_ms() < arrival)
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    BENCH_TRY(bg_runner_run(s->runner, &batch, NULL, NULL, NULL));
    BENCH_TRY_CUDA(cudaStreamSynchronize(s->stream));
    s->latency[index] = bg__now_ms() - arrival;
    return BG_OK;
}

typedef struct figures {
    double first, p50, p99; /* milliseconds */
} figures;

static bg_status start(server *s, bg_lazy lazy, unsigned seed, figures *found)
{
    const double begin = bg__now_ms();
    const int count = s->scale->batches;
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status;

    s->seed = seed;
    config.schedule = s->scale->schedule;
    config.max_tokens = s->scale->most;
    config.lazy = (uint8_t)lazy;
    BG__TRY(bg_runner_create(&s->runner, &config, forward, s, s->stream));
    BG__TRY(bg_runner_add_input(s->runner, "x", BG_F32, 2, (int64_t[]){0, WIDTH}, BG_PAD_KEEP, 0, &s->x));
    BG__TRY(bg_runner_capture(s->runner));
    for (int i = 0; i < count; i++) {
        BG__TRY(serve(s, i));
        if (i == 0)
            found->first = bg__now_ms() - begin;
    }
    found->p50 = bench_spread(s->latency, count).median; /* they are sorted now */
    found->p99 = s->latency[count * 99 / 100];
done:
    bg_runner_destroy(s->runner);
    s->runner = NULL;
    return status;
}

static spread spread_of(const figures *list, int count, size_t member)
{
    double values[STARTS_MAX];
    for (int i = 0; i < count; i++)
        values[i] = 1000 * *(const double *)((const char *)&list[i] + member);
    return bench_spread(values, count);
}

static bg_status add_rows(bench *b, figures found[LAZIES][STARTS_MAX], int starts)
{
    static const struct {
        const char *name;
        size_t member;
    } measures[] = {
        {"first batch", offsetof(figures, first)}, {"p50", offsetof(figures, p50)}, {"p99", offsetof(figures, p99)}};

    for (int other = 0; other < LAZIES - 1; other++)
        for (size_t m = 0; m < sizeof measures / sizeof *measures; m++) {
            row row = {.section = "start",
                       .measure = measures[m].name,
                       .unit = MICROSECONDS,
                       .against = lazy_names[other],
                       .ours = spread_of(found[BG_LAZY_BACKGROUND], starts, measures[m].member),
                       .hand = spread_of(found[other], starts, measures[m].member)};
            snprintf(row.what, sizeof row.what, "%s", lazy_names[BG_LAZY_BACKGROUND]);
            BENCH_TRY(report_add(&b->report, &row));
        }
    return BG_OK;
}

bg_status bench_start(bench *b)
{
    const scale scale =
        b->report.on_gpu ? (struct scale){32, 4096, BATCHES_MAX, "sglang"} : (struct scale){2, 32, 20, "powers"};
    const int wanted = b->report.captures / 10;
    const int starts = wanted < 1 ? 1 : wanted < STARTS_MAX ? wanted : STARTS_MAX;
    figures found[LAZIES][STARTS_MAX], dropped;
    server s = {.scale = &scale, .stream = b->stream};
    char title[300];

    snprintf(
        title, sizeof title,
        "The start of a server: %d batches of 1 to %d rows, %d us apart, one in %d %d us; schedule %s, %d starts "
        "(seeds 1 to %d).\n\"hand-written\" are the other ways of a runner. p50 and p99: of the batches, from arrival "
        "until done",
        scale.batches, scale.most, GAP_US, PAUSES, PAUSE_US, scale.schedule, starts, starts);
    report_section(title);
    BENCH_TRY(start(&s, BG_LAZY_NO, 1, &dropped)); /* what a process loads once */
    for (int i = 0; i < starts; i++)
        for (int k = 0; k < LAZIES; k++) {
            const int lazy = (i + k) % LAZIES;
            BENCH_TRY(start(&s, (bg_lazy)lazy, (unsigned)i + 1, &found[lazy][i]));
        }
    return add_rows(b, found, starts);
}
