/* breakgraph run: becomes a program, with the library's environment set; or starts it as several ranks. */
#include "commands.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/process/child.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/job.h"
#include "debug/cli/ranks/ranks.h"
#include "debug/report/files.h"

static cli_status exec_program(const cli_arguments *arguments)
{
    static const char *const only[] = {"--no-prefix", "--output-dir", "--timeout"};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (cli_value(arguments, only[i]) != NULL)
            return cli_say(CLI_USAGE, "%s needs --ranks", only[i]);
    execvp(arguments->rest[0], arguments->rest);
    return cli_say(CLI_NOT_STARTED, "'%s' cannot be started: %s", arguments->rest[0], strerror(errno));
}

/* ---- ranks ---- */

static int tell_failure(const cli_ranks_end *told)
{
    const cli_end *end = &told->end;
    const char *first = told->others > 0 ? ", so the other ranks were ended" : "";
    if (end->how == CLI_KILLED) {
        (void)cli_say(CLI_CRASHED, "rank %d (process %ld) was ended by SIG%s%s", end->rank, (long)told->pid,
                      sigabbrev_np(end->code) != NULL ? sigabbrev_np(end->code) : "?", first);
        return 128 + end->code;
    }
    if (end->code != 0)
        (void)cli_say(CLI_FAILED, "rank %d (process %ld) ended with status %d%s", end->rank, (long)told->pid, end->code,
                      first);
    return end->code;
}

static int print_ranks_end(const cli_ranks *ranks, const cli_ranks_end *told)
{
    switch (told->end.how) {
    case CLI_UNSTARTED:
        return cli_say(CLI_NOT_STARTED, "rank %d: '%s' cannot be started: %s%s", told->end.rank, ranks->argv[0],
                       strerror(told->end.code), told->end.code == EMFILE ? "; the limit is that of ulimit -n" : "");
    case CLI_TIMED_OUT:
        return cli_say(CLI_HANGS, "'%s' ran longer than %g s and was killed: rank%s %s had not ended", ranks->argv[0],
                       ranks->timeout, strchr(told->still, ',') != NULL ? "s" : "", told->still);
    case CLI_STOPPED:
        (void)cli_say(CLI_INTERRUPTED, "SIG%s: all ranks were ended", sigabbrev_np(told->end.code));
        return 128 + told->end.code;
    default: return tell_failure(told);
    }
}

static int run_ranks(const cli_arguments *arguments, int count)
{
    const char *directory = cli_value(arguments, "--output-dir");
    cli_ranks ranks = {.count = count,
                       .argv = arguments->rest,
                       .patience = 2, /* so that all say what ended them */
                       .input = true,
                       .prefix = cli_value(arguments, "--no-prefix") == NULL,
                       .output = directory,
                       .errors = directory};
    cli_ranks_end told;
    cli_status status = cli_timeout(arguments, &ranks.timeout);

    if (status != CLI_OK)
        return status;
    if (directory != NULL && bg__directory_make(directory) != BG_OK)
        return cli_say(CLI_FAILED, "%s", bg_last_error());
    status = cli_signals_hold();
    if (status != CLI_OK)
        return status;
    cli_ranks_run(&ranks, &told);
    return print_ranks_end(&ranks, &told);
}

static int run_program(const cli_arguments *arguments)
{
    int ranks = 0;
    cli_status status = cli_need_program(arguments);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &ranks);
    if (status != CLI_OK)
        return status;
    return ranks > 0 ? run_ranks(arguments, ranks) : (int)exec_program(arguments);
}

static const cli_flag flags[] = {
    {"--debug", .variable = "BG_DEBUG"},
    {"--eager-ops", .variable = "BG_EAGER_OPS"},
    {"--check", .variable = "BG_CHECK"},
    {"--shadow", .without = "1", .variable = "BG_SHADOW"},
    {"--reports", .variable = "BG_REPORT"},
    {"--trace", .variable = "BG_TRACE"},
    {"--no-prefix", NULL, NULL, NULL, "with --ranks: print lines of output without \"[rank 1] \" before them"},
    {"--output-dir", "DIR", NULL, NULL,
     "with --ranks: write output into DIR/rank-N.out and DIR/rank-N.err; creates DIR"},
    {"--timeout", "SECONDS", NULL, NULL, "with --ranks: runs longer than SECONDS are killed"},
    {0},
};

static const char more[] =
    "The command replaces itself with the program: the exit status is the program's. -e sets a variable "
    "of the program, and so does each flag below that names one. All other variables stay unchanged. HOSTCUDA_ "
    "variables are for the host device. Processes that the program leaves running are not ended.\n\n"
    "With --ranks=N the command starts N processes and waits for them. Each chooses its device by LOCAL_RANK. "
    "Output is printed in whole lines, with \"[rank 1] \" before each. Rank 0 reads the standard input, unless "
    "that is a terminal and the command is in the background (timeout(1) without --foreground starts it there).\n\n"
    "If a signal ends a rank, the command ends the others: SIGTERM, and SIGKILL after 2 s. If a rank exits with "
    "another status than 0, the others first get 2 s to report why they end, too. With the ranks, the command also "
    "ends all processes that they have started, in any session. All of these also end if the command itself is "
    "killed, even by SIGKILL. The exit status is that of the rank that failed first, 128 + N if signal N ended that "
    "rank or the command, or 8 after --timeout. Of ranks that fail within these 2 s, one that a signal ended counts "
    "before one with a status, and status 125 counts last.\n\n"
    "With --ranks=N the host device has N devices, unless HOSTCUDA_DEVICES is set, and the command adds the rank to "
    "the "
    "values of BG_TRACE and BG_STEP_DUMP: trace.json becomes trace.rank-1.json.";

const cli_command cli_run = {
    .name = "run",
    .arguments = "-- PROGRAM ARG...",
    .text = "start a program that links the library, and set its environment",
    .more = more,
    .flags = {flags, cli_job_flags},
    .run = run_program,
};
