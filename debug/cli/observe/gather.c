#include "gather.h"

#include <breakgraph/breakgraph.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "gather_ranks.h"
#include "cli_coverage.h"

static const char *const severities[] = {"note", "warning", "fault"};

/* ---- files ---- */

static cli_status read_report(const char *path, cJSON **root)
{
    size_t bytes = 0;
    char *text = cli_file_read(path, false, &bytes);
    cli_status status = CLI_OK;

    if (text == NULL)
        return cli_print_message(CLI_UNREADABLE, "%s", bg_last_error());
    *root = cJSON_Parse(text);
    free(text);
    if (cli_json_text(*root, "breakgraph")[0] == '\0')
        status = cli_print_message(CLI_UNREADABLE, "%s is not a report of breakgraph", path);
    else if (cli_json_number(*root, "report_version") != CLI_REPORT_VERSION)
        status = cli_print_message(
            CLI_UNREADABLE,
            "the program's library writes reports of version %g; this command reads version %d: use the command "
            "that was installed with that library",
            cli_json_number(*root, "report_version"), CLI_REPORT_VERSION);
    if (status != CLI_OK)
        cJSON_Delete(*root);
    return status;
}

/* Removes findings that an earlier report has: a tool that continues after a report repeats them in the next one. */
static void remove_known_findings(cli_gathered *gathered, cJSON *root)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "findings"), *next;
    for (cJSON *finding = list != NULL ? list->child : NULL; finding != NULL; finding = next) {
        next = finding->next;
        if (cli_gathered_is_repeated(gathered, finding, -1))
            cJSON_Delete(cJSON_DetachItemViaPointer(list, finding));
    }
}

static void remove_or_merge_findings(cli_gathered *gathered, cJSON *root, const char *name)
{
    int rank = cli_gathered_rank_of(gathered, name);
    if (rank >= 0)
        cli_gathered_merge(gathered, root, rank);
    else
        remove_known_findings(gathered, root);
}

static void add_process(cli_gathered *gathered, cJSON *root)
{
    const cJSON *process = cJSON_GetObjectItemCaseSensitive(root, "process");
    const cJSON *shadow = cJSON_GetObjectItemCaseSensitive(process, "shadow");
    gathered->processes++;
    gathered->graphs += (long)cli_json_number(process, "graphs");
    gathered->replays += (long)cli_json_number(process, "replays");
    gathered->shadowed += (long)cli_json_number(shadow, "graphs");
    gathered->without_pass += (long)cli_json_number(shadow, "without_pass");
    gathered->compared += (long)cli_json_number(shadow, "compared");
    gathered->uncompared += (long)cli_json_number(shadow, "uncompared");
    /* A process without a graph loses nothing when it is killed: its first graph is written at once. */
    gathered->unended +=
        cli_json_number(process, "graphs") > 0 && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(process, "ended"));
    gathered->runner |= cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(process, "runner"));
    gathered->gpu |= strcmp(cli_json_text(process, "device"), "cuda") == 0;
    cli_gathered_record_rank(gathered, process);
    cli_coverage_add(gathered, process);
    cJSON_Delete(root);
}

static bool is_older(const char *path, struct timespec since)
{
    struct stat about;
    return stat(path, &about) == 0 && (about.st_mtim.tv_sec < since.tv_sec ||
                                       (about.st_mtim.tv_sec == since.tv_sec && about.st_mtim.tv_nsec < since.tv_nsec));
}

static cli_status gather_file(void *user, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    cli_gathered *gathered = user;
    cJSON *root = NULL;
    cli_status status = CLI_OK;

    if (is_older(path, gathered->since))
        return CLI_OK;
    status = read_report(path, &root);
    if (status != CLI_OK)
        return status;
    if (strncmp(name, "report-", 7) == 0)
        remove_or_merge_findings(gathered, root, name);
    if (strncmp(name, "process-", 8) == 0)
        add_process(gathered, root);
    else if (!cJSON_AddItemToArray(strncmp(name, "graph-", 6) == 0 ? gathered->captured : gathered->reports, root)) {
        cJSON_Delete(root);
        return cli_print_message(CLI_FAILED, "out of host memory");
    }
    return CLI_OK;
}

bool cli_is_report_file(const struct dirent *entry, const char *start)
{
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0 &&
           strncmp(entry->d_name, start, strlen(start)) == 0;
}

static int is_process_file(const struct dirent *entry)
{
    return cli_is_report_file(entry, "process-");
}

static int is_report_or_graph_file(const struct dirent *entry)
{
    return cli_is_report_file(entry, "graph-") || cli_is_report_file(entry, "report-");
}

