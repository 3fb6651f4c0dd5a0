#include "cli_running.h"

#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <breakgraph/breakgraph.h>

#include "debug/cli/output/cli_json.h"
#include "debug/cli/process/child.h"
#include "gather.h"
#include "gather_ranks.h"

static const double OLD_SECONDS = 5;  /* seconds: the age of a row whose process had ended before */
static const double LONG_SECONDS = 1; /* seconds that a function may still need when its program ends */

typedef struct ended_program {
    cli_gathered *gathered;
    int crash; /* a signal; 0: none */
    int files;
    int rank;         /* of the process whose file is read; -1: none */
    double killed_at; /* when the program was killed, or ended */
    bool killed;      /* by the command: then hangs are reported */
    double now;
} ended_program;

/* "build_mask, with userData 0x55..." */
static void describe_function(const cJSON *row, char *text, size_t bytes)
{
    const char *function = cli_json_text(row, "function");
    snprintf(text, bytes, "%s%swith userData %s", function, function[0] != '\0' ? ", " : "",
             cli_json_text(row, "data"));
}

static bool is_capture(const cJSON *row)
{
    return cli_json_text(row, "begun")[0] != '\0';
}

static bool is_hang(const cJSON *row)
{
    return cli_json_text(row, "hang")[0] != '\0';
}

static bool add_others(cJSON *finding, const cJSON *row)
{
    const cJSON *others = cJSON_GetObjectItemCaseSensitive(row, "others");
    cJSON *copy = cJSON_GetArraySize(others) > 0 ? cJSON_Duplicate(others, true) : NULL;
    return copy == NULL || cJSON_AddItemToObject(finding, "others", copy);
}

static bool add_finding(const ended_program *e, const cJSON *row, const char *kind, const char *message,
                        const char *advice)
{
    cJSON *report = cJSON_CreateObject(), *list, *finding;
    bool good = cJSON_AddStringToObject(report, "breakgraph", bg_version()) != NULL &&
                cJSON_AddNumberToObject(report, "report_version", CLI_REPORT_VERSION) != NULL &&
                cJSON_AddStringToObject(report, "tool", "check") != NULL &&
                cJSON_AddStringToObject(report, "graph", cli_json_text(row, "graph")) != NULL &&
                cJSON_AddNumberToObject(report, "lost", 0) != NULL;

    list = good ? cJSON_AddArrayToObject(report, "findings") : NULL;
    finding = cJSON_CreateObject();
    if (list == NULL || finding == NULL || !cJSON_AddItemToArray(list, finding)) {
        cJSON_Delete(finding);
        cJSON_Delete(report);
        return false;
    }
    good = cJSON_AddStringToObject(finding, "kind", kind) != NULL &&
           cJSON_AddStringToObject(finding, "severity", is_hang(row) ? "fault" : "warning") != NULL &&
           cJSON_AddStringToObject(finding, "call", cli_json_text(row, "call")) != NULL &&
           cJSON_AddStringToObject(finding, "file", cli_json_text(row, "file")) != NULL &&
           cJSON_AddNumberToObject(finding, "line", cli_json_number(row, "line")) != NULL &&
           cJSON_AddNullToObject(finding, "address") != NULL &&
           cJSON_AddStringToObject(finding, "message", message) != NULL &&
           cJSON_AddStringToObject(finding, "advice", advice) != NULL && add_others(finding, row) &&
           cJSON_AddItemToArray(e->gathered->reports, report);
    if (!good)
        cJSON_Delete(report);
    else if (e->rank >= 0)
        cli_gathered_add_rank(finding, e->rank);
    return good;
}

static bool report_open_capture(const ended_program *e, const cJSON *row)
{
    char message[1600], line[24] = "";

    if (cli_json_number(row, "begun_line") > 0)
        snprintf(line, sizeof line, ":%.0f", cli_json_number(row, "begun_line"));
    snprintf(message, sizeof message,
             "the program ended inside the capture that began at %s%s, %.1f s after the last of its %.0f launches: "
             "captured work does not run before the graph is launched, and a host that waits for it in the capture "
             "waits for ever",
             cli_json_text(row, "begun"), line, e->now - cli_json_number(row, "began"), cli_json_number(row, "count"));
    return add_finding(
        e, row, "capture-not-ended", message,
        "end the capture and launch the graph before you wait for flags, events or results of captured work");
}

static bool is_same_hang(const cJSON *finding, const cJSON *row)
{
    const char *text = cli_json_text(row, "hang");
    return strcmp(cli_json_text(finding, "kind"), "hang") == 0 &&
           strcmp(cli_json_text(finding, "call"), cli_json_text(row, "call")) == 0 &&
           strncmp(cli_json_text(finding, "message"), text, strlen(text)) == 0;
}

/* Adds the rank to the finding of another rank that hangs in the same node of the same launch. false: there is none. */
static bool add_rank_to_same(const ended_program *e, const cJSON *row)
{
    const cJSON *report;
    cJSON *finding;

    if (e->rank < 0)
        return false;
    cJSON_ArrayForEach(report, e->gathered->reports)
    {
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(report, "findings"))
        {
            if (!is_same_hang(finding, row))
                continue;
            cli_gathered_add_rank(finding, e->rank);
            return true;
        }
    }
    return false;
}

