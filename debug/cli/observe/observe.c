#include "observe.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/cli_job.h"
#include "debug/cli/ranks/cli_ranks.h"
#include "cli_running.h"

/* PATIENCE: seconds for the other ranks to end after one has failed, so that their reports are complete. */
enum { PAIRS = 8, PATIENCE = 5, COPIED = 1 << 16 };

/* ---- one program ---- */

static bool run_alone(const cli_observation *o, const char *const *set, cli_end *end)
{
    char *output = cli_join_path(o->place, "output"), *errors = cli_join_path(o->place, "errors");
    cli_child child = {.argv = o->argv, .set = set, .timeout = o->timeout, .apart = o->quiet};
    bool named = output != NULL && errors != NULL;

    if (o->quiet) {
        child.input = "/dev/null";
        child.output = output;
        child.errors = errors;
    }
    if (named)
        cli_child_run(&child, end);
    free(output);
    free(errors);
    return named;
}

/* ---- its ranks ---- */

/* Joins the output of the ranks, in their order, to the file that a single program would have. */
static bool join_outputs(const cli_observation *o)
{
    char *path = cli_join_path(o->place, "output"), *buffer = malloc(COPIED);
    FILE *all = path != NULL ? fopen(path, "we") : NULL;
    bool joined = all != NULL && buffer != NULL;

    for (int i = 0; i < o->ranks && joined; i++) {
        char *part = cli_rank_output_path(o->place, i, "out");
        FILE *one = part != NULL ? fopen(part, "re") : NULL;
        for (size_t got = 1; one != NULL && joined && got > 0;) {
            got = fread(buffer, 1, COPIED, one);
            joined = fwrite(buffer, 1, got, all) == got;
        }
        if (one != NULL)
            (void)fclose(one);
        free(part);
    }
    joined = (all == NULL || fclose(all) == 0) && joined;
    free(buffer);
    free(path);
    return joined;
}

static bool run_ranks(const cli_observation *o, const char *const *set, cli_end *end)
{
    cli_ranks ranks = {.count = o->ranks,
                       .argv = o->argv,
                       .set = set,
                       .timeout = o->timeout,
                       .patience = PATIENCE,
                       .input = !o->quiet,
                       .prefix = true,
                       .output = o->quiet ? o->place : NULL,
                       .errors = o->quiet ? o->place : NULL};
    cli_ranks_end told;

    cli_ranks_run(&ranks, &told);
    *end = told.end;
    return !o->quiet || end->how == CLI_UNSTARTED || join_outputs(o);
}

/* ---- either ---- */

static cli_status run_observed(const cli_observation *o, const char *reports, cli_end *end)
{
    const char *set[2 * PAIRS + 5] = {"BG_REPORT", reports, "BG_HANG", o->hangs && o->timeout > 0 ? "1" : NULL};
    bool done;

    for (size_t i = 0; o->set != NULL && o->set[i] != NULL && i < (size_t)2 * PAIRS; i += 2) {
        set[i + 4] = o->set[i];
        set[i + 5] = o->set[i + 1];
    }
    done = o->ranks > 0 ? run_ranks(o, set, end) : run_alone(o, set, end);
    return done ? CLI_OK : cli_print_message(CLI_FAILED, "output cannot be kept in %s: %s", o->place, strerror(errno));
}

/* Checks that there is room: incomplete reports and output look like those of a program without the library. */
static cli_status check_room(const cli_observation *o)
{
    enum { ROOM = 1 << 14 }; /* bytes: a small report */
    char *path = cli_join_path(o->place, "room"), *text = malloc(ROOM);
    cli_status status = CLI_OK;

    if (path == NULL || text == NULL) {
        status = cli_print_message(CLI_FAILED, "out of host memory");
        goto done;
    }
    memset(text, '.', ROOM - 1);
    text[ROOM - 1] = '\0';
    if (!cli_file_write(path, BG__FILE_GENERATED, text))
        status = cli_print_message(CLI_FAILED, "reports and output cannot be kept: %s; set TMPDIR", bg_last_error());
    else
        (void)remove(path);
done:
    free(text);
    free(path);
    return status;
}

