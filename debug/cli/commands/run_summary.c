/* What breakgraph run prints at the end of a run with tools. */
#include <breakgraph/breakgraph.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/next_command.h"
#include "debug/cli/observe/cli_coverage.h"
#include "debug/cli/output/exits.h"
#include "run_command.h"

typedef struct summary {
    const cli_arguments *arguments;
    const cli_gathered *gathered;
    int findings, notes; /* warnings and faults; notes */
} summary;

static bool is_set(const char *variable, const char *value)
{
    const char *set = getenv(variable);
    return set != NULL && strcmp(set, value) == 0;
}

static bool is_enabled(const char *variable)
{
    const char *set = getenv(variable);
    return set != NULL && set[0] != '\0' && strcmp(set, "0") != 0 && strcmp(set, "off") != 0;
}

/* when: the condition; "": always. */
static void print_next(const summary *t, const char *when, const char *command)
{
    char lead[200];
    snprintf(lead, sizeof lead, "next%s%s", when[0] != '\0' ? ", if " : "", when);
    cli_print_next_command(stderr, lead, t->arguments, command);
}

static const char *plural(long count)
{
    return count == 1 ? "" : "s";
}

/* ---- how much was looked at ---- */

static void print_replays(const summary *t, const char *tool, const char *what)
{
    const cli_gathered *g = t->gathered;
    fprintf(stderr, "%s: %ld replay%s of %ld graph%s %s: ", tool, g->replays, plural(g->replays), g->graphs,
            plural(g->graphs), what);
    if (t->findings > 0)
        fprintf(stderr, "%d finding%s\n", t->findings, plural(t->findings));
    else
        fputs("no findings\n", stderr);
}

static void print_shadow(const summary *t)
{
    const cli_gathered *g = t->gathered;

    if (g->unended > 0 && (g->unended == g->processes || g->compared == 0)) {
        fputs("shadow: the program did not end by exit, so that what was compared is not known\n", stderr);
        return;
    }
    fprintf(stderr, "shadow: %ld replay%s of %ld graph%s compared with the eager pass%s: ", g->compared,
            plural(g->compared), g->shadowed, plural(g->shadowed),
            is_set("BG_SHADOW", "calls") ? ", call by call" : "");
    if (g->compared == 0)
        fputs("nothing was compared", stderr);
    else if (t->findings > 0)
        fprintf(stderr, "%d finding%s", t->findings, plural(t->findings));
    else
        fputs("nothing differs", stderr);
    if (t->notes > 0)
        fprintf(stderr, "; %d note%s", t->notes, plural(t->notes));
    if (g->uncompared > 0)
        fprintf(stderr, "; %ld replay%s could not be compared", g->uncompared, plural(g->uncompared));
    if (g->without_pass > 0)
        fprintf(stderr, "; %ld graph%s not compared, captured without a forward function (bg_capture_begin)",
                g->without_pass, plural(g->without_pass));
    if (g->unended > 0)
        fprintf(stderr, "; %d process%s did not end by exit, so that what was compared there is not known", g->unended,
                g->unended == 1 ? "" : "es");
    fputc('\n', stderr);
}

/* Splits the kinds of BG_CHECK in text, in place. */
enum { KINDS = 8 };
static int split_kinds(char *text, const char *kinds[KINDS])
{
    int count = 0;
    char *rest = text;
    for (char *kind; count < KINDS && (kind = strsep(&rest, ",")) != NULL;)
        if (kind[0] != '\0')
            kinds[count++] = kind;
    return count;
}

/* Prints what the checks covered. The number of replays does not say it: some checks look at no replay, or not at each
 * graph. */
static void print_check(const summary *t)
{
    const char *kinds[KINDS];
    char text[128];
    int count;

    snprintf(text, sizeof text, "%s", getenv("BG_CHECK"));
    fprintf(stderr, "check %s: ", text);
    if (t->findings > 0)
        fprintf(stderr, "%d finding%s", t->findings, plural(t->findings));
    else
        fputs(cli_coverage_any(t->gathered) ? "no findings" : "nothing was looked at", stderr);
    if (t->notes > 0)
        fprintf(stderr, "; %d note%s", t->notes, plural(t->notes));
    fputc('\n', stderr);
    count = split_kinds(text, kinds);
    cli_coverage_print(t->gathered, kinds, count, false, stderr);
}

static void print_tools(const summary *t)
{
    if (is_set("BG_DEBUG", "forward"))
        print_replays(t, "forward", "ran the pass eagerly, without a graph");
    if (is_set("BG_DEBUG", "ops"))
        print_replays(t, "ops", "ran all ops eagerly");
    if (is_set("BG_DEBUG", "sync"))
        print_replays(t, "sync", "were waited for after each segment and eager call");
    if (is_set("BG_DEBUG", "step"))
        print_replays(t, "step", "ran node by node");
    if (is_enabled("BG_SHADOW") && !is_set("BG_DEBUG", "step"))
        print_shadow(t);
    if (is_enabled("BG_CHECK"))
        print_check(t);
}

