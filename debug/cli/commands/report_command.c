/* breakgraph report: writes the findings of a program's tools, or of report files, as one report. */
#include "commands.h"

#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "debug/cli/arguments/flags.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/observe/cli_coverage.h"
#include "debug/cli/observe/observe.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/cli_job.h"

/* ---- merging ---- */

static cli_status fail_report(bg_status status)
{
    bool unreadable = status == BG_ERROR_IO || status == BG_ERROR_UNSUPPORTED;
    return cli_print_message(unreadable ? CLI_UNREADABLE : CLI_FAILED, "%s", bg_last_error());
}

static cli_status add_report_file(void *user, const char *path)
{
    bg_report **all = user;
    bg_report *one = NULL;
    bg_status status = bg_report_read(&one, path);
    if (status == BG_OK && *all == NULL) {
        *all = one;
        return CLI_OK;
    }
    if (status == BG_OK)
        status = bg_report_merge(*all, one);
    bg_report_destroy(one);
    return status == BG_OK ? CLI_OK : fail_report(status);
}

static int is_tool_report(const struct dirent *entry)
{
    return cli_is_report_file(entry, "report-");
}

static int is_graph_report(const struct dirent *entry)
{
    return cli_is_report_file(entry, "graph-");
}

static int is_runner_report(const struct dirent *entry)
{
    return cli_is_report_file(entry, "runner-");
}

static int is_dot_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".dot") == 0;
}

static int count_files(const char *directory, int (*is_counted)(const struct dirent *entry))
{
    struct dirent **files = NULL;
    int count = scandir(directory, &files, is_counted, NULL);

    for (int i = 0; i < count; i++)
        free(files[i]);
    free(files);
    return count > 0 ? count : 0;
}

/* Adds reports that are only in memory, by way of a file. */
static cli_status add_report_objects(bg_report **all, const cJSON *reports)
{
    char *place = cli_temporary_directory_create(), *path = place != NULL ? cli_join_path(place, "copy.json") : NULL;
    const cJSON *report;
    cli_status status = path != NULL ? CLI_OK : CLI_FAILED;
    cJSON_ArrayForEach(report, reports)
    {
        char *text = status == CLI_OK ? cJSON_PrintUnformatted(report) : NULL;
        if (text != NULL && cli_file_write(path, BG__FILE_GENERATED, text))
            status = add_report_file(all, path);
        else if (status == CLI_OK)
            status = cli_print_message(CLI_FAILED, "%s", text != NULL ? bg_last_error() : "out of host memory");
        cJSON_free(text);
    }
    cli_temporary_directory_remove(place);
    free(path);
    free(place);
    return status;
}

static cli_status add_rank_reports(bg_report **all, const cli_gathered *gathered)
{
    cli_status status = add_report_objects(all, gathered->reports);
    return status == CLI_OK ? add_report_objects(all, gathered->captured) : status;
}

/* Adds the coverage: checks without findings write no report. */
static cli_status add_coverage(bg_report **all, const cli_gathered *gathered)
{
    cJSON *list = cli_coverage_report(gathered);
    cli_status status = list != NULL ? add_report_objects(all, list) : CLI_OK;
    cJSON_Delete(list);
    return status;
}

/* Adds reports of tools first: the first report gives the whole its name, and should be one with findings. */
static cli_status add_directory(bg_report **all, const char *directory)
{
    cli_gathered gathered;
    cli_status status = cli_gather(directory, &gathered);
    if (status == CLI_OK && gathered.ranks > 1) {
        status = add_rank_reports(all, &gathered);
    } else if (status == CLI_OK) {
        status = cli_for_each_file(directory, is_tool_report, add_report_file, all);
        if (status == CLI_OK)
            status = cli_for_each_file(directory, is_graph_report, add_report_file, all);
    }
    if (status == CLI_OK) /* each rank has its own reports of runners, which are not merged */
        status = cli_for_each_file(directory, is_runner_report, add_report_file, all);
    if (status == CLI_OK && *all != NULL)
        status = add_coverage(all, &gathered);
    cli_gathered_clear(&gathered);
    return status;
}

/* Adds a report without findings, which is a report, too. */
static bool add_empty_report(cJSON *reports)
{
    cJSON *empty = cJSON_CreateObject();
    return cJSON_AddItemToArray(reports, empty) &&
           cJSON_AddNumberToObject(empty, "report_version", CLI_REPORT_VERSION) &&
           cJSON_AddStringToObject(empty, "tool", "report") && cJSON_AddStringToObject(empty, "graph", "") &&
           cJSON_AddArrayToObject(empty, "findings") != NULL;
}

