/* breakgraph check: runs a program with each of the library's checks, and prints what they find. */
#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/next_command.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/observe/gather_ranks.h"
#include "debug/cli/observe/cli_coverage.h"
#include "debug/cli/observe/observe.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/cli_job.h"
#include "debug/cli/recapture/recapture_command.h"

/* All checks, in the order of their starts. start: index of the start of the program that runs the check. `graph` and
 * `replay` only read, and share one start. The other checks run the pass on the host, or replay, additional times. They
 * share another start, so that the first two checks see the program unchanged. attached: index of the start with
 * --attach. NEVER: there is no such check. */
enum { NEVER = -1 };
static const struct {
    const char *kind;
    int start, attached;
} check_table[] = {{"graph", 0, NEVER}, {"replay", 0, 0},     {"recapture", 1, 1}, {"poison", 1, 2},
                   {"padding", 1, 3},   {"orders", NEVER, 4}, {"inputs", NEVER, 0}};
enum {
    KINDS = sizeof check_table / sizeof *check_table,
    ATTACHED = KINDS - 1,
    STARTS = 5
}; /* ATTACHED: all but graph */

typedef struct checks {
    const cli_arguments *arguments;
    const char *kinds[KINDS]; /* the chosen ones */
    int count;
    int starts; /* how many have ended */
    bool attached;
    bool fatal;       /* --fatal */
    bool failed;      /* a start without a finding had an exit status other than 0; other checks may have a finding */
    bool told;        /* the message on an exit status other than 0 was printed */
    bool crashed;     /* the program crashed in a start after it had captured; other checks may say why */
    bool kept;        /* `all` has the reports of a start */
    bool hung;        /* the last start hung, after a capture */
    cli_gathered all; /* reports of all starts */
    cli_recapture recapture;
} checks;

/* Whether a flag names the check. */
static bool is_given_by_flag(const cli_arguments *arguments, const char *kind)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->given[i].flag->name, "--what") == 0 && strcmp(arguments->given[i].value, kind) == 0)
            return true;
    return false;
}

static bool is_chosen(const cli_arguments *arguments, const char *kind)
{
    if (is_given_by_flag(arguments, kind) || is_given_by_flag(arguments, "all"))
        return true;
    return cli_given_value(arguments, "--what") == NULL &&
           (cli_given_value(arguments, "--attach") == NULL || strcmp(kind, "replay") == 0);
}

/* The index of the start in which the check runs. */
static int check_start(const checks *c, int check)
{
    return c->attached ? check_table[check].attached : check_table[check].start;
}

static cli_status reject_check(const checks *c, int check)
{
    if (c->attached)
        return cli_print_message(CLI_USAGE, "--what=%s cannot be used with --attach", check_table[check].kind);
    return cli_print_message(CLI_USAGE, "--what=%s needs --attach", check_table[check].kind);
}

static cli_status choose_checks(checks *c, const cli_arguments *arguments)
{
    c->attached = cli_given_value(arguments, "--attach") != NULL;
    for (int i = 0; i < KINDS; i++) {
        if (!is_chosen(arguments, check_table[i].kind))
            continue;
        if (check_start(c, i) != NEVER)
            c->kinds[c->count++] = check_table[i].kind;
        else if (is_given_by_flag(arguments, check_table[i].kind))
            return reject_check(c, i);
    }
    c->fatal = cli_given_value(arguments, "--fatal") != NULL;
    if (c->fatal && !c->attached)
        return cli_print_message(
            CLI_USAGE, "--fatal needs --attach: a program that uses libbreakgraph gets the fault as the status of "
                       "its replay");
    if (cli_given_value(arguments, "--orders") != NULL && !(c->attached && is_chosen(arguments, "orders")))
        return cli_print_message(CLI_USAGE, "--orders needs --attach and --what=orders, the check that counts them");
    if (cli_given_value(arguments, "--snapshot-limit") != NULL && !c->attached)
        return cli_print_message(CLI_USAGE, "--snapshot-limit needs --attach: only a program's own graphs are limited");
    return cli_recapture_read(&c->recapture, arguments, c->attached && is_chosen(arguments, "recapture"));
}