/* Whether each requested check has covered anything. */
static bool covered_by_each(const cli_gathered *gathered)
{
    const char *kinds[KINDS];
    char text[128];
    int count;
    bool looked = true;

    snprintf(text, sizeof text, "%s", getenv("BG_CHECK"));
    count = split_kinds(text, kinds);
    for (int i = 0; i < count; i++)
        looked = looked && cli_coverage_has(gathered, kinds[i]);
    return looked;
}

cli_status cli_run_judge(const cli_gathered *gathered, const char *program)
{
    cli_status status = cli_gathered_check_replays(gathered, program);

    if (status != CLI_OK)
        return status;
    if (is_enabled("BG_SHADOW") && (gathered->compared == 0 || gathered->uncompared > 0 || gathered->unended > 0))
        return CLI_UNJUDGED;
    return is_enabled("BG_CHECK") && !covered_by_each(gathered) ? CLI_UNJUDGED : CLI_OK;
}

/* ---- the next command ---- */

static void print_next_of_forward(const summary *t)
{
    print_next(t,
               t->gathered->runner ? "the result is now right (the capture, or the runner's padding, is at fault)"
                                   : "the result is now right (the capture is at fault)",
               "run --shadow=calls");
    if (t->gathered->runner)
        print_next(t, "it is still wrong (where that makes it right, the runner's padding is at fault)",
                   "run -e BG_RUNNER_MODE=none");
    print_next(t, "it is still wrong (the model, or what the program does around the pass)", "check");
}

/* Counts the differences whose cause is not known yet. */
static int count_unexplained(const cli_gathered *g)
{
    static const char *const kinds[] = {"mismatch", "mismatch-origin", "nondeterministic", "differs-from-reference"};
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        count += cli_gathered_count(g, kinds[i], 1);
    return count;
}

/* Chooses the next command. The finding of a race names the missing wait, so the next command looks for further races.
 * If only outputs differ: a command that compares the calls. If a call differs, or something outside of calls: `check`,
 * which finds the cause, and also looks at work outside ops. Other findings say what to do, and need no next
 * command. */
static void print_next_of_findings(const summary *t)
{
    const cli_gathered *g = t->gathered;
    int outputs = cli_gathered_count(g, "mismatch", 1);
    bool by_call = is_set("BG_SHADOW", "calls");

    if (cli_gathered_count(g, "race", 1) > 0)
        print_next(t, "that is repaired",
                   strcmp(bg_device_kind(), "host") == 0 ? "run --seeds=20" : "check --what=graph");
    else if (outputs > 0 && outputs == t->findings && !by_call)
        print_next(t, "", "run --shadow=calls");
    else if (count_unexplained(g) > 0)
        print_next(t, "", "check");
}

static void print_next_of_tools(const summary *t)
{
    if (t->findings > 0) {
        print_next_of_findings(t);
    } else if (is_set("BG_DEBUG", "forward")) {
        print_next_of_forward(t);
    } else if (is_set("BG_DEBUG", "ops")) {
        print_next(t, "the result is now right (the capture of an op is at fault)", "bisect");
        print_next(t, "it is still wrong", "run --debug=forward");
    } else if (is_set("BG_DEBUG", "sync") || is_set("BG_DEBUG", "step")) {
        print_next(t, "the result is now right (a wait is missing)", "check --what=graph");
        print_next(t, "it is still wrong", "run --debug=forward");
    } else if (is_enabled("BG_SHADOW") || is_enabled("BG_CHECK")) {
        print_next(t, t->gathered->code == 0 ? "the result is wrong" : "", "check");
    }
}

/* A program that was ended on purpose needs no next command. */
static bool is_intended_end(const cli_end *end)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGKILL};
    int signal;
    for (size_t i = 0; cli_is_crash(end, &signal) && i < sizeof stops / sizeof *stops; i++)
        if (signal == stops[i])
            return true;
    return end->how == CLI_STOPPED || end->how == CLI_TIMED_OUT;
}

cli_status cli_run_print_summary(const cli_arguments *arguments, const cli_gathered *gathered, const cli_end *end)
{
    int findings = cli_gathered_count(gathered, NULL, 1), signal;
    summary t = {arguments, gathered, findings, cli_gathered_count(gathered, NULL, 0) - findings};
    cli_status status = findings > 0 ? CLI_FAILED : CLI_OK;
    bool attached = cli_given_value(arguments, "--attach") != NULL;

    if (is_intended_end(end))
        return status;
    if (findings == 0 && cli_is_crash(end, &signal)) {
        if (gathered->graphs > 0)
            print_tools(&t);
        print_next(&t, "", attached ? "step --attach" : "step");
        return status;
    }
    if (findings == 0)
        status = cli_run_judge(gathered, arguments->rest[0]);
    if (attached && (status == CLI_OK || status == CLI_FAILED)) {
        cli_status told = cli_run_print_attached(gathered);
        return status == CLI_OK ? told : status;
    }
    if (status == CLI_OK || status == CLI_FAILED || status == CLI_UNJUDGED) {
        print_tools(&t);
        print_next_of_tools(&t);
    }
    return status;
}
