/* The figures as a table, and as JSON. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_ratio(const row *row)
{
    return row->hand.median > 0;
}

static double ratio(const row *row)
{
    return row->ours.median / row->hand.median;
}

static bool has_target(const row *row)
{
    return (row->target > 0 || row->apart > 0) && has_ratio(row);
}

static bool is_met(const row *row)
{
    return row->apart > 0 ? row->ours.median - row->hand.median <= row->apart : ratio(row) <= row->target;
}

static void target_text(const row *row, char *text, size_t bytes)
{
    if (row->apart > 0)
        snprintf(text, bytes, "+%.2f", row->apart);
    else
        snprintf(text, bytes, "%.2f", row->target);
}

/* ---- the table ---- */

void report_begin(const report *report)
{
    printf("breakgraph beside hand-written CUDA that does the same work, in turn, in one run.\n"
           "Figures: median (10th to 90th percentile) of %d samples after %d to warm up; captures: of %d after 1.\n"
           "CPU: microseconds until the calls return, with an idle device before. total: until the device is done.\n",
           report->samples, report->warm_up, report->captures);
    if (!report->on_gpu)
        printf("This is the host device: its times say nothing about a GPU. Only growth is held against targets.\n");
}

void report_section(const char *title)
{
    printf(
        "\n%s\n\n| what | measure | against | breakgraph | hand-written | ratio | target | a break, ours / by hand |\n"
        "|---|---|---|---:|---:|---:|---|---:|\n",
        title);
}

static void print_row(const row *row)
{
    char target[32];
    printf("| %-40s | %-13s | %-16s |", row->what, row->measure, row->against);
    printf(" %9.2f (%.2f to %.2f) |", row->ours.median, row->ours.p10, row->ours.p90);
    printf(" %9.2f (%.2f to %.2f) |", row->hand.median, row->hand.p10, row->hand.p90);
    if (has_ratio(row))
        printf(" %.3f |", ratio(row));
    else
        printf(" |");
    target_text(row, target, sizeof target);
    if (has_target(row))
        printf(" %s %s |", target, is_met(row) ? "met" : "MISSED");
    else
        printf(" |");
    if (row->breaks > 0)
        printf(" %.2f / %.2f", row->ours.median / row->breaks, row->hand.median / row->breaks);
    printf(" |\n");
    fflush(stdout);
}

