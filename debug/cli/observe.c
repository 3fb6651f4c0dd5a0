#include "observe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

enum { PAIRS = 8 };

static cli_status run(const cli_observation *o, const char *reports, cli_end *end)
{
    const char *set[2 * PAIRS + 3] = {"BG_REPORT", reports};
    char *output = cli_path(o->place, "output"), *errors = cli_path(o->place, "errors");
    cli_child child = {.argv = o->argv, .set = set, .timeout = o->timeout, .apart = o->quiet};

    for (size_t i = 0; o->set != NULL && o->set[i] != NULL && i < (size_t)2 * PAIRS; i += 2) {
        set[i + 2] = o->set[i];
        set[i + 3] = o->set[i + 1];
    }
    if (o->quiet) {
        child.input = "/dev/null";
        child.output = output;
        child.errors = errors;
    }
    if (output != NULL && errors != NULL)
        cli_child_run(&child, end);
    free(output);
    free(errors);
    return output != NULL && errors != NULL ? CLI_OK : cli_say(CLI_FAILED, "no host memory");
}

cli_status cli_observe(const cli_observation *o, cli_gathered *gathered, cli_end *end)
{
    char *reports = cli_path(o->place, "reports");
    cli_status status = CLI_OK;

    *gathered = (cli_gathered){0};
    if (reports == NULL || !cli_place_renew(reports))
        status = cli_say(CLI_FAILED, "no directory for reports can be made in %s: %s", o->place, strerror(errno));
    if (status == CLI_OK)
        status = run(o, reports, end);
    if (status == CLI_OK)
        status = cli_gather(reports, gathered);
    free(reports);
    return status;
}

void cli_observed_show(const cli_observation *o)
{
    char *errors = o->quiet ? cli_path(o->place, "errors") : NULL;
    if (errors != NULL)
        cli_file_show_end(errors);
    free(errors);
}

cli_status cli_observed_end(const cli_observation *o, const cli_end *end)
{
    const char *program = o->argv[0];
    int signal;

    if (end->how == CLI_UNSTARTED)
        return cli_say(CLI_NOT_STARTED, "'%s' cannot be started: %s", program, strerror(end->code));
    if (end->how == CLI_STOPPED)
        return CLI_INTERRUPTED;
    if (end->how == CLI_TIMED_OUT) {
        (void)cli_say(CLI_HANGS, "'%s' ran longer than %g s and was ended", program, o->timeout);
        cli_observed_show(o);
        return CLI_HANGS;
    }
    if (!cli_is_crash(end, &signal))
        return CLI_OK;
    (void)cli_say(CLI_CRASHED, "signal SIG%s (%s) ended '%s'",
                  sigabbrev_np(signal) != NULL ? sigabbrev_np(signal) : "?", strsignal(signal), program);
    cli_observed_show(o);
    return CLI_CRASHED;
}

cli_status cli_observed_judge(const cli_observation *o, const cli_gathered *gathered)
{
    cli_status status = cli_gathered_judge(gathered, o->argv[0]);
    if (status != CLI_OK)
        cli_observed_show(o);
    return status;
}

cli_status cli_timeout(const cli_arguments *arguments, double *seconds)
{
    const char *value = cli_value(arguments, "--timeout");
    char *end = NULL;
    *seconds = value != NULL ? strtod(value, &end) : 0;
    if (value != NULL && (end == value || *end != '\0' || !(*seconds > 0) || *seconds > 1e6))
        return cli_say(CLI_USAGE, "'--timeout=%s': a number of seconds above 0", value);
    return CLI_OK;
}
