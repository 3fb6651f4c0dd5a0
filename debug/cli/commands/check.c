/* breakgraph check: a program under each of the library's checks, and what they find. */
#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/observe/observe.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/place.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/job.h"

typedef struct checks {
    const char **kinds; /* with room for one of each flag, and for the two that run without any */
    int count;
    bool fatal;       /* --fatal */
    bool failed;      /* a start did, without a finding; the other checks may have one */
    cli_gathered all; /* reports of all starts */
} checks;

static void add_kind(checks *c, const char *kind)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->kinds[i], kind) == 0)
            return;
    c->kinds[c->count++] = kind;
}

static cli_status choose_checks(checks *c, const cli_arguments *arguments)
{
    bool attached = cli_value(arguments, "--attach") != NULL;

    c->kinds = calloc(arguments->count + 2, sizeof *c->kinds);
    if (c->kinds == NULL)
        return cli_say(CLI_FAILED, "out of host memory");
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->given[i].flag->name, "--what") == 0)
            add_kind(c, arguments->given[i].value);
    if (c->count == 0) {
        add_kind(c, "replay");
        if (!attached)
            add_kind(c, "recapture");
    }
    c->fatal = cli_value(arguments, "--fatal") != NULL;
    if (c->fatal && !attached)
        return cli_say(CLI_USAGE,
                       "--fatal needs --attach: a program that uses libbreakgraph gets the fault as the status "
                       "of its replay");
    if (attached && (c->count > 1 || strcmp(c->kinds[0], "replay") != 0))
        return cli_say(CLI_USAGE, "with --attach, the only check is --what=replay");
    return CLI_OK;
}

/* The tools have ended the program: not a crash of its own. */
static bool is_fatal_end(const checks *c, const cli_gathered *gathered, const cli_end *end)
{
    int signal;
    return c->fatal && cli_is_crash(end, &signal) && signal == SIGABRT && cli_gathered_count(gathered, NULL, 2) > 0;
}

static void keep_reports(checks *c, cli_gathered *gathered)
{
    while (cJSON_GetArraySize(gathered->reports) > 0)
        cJSON_AddItemToArray(c->all.reports, cJSON_DetachItemFromArray(gathered->reports, 0));
}

/* A check that stops the program is no failure of its own: what it found says why, but no note does. */
static cli_status run_one_check(checks *c, const cli_observation *plan, const char *kind)
{
    const char *set[] = {"BG_CHECK", kind, /* else BG_DEBUG=forward checks nothing */
                         "BG_DEBUG", NULL, "BG_ATTACH_FATAL", c->fatal ? "1" : NULL, NULL};
    cli_observation checked = *plan, *o = &checked;
    cli_gathered gathered;
    cli_end end = {.how = CLI_UNSTARTED};
    cli_status status, ended;
    int found;

    o->set = set;
    status = cli_observe(o, &gathered, &end);
    if (status == CLI_OK) {
        if (is_fatal_end(c, &gathered, &end))
            ended = cli_say(CLI_FAILED, "'%s'%s was ended at its first fault, because of --fatal", o->argv[0],
                            cli_observed_rank(o, &end));
        else
            ended = cli_observed_end(o, &end);
        found = cli_gathered_count(&gathered, NULL, 1);
        status = ended == CLI_OK && found == 0 ? cli_observed_judge(o, &gathered) : ended;
        if (status == CLI_OK && found == 0 && end.code != 0) {
            (void)cli_say(CLI_FAILED, "no findings of %s, but '%s'%s ended with status %d", kind, o->argv[0],
                          cli_observed_rank(o, &end), end.code);
            cli_observed_show(o);
            c->failed = true;
        }
        keep_reports(c, &gathered);
    }
    cli_gathered_clear(&gathered);
    return status;
}

static cli_status check_all(checks *c, const cli_observation *o)
{
    cli_status status = CLI_OK;
    for (int i = 0; i < c->count && status == CLI_OK; i++)
        status = run_one_check(c, o, c->kinds[i]);
    return status == CLI_OK && (c->failed || cli_gathered_count(&c->all, NULL, 1) > 0) ? CLI_FAILED : status;
}

/* ---- what is shown ---- */

static void print_text(const checks *c)
{
    int count = cli_gathered_count(&c->all, NULL, 0);
    cli_gathered_print(&c->all, stdout);
    printf("check");
    for (int i = 0; i < c->count; i++)
        printf("%s %s", i > 0 ? "," : "", c->kinds[i]);
    printf(": %d finding%s\n", count, count == 1 ? "" : "s");
}

static int run_check(const cli_arguments *arguments)
{
    checks c = {.all = {.reports = cJSON_CreateArray()}};
    cli_observation o = {.argv = arguments->rest, .quiet = true};
    char *place = NULL;
    cli_status status = cli_need_program(arguments);

    if (status == CLI_OK)
        status = cli_timeout(arguments, &o.timeout);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &o.ranks);
    if (status == CLI_OK)
        status = choose_checks(&c, arguments);
    if (status == CLI_OK)
        status = cli_attach(arguments);
    if (status == CLI_OK)
        status = cli_signals_hold();
    if (status != CLI_OK)
        goto done;
    o.place = place = cli_place_make();
    status = place != NULL ? check_all(&c, &o) : CLI_FAILED;
    if (cli_value(arguments, "--json") != NULL)
        cli_gathered_print_json(&c.all, "check", status, cJSON_CreateStringArray(c.kinds, c.count));
    else if (status == CLI_OK || cli_gathered_count(&c.all, NULL, 0) > 0)
        print_text(&c);
done:
    cli_place_remove(place);
    free(place);
    cJSON_Delete(c.all.reports);
    free(c.kinds);
    return status;
}

static const cli_flag flags[] = {
    {"--what", "replay|recapture|poison", NULL, NULL,
     "the check to run; repeat the flag for more than one. Without it, replay and recapture run; with --attach, replay "
     "alone"},
    {"--fatal", NULL, NULL, NULL,
     "with --attach: end the program at its first fault, before the launch that would run into it, so that a debugger "
     "or a core file shows the place"},
    {"--timeout", "SECONDS", NULL, NULL, "runs longer than SECONDS are killed"},
    {"--json", NULL, NULL, NULL, "print the findings as JSON"},
    {0},
};

static const char more[] =
    "The program is started once for each check, without standard input and without BG_DEBUG. Its output is shown "
    "if it fails. Notes do not count as findings. With --ranks, if only some ranks have a finding, the "
    "finding names them.";

const cli_command cli_check = {
    .name = "check",
    .arguments = "-- PROGRAM ARG...",
    .text = "find wrong addresses and values in graphs",
    .more = more,
    .flags = {cli_attach_flags, cli_job_flags, flags},
    .run = run_check,
};
