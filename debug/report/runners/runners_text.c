#include "runners_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "debug/files/json.h"
#include "runner_mix.h"

static double percent_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static const char *plural_es(double count)
{
    return count == 1 ? "" : "es";
}

/* ---- counters ---- */

static void print_reasons(const cJSON *eager, FILE *out)
{
    const cJSON *reason;
    const char *before = ": ";
    cJSON_ArrayForEach(reason, eager)
    {
        fprintf(out, "%s%.0f ", before, bg__json_number(eager, reason->string));
        bg__print_escaped(out, reason->string);
        before = ", ";
    }
}

/* A long list is not printed. */
static void print_schedule_in_use(const cJSON *row, FILE *out)
{
    enum { SHOWN = 60 };
    const char *schedule = bg__json_string(row, "schedule");

    fputs(", schedule ", out);
    if (strlen(schedule) <= SHOWN)
        bg__print_escaped(out, schedule);
    else
        fprintf(out, "of %d sizes", cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(row, "sizes")));
}

static void print_counters(const cJSON *row, FILE *out)
{
    double batches = bg__json_number(row, "batches"), replayed = bg__json_number(row, "replayed");

    bg__print_escaped(out, bg__json_string(row, "name"));
    if (bg__json_number(row, "ranks") > 1)
        fprintf(out, " of rank %.0f", bg__json_number(row, "rank"));
    fprintf(out, ": %.0f batch%s", batches, plural_es(batches));
    if (batches > 0) {
        fprintf(out, ", %.0f by a graph, %.0f eagerly", replayed, batches - replayed);
        print_reasons(cJSON_GetObjectItemCaseSensitive(row, "eager"), out);
    }
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "ended")))
        fputs("; it may have run more: another thread still used it, or the process did not end by exit", out);
    fputs("\n    mode ", out);
    bg__print_escaped(out, bg__json_string(row, "mode"));
    print_schedule_in_use(row, out);
    fprintf(out, ", max_tokens %.0f\n", bg__json_number(row, "max_tokens"));
}

static void print_padding(const cJSON *row, FILE *out)
{
    double padding = bg__json_number(row, "padding_rows"), ranks = bg__json_number(row, "rank_rows");
    double rows = bg__json_number(row, "rows") + padding;

    fprintf(out, "    padding: %.0f of the %.0f rows that graphs computed, %.1f %%", padding, rows,
            percent_of(padding, rows));
    if (ranks > 0)
        fprintf(out, "; %.0f of them pad to the batches of other ranks, which no schedule avoids", ranks);
    fputs("\n", out);
}

static void print_misses(const cJSON *row, FILE *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(row, "missed"), *miss;
    cJSON_ArrayForEach(miss, list)
    {
        const double query_len = bg__json_number(miss, "query_len"), variant = bg__json_number(miss, "variant"),
                     batches = bg__json_number(miss, "batches");
        if (!(query_len > 0 || variant > 0))
            continue;
        fprintf(out, "    never captured: %.0f batch%s of ", batches, plural_es(batches));
        if (query_len > 0)
            fprintf(out, "query length %.0f (max_query_len)%s", query_len, variant > 0 ? ", " : "");
        if (variant > 0)
            fprintf(out, "variant %.0f (variants)", variant);
        fputs("\n", out);
    }
}

/* ---- the histogram ---- */

/* Line i has the sizes from 2^(i-1) + 1 to 2^i; the last line has all sizes above max_tokens. */
enum { LINES = 26, ABOVE = LINES - 1, BAR = 40 };

typedef struct histogram {
    double batches[LINES], most;
} histogram;

static int histogram_line(double tokens)
{
    int line = 0;
    if (!(tokens >= 1))
        return ABOVE;
    while (line < ABOVE - 1 && tokens > 1 << line)
        line++;
    return line;
}

static void fill_histogram(histogram *h, const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *tokens = cJSON_GetArrayItem(item, 0), *batches = cJSON_GetArrayItem(item, 1);
        int line = cJSON_IsNumber(tokens) ? histogram_line(tokens->valuedouble) : ABOVE;
        if (!cJSON_IsNumber(batches))
            continue;
        h->batches[line] += batches->valuedouble;
        if (h->batches[line] > h->most)
            h->most = h->batches[line];
    }
}