/* The tools rewrite a row each second: an old one is of a process that had ended before the kill. */
static bool report_hang(const ended_program *e, const cJSON *row)
{
    char message[1600], on[32] = "";
    if (cli_json_number(row, "began") < e->killed_at - OLD_SECONDS)
        return true;
    if (add_rank_to_same(e, row))
        return true;
    if (e->rank >= 0 && cli_json_text(row, "waits")[0] != '\0')
        snprintf(on, sizeof on, "on rank %d ", e->rank);
    snprintf(message, sizeof message, "%s%s%s%s; there was no progress for the last %.1f s", cli_json_text(row, "hang"),
             cli_json_text(row, "waits")[0] != '\0' ? "; " : "", on, cli_json_text(row, "waits"),
             e->killed_at - cli_json_number(row, "since"));
    return add_finding(e, row, "hang", message, cli_json_text(row, "advice"));
}

/* Whether the finding on a hang reports this row already. */
static bool is_reported(const cJSON *rows, const cJSON *row)
{
    const cJSON *other;
    cJSON_ArrayForEach(other, rows)
    {
        if (is_hang(other) && !is_hang(row) &&
            strcmp(cli_json_text(other, "graph"), cli_json_text(row, "graph")) == 0 &&
            strcmp(cli_json_text(other, "call"), cli_json_text(row, "call")) == 0)
            return true;
    }
    return false;
}

static bool report_row(const ended_program *e, const cJSON *row)
{
    double lasted = e->now - cli_json_number(row, "began"), count = cli_json_number(row, "count");
    char message[1600], what[600];

    if (is_hang(row))
        return !e->killed || report_hang(e, row);
    if (is_capture(row))
        return e->crash != 0 || lasted < LONG_SECONDS || report_open_capture(e, row);
    describe_function(row, what, sizeof what);
    if (e->crash != 0) {
        snprintf(message, sizeof message,
                 "signal SIG%s ended the program while this host function of %s ran: %s; it had run %.0f time%s before",
                 sigabbrev_np(e->crash), cli_json_text(row, "graph"), what, count, count == 1 ? "" : "s");
        return add_finding(e, row, "host-function", message,
                           "each launch of the graph calls it with the same userData: what that points to must not "
                           "be freed, neither by the function, before the graph is destroyed");
    }
    if (lasted < LONG_SECONDS)
        return true;
    snprintf(message, sizeof message,
             "this host function of %s had not ended when the program did, %.1f s after it began: %s",
             cli_json_text(row, "graph"), lasted, what);
    return add_finding(
        e, row, "host-function", message,
        "if it waits for a lock that is held by a thread which waits for the graph, that is a deadlock: let go of "
        "the lock before calls that launch or wait, such as cudaStreamSynchronize");
}

static cli_status read_running_file(void *user, const char *path)
{
    ended_program *e = user;
    FILE *file = fopen(path, "re");
    char text[CLI_RUNNING_BYTES];
    cJSON *rows = cJSON_CreateArray(), *row;
    bool good = file != NULL && rows != NULL;

    e->files++;
    e->rank = cli_gathered_rank_of(e->gathered, strrchr(path, '/') + 1);
    while (good && fread(text, sizeof text, 1, file) == 1) {
        row = text[0] == '{' ? cJSON_ParseWithLength(text, strnlen(text, sizeof text)) : NULL;
        good = row == NULL || cJSON_AddItemToArray(rows, row);
    }
    if (file != NULL)
        (void)fclose(file);
    for (row = rows != NULL ? rows->child : NULL; row != NULL && good; row = row->next)
        good = (e->killed && is_reported(rows, row)) || report_row(e, row);
    cJSON_Delete(rows);
    return good ? CLI_OK : cli_print_message(CLI_FAILED, "%s cannot be read", path);
}

static int is_running_file(const struct dirent *entry)
{
    return strncmp(entry->d_name, "running-", strlen("running-")) == 0;
}

static bool is_fault_signal(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP;
}

cli_status cli_running_add_findings(cli_gathered *gathered, const char *directory, const cli_end *end, double began,
                                    double timeout)
{
    cli_status status;
    const int before = cJSON_GetArraySize(gathered->reports);
    ended_program e = {.gathered = gathered,
                       .now = began + end->seconds,
                       .killed_at = began + (end->how == CLI_TIMED_OUT ? timeout : end->seconds),
                       .killed = end->how == CLI_TIMED_OUT || end->how == CLI_STOPPED};
    int signal;

    if (cli_is_crash(end, &signal) && is_fault_signal(signal))
        e.crash = signal;
    status = cli_for_each_file(directory, is_running_file, read_running_file, &e);
    cli_gathered_prefix_ranks(gathered, before);
    if (status == CLI_OK && timeout > 0 && end->how == CLI_TIMED_OUT && e.files > 0 &&
        cli_gathered_count(gathered, "hang", 0) == 0)
        (void)cli_print_message(CLI_HANGS,
                                "at the time limit no graph hung: each launch that was followed had ended, or had "
                                "made progress within the last second");
    return status;
}