static int kind_start(const checks *c, const char *kind)
{
    int i = 0;
    while (strcmp(check_table[i].kind, kind) != 0)
        i++;
    return check_start(c, i);
}

/* Writes the chosen checks of these starts: "graph,replay"; "": none. */
enum { JOINED = 80 };
static void join_kinds(const checks *c, int first, int last, char text[JOINED])
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < c->count && used < JOINED; i++)
        if (kind_start(c, c->kinds[i]) >= first && kind_start(c, c->kinds[i]) <= last)
            used += (size_t)snprintf(text + used, JOINED - used, "%s%s", used > 0 ? "," : "", c->kinds[i]);
}

/* Whether the tools have ended the program because of --fatal. A crash of the program itself does not count. */
static bool is_fatal_end(const checks *c, const cli_gathered *gathered, const cli_end *end)
{
    int signal;
    return c->fatal && cli_is_crash(end, &signal) && signal == SIGABRT && cli_gathered_count(gathered, NULL, 2) > 0;
}

/* Removes findings that another check has reported. */
static void remove_known_findings(checks *c, cJSON *report, int start)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(report, "findings"), *next;
    char by[64];

    snprintf(by, sizeof by, "%d %.32s", start, cli_json_text(report, "tool"));
    for (cJSON *finding = list != NULL ? list->child : NULL; finding != NULL; finding = next) {
        next = finding->next;
        if (cli_gathered_is_found_by_other(&c->all, finding, by))
            cJSON_Delete(cJSON_DetachItemViaPointer(list, finding));
    }
}

static void merge_reports(checks *c, cli_gathered *gathered, int start)
{
    cli_coverage_add(&c->all, gathered->looked);
    c->all.unended += gathered->unended;
    c->all.runner |= gathered->runner;
    while (cJSON_GetArraySize(gathered->reports) > 0) {
        cJSON *report = cJSON_DetachItemFromArray(gathered->reports, 0);
        if (c->kept) /* each start makes the same graphs, so only those of the first start are listed */
            cJSON_DeleteItemFromObjectCaseSensitive(report, "graphs");
        remove_known_findings(c, report, start);
        cJSON_AddItemToArray(c->all.reports, report);
    }
    c->kept = true;
}

/* Whether the tools follow launches with these checks. Checks that launch in the program's place do not. */
static bool follows_launches(const checks *c, const char *kinds)
{
    return !c->attached ||
           (strcmp(kinds, "orders") != 0 && strcmp(kinds, "poison") != 0 && strcmp(kinds, "padding") != 0);
}

/* Runs one start. A check may have stopped the program: then the program did not fail by itself, and a finding says why
 * it ended. Notes do not say this. */
static cli_status run_start(checks *c, const cli_observation *plan, int start)
{
    char kinds[JOINED];
    const char *set[9] = {"BG_CHECK", kinds, /* BG_DEBUG=forward would check nothing */
                          "BG_DEBUG", NULL,  "BG_ATTACH_FATAL", c->fatal ? "1" : NULL, NULL, NULL};
    cli_observation checked = *plan, *o = &checked;
    cli_gathered gathered;
    cli_end end = {.how = CLI_UNSTARTED};
    cli_status status, ended;
    bool judged;
    int found, signal;

    join_kinds(c, start, start, kinds);
    if (kinds[0] == '\0')
        return CLI_OK;
    if (strcmp(kinds, "recapture") != 0) { /* recapture sets the variable to both values */
        set[6] = c->recapture.name;
        set[7] = c->recapture.given[0];
    }
    o->set = set;
    o->hangs = o->hangs && follows_launches(c, kinds);
    status = c->attached && strcmp(kinds, "recapture") == 0 ? cli_recapture_observe(&c->recapture, o, &gathered, &end)
                                                            : cli_observe(o, &gathered, &end);
    if (status == CLI_OK) {
        if (is_fatal_end(c, &gathered, &end))
            ended = cli_print_message(CLI_FAILED, "'%s'%s was ended at its first fault, because of --fatal", o->argv[0],
                                      cli_observed_rank_text(o, &end));
        else if (c->crashed && cli_is_crash(&end, &signal)) /* the crash of the first start was reported */
            ended = CLI_CRASHED;
        else
            ended = cli_observed_print_end(o, &end);
        if (ended == CLI_HANGS && gathered.graphs > 0 && !follows_launches(c, kinds))
            (void)cli_print_message(
                CLI_HANGS, "launches are not followed with --what=%s: leave it out to see which graph hangs", kinds);
        if (ended == CLI_HANGS && gathered.processes == 0 && !c->attached)
            (void)cli_print_message(
                CLI_HANGS, "the program does not use libbreakgraph: --attach names the graph in which it hangs");
        c->crashed |= ended == CLI_CRASHED && gathered.graphs > 0;
        c->hung = ended == CLI_HANGS && gathered.graphs > 0;
        /* What an earlier start has printed or found is not printed again. */
        found = cli_gathered_count(&gathered, NULL, 1) + cli_gathered_count(&c->all, NULL, 1) + c->failed;
        judged = found == 0 && !cli_coverage_any(&c->all);
        status = ended == CLI_OK && judged ? cli_observed_check_replays(o, &gathered) : ended;
        if (status == CLI_OK && end.code != 0 && !c->told) {
            char none[JOINED + 32];
            snprintf(none, sizeof none, "no findings of %s, but ", kinds);
            (void)cli_print_message(CLI_FAILED, "%s'%s'%s ended with status %d", found == 0 ? none : "", o->argv[0],
                                    cli_observed_rank_text(o, &end), end.code);
            cli_observed_show(o);
            c->failed |= found == 0;
            c->told = true;
        }
        merge_reports(c, &gathered, start);
    }
    cli_gathered_clear(&gathered);
    return status;
}

