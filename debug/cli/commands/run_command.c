/* breakgraph run: sets the library's environment, and becomes the program (exec). It stays as the program's parent if
 * there are several seeds or ranks, or if it prints at the end what tools covered. */
#include "commands.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/process/child.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/cli_job.h"
#include "debug/cli/ranks/cli_ranks.h"
#include "debug/files/files.h"
#include "run_command.h"

static cli_status exec_program(const cli_arguments *arguments)
{
    execvp(arguments->rest[0], arguments->rest);
    return cli_print_message(CLI_NOT_STARTED, "'%s' cannot be started: %s", arguments->rest[0], strerror(errno));
}

/* ---- ranks ---- */

static int print_failure(const cli_ranks_end *told)
{
    const cli_end *end = &told->end;
    const char *first = told->others > 0 ? ", so the other ranks were ended" : "";
    if (end->how == CLI_KILLED) {
        (void)cli_print_message(CLI_CRASHED, "rank %d (process %ld) was ended by SIG%s%s", end->rank, (long)told->pid,
                                sigabbrev_np(end->code) != NULL ? sigabbrev_np(end->code) : "?", first);
        return 128 + end->code;
    }
    if (end->code != 0)
        (void)cli_print_message(CLI_FAILED, "rank %d (process %ld) ended with status %d%s", end->rank, (long)told->pid,
                                end->code, first);
    return end->code;
}

static int print_ranks_end(const cli_ranks *ranks, const cli_ranks_end *told)
{
    switch (told->end.how) {
    case CLI_UNSTARTED:
        return cli_print_message(CLI_NOT_STARTED, "rank %d: '%s' cannot be started: %s%s", told->end.rank,
                                 ranks->argv[0], strerror(told->end.code),
                                 told->end.code == EMFILE ? "; the limit is that of ulimit -n" : "");
    case CLI_TIMED_OUT:
        return cli_print_message(CLI_HANGS, "'%s' ran longer than %g s and was killed: rank%s %s had not ended",
                                 ranks->argv[0], ranks->timeout, strchr(told->still, ',') != NULL ? "s" : "",
                                 told->still);
    case CLI_STOPPED:
        (void)cli_print_message(CLI_INTERRUPTED, "SIG%s: all ranks were ended", sigabbrev_np(told->end.code));
        return 128 + told->end.code;
    default: return print_failure(told);
    }
}

static int run_ranks(const cli_arguments *arguments, int count, cli_end *end)
{
    const char *directory = cli_given_value(arguments, "--output-dir");
    cli_ranks ranks = {.count = count,
                       .argv = arguments->rest,
                       .patience = 2, /* so that all report why they ended */
                       .input = true,
                       .prefix = cli_given_value(arguments, "--no-prefix") == NULL,
                       .output = directory,
                       .errors = directory};
    cli_ranks_end told;
    cli_status status = cli_read_timeout(arguments, &ranks.timeout);

    if (status != CLI_OK)
        return status;
    if (directory != NULL && bg__directory_make(directory) != BG_OK)
        return cli_print_message(CLI_FAILED, "%s", bg_last_error());
    status = cli_signals_catch();
    if (status != CLI_OK)
        return status;
    cli_ranks_run(&ranks, &told);
    *end = told.end;
    return print_ranks_end(&ranks, &told);
}

/* ---- as the parent of one program ---- */

static int print_end(const cli_arguments *arguments, const cli_end *end, double timeout)
{
    const char *program = arguments->rest[0];
    switch (end->how) {
    case CLI_UNSTARTED:
        return cli_print_message(CLI_NOT_STARTED, "'%s' cannot be started: %s", program, strerror(end->code));
    case CLI_TIMED_OUT:
        return cli_print_message(CLI_HANGS, "'%s' ran longer than %g s and was killed", program, timeout);
    case CLI_KILLED:
        if (end->code != SIGINT && end->code != SIGTERM && end->code != SIGPIPE) /* a shell says nothing, either */
            (void)cli_print_message(CLI_CRASHED, "signal SIG%s (%s) ended '%s'",
                                    sigabbrev_np(end->code) != NULL ? sigabbrev_np(end->code) : "?",
                                    strsignal(end->code), program);
        return 128 + end->code;
    default: return end->code;
    }
}

/* Runs the program in the command's process group, with its streams: so it has the terminal as if it were started
 * alone. */