static void print_histogram(const histogram *h, const cJSON *row, FILE *out)
{
    static const char bar[BAR + 1] = "########################################";
    for (int i = 0; i < LINES; i++) {
        char range[48];
        int wide = h->most > 0 ? (int)(BAR * h->batches[i] / h->most + 0.999) : 0;
        if (!(h->batches[i] > 0))
            continue;
        if (i == ABOVE)
            snprintf(range, sizeof range, "%.0f-%.0f", bg__json_number(row, "max_tokens") + 1,
                     bg__json_number(row, "largest"));
        else if (i < 2)
            snprintf(range, sizeof range, "%d", i + 1);
        else
            snprintf(range, sizeof range, "%d-%d", (1 << (i - 1)) + 1, 1 << i);
        fprintf(out, "    %17s %10.0f  %.*s\n", range, h->batches[i], wide < 0 ? 0 : wide > BAR ? BAR : wide, bar);
    }
}

static void print_families(const cJSON *row, FILE *out)
{
    const cJSON *families = cJSON_GetObjectItemCaseSensitive(row, "families"), *family;
    cJSON_ArrayForEach(family, families)
    {
        histogram h = {.most = 0};
        double query_len = bg__json_number(family, "query_len");
        fill_histogram(&h, cJSON_GetObjectItemCaseSensitive(family, "batches"));
        if (!(h.most > 0))
            continue;
        if (query_len > 0)
            fprintf(out, "    decode batches of %.0f token%s a request, by tokens:\n", query_len,
                    query_len == 1 ? "" : "s");
        else
            fprintf(out, "    %sbatches by tokens:\n", families->child->next != NULL ? "mixed " : "");
        print_histogram(&h, row, out);
    }
}

/* ---- buckets ---- */

static void print_unused_buckets(const cJSON *row, FILE *out)
{
    enum { SHOWN = 12 };
    const cJSON *bucket;
    int unused = 0;

    cJSON_ArrayForEach(bucket, cJSON_GetObjectItemCaseSensitive(row, "buckets"))
    {
        double query_len = bg__json_number(bucket, "query_len"), variant = bg__json_number(bucket, "variant");
        if (bg__json_number(bucket, "replays") > 0 || unused++ >= SHOWN)
            continue;
        fprintf(out, "%s%.0f", unused == 1 ? "    never used: the buckets of " : ", ",
                bg__json_number(bucket, "tokens"));
        if (query_len > 0)
            fprintf(out, " (decode %.0f)", query_len);
        if (variant > 0)
            fprintf(out, " (variant %.0f)", variant);
    }
    if (unused > SHOWN)
        fprintf(out, " and %d more", unused - SHOWN);
    if (unused > 0)
        fputs(" tokens\n", out);
}

/* ---- schedules ---- */

static void print_sizes(const cJSON *schedule, FILE *out)
{
    const cJSON *size, *sizes = cJSON_GetObjectItemCaseSensitive(schedule, "sizes");
    cJSON_ArrayForEach(size, sizes)
    {
        fprintf(out, "%s%.0f", size != sizes->child ? "," : "", cJSON_IsNumber(size) ? size->valuedouble : 0);
    }
}

static void print_schedule(const cJSON *schedule, double all, FILE *out)
{
    double padding = bg__json_number(schedule, "padding_rows"), batches = bg__json_number(schedule, "batches");
    double rows = bg__json_number(schedule, "rows") + padding;
    bool now = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(schedule, "now"));
    bool recommended = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(schedule, "recommended"));

    fprintf(out, "    %s%-4s %5d %7.0f %12.0f %6.1f %10.0f %6.1f %9.1f %9.1f %10.1f\n", recommended ? "*" : " ",
            now ? "now" : "", cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(schedule, "sizes")),
            bg__json_number(schedule, "buckets"), padding, percent_of(padding, rows), batches, percent_of(batches, all),
            bg__json_number(schedule, "pool_bytes") / (1 << 20), bg__json_number(schedule, "graph_bytes") / (1 << 20),
            bg__json_number(schedule, "capture_ms"));
}

static const cJSON *find_marked(const cJSON *list, const char *mark)
{
    const cJSON *schedule;
    cJSON_ArrayForEach(schedule, list)
    {
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(schedule, mark)))
            return schedule;
    }
    return NULL;
}

/* Whether another runner has schedules of its own, which BG_RUNNER_SCHEDULE would change, too. */
static bool has_other_schedules(const cJSON *rows, const cJSON *row)
{
    const cJSON *other;
    cJSON_ArrayForEach(other, rows)
    {
        if (other != row && cJSON_HasObjectItem(other, "schedules"))
            return true;
    }
    return false;
}