cli_status cli_for_each_file(const char *directory, int (*is_wanted)(const struct dirent *entry),
                             cli_status (*visit)(void *user, const char *path), void *user)
{
    struct dirent **files = NULL;
    int count = scandir(directory, &files, is_wanted, versionsort);
    cli_status status = CLI_OK;

    if (count < 0)
        return cli_print_message(CLI_UNREADABLE, "%s cannot be read: %s", directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        char *path = cli_join_path(directory, files[i]->d_name);
        if (status == CLI_OK)
            status = path != NULL ? visit(user, path) : cli_print_message(CLI_FAILED, "out of host memory");
        free(path);
        free(files[i]);
    }
    free(files);
    return status;
}

cli_status cli_gather(const char *directory, cli_gathered *gathered)
{
    return cli_gather_since(directory, (struct timespec){0}, gathered);
}

/* Reads process files first: they tell which rank each report belongs to. */
cli_status cli_gather_since(const char *directory, struct timespec since, cli_gathered *gathered)
{
    cli_status status = CLI_OK;

    *gathered = (cli_gathered){.since = since,
                               .of_rank = cJSON_CreateObject(),
                               .captured = cJSON_CreateArray(),
                               .reports = cJSON_CreateArray()};
    if (gathered->of_rank == NULL || gathered->captured == NULL || gathered->reports == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    status = cli_for_each_file(directory, is_process_file, gather_file, gathered);
    if (status == CLI_OK)
        status = cli_for_each_file(directory, is_report_or_graph_file, gather_file, gathered);
    if (status == CLI_OK)
        cli_gathered_prefix_ranks(gathered, 0);
    return status;
}

void cli_gathered_clear(cli_gathered *gathered)
{
    cJSON_Delete(gathered->captured);
    cJSON_Delete(gathered->reports);
    cJSON_Delete(gathered->of_rank);
    cJSON_Delete(gathered->looked);
    cli_gathered_free_known(gathered);
    *gathered = (cli_gathered){0};
}

/* With --attach these are all of the program's graphs, else only breakgraph's. */
static cli_status print_no_graph(const cli_gathered *gathered, const char *program)
{
    bool attached = getenv("BG_ATTACH_TOOLS") != NULL;

    if (gathered->code != 0)
        return cli_print_message(CLI_NO_CAPTURE, "'%s' ended with status %d before it had an executable graph%s",
                                 program, gathered->code, attached ? "" : "; what broke its capture: check --attach");
    return cli_print_message(CLI_NO_CAPTURE,
                             "'%s' captures no graph in this run; give it arguments with which it does%s", program,
                             attached ? "" : ", or look at graphs that it makes without breakgraph with --attach");
}

cli_status cli_gathered_check_replays(const cli_gathered *gathered, const char *program)
{
    const char *unstepped = cli_coverage_why_not(gathered, "step");

    if (gathered->processes == 0 && getenv("BG_ATTACH_TOOLS") != NULL && gathered->code != 0)
        return cli_print_message(
            CLI_NOT_LINKED,
            "'%s' ended with status %d before it used CUDA; if it did use it: try --attach=audit, or name the "
            "program itself instead of its launcher",
            program, gathered->code);
    if (gathered->processes == 0 && getenv("BG_ATTACH_TOOLS") != NULL)
        return cli_print_message(
            CLI_NOT_LINKED,
            "'%s' initialised no CUDA driver through the preloaded library: try --attach=audit, or name the program "
            "itself instead of its launcher",
            program);
    if (gathered->processes == 0)
        return cli_print_message(
            CLI_NOT_LINKED,
            "'%s' does not use libbreakgraph, or uses an older one that writes no reports: link it, or name the "
            "program itself instead of its launcher; report, check and step look at any program with --attach",
            program);
    if (gathered->graphs == 0 && cJSON_GetArraySize(gathered->captured) == 0)
        return print_no_graph(gathered, program);
    if (gathered->replays == 0 && unstepped != NULL)
        return cli_print_message(CLI_NO_REPLAY, "'%s' captures, but no replay succeeds: %s", program, unstepped);
    if (gathered->replays == 0)
        return cli_print_message(CLI_NO_REPLAY, "'%s' captures, but no replay succeeds: there is nothing to check",
                                 program);
    return CLI_OK;
}

/* ---- findings ---- */

static int severity_of(const cJSON *finding)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(cli_json_text(finding, "severity"), severities[i]) == 0)
            return i;
    return 2;
}

int cli_gathered_count(const cli_gathered *gathered, const char *kind, int severity)
{
    const cJSON *report, *finding;
    int count = 0;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(report, "findings"))
        {
            count +=
                severity_of(finding) >= severity && (kind == NULL || strcmp(cli_json_text(finding, "kind"), kind) == 0);
        }
    }
    return count;
}