/* Whether the check looked at graphs, and left none out. */
static bool covers_all_graphs(const checks *c, const char *kind)
{
    return cli_coverage_has(&c->all, kind) && cli_coverage_why_not(&c->all, kind) == NULL;
}

static cli_status check_all(checks *c, const cli_observation *o)
{
    cli_status status = CLI_OK;
    for (int i = 0; i < STARTS && status == CLI_OK; i++) {
        status = run_start(c, o, i);
        c->starts++;
        if (status == CLI_CRASHED && c->crashed && !c->attached)
            status = CLI_OK;
    }
    if (status == CLI_CRASHED || (status == CLI_OK && c->crashed))
        return cli_gathered_count(&c->all, NULL, 1) > 0 ? CLI_FAILED : CLI_CRASHED;
    if (status != CLI_OK)
        return status;
    if (c->failed || cli_gathered_count(&c->all, NULL, 1) > 0)
        return CLI_FAILED;
    if (!c->attached && !cli_coverage_any(&c->all))
        return cli_print_message(CLI_UNJUDGED, "'%s' has graphs, but none of these checks could look at any",
                                 o->argv[0]);
    for (int i = 0; c->attached && i < c->count; i++)
        if (strcmp(c->kinds[i], "replay") != 0 && is_given_by_flag(c->arguments, c->kinds[i]) &&
            !covers_all_graphs(c, c->kinds[i]))
            return cli_print_message(
                CLI_UNJUDGED,
                "%s did not cover every graph of '%s'; the lines 'not looked at' (with --json: not_checked) say why",
                c->kinds[i], o->argv[0]);
    return CLI_OK;
}

/* ---- what is shown ---- */

/* Prints the commands that find what these checks cannot. A finding says itself what to do. */
static void print_next(const checks *c)
{
    if (cli_gathered_count(&c->all, NULL, 1) > 0)
        return;
    if (c->attached) {
        cli_print_next_command(stdout, "next", c->arguments,
                               c->count == ATTACHED ? "step --attach" : "check --attach --what=all");
        return;
    }
    cli_print_next_command(stdout, "next", c->arguments, "run --shadow=calls");
    cli_print_next_command(stdout, "next, if that finds nothing", c->arguments, c->crashed ? "step" : "bisect");
}