static cli_status add_report_list(bg_report **all, cJSON *reports, const char *path)
{
    const cJSON *report;

    cJSON_ArrayForEach(report, reports)
    {
        if (cli_json_number(report, "report_version") == 0)
            return cli_print_message(CLI_UNREADABLE, "%s: its list of reports has an item that is no report", path);
    }
    if (cJSON_GetArraySize(reports) == 0 && !add_empty_report(reports))
        return cli_print_message(CLI_FAILED, "out of host memory");
    return add_report_objects(all, reports);
}

/* Adds a report, or the list of reports that check or step has written with --json. */
static cli_status add_report_or_list(bg_report **all, const char *path)
{
    size_t bytes = 0;
    char *text = cli_file_read(path, true, &bytes);
    cJSON *root = text != NULL && strlen(text) == bytes ? cJSON_ParseWithOpts(text, NULL, true) : NULL;
    cJSON *reports = cJSON_GetObjectItemCaseSensitive(root, "reports");
    cli_status status = cJSON_IsArray(reports) ? add_report_list(all, reports, path) : add_report_file(all, path);

    cJSON_Delete(root);
    free(text);
    return status;
}

static cli_status add_arguments(bg_report **all, char *const *paths)
{
    cli_status status = CLI_OK;
    for (; *paths != NULL && status == CLI_OK; paths++) {
        struct stat about;
        bool directory = stat(*paths, &about) == 0 && S_ISDIR(about.st_mode);
        status = directory ? add_directory(all, *paths) : add_report_or_list(all, *paths);
    }
    if (status == CLI_OK && *all == NULL)
        status = cli_print_message(CLI_UNREADABLE, "the arguments contain no report");
    return status;
}

/* ---- the program ---- */

/* What the program has written, however it ended. */
typedef enum report_content { NOTHING, GRAPHS, FINDINGS } report_content;

static report_content classify_content(const cli_gathered *gathered)
{
    const cJSON *report;
    report_content what = NOTHING;

    if (cli_gathered_count(gathered, NULL, 0) > 0)
        return FINDINGS;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(report, "graphs")) > 0)
            what = GRAPHS;
    }
    return what;
}

static cli_status observe_program(const cli_observation *o, report_content *found, cli_end *end)
{
    cli_gathered gathered;
    cli_status status;

    *end = (cli_end){.how = CLI_UNSTARTED};
    status = cli_observe(o, &gathered, end);
    *found = status == CLI_OK ? classify_content(&gathered) : NOTHING;
    if (status == CLI_OK)
        status = cli_observed_print_end(o, end);
    if (status == CLI_OK && *found != FINDINGS)
        status = cli_observed_check_replays(o, &gathered);
    cli_gathered_clear(&gathered);
    return status;
}

/* Prints nothing for "-": standard output is the file. */
static void print_written(const char *path, const char *what)
{
    if (strcmp(path, "-") != 0)
        (void)cli_print_message(CLI_OK, "wrote %s: %s", path, what);
}

static cli_status copy_timeline(const cli_observation *o, const char *made, const char *path)
{
    size_t bytes = 0;
    char *text = cli_file_read(made, false, &bytes);
    cli_status status = CLI_OK;

    if (text == NULL) {
        status = cli_print_message(CLI_FAILED, "'%s' wrote no timeline: %s", o->argv[0], bg_last_error());
        cli_observed_show(o);
    } else if (!cli_file_write(path, BG__FILE_FROM_USER, text)) {
        status = cli_print_message(CLI_FAILED, "%s", bg_last_error());
    } else {
        print_written(path, "a timeline of one replay");
    }
    free(text);
    return status;
}

/* The program writes to a temporary file, which the command copies. So it is the command that reports a failed write: a
 * warning of the program would not be read. */
static cli_status write_timeline(cli_observation *o, const char *path)
{
    char *made = cli_join_path(o->place, "trace");
    const char *set[] = {"BG_TRACE", made, "BG_DEBUG", NULL, NULL};
    report_content found;
    cli_end end;
    cli_status status = made != NULL ? CLI_OK : cli_print_message(CLI_FAILED, "out of host memory");

    o->set = set;
    if (status == CLI_OK)
        status = observe_program(o, &found, &end);
    if (status == CLI_OK && o->ranks <= 1)
        status = copy_timeline(o, made, path);
    for (int i = 0; i < o->ranks && o->ranks > 1 && status == CLI_OK; i++) {
        char *of = cli_job_rank_path(made, i), *to = cli_job_rank_path(path, i);
        status =
            of != NULL && to != NULL ? copy_timeline(o, of, to) : cli_print_message(CLI_FAILED, "out of host memory");
        free(of);
        free(to);
    }
    o->set = NULL;
    free(made);
    return status;
}

