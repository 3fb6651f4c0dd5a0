/* bench: the benchmarks, in one run. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bg_status (*run)(bench *b);
} benchmarks[] = {
    {"replay", bench_replay},   {"breaks", bench_breaks}, {"write-back", bench_write_back}, {"capture", bench_capture},
    {"memory", bench_memory},   {"runner", bench_runner}, {"start", bench_start},           {"model", bench_model},
    {"batches", bench_batches}, {"growth", bench_growth}, {"compile", bench_compile},
};
static const size_t benchmarks_count = sizeof benchmarks / sizeof *benchmarks;

typedef struct options {
    const char *json, *only;
    bool strict;
    int samples, captures; /* 0: what the device deserves */
    int calls;
} options;

static int usage(FILE *to)
{
    fprintf(to, "usage: bench [--samples N] [--captures N] [--calls N] [--only NAME] [--json FILE] [--strict]\n"
                "  --samples N    of each replay (1000 on a GPU, 10 on the host device)\n"
                "  --captures N   of each capture (50 on a GPU, 3 on the host device)\n"
                "  --calls N      of the largest pass of growth (64000)\n"
                "  --only NAME    one benchmark:");
    for (size_t i = 0; i < benchmarks_count; i++)
        fprintf(to, " %s", benchmarks[i].name);
    fprintf(to, "\n  --json FILE    writes the figures there, too\n"
                "  --strict       exit status 3 where a target is missed\n");
    return 2;
}

static bool parse_number(const char *text, int *number)
{
    char *end;
    long value;
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > 1000000) {
        fprintf(stderr, "bench: '%s' is no number from 1 to 1000000\n", text);
        return false;
    }
    *number = (int)value;
    return true;
}

static bool parse_name(const char *text, const char **name)
{
    for (size_t i = 0; i < benchmarks_count; i++)
        if (strcmp(benchmarks[i].name, text) == 0)
            *name = text;
    if (*name == NULL)
        fprintf(stderr, "bench: there is no benchmark '%s'\n", text);
    return *name != NULL;
}

static bool parse(int argc, char **argv, options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *flag = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(flag, "--strict") == 0) {
            options->strict = true;
            continue;
        }
        if (value == NULL) {
            fprintf(stderr, "bench: '%s' is no flag, or lacks its value\n", flag);
            return false;
        }
        i++;
        if (strcmp(flag, "--json") == 0)
            options->json = value;
        else if (strcmp(flag, "--only") == 0 && parse_name(value, &options->only))
            continue;
        else if (strcmp(flag, "--samples") == 0 && parse_number(value, &options->samples))
            continue;
        else if (strcmp(flag, "--calls") == 0 && parse_number(value, &options->calls))
            continue;
        else if (strcmp(flag, "--captures") == 0 && parse_number(value, &options->captures))
            continue;
        else
            return false;
    }
    return true;
}

static bg_status run(bench *b, const options *options, int *missed)
{
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    report_begin(&b->report);
    for (size_t i = 0; i < benchmarks_count; i++)
        if (options->only == NULL || strcmp(options->only, benchmarks[i].name) == 0)
            BG__TRY(benchmarks[i].run(b));
    *missed = report_end(&b->report);
    if (options->json != NULL)
        BG__TRY(report_write(&b->report, options->json));
done:
    if (b->stream != NULL)
        BG__RELEASE(cudaStreamDestroy(b->stream));
    free(b->report.rows);
    return status;
}

int main(int argc, char **argv)
{
    bool on_gpu = strcmp(bg_device_kind(), "cuda") == 0;
    options options = {0};
    bench b = {0};
    int missed = 0;
    bg_status status = BG_OK;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout), 0;
    if (!parse(argc, argv, &options))
        return usage(stderr);
    b.report.on_gpu = on_gpu;
    b.report.samples = options.samples ? options.samples : on_gpu ? 1000 : 10;
    b.report.captures = options.captures ? options.captures : on_gpu ? 50 : 3;
    b.calls = options.calls ? options.calls : 64000;
    b.report.warm_up = 1 + b.report.samples / 10;
    status = run(&b, &options, &missed);
    if (status != BG_OK) {
        fprintf(stderr, "bench: %s: %s\n", bg_status_name(status), bg_last_error());
        return 1;
    }
    return options.strict && missed > 0 ? 3 : 0;
}