bg_status report_add(report *report, const row *row)
{
    if (report->count == report->capacity) {
        int capacity = report->capacity ? 2 * report->capacity : 64;
        struct row *rows = realloc(report->rows, (size_t)capacity * sizeof *rows);
        if (rows == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d rows", capacity);
        report->rows = rows;
        report->capacity = capacity;
    }
    report->rows[report->count] = *row;
    if (!report->on_gpu && !row->everywhere)
        report->rows[report->count].target = report->rows[report->count].apart = 0;
    print_row(&report->rows[report->count++]);
    return BG_OK;
}

bg_status report_timings(report *report, row row, const timing *ours, const timing *hand, double cpu_target,
                         double total_target)
{
    row.unit = MICROSECONDS;
    row.measure = "CPU";
    row.ours = ours->cpu;
    row.hand = hand->cpu;
    row.target = cpu_target;
    BENCH_TRY(report_add(report, &row));
    row.measure = "total";
    row.ours = ours->total;
    row.hand = hand->total;
    row.target = total_target;
    return report_add(report, &row);
}

int report_end(const report *report)
{
    int targets = 0, missed = 0;

    for (int i = 0; i < report->count; i++) {
        targets += has_target(&report->rows[i]);
        missed += has_target(&report->rows[i]) && !is_met(&report->rows[i]);
    }
    if (targets > 0)
        printf("\n%d of %d targets met\n", targets - missed, targets);
    for (int i = 0; i < report->count; i++) {
        const row *row = &report->rows[i];
        char target[32];
        if (!has_target(row) || is_met(row))
            continue;
        target_text(row, target, sizeof target);
        printf("missed: %s, %s, %s against %s: %.3f (%+.2f), target %s\n", row->section, row->what, row->measure,
               row->against, ratio(row), row->ours.median - row->hand.median, target);
    }
    return missed;
}

/* ---- JSON ---- */

static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text < ' ')
            fprintf(file, "\\u%04x", *text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

static void write_member(FILE *file, const char *name, const char *text)
{
    fprintf(file, "\"%s\": ", name);
    write_string(file, text);
    fputs(", ", file);
}

static void write_spread(FILE *file, const char *name, const spread *spread)
{
    fprintf(file, "\"%s\": {\"median\": %.4f, \"p10\": %.4f, \"p90\": %.4f}, ", name, spread->median, spread->p10,
            spread->p90);
}

static const char *const unit_names[] = {[MICROSECONDS] = "us", [KIBIBYTES] = "KiB", [TRIALS] = "trials"};

static void write_row(FILE *file, const row *row)
{
    fputs("    {", file);
    write_member(file, "section", row->section);
    write_member(file, "what", row->what);
    write_member(file, "measure", row->measure);
    write_member(file, "unit", unit_names[row->unit]);
    write_member(file, "against", row->against);
    fprintf(file, "\"breaks\": %d, ", row->breaks);
    write_spread(file, "breakgraph", &row->ours);
    write_spread(file, "hand_written", &row->hand);
    if (has_ratio(row))
        fprintf(file, "\"ratio\": %.4f, ", ratio(row));
    else
        fputs("\"ratio\": null, ", file);
    if (has_target(row))
        fprintf(file, "\"target\": %.2f, \"target_is_difference\": %s, \"met\": %s}",
                row->apart > 0 ? row->apart : row->target, row->apart > 0 ? "true" : "false",
                is_met(row) ? "true" : "false");
    else
        fputs("\"target\": null, \"met\": null}", file);
}

static bg_status write_head(FILE *file, const report *report)
{
    struct cudaDeviceProp properties;
    int driver, runtime, device;

    BENCH_TRY_CUDA(cudaGetDevice(&device));
    BENCH_TRY_CUDA(cudaGetDeviceProperties(&properties, device));
    BENCH_TRY_CUDA(cudaDriverGetVersion(&driver));
    BENCH_TRY_CUDA(cudaRuntimeGetVersion(&runtime));
    fputs("{\n  ", file);
    write_member(file, "breakgraph", bg_version());
    write_member(file, "device_kind", bg_device_kind());
    write_member(file, "device", properties.name);
    fprintf(file,
            "\n  \"cuda_driver\": %d, \"cuda_runtime\": %d,\n"
            "  \"samples\": %d, \"capture_samples\": %d, \"warm_up\": %d,\n  \"rows\": [\n",
            driver, runtime, report->samples, report->captures, report->warm_up);
    return BG_OK;
}

bg_status report_write(const report *report, const char *path)
{
    size_t bytes = strlen(path) + sizeof ".new";
    char *unfinished = malloc(bytes);
    FILE *file = NULL;
    bg_status status = BG_OK;
    bool bad;

    if (unfinished == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a path");
    snprintf(unfinished, bytes, "%s.new", path);
    file = fopen(unfinished, "w");
    if (file == NULL)
        BG__FAIL(BG_ERROR_IO, "%s cannot be written: %s", unfinished, strerror(errno));
    status = write_head(file, report);
    for (int i = 0; i < report->count; i++) {
        write_row(file, &report->rows[i]);
        fputs(i + 1 < report->count ? ",\n" : "\n", file);
    }
    fputs("  ]\n}\n", file);
    bad = ferror(file) != 0;
    bad |= fclose(file) != 0;
    if (status == BG_OK && (bad || rename(unfinished, path) != 0))
        status = bg__fail(BG_ERROR_IO, "%s cannot be written: %s", path, strerror(errno));
    if (status != BG_OK && remove(unfinished) != 0)
        bg__warn("%s is left behind: %s", unfinished, strerror(errno));
done:
    free(unfinished);
    return status;
}