/* Prints the first of the other calls of a finding, as bg_report_write does. */
static void print_others(const cJSON *others, FILE *out)
{
    enum { OTHERS_SHOWN = 3 };
    const cJSON *one;
    int shown = 0;

    cJSON_ArrayForEach(one, others)
    {
        if (shown < OTHERS_SHOWN && cJSON_IsString(one))
            cli_print(out, ", %s", one->valuestring);
        shown++;
    }
    if (shown > OTHERS_SHOWN)
        fprintf(out, " and %d more", shown - OTHERS_SHOWN);
}

/* graph: its name; "": all findings are about one graph. */
static void print_finding(const cJSON *finding, const char *graph, FILE *out)
{
    static const cli_color colors[] = {CLI_BOLD, CLI_YELLOW, CLI_RED};
    int severity = severity_of(finding);
    fprintf(out, "%s%s [", cli_color_on(colors[severity]), severities[severity]);
    cli_print(out, "%s]", cli_json_text(finding, "kind"));
    fputs(cli_color_off(), out);
    if (cli_json_text(finding, "call")[0] != '\0')
        cli_print(out, " %s", cli_json_text(finding, "call"));
    print_others(cJSON_GetObjectItemCaseSensitive(finding, "others"), out);
    if (cli_json_text(finding, "file")[0] != '\0')
        cli_print(out, " at %s", cli_json_text(finding, "file"));
    if (cli_json_text(finding, "file")[0] != '\0' && cli_json_number(finding, "line") > 0)
        cli_print(out, ":%d", (int)cli_json_number(finding, "line"));
    if (graph[0] != '\0')
        cli_print(out, ", graph %s", graph);
    cli_print(out, ": %s", cli_json_text(finding, "message"));
    if (cli_json_text(finding, "advice")[0] != '\0') {
        fputs("\n    ", out);
        cli_print(out, "%s", cli_json_text(finding, "advice"));
    }
    fputs("\n", out);
}

/* Whether the finding is a consequence of a fault; findings of other kinds name the fault. */
static bool is_symptom(const cJSON *finding)
{
    static const char *const symptoms[] = {"fault", "nan-input", "reads-unwritten", "mismatch"};
    for (size_t i = 0; i < sizeof symptoms / sizeof *symptoms; i++)
        if (strcmp(cli_json_text(finding, "kind"), symptoms[i]) == 0)
            return true;
    return false;
}

/* The position in the output: 0 for faults that are causes, 1 for faults that are symptoms, then warnings and notes. */
static int print_order(const cJSON *finding)
{
    return 2 * (2 - severity_of(finding)) + is_symptom(finding);
}

/* Whether all findings are about one graph. Ignores reports without findings, such as the list of graphs of --attach,
 * and those about no graph, such as a capture that broke. */
static bool is_of_one_graph(const cli_gathered *gathered)
{
    const cJSON *report, *first = NULL;
    cJSON_ArrayForEach(report, gathered->reports)
    {
        if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(report, "findings")) == 0 ||
            cli_json_text(report, "graph")[0] == '\0')
            continue;
        if (first == NULL)
            first = report;
        if (strcmp(cli_json_text(report, "graph"), cli_json_text(first, "graph")) != 0)
            return false;
    }
    return true;
}

void cli_gathered_print(const cli_gathered *gathered, FILE *out)
{
    const bool one = is_of_one_graph(gathered);
    const cJSON *report, *finding;
    for (int place = 0; place < 6; place++)
        cJSON_ArrayForEach(report, gathered->reports)
        {
            cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(report, "findings"))
            {
                if (print_order(finding) == place)
                    print_finding(finding, one ? "" : cli_json_text(report, "graph"), out);
            }
        }
}

/* ---- JSON ---- */

void cli_gathered_print_json(const cli_gathered *gathered, const char *command, cli_status status, cJSON *checks)
{
    enum { VERSION = 1 };
    cJSON *root = cJSON_CreateObject(), *reports;
    char version[32];

    snprintf(version, sizeof version, "%s_version", command);
    cJSON_AddStringToObject(root, "breakgraph", bg_version());
    cJSON_AddNumberToObject(root, version, VERSION);
    cJSON_AddNumberToObject(root, "exit", status);
    if (checks != NULL)
        cJSON_AddItemToObject(root, "checks", checks);
    reports = gathered->reports != NULL ? cJSON_CreateArrayReference(gathered->reports->child) : cJSON_CreateArray();
    (void)cJSON_AddItemToObject(root, "reports", reports);
    if (checks != NULL && gathered->looked != NULL)
        (void)cJSON_AddItemReferenceToObject(root, "looked_at", gathered->looked);
    cli_json_print(root);
    cJSON_Delete(root);
}
