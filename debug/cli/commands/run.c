/* breakgraph run: becomes a program, with the library's environment set; or starts it as several ranks. */
#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug/cli/ranks/job.h"
#include "debug/cli/observe/observe.h"
#include "debug/cli/ranks/ranks.h"
#include "debug/cli/process/signals.h"

static cli_status set(const cli_given *given)
{
    const char *variable = given->flag->variable;
    if (variable == NULL)
        return CLI_OK;
    if (strncmp(variable, "HOSTCUDA_", 9) == 0 && strcmp(bg_device_kind(), "host") != 0)
        return cli_say(CLI_USAGE, "%s is for the host device; this is built for NVIDIA's CUDA runtime",
                       given->flag->name);
    if (setenv(variable, given->value, 1) != 0)
        return cli_say(CLI_FAILED, "%s cannot be set: %s", variable, strerror(errno));
    return CLI_OK;
}

static cli_status become(const cli_arguments *arguments)
{
    static const char *const only[] = {"--no-prefix", "--output-dir", "--timeout"};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (cli_value(arguments, only[i]) != NULL)
            return cli_say(CLI_USAGE, "%s is for --ranks", only[i]);
    execvp(arguments->rest[0], arguments->rest);
    return cli_say(CLI_NOT_STARTED, "'%s' cannot be started: %s", arguments->rest[0], strerror(errno));
}

/* ---- ranks ---- */

static int tell_failure(const cli_ranks_end *told)
{
    const cli_end *end = &told->end;
    const char *first = told->others > 0 ? " first; the others were ended" : "";
    if (end->how == CLI_KILLED) {
        (void)cli_say(CLI_CRASHED, "rank %d (%ld) ended by SIG%s%s", end->rank, (long)told->pid,
                      sigabbrev_np(end->code) != NULL ? sigabbrev_np(end->code) : "?", first);
        return 128 + end->code;
    }
    if (end->code != 0)
        (void)cli_say(CLI_FAILED, "rank %d (%ld) ended with status %d%s", end->rank, (long)told->pid, end->code, first);
    return end->code;
}

static int tell(const cli_ranks *ranks, const cli_ranks_end *told)
{
    switch (told->end.how) {
    case CLI_UNSTARTED:
        return cli_say(CLI_NOT_STARTED, "rank %d: '%s' cannot be started: %s", told->end.rank, ranks->argv[0],
                       strerror(told->end.code));
    case CLI_TIMED_OUT:
        return cli_say(CLI_HANGS, "'%s' ran longer than %g s and was ended; still running: rank%s %s", ranks->argv[0],
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
    if (directory != NULL && mkdir(directory, 0777) != 0 && errno != EEXIST)
        return cli_say(CLI_FAILED, "%s cannot be made: %s", directory, strerror(errno));
    status = cli_signals_hold();
    if (status != CLI_OK)
        return status;
    cli_ranks_run(&ranks, &told);
    return tell(&ranks, &told);
}

static int run(const cli_arguments *arguments)
{
    int ranks = 0;
    cli_status status = cli_need_program(arguments);
    for (size_t i = 0; status == CLI_OK && i < arguments->count; i++)
        status = set(&arguments->given[i]);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &ranks);
    if (status == CLI_OK && ranks > 0 && cli_value(arguments, "--ranks-bind") != NULL)
        status = cli_say(CLI_USAGE, "--ranks-bind is for ranks of several machines; those of --ranks meet on loopback");
    if (status != CLI_OK)
        return status;
    return ranks > 0 ? run_ranks(arguments, ranks) : (int)become(arguments);
}

int cli_run(int argc, char **argv)
{
    return cli_with_arguments(argc, argv, run);
}