/* Also adds what was found before a crash. */
static cli_status add_shadow_findings(const cli_observation *o, const char *reports, bg_report **all)
{
    report_content found = NOTHING;
    cli_end end;
    cli_status status = observe_program(o, &found, &end), added;

    if (status == CLI_OK && found != FINDINGS && end.code != 0) {
        status = cli_print_message(CLI_FAILED, "no findings, but '%s' ended with status %d", o->argv[0], end.code);
        cli_observed_show(o);
    }
    /* A runner without graphs has reported batches. */
    if (status != CLI_OK && found == NOTHING && count_files(reports, is_runner_report) == 0)
        return status;
    added = add_directory(all, reports);
    return status == CLI_OK ? added : status;
}

/* With --trace, starts the program twice, since a replay that is compared takes longer. */
static cli_status observe_with_shadow(const cli_arguments *arguments, const char *place, bg_report **all)
{
    const char *timeline = cli_given_value(arguments, "--trace");
    const char *shadowed[] = {"BG_SHADOW", "calls", "BG_DEBUG", NULL, "BG_DOT", cli_given_value(arguments, "--dot"),
                              NULL}; /* else BG_DEBUG=step compares nothing */
    cli_observation o = {.argv = arguments->rest, .place = place, .quiet = true};
    char *reports = cli_join_path(place, "reports");
    cli_status status;

    if (reports == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    status = cli_read_timeout(arguments, &o.timeout);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &o.ranks);
    if (status == CLI_OK && timeline != NULL && o.ranks > 1 && strcmp(timeline, "-") == 0)
        status = cli_print_message(CLI_USAGE, "each rank has a timeline of its own; name a file: --trace=FILE");
    if (status == CLI_OK && timeline != NULL)
        status = write_timeline(&o, timeline);
    o.set = shadowed;
    if (status == CLI_OK)
        status = add_shadow_findings(&o, reports, all);
    free(reports);
    return status;
}

/* ---- what is written ---- */

/* "1 fault, 0 warnings, 2 notes" */
static void count_findings(const bg_report *all, char *text, size_t room)
{
    int counts[BG_FAULT + 1] = {0}, count = bg_report_count(all);
    for (int i = 0; i < count; i++) {
        bg_finding finding = BG_FINDING_INIT;
        if (bg_report_get(all, i, &finding) == BG_OK)
            counts[finding.severity]++;
    }
    snprintf(text, room, "%d fault%s, %d warning%s, %d note%s", counts[BG_FAULT], counts[BG_FAULT] == 1 ? "" : "s",
             counts[BG_WARNING], counts[BG_WARNING] == 1 ? "" : "s", counts[BG_NOTE], counts[BG_NOTE] == 1 ? "" : "s");
}

static cli_status write_format(const bg_report *all, bg_format format, const char *path, const char *beside)
{
    char what[160];
    bg_status status = path != NULL ? bg_report_write(all, format, path) : BG_OK;

    if (status != BG_OK)
        return cli_print_message(CLI_FAILED, "%s", bg_last_error());
    count_findings(all, what, sizeof what);
    strncat(what, beside, sizeof what - strlen(what) - 1);
    if (path != NULL)
        print_written(path, what);
    return CLI_OK;
}

/* The program itself writes the files (BG_DOT). */
static void print_dot_written(const char *directory)
{
    char what[64];
    int count = count_files(directory, is_dot_file);

    snprintf(what, sizeof what, "it holds %d segment%s as DOT", count, count == 1 ? "" : "s");
    print_written(directory, what);
}

static bool has_fault(const bg_report *all)
{
    bg_finding finding = BG_FINDING_INIT; /* faults come first, notes last */
    return bg_report_count(all) > 0 && bg_report_get(all, 0, &finding) == BG_OK && finding.severity > BG_NOTE;
}

/* Reads the percentage of the runners' batches that the schedules are to cover. */
static cli_status read_cover(const cli_arguments *arguments, double *cover)
{
    const char *text = cli_given_value(arguments, "--cover");

    *cover = 100;
    if (text == NULL || (bg__parse_number(text, cover) && *cover > 0 && *cover <= 100))
        return CLI_OK;
    return cli_print_message(CLI_USAGE, "--cover: '%s' is not allowed; write a number above 0, up to 100", text);
}

static cli_status propose_schedules(bg_report *all, const cli_arguments *arguments)
{
    double cover;
    cli_status status = read_cover(arguments, &cover);
    bg_status proposed = status == CLI_OK ? bg_report_propose_schedules(all, cover) : BG_OK;

    if (proposed == BG_OK || (proposed == BG_ERROR_NOT_FOUND && cli_given_value(arguments, "--cover") == NULL))
        return status;
    if (proposed == BG_ERROR_NOT_FOUND)
        return cli_print_message(CLI_OK, "--cover: the report has no runner, and so no schedule");
    return fail_report(proposed);
}