static void print_setting(const cJSON *rows, const cJSON *row, const cJSON *recommended, FILE *out)
{
    bool others = has_other_schedules(rows, row);

    fputs(others ? "config.schedule = \"" : "export BG_RUNNER_SCHEDULE=", out);
    print_sizes(recommended, out);
    if (others) {
        fputs("\";   for ", out);
        bg__print_escaped(out, bg__json_string(row, "name"));
        fprintf(out, " of process %.0f: BG_RUNNER_SCHEDULE would set the other runners, too",
                bg__json_number(row, "pid"));
    }
    fputs("\n", out);
}

/* Names first what improves. */
static void print_gain(const cJSON *now, const cJSON *recommended, FILE *out)
{
    double batches = bg__json_number(recommended, "batches"), batches_now = bg__json_number(now, "batches");
    double padding = bg__json_number(recommended, "padding_rows"), padding_now = bg__json_number(now, "padding_rows");
    int count = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(recommended, "sizes"));

    fputs("    the recommended one", out);
    if (batches > batches_now)
        fprintf(out, " runs %.0f batches by a graph instead of %.0f, and", batches, batches_now);
    else if (padding >= padding_now)
        fprintf(out, " has %d size%s instead of %d, and", count, count == 1 ? "" : "s",
                cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(now, "sizes")));
    if (padding != padding_now)
        fprintf(out, " pads %.0f rows instead of %.0f", padding, padding_now);
    else
        fprintf(out, " pads %.0f rows as now", padding);
    if (batches < batches_now)
        fprintf(out, ", and runs %.0f batches as graphs instead of %.0f", batches, batches_now);
    fputs("; --json has the sizes of the others\n", out);
}

static void print_recommendation(const cJSON *rows, const cJSON *row, const cJSON *object, FILE *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "list");
    const cJSON *recommended = find_marked(list, "recommended"), *now = find_marked(list, "now");

    if (recommended == NULL) {
        fputs("    none is recommended: the schedule in use runs more batches by a graph than any of these, or pads "
              "fewer rows\n",
              out);
        return;
    }
    fprintf(out,
            "    *: recommended, the fewest sizes that compute at most %.0f %% more rows than the best %.0f, and no "
            "more padding than now\n",
            bg__json_number(object, "percent"), bg__json_number(object, "longest"));
    if (recommended == now) {
        fputs("    the schedule in use is the recommended one\n", out);
        return;
    }
    print_gain(now, recommended, out);
    print_setting(rows, row, recommended, out);
}

static void print_schedules(const cJSON *rows, const cJSON *row, FILE *out)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(row, "schedules"), *schedule;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "list");
    double batches = bg__json_number(object, "batches");

    if (object != NULL && list == NULL) {
        fputs("    no schedule is proposed: ", out);
        bg__print_escaped(out, bg__json_string(object, "why"));
        fputs("\n", out);
    }
    if (list == NULL)
        return;
    fprintf(out, "    schedules for %.0f batch%s%s whose size decides how they run; sizes that cover %g %% of them:\n",
            batches, plural_es(batches), bg__json_number(row, "ranks") > 1 ? " of all ranks" : "",
            bg__json_number(object, "cover"));
    fprintf(out, "    %5s %5s %7s %12s %6s %10s %6s %9s %9s %10s\n", "", "sizes", "buckets", "padding rows", "%",
            "by a graph", "%", "pool MiB", "graph MiB", "capture ms");
    cJSON_ArrayForEach(schedule, list)
    {
        print_schedule(schedule, batches, out);
    }
    print_recommendation(rows, row, object, out);
}

/* The row comes from a file that was written by hand. */
static void print_invalid_row(const cJSON *row, FILE *out)
{
    bg__print_escaped(out, bg__json_string(row, "name"));
    fputs(": not shown: it has numbers below 0 or above 2^53, which breakgraph does not write\n", out);
}

static void print_runner(const cJSON *rows, const cJSON *row, FILE *out)
{
    if (!bg__runner_row_is_valid(row)) {
        print_invalid_row(row, out);
        return;
    }
    print_counters(row, out);
    if (bg__json_number(row, "replayed") > 0)
        print_padding(row, out);
    print_misses(row, out);
    print_families(row, out);
    if (bg__json_number(row, "batches") > 0)
        print_unused_buckets(row, out);
    print_schedules(rows, row, out);
}

void bg__runners_print(const cJSON *rows, FILE *out)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        print_runner(rows, row, out);
    }
}