static void print_summary(const checks *c)
{
    int count = cli_gathered_count(&c->all, NULL, 1), begun = 0;
    int notes = cli_gathered_count(&c->all, NULL, 0) - count;
    const char *looked[KINDS];
    char rest[JOINED];

    for (int i = 0; i < c->count; i++)
        if (kind_start(c, c->kinds[i]) < c->starts)
            looked[begun++] = c->kinds[i];
    cli_gathered_print(&c->all, stdout);
    printf("check");
    for (int i = 0; i < c->count; i++)
        printf("%s %s", i > 0 ? "," : "", c->kinds[i]);
    printf(": %d finding%s", count, count == 1 ? "" : "s");
    if (notes > 0)
        printf("; %d note%s", notes, notes == 1 ? "" : "s");
    putchar('\n');
    cli_coverage_print(&c->all, looked, begun, c->attached, stdout);
    cli_recapture_print(&c->recapture, stdout);
    join_kinds(c, c->starts, STARTS, rest);
    if (rest[0] != '\0')
        printf("not looked at: %s: it needs another start of the program, and an earlier start failed\n", rest);
    print_next(c);
}

static int run_check(const cli_arguments *arguments)
{
    checks c = {.arguments = arguments, .all = {.reports = cJSON_CreateArray()}};
    cli_observation o = {.argv = arguments->rest, .quiet = true, .hangs = true};
    char *place = NULL;
    cli_status status = cli_require_program(arguments);

    if (status == CLI_OK)
        status = cli_read_timeout(arguments, &o.timeout);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &o.ranks);
    if (status == CLI_OK)
        status = choose_checks(&c, arguments);
    if (status == CLI_OK)
        status = cli_attach_prepare(arguments);
    if (status == CLI_OK)
        status = cli_signals_catch();
    if (status != CLI_OK)
        goto done;
    o.place = place = cli_temporary_directory_create();
    status = place != NULL ? check_all(&c, &o) : CLI_FAILED;
    if (c.attached && is_chosen(arguments, "replay"))
        cli_coverage_add_listed(&c.all);
    if (cli_given_value(arguments, "--json") != NULL)
        cli_gathered_print_json(&c.all, "check", status, cJSON_CreateStringArray(c.kinds, c.count));
    else if (status == CLI_OK || status == CLI_UNJUDGED || c.failed || c.crashed || c.hung ||
             cli_gathered_count(&c.all, NULL, 0) > 0)
        print_summary(&c);
done:
    cli_temporary_directory_remove(place);
    free(place);
    cli_gathered_clear(&c.all);
    cli_recapture_clear(&c.recapture);
    return status;
}

static const cli_flag flags[] = {
    {"--what", "all|graph|replay|recapture|poison|padding|orders|inputs", NULL, NULL,
     "the check to run; repeat the flag for more than one. Without it, all run; with --attach, replay alone"},
    {"--fatal", NULL, NULL, NULL,
     "with --attach: end the program at its first fault, before the launch that would run into it, so that a "
     "debugger or a core file shows the place"},
    {"--orders", .variable = "BG_ATTACH_ORDERS"},
    {"--snapshot-limit", .variable = "BG_ATTACH_SNAPSHOT_LIMIT"},
    {"--vary", "NAME=A,B", NULL, NULL,
     "with --attach and --what=recapture: the environment variable NAME is A in the first run, and B in the second"},
    {"--timeout", "SECONDS", NULL, NULL,
     "runs longer than SECONDS are killed, and the node in which a graph hangs is named"},
    {"--json", NULL, NULL, NULL, "print the findings as JSON"},
    {0},
};

static const char more[] =
    "graph looks for races, leaks and bad addresses in each graph after its capture; replay checks its addresses "
    "before each replay; recapture captures each pass once more and compares, poison replays it with patterns in "
    "unwritten memory, padding a padded batch with other values in the rows beyond it. The program is started once "
    "for graph and replay, which only look, and once for the others, which run the pass on the host, or replay, "
    "additional times: state that it keeps on the host may advance. With --attach each check starts it on its own, "
    "and recapture two or three times: it compares what the graphs hold; padding needs a program that calls "
    "bg_attach_rows. It has no standard input and no BG_DEBUG, and its output is shown if it fails. The second "
    "start is made also after a crash. The last lines tell what was looked at, and what was not and why. Notes do "
    "not count as findings. With --ranks, if only some ranks have a finding, the finding names them.";

const cli_command cli_check = {
    .name = "check",
    .arguments = "-- PROGRAM ARG...",
    .text = "find what makes graphs wrong: order, addresses, values",
    .more = more,
    .flags = {cli_attach_flags, cli_job_flags, flags},
    .run = run_check,
};
