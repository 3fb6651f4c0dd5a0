/* breakgraph step: runs a program whose replays execute node by node. */
#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/observe/cli_coverage.h"
#include "debug/cli/observe/observe.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/cli_job.h"

/* Whether SIGINT or SIGTERM ended the program. Stepping delays these signals until its report is complete. */
static bool is_stopped(const cli_gathered *gathered, const cli_end *end)
{
    int signal;
    return cli_is_crash(end, &signal) && (signal == SIGINT || signal == SIGTERM) &&
           cli_gathered_count(gathered, "stopped", 0) > 0;
}

static cli_status get_step_status(const cli_observation *o, const cli_gathered *gathered, const cli_end *end)
{
    int found = cli_gathered_count(gathered, NULL, 1), notes = cli_gathered_count(gathered, NULL, 0) - found;
    cli_status status = is_stopped(gathered, end) ? CLI_INTERRUPTED : cli_observed_print_end(o, end);
    if (status == CLI_OK && found + notes == 0)
        status = cli_observed_check_replays(o, gathered);
    if (status == CLI_OK && (found > 0 || cli_coverage_why_not(gathered, "step") != NULL))
        return CLI_FAILED;
    if (status == CLI_OK && notes == 0 && end->code == 0 && !cli_coverage_any(gathered))
        return CLI_UNJUDGED; /* the last lines say why */
    if (status != CLI_OK || notes > 0 || end->code == 0)
        return status;
    (void)cli_print_message(CLI_FAILED, "'%s'%s ended with status %d", o->argv[0], cli_observed_rank_text(o, end),
                            end->code);
    cli_observed_show(o);
    return CLI_FAILED;
}

/* Prints how much was found, and what was covered. */
static void print_summary(const cli_gathered *gathered)
{
    static const char *const kinds[] = {"step"};
    int found = cli_gathered_count(gathered, NULL, 1), notes = cli_gathered_count(gathered, NULL, 0) - found;

    printf("step: %d finding%s", found, found == 1 ? "" : "s");
    if (notes > 0)
        printf("; %d note%s", notes, notes == 1 ? "" : "s");
    putchar('\n');
    cli_coverage_print(gathered, kinds, 1, false, stdout);
}

static cli_status run_step(const cli_observation *o, bool json)
{
    cli_gathered gathered;
    cli_end end = {.how = CLI_UNSTARTED};
    cli_status status = cli_observe(o, &gathered, &end), seen = status;

    if (seen == CLI_OK)
        status = get_step_status(o, &gathered, &end);
    if (json)
        cli_gathered_print_json(&gathered, "step", status, NULL);
    else if (seen == CLI_OK)
        cli_gathered_print(&gathered, stdout);
    if (!json && (status == CLI_OK || status == CLI_FAILED || status == CLI_INTERRUPTED || status == CLI_UNJUDGED) &&
        seen == CLI_OK)
        print_summary(&gathered);
    cli_gathered_clear(&gathered);
    return status;
}

static int run_step_command(const cli_arguments *arguments)
{
    const char *stop = cli_given_value(arguments, "--stop"), *dump = cli_given_value(arguments, "--dump");
    const char *from = cli_given_value(arguments, "--from");
    const char *set[] = {"BG_DEBUG",
                         "step",
                         "BG_STEP_STOP",
                         stop != NULL ? stop : getenv("BG_STEP_STOP"),
                         "BG_STEP_FROM",
                         from != NULL ? from : getenv("BG_STEP_FROM"),
                         "BG_STEP_DUMP",
                         dump != NULL ? dump : getenv("BG_STEP_DUMP"),
                         NULL};
    bool json = cli_given_value(arguments, "--json") != NULL;
    cli_observation o = {
        .argv = arguments->rest, .set = set, .quiet = json, .hangs = true}; /* else output mixes with the JSON */
    cli_status status = cli_require_program(arguments);
    char *place;

    if (status == CLI_OK)
        status = cli_read_timeout(arguments, &o.timeout);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &o.ranks);
    if (status == CLI_OK)
        status = cli_attach_prepare(arguments);
    if (status == CLI_OK)
        status = cli_signals_catch();
    if (status != CLI_OK)
        return status;
    o.place = place = cli_temporary_directory_create();
    status = place != NULL ? run_step(&o, json) : CLI_FAILED;
    cli_temporary_directory_remove(place);
    free(place);
    return status;
}

static const cli_flag flags[] = {
    {"--stop", "CALL", NULL, NULL,
     "stop replays after this op call (rope#3), or after the node, eager call, copy or event of this index, from 0"},
    {"--from", "CALL", NULL, NULL,
     "step the first replay from this op call (rope#3) or index on; all before it runs without stepping"},
    {"--dump", "DIR", NULL, NULL,
     "write tensors of op calls (with --attach: what nodes wrote) at the first replay into this directory, as .npy; "
     "continues a dump that was interrupted"},
    {"--graphs", .variable = "BG_STEP_GRAPHS"},
    {"--replays", .variable = "BG_STEP_REPLAYS"},
    {"--timeout", "SECONDS", NULL, NULL,
     "runs longer than SECONDS are killed, and the node in which a graph hangs is named"},
    {"--json", NULL, NULL, NULL, "print the findings as JSON"},
    {0},
};

static const char more[] =
    "Replays run node by node: each node is launched, waited for and checked. Notes do not count as findings. "
    "Ctrl-C, SIGTERM and --stop end it between two nodes: reports and dumps are whole, and a note says how to go "
    "on. With --json the program has no standard input, and its output is shown only if it fails.";

const cli_command cli_step = {
    .name = "step",
    .arguments = "-- PROGRAM ARG...",
    .text = "replay node by node: find the node that faults, or the op call or node where NaN first appears",
    .more = more,
    .flags = {cli_attach_flags, cli_job_flags, flags},
    .run = run_step_command,
};