static cli_status write_outputs(bg_report *all, const cli_arguments *arguments)
{
    const char *text = cli_given_value(arguments, "--text"), *json = cli_given_value(arguments, "--json");
    const char *html = cli_given_value(arguments, "--html");
    const char *check = getenv("BG_CHECK");
    bool unchecked = cli_given_value(arguments, "--attach") != NULL &&
                     (check == NULL || check[0] == '\0' || strcmp(check, "off") == 0);
    const char *beside = unchecked ? "; nothing was checked (to check, add -e BG_CHECK=replay)" : "";
    cli_status proposed = propose_schedules(all, arguments), status = CLI_OK;

    if (text == NULL && json == NULL && html == NULL)
        text = "-";
    if (status == CLI_OK)
        status = write_format(all, BG_TEXT, text, beside);
    if (status == CLI_OK)
        status = write_format(all, BG_JSON, json, beside);
    if (status == CLI_OK)
        status = write_format(all, BG_HTML, html, beside);
    if (status == CLI_OK && cli_given_value(arguments, "--dot") != NULL)
        print_dot_written(cli_given_value(arguments, "--dot"));
    if (status == CLI_OK)
        status = proposed;
    return status == CLI_OK && has_fault(all) ? CLI_FAILED : status;
}

static int run_report(const cli_arguments *arguments)
{
    bg_report *all = NULL;
    char *place = NULL;
    double cover;
    cli_status status = read_cover(arguments, &cover), written;

    if (status != CLI_OK)
        return status;
    if (arguments->rest_count == 0)
        return cli_print_message(CLI_USAGE,
                                 "nothing given; write: -- PROGRAM ARG..., or directories and files of reports");
    if (!arguments->program &&
        (cli_given_value(arguments, "--trace") != NULL || cli_given_value(arguments, "--dot") != NULL))
        return cli_print_message(CLI_USAGE,
                                 "--trace and --dot need a program that runs; write: --trace=FILE -- PROGRAM ARG...");
    if (!arguments->program && cli_given_value(arguments, "--attach") != NULL)
        return cli_print_message(CLI_USAGE, "--attach needs a program that runs; write: --attach -- PROGRAM ARG...");
    if (cli_given_value(arguments, "--attach") != NULL && cli_given_value(arguments, "--trace") != NULL)
        return cli_print_message(CLI_USAGE,
                                 "--trace is for programs that use libbreakgraph, and cannot be used with --attach");
    if (!arguments->program && cli_given_value(arguments, "--ranks") != NULL)
        return cli_print_message(CLI_USAGE, "--ranks needs a program that runs; write: --ranks=N -- PROGRAM ARG...");
    if (arguments->program) {
        status = cli_attach_prepare(arguments);
        if (status == CLI_OK)
            status = cli_signals_catch();
        place = status == CLI_OK ? cli_temporary_directory_create() : NULL;
        status = place != NULL ? observe_with_shadow(arguments, place, &all) : CLI_FAILED;
    } else {
        status = add_arguments(&all, arguments->rest);
    }
    if (status == CLI_OK || (arguments->program && all != NULL)) {
        written = write_outputs(all, arguments);
        status = status == CLI_OK ? written : status;
    }
    bg_report_destroy(all);
    cli_temporary_directory_remove(place);
    free(place);
    return status;
}

static const cli_flag flags[] = {
    {"--text", "FILE", "-", NULL, "write the findings as text; -, or no FILE: standard output"},
    {"--json", "FILE", "-", NULL, "write everything as JSON"},
    {"--html", "FILE", "-", NULL, "write everything as one HTML page that needs no other file"},
    {"--trace", "FILE", NULL, NULL, "write a timeline of a replay, for Perfetto (BG_TRACE); -: standard output"},
    {"--dot", "DIR", NULL, NULL, "write each segment of each graph into this directory, as DOT (BG_DOT)"},
    {"--cover", "PERCENT", NULL, NULL,
     "percent of the batches of a runner that the proposed schedules cover; default: 100"},
    {"--timeout", "SECONDS", NULL, NULL, "runs longer than SECONDS are killed"},
    {0},
};

static const char more[] =
    "The program is started without standard input and without BG_DEBUG, and with BG_SHADOW=calls: each replay is "
    "compared with the eager pass, op call by op call. With --attach it lists the program's graphs instead. With "
    "--trace it is started once before that, for the timeline. For each runner the report lists the counters, the "
    "batch sizes, and schedules with less padding for these batches. DIR and FILE are reports that earlier runs wrote "
    "(BG_REPORT, --json, also of check and step).";

const cli_command cli_report = {
    .name = "report",
    .arguments = "-- PROGRAM ARG... | DIR|FILE...",
    .text = "write the findings of a program, or of existing reports, as one report",
    .more = more,
    .flags = {cli_attach_flags, cli_job_flags, flags},
    .run = run_report,
};
