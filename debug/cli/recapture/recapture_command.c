#include "recapture_command.h"

#include <stdlib.h>
#include <string.h>

#include "compare_runs.h"
#include "debug/cli/arguments/flags.h"
#include "debug/cli/observe/gather_ranks.h"
#include "debug/cli/observe/cli_coverage.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/ranks/cli_job.h"

/* ---- the flag --------------------------------------------------------------------------------------------------- */

static bool is_given_twice(const cli_arguments *arguments)
{
    int count = 0;
    for (size_t i = 0; i < arguments->count; i++)
        count += strcmp(arguments->given[i].flag->name, "--vary") == 0;
    return count > 1;
}

/* Whether the command sets the variable for its own purposes. */
static bool is_set_by_command(const char *name)
{
    return strncmp(name, "BG_", 3) == 0 || strncmp(name, "LD_", 3) == 0 || strcmp(name, "HOSTCUDA_THROUGH_DRIVER") == 0;
}

static cli_status parse_vary(cli_recapture *r, const char *given)
{
    char *sign, *comma;

    r->name = strdup(given);
    if (r->name == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    sign = strchr(r->name, '=');
    comma = sign != NULL ? strchr(sign, ',') : NULL;
    if (sign == NULL || sign == r->name || memchr(r->name, ',', (size_t)(sign - r->name)) != NULL || comma == NULL ||
        strchr(comma + 1, ',') != NULL)
        return cli_print_message(
            CLI_USAGE,
            "--vary=%s: write --vary=NAME=A,B: a variable of the environment, and its values in the two runs", given);
    *sign = *comma = '\0';
    r->given[0] = sign + 1;
    r->given[1] = comma + 1;
    if (strcmp(r->given[0], r->given[1]) == 0)
        return cli_print_message(
            CLI_USAGE,
            "--vary=%s: the two values are the same; give two different ones, or compare two equal runs without --vary",
            given);
    if (is_set_by_command(r->name))
        return cli_print_message(
            CLI_USAGE, "--vary=%s: %s is not a variable of the program: the command sets it itself", given, r->name);
    return CLI_OK;
}

cli_status cli_recapture_read(cli_recapture *r, const cli_arguments *arguments, bool chosen)
{
    const char *given = cli_given_value(arguments, "--vary");

    if (given == NULL)
        return CLI_OK;
    if (!chosen)
        return cli_print_message(CLI_USAGE, "--vary needs --attach and --what=recapture, which runs the program twice");
    if (is_given_twice(arguments))
        return cli_print_message(
            CLI_USAGE, "--vary is given twice: what differs would depend on either variable; vary one at a time");
    return parse_vary(r, given);
}

void cli_recapture_clear(cli_recapture *r)
{
    free(r->name);
    r->name = NULL;
}

/* ---- one run ---------------------------------------------------------------------------------------------------- */

static const char *const ordinals[] = {"first", "second", "third"};

/* value: which of the two values of --vary, or of breakgraph.vary, the run gets. */
static cli_status observe_run(const cli_recapture *r, const cli_observation *plan, int value, cli_gathered *gathered,
                              cli_end *end, cli_run_values *run)
{
    const char *set[16] = {NULL};
    cli_observation o = *plan;
    size_t count = 0;
    char *reports;
    cli_status status;

    for (; plan->set != NULL && plan->set[count] != NULL && count + 6 < sizeof set / sizeof *set; count += 2) {
        set[count] = plan->set[count];
        set[count + 1] = plan->set[count + 1];
    }
    set[count++] = "BG_ATTACH_RUN";
    set[count++] = value == 0 ? "1" : "2";
    if (r->name != NULL) {
        set[count++] = r->name;
        set[count++] = r->given[value];
    }
    o.set = set;
    status = cli_observe(&o, gathered, end);
    reports = cli_join_path(o.place, "reports");
    if (status == CLI_OK)
        status = reports != NULL ? cli_run_read(run, reports) : cli_print_message(CLI_FAILED, "out of host memory");
    free(reports);
    return status;
}

/* Whether the run ended by itself, with any exit status. */
static bool has_exited(const cli_end *end)
{
    int signal;
    return end->how == CLI_EXITED && !cli_is_crash(end, &signal);
}

/* ---- what the runs are called ----------------------------------------------------------------------------------- */

static void write_label(const cli_recapture *r, const cli_run_values *run, int which, char label[320])
{
    const cJSON *varied;
    size_t used = 0;

    if (r->name != NULL)
        used = (size_t)snprintf(label, 320, "with %.60s=%.80s", r->name, r->given[which]);
    cJSON_ArrayForEach(varied, run->varied)
    {
        if (used < 320)
            used += (size_t)snprintf(label + used, 320 - used, "%s%s", used > 0 ? ", " : "with ",
                                     cJSON_GetStringValue(varied));
    }
    if (used == 0)
        snprintf(label, 320, "in the %s run", ordinals[which]);
}

/* "the first run, with SCALE=0.5,"; "the first run" if nothing is varied. */
static const char *describe_run(const cli_recapture *r, int which, char text[400])
{
    const char *label = r->labels[which];
    if (strncmp(label, "with ", strlen("with ")) == 0)
        snprintf(text, 400, "the %s run, %s,", ordinals[which], label);
    else
        snprintf(text, 400, "the %s run", ordinals[which]);
    return text;
}

/* ---- the comparison --------------------------------------------------------------------------------------------- */

/* Frees what it found, but not the keys. */
static void clear_comparison(cli_run_comparison *c)
{
    cJSON_Delete(c->reports);
    cJSON_Delete(c->not_compared);
    c->reports = c->not_compared = NULL;
}

/* The caller has set unvaried_keys and keys. */
static cli_status pair_and_compare(const cli_recapture *r, cli_run_values *a, cli_run_values *b, cli_run_comparison *c)
{
    c->runs[0] = a;
    c->runs[1] = b;
    c->labels[0] = r->labels[0];
    c->labels[1] = r->labels[1];
    c->varied = r->varied;
    c->reports = cJSON_CreateArray();
    c->not_compared = cJSON_CreateArray();
    cli_run_pair_processes(a, b);
    cli_run_pair_graphs(a, b);
    if (c->reports == NULL || c->not_compared == NULL || !cli_runs_compare(c))
        return cli_print_message(CLI_FAILED, "out of host memory");
    return CLI_OK;
}

/* Finds the differences between equal runs: a third run has the values of the first. *known: keys has all of them. */
static cli_status find_unvaried(const cli_recapture *r, const cli_observation *plan, cli_run_values *first,
                                cli_difference_keys *keys, bool *known)
{
    cli_run_comparison c = {.keys = keys};
    cli_gathered gathered = {0};
    cli_end end = {.how = CLI_UNSTARTED};
    cli_run_values third = {.lines = NULL};
    cli_status status = observe_run(r, plan, 0, &gathered, &end, &third);

    *known = false;
    if (status == CLI_OK && end.how == CLI_STOPPED)
        status = CLI_INTERRUPTED;
    if (status != CLI_OK)
        goto done;
    if (!has_exited(&end)) {
        (void)cli_print_message(CLI_FAILED,
                                "the third run, %s again, failed: it is not known what differs between equal runs",
                                r->labels[0]);
        cli_observed_show(plan);
        goto done;
    }
    status = pair_and_compare(r, first, &third, &c);
    cli_difference_keys_sort(keys);
    *known = status == CLI_OK;
done:
    clear_comparison(&c);
    cli_run_clear(&third);
    cli_gathered_clear(&gathered);
    return status;
}

/* Replaces the reports by those of the comparison, in which a finding of all ranks is kept once. Other reports, such as
 * the list of graphs, are of one run only. */
static void replace_reports(cJSON *reports, cli_gathered *gathered)
{
    cli_gathered own = {.ranks = gathered->ranks, .reports = cJSON_CreateArray()};

    while (cJSON_GetArraySize(reports) > 0) {
        cJSON *report = cJSON_DetachItemFromArray(reports, 0);
        const int rank = (int)cli_json_number(report, "rank");
        cJSON_DeleteItemFromObjectCaseSensitive(report, "rank");
        if (rank >= 0)
            cli_gathered_merge(&own, report, rank);
        (void)cJSON_AddItemToArray(own.reports, report);
    }
    cli_gathered_prefix_ranks(&own, 0);
    cJSON_Delete(gathered->reports);
    gathered->reports = own.reports;
    own.reports = NULL;
    cli_gathered_clear(&own);
}

/* Records that values are missing: a process was killed, or a disk was full. */
static void record_incomplete(cJSON *not_compared)
{
    cJSON *row = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(row, "check", "recapture");
    (void)cJSON_AddStringToObject(row, "graph", "a process");
    (void)cJSON_AddStringToObject(row, "why", "the values of its graphs were not written completely");
    (void)cJSON_AddItemToArray(not_compared, row);
}

/* Records the coverage, in the form of a process's report. */
static void record_coverage(cli_run_comparison *c, bool cut, cli_gathered *gathered)
{
    cJSON *looked = cJSON_CreateObject(), *counts;

    if (cut)
        record_incomplete(c->not_compared);
    if (cJSON_GetArraySize(c->not_compared) > 0) {
        (void)cJSON_AddItemToObject(looked, "not_checked", c->not_compared);
        c->not_compared = NULL;
    }
    if (c->graphs > 0) {
        counts = cJSON_AddObjectToObject(cJSON_AddObjectToObject(looked, "checks"), "recapture");
        (void)cJSON_AddNumberToObject(counts, "graphs", (double)c->graphs);
        (void)cJSON_AddNumberToObject(counts, "nodes", (double)c->nodes);
        (void)cJSON_AddNumberToObject(counts, "values", (double)c->values);
        (void)cJSON_AddNumberToObject(counts, "updated", (double)c->updated);
    }
    cli_coverage_add(gathered, looked);
    cJSON_Delete(looked);
}

/* gathered: the reports of the second run. */
static cli_status compare_runs(cli_recapture *r, const cli_observation *plan, cli_run_values runs[2],
                               cli_gathered *gathered)
{
    cli_difference_keys keys = {.list = NULL};
    cli_run_comparison c = {.keys = NULL};
    bool known = false;
    cli_status status;

    r->varied = r->name != NULL || runs[0].varied->child != NULL || runs[1].varied->child != NULL;
    status = pair_and_compare(r, &runs[0], &runs[1], &c);
    if (status == CLI_OK && r->varied && c.differences > 0)
        status = find_unvaried(r, plan, &runs[0], &keys, &known);
    if (status == CLI_OK && known) {
        clear_comparison(&c);
        c = (cli_run_comparison){.unvaried_keys = &keys};
        status = pair_and_compare(r, &runs[0], &runs[1], &c);
    }
    if (status != CLI_OK)
        goto done;
    r->equal = c.nodes > 0 && c.differences == 0;
    replace_reports(c.reports, gathered);
    record_coverage(&c, runs[0].cut || runs[1].cut, gathered);
done:
    clear_comparison(&c);
    cli_difference_keys_clear(&keys);
    return status;
}

/* Shows the errors now: the next run writes them to the same file. */
static void print_run_end(const cli_recapture *r, const cli_observation *plan, int which, const cli_end *end)
{
    char name[400];

    if (!has_exited(end) && end->how != CLI_STOPPED && end->how != CLI_UNSTARTED) {
        (void)cli_print_message(CLI_FAILED, "%s failed: the graphs of two runs are not compared",
                                describe_run(r, which, name));
    } else if (end->code != 0 && has_exited(end)) {
        (void)cli_print_message(CLI_FAILED, "%s ended with status %d", describe_run(r, which, name), end->code);
        cli_observed_show(plan);
    }
}

/* Removes the errors, which were shown, so that they are not shown again for another run. */
static void remove_errors(const cli_observation *plan)
{
    for (int i = plan->ranks > 0 ? 0 : -1; i < plan->ranks; i++) { /* -1: the program alone */
        char *path = i < 0 ? cli_join_path(plan->place, "errors") : cli_rank_output_path(plan->place, i, "err");
        if (path != NULL)
            (void)remove(path);
        free(path);
    }
}

cli_status cli_recapture_observe(cli_recapture *r, const cli_observation *plan, cli_gathered *gathered, cli_end *end)
{
    cli_run_values runs[2] = {{.lines = NULL}, {.lines = NULL}};
    cli_status status = CLI_OK;
    cli_end first = {.how = CLI_EXITED};
    long graphs = 0, replays = 0;

    *gathered = (cli_gathered){0};
    for (int i = 0; i < 2; i++) {
        graphs = gathered->graphs;
        replays = gathered->replays;
        first = i > 0 ? *end : first;
        cli_gathered_clear(gathered);
        status = observe_run(r, plan, i, gathered, end, &runs[i]);
        if (status != CLI_OK)
            goto done;
        write_label(r, &runs[i], i, r->labels[i]);
        print_run_end(r, plan, i, end);
        if (!has_exited(end))
            goto done;
    }
    status = compare_runs(r, plan, runs, gathered);
    if (end->code == 0)
        *end = first;
    if (end->code != 0)
        remove_errors(plan);
done:
    gathered->graphs += graphs; /* they count although only one run has graphs */
    gathered->replays += replays;
    cli_run_clear(&runs[0]);
    cli_run_clear(&runs[1]);
    return status;
}

/* ---- what is said ----------------------------------------------------------------------------------------------- */

void cli_recapture_print(const cli_recapture *r, FILE *out)
{
    if (r->equal && r->varied)
        cli_print(out,
                  "equal: all that was compared, %s and %s. That is right if the program copies the input into "
                  "device memory that the graphs read",
                  r->labels[0], r->labels[1]);
    else if (r->equal)
        fputs("equal: all that was compared. To see what depends on an input of the program, vary it: "
              "--vary=NAME=A,B, or breakgraph.vary in Python",
              out);
    if (r->equal)
        fputc('\n', out);
}
