#include "child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "signals.h"
#include "orphans.h"

static const double grace_seconds = 2; /* seconds between SIGTERM and SIGKILL */

/* Waits until the child has ended (returns SIGCHLD), a signal comes (returns its number), or `seconds` are over
 * (returns 0). Sets *end if the child has ended, even if a signal came first, so the result does not depend on when
 * this looks. passes: a signal does not end the wait, but is forwarded to the program. A terminal's signal is not
 * forwarded, since the program gets it itself as a member of the command's process group. A signal that kill(2) sends
 * to that group reaches the program twice: the command cannot tell it from a signal that is sent to the command
 * alone. */
static int wait_for_end_or_signal(const cli_supervisor *keeper, double seconds, bool passes, cli_end *end)
{
    bool terminal;
    double over = cli_monotonic_seconds() + seconds, left;
    for (;;) {
        bool ended =
            cli_supervisor_poll_end(keeper, end); /* asked first: a signal that came before the end is read below */
        bool asks = false;
        int signal;
        while ((signal = cli_signals_pop(&terminal)) != 0) {
            if (signal != SIGCHLD && !passes)
                return signal;
            if (signal != SIGCHLD && !terminal)
                (void)kill(keeper->program, signal);
            asks = asks || signal == SIGCHLD;
        }
        if (ended)
            return SIGCHLD;
        if (asks) /* the child may have ended since */
            continue;
        left = over - cli_monotonic_seconds();
        if (seconds > 0 && left <= 0)
            return 0;
        cli_signals_wait(seconds > 0 ? left : -1);
    }
}

static void stop_child(const cli_supervisor *keeper, bool apart)
{
    pid_t whom = apart ? -keeper->program : keeper->program;
    double over = cli_monotonic_seconds() + grace_seconds, left = grace_seconds;
    cli_end end = {.how = CLI_STOPPED};
    int why = SIGTERM;
    (void)kill(whom, SIGTERM);
    /* timeout(1) sends SIGTERM twice: to the command, and to its group. */
    for (; why == SIGTERM && end.how == CLI_STOPPED && left > 0; left = over - cli_monotonic_seconds())
        why = wait_for_end_or_signal(keeper, left, false, &end);
}

void cli_child_run(const cli_child *child, cli_end *end)
{
    double began = cli_monotonic_seconds();
    cli_supervisor keeper;
    int why;

    if (!cli_supervisor_start(&keeper, child)) {
        *end = (cli_end){.how = CLI_UNSTARTED, .code = errno};
        return;
    }
    *end = (cli_end){.how = CLI_STOPPED};
    why = wait_for_end_or_signal(&keeper, child->timeout, child->passes, end);
    if (why != SIGCHLD && end->how == CLI_STOPPED)
        stop_child(&keeper, child->apart);
    if (why != SIGCHLD)
        end->how = why == 0 ? CLI_TIMED_OUT : CLI_STOPPED;
    end->seconds = cli_monotonic_seconds() - began;
    cli_supervisor_kill_all(&keeper);
    if (!cli_supervisor_wait(&keeper, child->argv[0]))
        cli_orphans_kill(NULL, NULL);
}

bool cli_is_crash(const cli_end *end, int *signal)
{
    *signal = end->how == CLI_KILLED ? end->code : end->code - 128;
    return end->how == CLI_KILLED || (end->how == CLI_EXITED && *signal > 0 && sigabbrev_np(*signal) != NULL);
}