/* Whether BG_ATTACH_FATAL is set: the tools then end the program by abort() at the first fault that a check finds. */
static bool is_fatal_set(const cli_observation *o)
{
    for (size_t i = 0; o->set != NULL && o->set[i] != NULL; i += 2)
        if (strcmp(o->set[i], "BG_ATTACH_FATAL") == 0)
            return o->set[i + 1] != NULL;
    return false;
}

cli_status cli_observe(const cli_observation *o, cli_gathered *gathered, cli_end *end)
{
    char *reports = cli_join_path(o->place, "reports");
    cli_status status = CLI_OK;
    const double began = cli_monotonic_seconds();

    *gathered = (cli_gathered){0};
    if (reports == NULL || !cli_directory_recreate(reports))
        status =
            cli_print_message(CLI_FAILED, "no directory for reports can be made in %s: %s", o->place, strerror(errno));
    if (status == CLI_OK)
        status = check_room(o);
    if (status == CLI_OK)
        status = run_observed(o, reports, end);
    if (status == CLI_OK && end->how != CLI_STOPPED)
        status = check_room(o); /* the program may have filled the disk */
    if (status == CLI_OK)
        status = cli_gather(reports, gathered);
    if (status == CLI_OK && !is_fatal_set(o))
        status = cli_running_add_findings(gathered, reports, end, began, o->hangs ? o->timeout : 0);
    if (status == CLI_OK && end->how == CLI_EXITED)
        gathered->code = end->code;
    free(reports);
    return status;
}

static bool show_last_lines(char *path, const char *whose)
{
    struct stat about;
    const bool any = path != NULL && stat(path, &about) == 0 && about.st_size > 0;
    if (any) {
        fputs(whose, stderr);
        cli_file_show_end(path);
    }
    free(path);
    return any;
}

/* Shows the output if there are no errors: a test runner such as pytest prints failures there. */
static void show_errors_or_output(char *errors, char *output, const char *whose)
{
    if (show_last_lines(errors, whose))
        free(output);
    else
        (void)show_last_lines(output, whose);
}

void cli_observed_show(const cli_observation *o)
{
    if (o->quiet && o->ranks == 0)
        show_errors_or_output(cli_join_path(o->place, "errors"), cli_join_path(o->place, "output"), "");
    for (int i = 0; o->quiet && i < o->ranks; i++) {
        char whose[32];
        snprintf(whose, sizeof whose, "  rank %d:\n", i);
        show_errors_or_output(cli_rank_output_path(o->place, i, "err"), cli_rank_output_path(o->place, i, "out"),
                              whose);
    }
}

const char *cli_observed_rank_text(const cli_observation *o, const cli_end *end)
{
    static char text[32];
    snprintf(text, sizeof text, " (rank %d)", end->rank);
    return o->ranks > 1 ? text : "";
}

cli_status cli_observed_print_end(const cli_observation *o, const cli_end *end)
{
    const char *program = o->argv[0];
    int signal;

    if (end->how == CLI_UNSTARTED)
        return cli_print_message(CLI_NOT_STARTED, "'%s' cannot be started: %s", program, strerror(end->code));
    if (end->how == CLI_STOPPED)
        return CLI_INTERRUPTED;
    if (end->how == CLI_TIMED_OUT) {
        (void)cli_print_message(CLI_HANGS, "'%s' ran longer than %g s and was killed", program, o->timeout);
        cli_observed_show(o);
        return CLI_HANGS;
    }
    if (!cli_is_crash(end, &signal))
        return CLI_OK;
    (void)cli_print_message(CLI_CRASHED, "signal SIG%s (%s) ended '%s'%s",
                            sigabbrev_np(signal) != NULL ? sigabbrev_np(signal) : "?", strsignal(signal), program,
                            cli_observed_rank_text(o, end));
    cli_observed_show(o);
    return CLI_CRASHED;
}

cli_status cli_observed_check_replays(const cli_observation *o, const cli_gathered *gathered)
{
    cli_status status = cli_gathered_check_replays(gathered, o->argv[0]);
    if (status != CLI_OK)
        cli_observed_show(o);
    return status;
}
