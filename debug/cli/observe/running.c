#include "running.h"

#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <breakgraph/breakgraph.h>

#include "debug/cli/output/json.h"
#include "debug/cli/output/place.h"
#include "debug/cli/process/child.h"
#include "gather.h"

static const double LONG = 1; /* seconds that a function may still need when its program ends */

typedef struct ended {
    cli_gathered *gathered;
    int crash; /* a signal; 0: none */
    double now;
} ended;

/* "build_mask, with userData 0x55..." */
static void describe(const cJSON *row, char *text, size_t bytes)
{
    const char *function = cli_text(row, "function");
    snprintf(text, bytes, "%s%swith userData %s", function, function[0] != '\0' ? ", " : "", cli_text(row, "data"));
}

static bool is_capture(const cJSON *row)
{
    return cli_text(row, "begun")[0] != '\0';
}

static bool add_finding(const ended *e, const cJSON *row, const char *kind, const char *message, const char *advice)
{
    cJSON *report = cJSON_CreateObject(), *list, *finding;
    bool good = cJSON_AddStringToObject(report, "breakgraph", bg_version()) != NULL &&
                cJSON_AddNumberToObject(report, "report_version", CLI_REPORT_VERSION) != NULL &&
                cJSON_AddStringToObject(report, "tool", "check") != NULL &&
                cJSON_AddStringToObject(report, "graph", cli_text(row, "graph")) != NULL &&
                cJSON_AddNumberToObject(report, "lost", 0) != NULL;

    list = good ? cJSON_AddArrayToObject(report, "findings") : NULL;
    finding = cJSON_CreateObject();
    if (list == NULL || finding == NULL || !cJSON_AddItemToArray(list, finding)) {
        cJSON_Delete(finding);
        cJSON_Delete(report);
        return false;
    }
    good = cJSON_AddStringToObject(finding, "kind", kind) != NULL &&
           cJSON_AddStringToObject(finding, "severity", "warning") != NULL &&
           cJSON_AddStringToObject(finding, "call", cli_text(row, "call")) != NULL &&
           cJSON_AddStringToObject(finding, "file", cli_text(row, "file")) != NULL &&
           cJSON_AddNumberToObject(finding, "line", cli_number(row, "line")) != NULL &&
           cJSON_AddNullToObject(finding, "address") != NULL &&
           cJSON_AddStringToObject(finding, "message", message) != NULL &&
           cJSON_AddStringToObject(finding, "advice", advice) != NULL &&
           cJSON_AddItemToArray(e->gathered->reports, report);
    if (!good)
        cJSON_Delete(report);
    return good;
}

static bool judge_capture(const ended *e, const cJSON *row)
{
    char message[1600], line[24] = "";

    if (cli_number(row, "begun_line") > 0)
        snprintf(line, sizeof line, ":%.0f", cli_number(row, "begun_line"));
    snprintf(message, sizeof message,
             "the program ended in the capture that began at %s%s, %.1f s after this, the last of %.0f launches in it: "
             "captured work does not run before the graph is launched, and a host that waits for it in the capture "
             "waits for ever",
             cli_text(row, "begun"), line, e->now - cli_number(row, "began"), cli_number(row, "count"));
    return add_finding(
        e, row, "capture-not-ended", message,
        "wait for flags, events and results of what was captured after the capture's end and the launch");
}

static bool judge(const ended *e, const cJSON *row)
{
    double lasted = e->now - cli_number(row, "began"), count = cli_number(row, "count");
    char message[1600], what[600];

    if (is_capture(row))
        return e->crash != 0 || lasted < LONG || judge_capture(e, row);
    describe(row, what, sizeof what);
    if (e->crash != 0) {
        snprintf(message, sizeof message,
                 "signal SIG%s ended the program while this host function of %s ran: %s; it had run %.0f time%s before",
                 sigabbrev_np(e->crash), cli_text(row, "graph"), what, count, count == 1 ? "" : "s");
        return add_finding(e, row, "host-function", message,
                           "each launch of the graph calls it with the same userData: what that points to must not be "
                           "freed, neither by the function, before the graph is destroyed");
    }
    if (lasted < LONG)
        return true;
    snprintf(message, sizeof message,
             "this host function of %s had not ended when the program did, %.1f s after it began: %s",
             cli_text(row, "graph"), lasted, what);
    return add_finding(e, row, "host-function", message,
                       "if it waits for a lock that a thread holds which waits for the graph, that is a deadlock: let "
                       "go of the lock before calls that launch or wait, such as cudaStreamSynchronize");
}

static cli_status read_file(void *user, const char *path)
{
    const ended *e = user;
    FILE *file = fopen(path, "re");
    char text[CLI_RUNNING_BYTES];
    bool good = file != NULL;

    while (good && fread(text, sizeof text, 1, file) == 1) {
        cJSON *row = text[0] == '{' ? cJSON_ParseWithLength(text, strnlen(text, sizeof text)) : NULL;
        good = row == NULL || judge(e, row);
        cJSON_Delete(row);
    }
    if (file != NULL)
        (void)fclose(file);
    return good ? CLI_OK : cli_say(CLI_FAILED, "%s cannot be read", path);
}

static int is_running(const struct dirent *entry)
{
    return strncmp(entry->d_name, "running-", strlen("running-")) == 0;
}

static bool is_fault_signal(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGFPE || signal == SIGILL ||
           signal == SIGTRAP;
}

cli_status cli_running_add(cli_gathered *gathered, const char *directory, const cli_end *end, double began)
{
    ended e = {.gathered = gathered, .now = began + end->seconds};
    int signal;

    if (cli_is_crash(end, &signal) && is_fault_signal(signal))
        e.crash = signal;
    return cli_each_file(directory, is_running, read_file, &e);
}