static int run_child(const cli_arguments *arguments, cli_end *end)
{
    cli_child child = {.argv = arguments->rest, .passes = true};
    cli_status status = cli_read_timeout(arguments, &child.timeout);

    if (status == CLI_OK)
        status = cli_signals_catch_all();
    if (status != CLI_OK)
        return status;
    cli_child_run(&child, end);
    return print_end(arguments, end, child.timeout);
}

/* ---- reports ---- */

typedef struct run_reports {
    char *place;         /* a temporary directory; NULL: the user named one */
    char path[PATH_MAX]; /* the value of BG_REPORT */
    struct timespec since;
} run_reports;

/* Records the time of the directory's file system, so that files of earlier runs are ignored. */
static bool record_time(run_reports *r)
{
    struct stat about;
    char *path = cli_join_path(r->path, ".run");
    bool noted = path != NULL && cli_file_write(path, BG__FILE_GENERATED, "\n") && stat(path, &about) == 0;
    if (noted)
        r->since = about.st_mtim;
    if (path != NULL)
        (void)remove(path);
    free(path);
    return noted;
}

static cli_status open_report_directory(run_reports *r)
{
    const char *named = getenv("BG_REPORT");

    if (named == NULL || named[0] == '\0') {
        r->place = cli_temporary_directory_create();
        if (r->place == NULL)
            return CLI_FAILED;
        named = r->place;
    } else if (bg__directory_make(named) != BG_OK) {
        return cli_print_message(CLI_FAILED, "%s", bg_last_error());
    }
    /* The program may change its directory. */
    if (realpath(named, r->path) == NULL || setenv("BG_REPORT", r->path, 1) != 0 || !record_time(r))
        return cli_print_message(CLI_FAILED, "reports cannot be kept in %s: %s", named, strerror(errno));
    return CLI_OK;
}

/* --strict: a failure of the program itself comes first. */
static int apply_strict(const cli_arguments *arguments, int status, cli_status told, int findings)
{
    if (cli_given_value(arguments, "--strict") == NULL || status != 0 || told == CLI_OK)
        return status;
    if (told == CLI_FAILED)
        (void)cli_print_message(CLI_FAILED,
                                "exit status 1, because of --strict: the program ended with 0, with %d finding%s",
                                findings, findings == 1 ? "" : "s");
    if (told == CLI_UNJUDGED)
        (void)cli_print_message(CLI_UNJUDGED,
                                "exit status 14, because of --strict: the program ended with 0, and the lines above "
                                "say what was not looked at");
    return told;
}

static int run_with_tools(const cli_arguments *arguments, int ranks)
{
    run_reports reports = {0};
    cli_gathered gathered = {0};
    cli_end end = {.how = CLI_UNSTARTED};
    int status = open_report_directory(&reports);
    cli_status told;

    if (status != CLI_OK)
        goto done;
    status = ranks > 0 ? run_ranks(arguments, ranks, &end) : run_child(arguments, &end);
    if (end.how == CLI_UNSTARTED)
        goto done;
    told = cli_gather_since(reports.path, reports.since, &gathered);
    if (end.how == CLI_EXITED)
        gathered.code = end.code;
    if (told == CLI_OK)
        told = cli_run_print_summary(arguments, &gathered, &end);
    status = apply_strict(arguments, status, told, cli_gathered_count(&gathered, NULL, 1));
done:
    cli_gathered_clear(&gathered);
    cli_temporary_directory_remove(reports.place);
    free(reports.place);
    return status;
}

/* ---- the command line ---- */

static bool is_tool_on(const cli_arguments *arguments, const char *flag, const char *off)
{
    const char *value = cli_given_value(arguments, flag);
    return value != NULL && strcmp(value, off) != 0;
}

static bool needs_parent(const cli_arguments *arguments)
{
    return is_tool_on(arguments, "--debug", "off") || is_tool_on(arguments, "--check", "off") ||
           is_tool_on(arguments, "--shadow", "0") || cli_given_value(arguments, "--strict") != NULL ||
           cli_given_value(arguments, "--attach") != NULL;
}

/* Call it when flags have set their variables. A program that runs no graph, or node by node, has no replay that
 * BG_SHADOW could compare. */
static cli_status check_tools(void)
{
    const char *debug = getenv("BG_DEBUG"), *shadow = getenv("BG_SHADOW");

    if (debug == NULL || shadow == NULL || shadow[0] == '\0' || strcmp(shadow, "0") == 0 ||
        (strcmp(debug, "step") != 0 && strcmp(debug, "forward") != 0))
        return CLI_OK;
    return cli_print_message(
        CLI_USAGE,
        "--debug=%s (BG_DEBUG) and --shadow (BG_SHADOW) exclude each other: there are no replays that --shadow "
        "compares; give one",
        debug);
}

static cli_status check_flags(const cli_arguments *arguments, int ranks, bool parent)
{
    static const char *const of_ranks[] = {"--no-prefix", "--output-dir"};
    bool seeds = cli_given_value(arguments, "--seeds") != NULL;

    for (size_t i = 0; i < sizeof of_ranks / sizeof *of_ranks; i++)
        if (cli_given_value(arguments, of_ranks[i]) != NULL && (ranks == 0 || seeds))
            return cli_print_message(CLI_USAGE, "%s needs --ranks%s", of_ranks[i], seeds ? ", without --seeds" : "");
    if (cli_given_value(arguments, "--timeout") != NULL && ranks == 0 && !parent && !seeds)
        return cli_print_message(
            CLI_USAGE, "--timeout needs --ranks, --seeds, --strict or a tool (--attach, --debug, --check, --shadow)");
    return parent || seeds ? check_tools() : CLI_OK;
}

static int run_program(const cli_arguments *arguments)
{
    bool parent = needs_parent(arguments);
    int ranks = 0;
    cli_end end;
    cli_status status = cli_require_program(arguments);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &ranks);
    if (status == CLI_OK)
        status = check_flags(arguments, ranks, parent);
    if (status == CLI_OK)
        status = cli_run_attach(arguments);
    if (status != CLI_OK)
        return status;
    if (cli_given_value(arguments, "--seeds") != NULL)
        return cli_run_seeds(arguments, ranks);
    if (parent)
        return run_with_tools(arguments, ranks);
    return ranks > 0 ? run_ranks(arguments, ranks, &end) : (int)exec_program(arguments);
}

static const cli_flag flags[] = {
    {"--debug", .variable = "BG_DEBUG"},
    {"--eager-ops", .variable = "BG_EAGER_OPS"},
    {"--check", .variable = "BG_CHECK"},
    {"--shadow", .without = "1", .variable = "BG_SHADOW"},
    {"--break", .variable = "BG_ATTACH_BREAK"},
    {"--nodes", NULL, NULL, NULL, "with --attach: launch all nodes outside of their graphs: --break='*'"},
    {"--probe", .variable = "BG_ATTACH_PROBE"},
    {"--snapshot-limit", .variable = "BG_ATTACH_SNAPSHOT_LIMIT"},
    {"--reports", .variable = "BG_REPORT"},
    {"--trace", .variable = "BG_TRACE"},
    {"--strict", NULL, NULL, NULL,
     "exit with status 1 if a tool has findings (notes do not count), or with 4, 5, 6 or 14 if there was nothing to "
     "look at, or not all was compared, though the program ended with 0"},
    {"--seeds", "N", NULL, NULL,
     "run the program under HOSTCUDA_SEED=0 to N-1, one after the other, and print a table of the results; for the "
     "host device"},
    {"--no-prefix", NULL, NULL, NULL, "with --ranks: print lines of output without \"[rank 1] \" before them"},
    {"--output-dir", "DIR", NULL, NULL,
     "with --ranks: write output into DIR/rank-N.out and DIR/rank-N.err; creates DIR"},
    {"--timeout", "SECONDS", NULL, NULL,
     "with --ranks, --seeds, --strict, --attach, --debug, --check or --shadow: runs longer than SECONDS are killed"},
    {0},
};

static const char more[] =
    "The command replaces itself with the program: the exit status is the program's. -e sets a variable "
    "of the program, and so does each flag below that names one. All other variables stay unchanged. HOSTCUDA_ "
    "variables are for the host device. Processes that the program leaves running are not ended.\n\n"
    "With --attach, --debug, --check, --shadow or --strict the command stays as the parent of the program. After its "
    "end it "
    "prints "
    "on standard error what was looked at, and the command to type next. The program has the terminal, the standard "
    "streams and the signals that the command gets (SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2), and the exit "
    "status is the program's, or 128 + N if signal N ended it. What it leaves running is ended. A signal that a "
    "process sends to the whole "
    "process group reaches the program twice. If the program stops itself (SIGSTOP), the command goes on waiting.\n\n"
    "With --seeds=N the program has no standard input. Runs with the same exit status, standard output and findings "
    "have "
    "one result. If there are several results, the exit status is 12, else that of the program.\n\n"
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
    .text = "start a program with the library's variables set, or with nodes launched outside of its graphs",
    .more = more,
    .flags = {cli_attach_flags, cli_job_flags, flags},
    .run = run_program,
};
