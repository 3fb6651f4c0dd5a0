/* breakgraph bisect: runs a program to find the op calls that must be eager for a fault to vanish. */
#include "bisect_command.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/allowed_values.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "debug/cli/process/signals.h"
#include "debug/cli/ranks/cli_job.h"
#include "bisect_attached.h"
#include "bisect_result.h"
#include "bisect_page.h"
#include "bisect_state.h"
#include "trial.h"

enum { MOST_STARTS = 1000 };

/* ---- the trials before the search ---- */

static cli_status try_all_eager(cli_bisection *b)
{
    bool *all = calloc(b->name_count, sizeof *all);
    bg_verdict verdict = BG_SKIP;
    cli_status status;

    if (all == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    for (size_t i = 0; i < b->name_count; i++)
        all[i] = true;
    status = cli_trial_run(b, CLI_ALL_EAGER, all, &verdict);
    free(all);
    if (status != CLI_OK || verdict == BG_GOOD)
        return status;
    if (verdict == BG_SKIP)
        return cli_bisect_set_sentence(b, CLI_UNJUDGED, "with all %zu %s %s, '%s' cannot be judged", b->name_count,
                                       b->compiled ? "runs of calls" : "calls", cli_bisect_good_word(b), b->argv[0]);
    if (b->compiled)
        return cli_bisect_set_sentence(
            b, CLI_STAYS,
            "the fault remains with none of the %zu runs of calls fused: no rule is to blame; breakgraph bisect "
            "without --compiled looks for the call",
            b->name_count);
    return cli_bisect_set_sentence(
        b, CLI_STAYS,
        "the fault remains with all %zu calls %seager: no captured call %sis to blame. It may be in work that is "
        "captured outside op calls, in arguments that the capture has frozen%s, or in memory that changes between "
        "replays; %s",
        b->name_count, b->only != NULL ? "that match --only " : "", b->only != NULL ? "of these " : "",
        b->runner ? ", in padding rows of its batches" : "",
        b->shadow ? "breakgraph run --shadow=calls tells what differs" : "breakgraph check looks for these");
}

/* Whether a trial can run the captured work one node after the other. If the program is good in such a trial, although
 * no op is eager, the fault is a missing order between nodes. On the host device HOSTCUDA_SEED=0 runs all work in the
 * order of issue. */
static bool can_run_in_series(const cli_bisection *b)
{
    const char *seed = getenv("HOSTCUDA_SEED"), *debug = getenv("BG_DEBUG");
    if (b->shadow) /* steps are not compared */
        return strcmp(bg_device_kind(), "host") == 0 && seed != NULL && strtoull(seed, NULL, 10) != 0;
    return debug == NULL || strcmp(debug, "step") != 0;
}

static cli_status try_in_series(cli_bisection *b)
{
    bg_verdict verdicts[2] = {BG_SKIP, BG_SKIP};
    cli_status status = CLI_OK;
    for (int i = 0; i < 2 && status == CLI_OK && (i == 0 || verdicts[0] == BG_GOOD); i++)
        status = cli_trial_run(b, CLI_SERIAL, NULL, &verdicts[i]);
    if (status != CLI_OK || verdicts[0] != BG_GOOD || verdicts[1] != BG_GOOD)
        return status;
    b->order = true;
    return cli_bisect_set_sentence(
        b, CLI_NONDETERMINISTIC,
        "'%s' is good if its captured nodes run one after another (%s), even with no eager call. So a wait is "
        "missing; no op call is to blame",
        b->argv[0], b->shadow ? "HOSTCUDA_SEED=0" : "BG_DEBUG=step");
}

/* Runs the trials before the search. *search: there is something to search for. */
static cli_status try_before_search(cli_bisection *b, bool *search_culprits)
{
    bool bad = false;
    cli_status status = cli_trial_run_twice(b, CLI_AS_IS, &bad);

    *search_culprits = false;
    if (status != CLI_OK)
        return status;
    if (!bad)
        return cli_bisect_set_sentence(
            b, CLI_OK, "'%s' was good in both trials as it is: there is no fault to search for", b->argv[0]);
    if (!b->compiled && can_run_in_series(b))
        status = try_in_series(b);
    if (status == CLI_OK && !b->shadow && !b->compiled)
        status = cli_trial_run_twice(b, CLI_FORWARD, &bad);
    if (status != CLI_OK)
        return status;
    if (!b->shadow && !b->compiled && bad) {
        cli_trial_show_check(b);
        b->without_graph = true;
        return cli_bisect_set_sentence(
            b, CLI_STAYS,
            "the fault remains without any graph (BG_DEBUG=forward): it is not in the capture, but in the model, or "
            "in what the program does around the pass (padding, inputs, order)");
    }
    status = try_all_eager(b);
    *search_culprits = status == CLI_OK;
    return status;
}

/* ---- the search ---- */

typedef struct search_state {
    cli_bisection *b;
    bool *eager;
    cli_status status;
} search_state;

static bg_status try_candidates(void *user, const char *const *eager, size_t count, bg_verdict *verdict)
{
    search_state *s = user;
    size_t given = 0;
    for (size_t i = 0; i < s->b->name_count; i++) {
        s->eager[i] = given < count && s->b->names[i] == eager[given];
        given += s->eager[i];
    }
    s->status = cli_trial_run(s->b, CLI_SEARCH, s->eager, verdict);
    return s->status == CLI_OK ? BG_OK : BG_ERROR_STOPPED;
}

static bool is_related(const char *a, const char *b)
{
    size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return strncmp(a, b, length) == 0 && (a[length] == '\0' || a[length] == '/') &&
           (b[length] == '\0' || b[length] == '/');
}

/* Lists the culprits with their places; the list is cut if there is no room. */
static void list_culprits(const cli_bisection *b, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < b->found && used < room; i++) {
        const cJSON *call = cJSON_GetArrayItem(b->calls, (int)b->culprits[i]);
        used +=
            (size_t)snprintf(text + used, room - used, "%s%s at %s:%d", i > 0 ? ", " : "", cli_json_text(call, "name"),
                             cli_json_text(call, "file"), (int)cli_json_number(call, "line"));
    }
}

/* Repeats a trial. *bad: how often it was bad; -1: it could not be judged. */
static cli_status count_bad(cli_bisection *b, const bool *eager, int times, int *bad)
{
    *bad = 0;
    for (int i = 0; i < times && *bad >= 0; i++) {
        bg_verdict verdict = BG_SKIP;
        cli_status status = cli_trial_run(b, CLI_CONFIRM, eager, &verdict);
        if (status != CLI_OK)
            return status;
        *bad = verdict == BG_SKIP ? -1 : *bad + (verdict == BG_BAD);
    }
    return CLI_OK;
}

static void mark_culprits(const cli_bisection *b, bool *eager)
{
    for (size_t i = 0; i < b->name_count; i++)
        eager[i] = false;
    for (size_t k = 0; k < b->found; k++)
        eager[b->culprits[k]] = true;
}

/* Marks all other calls as eager, except those around and inside the culprits, which stay captured, too. */
static void mark_others(const cli_bisection *b, bool *eager)
{
    for (size_t i = 0; i < b->name_count; i++) {
        eager[i] = true;
        for (size_t k = 0; k < b->found; k++)
            eager[i] = eager[i] && !is_related(b->names[i], b->names[b->culprits[k]]);
    }
}

/* Sets the exit status, and the sentence if the culprits are not confirmed. bad_captured: the number of bad trials
 * among CLI_CONFIRMATIONS with only the culprits captured; bad_eager: the same with only the culprits eager. Negative:
 * a trial could not be judged. */
static cli_status decide_if_confirmed(cli_bisection *b, int bad_captured, int bad_eager)
{
    enum { TIMES = CLI_CONFIRMATIONS };
    char names[256];
    const char *only = b->found == 1 ? "this call" : "these calls";

    b->confirmed = bad_captured == TIMES && bad_eager == 0;
    if (b->confirmed)
        return CLI_FAILED;
    list_culprits(b, names, sizeof names);
    if (bad_captured < 0 || bad_eager < 0)
        return cli_bisect_set_sentence(
            b, CLI_UNJUDGED,
            "not confirmed: good with %s %s; with only %s %s, the program crashes, hangs or cannot be judged", names,
            cli_bisect_good_word(b), only, bad_captured < 0 ? cli_bisect_bad_word(b) : cli_bisect_good_word(b));
    if (bad_captured == 0)
        return cli_bisect_set_sentence(b, CLI_FAILED,
                                       "not confirmed: good with %s %s, but good with only %s %s, too: the fault "
                                       "needs other %s calls, as one of order does",
                                       names, cli_bisect_good_word(b), only, cli_bisect_bad_word(b),
                                       cli_bisect_bad_word(b));
    b->order = true;
    return cli_bisect_set_sentence(
        b, CLI_NONDETERMINISTIC,
        "not confirmed: bad in %d of %d trials with only %s %s, and in %d of %d with only %s %s: a fault of order "
        "comes and goes like that",
        bad_captured, TIMES, names, cli_bisect_bad_word(b), bad_eager, TIMES, only, cli_bisect_good_word(b));
}

/* Calls are culprits only if each trial is bad with only them captured, and good with only them eager. */
static cli_status confirm_culprits(cli_bisection *b, bool *marks)
{
    int captured, eager = 0;
    cli_status status;

    mark_others(b, marks);
    status = count_bad(b, marks, CLI_CONFIRMATIONS, &captured);
    if (status == CLI_OK && captured > 0) {
        mark_culprits(b, marks);
        status = count_bad(b, marks, CLI_CONFIRMATIONS, &eager);
    }
    b->searched = status == CLI_OK;
    return status == CLI_OK ? decide_if_confirmed(b, captured, eager) : status;
}

static cli_status search_culprits(cli_bisection *b)
{
    search_state s = {.b = b, .status = CLI_OK, .eager = calloc(b->name_count, sizeof *s.eager)};
    bg_status searched = BG_ERROR_OUT_OF_MEMORY;
    cli_status status;

    b->culprits = calloc(b->name_count, sizeof *b->culprits);
    b->wanted = (int)b->next + cli_bisect_log2(b->name_count) + 1 + 2 * CLI_CONFIRMATIONS;
    if (s.eager != NULL && b->culprits != NULL)
        searched = bg_search(b->names, b->name_count, try_candidates, &s, b->culprits, &b->found);
    if (searched == BG_OK)
        status = confirm_culprits(b, s.eager);
    else
        status = s.status != CLI_OK ? s.status : cli_print_message(CLI_FAILED, "%s", bg_status_text(searched));
    free(s.eager);
    return status;
}

/* ---- the command line ---- */

static cli_status read_count(const cli_arguments *arguments, int *count)
{
    const char *value = cli_given_value(arguments, "--count");
    char *end = NULL;
    long number = value != NULL ? strtol(value, &end, 10) : 1;
    if (value != NULL && (end == value || *end != '\0' || number < 1 || number > MOST_STARTS))
        return cli_print_message(CLI_USAGE, "'--count=%s': allowed are whole numbers from 1 to %d", value, MOST_STARTS);
    *count = (int)number;
    return CLI_OK;
}

static cli_status read_only(const char *only)
{
    if (only != NULL && only[0] == '@')
        return cli_print_message(CLI_USAGE, "'--only=%s' is not a list of patterns", only);
    return CLI_OK;
}

/* Reads the ops that the environment makes eager already. */
static cli_status read_base(cli_bisection *b)
{
    const char *name = b->compiled ? "BG_COMPILE_OPS" : "BG_EAGER_OPS", *value = getenv(name);
    size_t bytes = 0;
    if (value != NULL && value[0] == '@')
        b->base = cli_file_read(value + 1, true, &bytes);
    else
        b->base = strdup(value != NULL ? value : "");
    if (b->base == NULL)
        return cli_print_message(CLI_USAGE, "%s=%s cannot be read: %s", name, value, strerror(errno));
    cli_patterns_join(b->base);
    return CLI_OK;
}

/* With these values a list of eager ops has no effect, and the result would be wrong. */
static cli_status reject_environment(void)
{
    const char *breakable = getenv("BG_BREAKABLE"), *debug = getenv("BG_DEBUG");
    if (breakable != NULL && strcmp(breakable, "0") == 0)
        return cli_print_message(CLI_USAGE,
                                 "BG_BREAKABLE=0 captures every op, so that bisect cannot make ops eager; unset it");
    if (debug != NULL && (strcmp(debug, "forward") == 0 || strcmp(debug, "ops") == 0))
        return cli_print_message(CLI_USAGE, "BG_DEBUG=%s makes all ops eager: there is nothing to search for; unset it",
                                 debug);
    return CLI_OK;
}

static cli_status reject_compile_level(void)
{
    static const char *const unfit[] = {"0", "none", "1", "as-is"};
    const char *level = getenv("BG_COMPILE");
    for (size_t i = 0; level != NULL && i < sizeof unfit / sizeof *unfit; i++)
        if (strcmp(level, unfit[i]) == 0)
            return cli_print_message(
                CLI_USAGE, "BG_COMPILE=%s fuses nothing: there is nothing to search for; unset it, or set 2 or 3",
                level);
    return CLI_OK;
}

static cli_status reject_library_flags(const cli_arguments *arguments)
{
    static const char *const of_library[] = {"--shadow", "--tolerance", "--only", "--html", "--compiled"};
    for (size_t i = 0; i < sizeof of_library / sizeof *of_library; i++)
        if (cli_given_value(arguments, of_library[i]) != NULL)
            return cli_print_message(CLI_USAGE,
                                     "%s is for programs that use libbreakgraph, and cannot be used with --attach",
                                     of_library[i]);
    return CLI_OK;
}

static cli_status read_options(cli_bisection *b, const cli_arguments *arguments)
{
    cli_status status = cli_require_program(arguments);
    const char *state = cli_given_value(arguments, "--state");

    b->argv = arguments->rest;
    b->arguments = arguments;
    b->check = cli_given_value(arguments, "--check");
    b->tolerance = cli_given_value(arguments, "--tolerance");
    b->only = cli_given_value(arguments, "--only");
    b->html = cli_given_value(arguments, "--html");
    b->attached = cli_given_value(arguments, "--attach") != NULL;
    b->compiled = cli_given_value(arguments, "--compiled") != NULL;
    b->shadow = cli_given_value(arguments, "--shadow") != NULL;
    b->fresh = cli_given_value(arguments, "--fresh") != NULL;
    b->json = cli_given_value(arguments, "--json") != NULL;
    b->oversubscribe = cli_given_value(arguments, "--oversubscribe") != NULL;
    b->keep = state != NULL;
    b->state = state != NULL ? state : ".breakgraph-bisect.json";
    if (status == CLI_OK && b->attached)
        status = reject_library_flags(arguments);
    if (status == CLI_OK && strcmp(b->state, "-") == 0)
        status = cli_print_message(CLI_USAGE, "--state needs a file that can be read again; '-' is not one");
    if (status == CLI_OK && b->check != NULL && b->shadow)
        status = cli_print_message(CLI_USAGE, "--check and --shadow exclude each other; give one");
    if (status == CLI_OK && b->tolerance != NULL && !b->shadow)
        status = cli_print_message(CLI_USAGE, "--tolerance needs --shadow");
    if (status == CLI_OK)
        status = cli_read_timeout(arguments, &b->timeout);
    if (status == CLI_OK)
        status = read_count(arguments, &b->count);
    if (status == CLI_OK)
        status = cli_job_read(arguments, &b->ranks);
    if (status == CLI_OK)
        status = read_only(b->only);
    if (status == CLI_OK && !b->attached && !b->compiled)
        status = reject_environment();
    if (status == CLI_OK && b->compiled)
        status = reject_compile_level();
    if (status == CLI_OK)
        status = cli_attach_prepare(arguments);
    return status == CLI_OK ? read_base(b) : status;
}

/* ---- the command ---- */

/* Whether nothing is left to try. */
static bool has_result(const cli_bisection *b, cli_status status)
{
    return b->searched || status == CLI_OK || status == CLI_STAYS || status == CLI_NONDETERMINISTIC ||
           status == CLI_UNJUDGED;
}

/* Keeps the state of a bisect that ended early: the reason may be gone next time, such as a full disk, a program that
 * was being built, or a machine too busy. */
static cli_status end_state(cli_bisection *b, cli_status status)
{
    bool result = has_result(b, status);
    if (status == CLI_INTERRUPTED)
        return cli_bisect_set_sentence(
            b, status, "interrupted after %zu trials; the same command continues from there (%s)", b->next, b->state);
    if (!result && b->next > 0 && b->next >= b->replayed)
        return cli_print_message(status, "%zu trial%s kept; the same command continues from there (%s)", b->next,
                                 b->next == 1 ? " is" : "s are", b->state);
    if ((result || b->replayed == 0) && !b->keep && remove(b->state) != 0 && errno != ENOENT)
        (void)cli_print_message(status, "%s cannot be removed: %s", b->state, strerror(errno));
    return status;
}

static cli_status bisect_program(cli_bisection *b)
{
    bool wanted = false;
    cli_status status = cli_state_load(b);
    if (status != CLI_OK)
        return status;
    b->place = cli_temporary_directory_create();
    if (b->place == NULL)
        status = CLI_FAILED;
    else
        status = b->attached ? cli_attached_search(b) : try_before_search(b, &wanted);
    if (wanted)
        status = search_culprits(b);
    return end_state(b, status);
}

static int run_bisect(const cli_arguments *arguments)
{
    cli_bisection b = {.count = 1};
    double began = cli_monotonic_seconds();
    cli_status status = read_options(&b, arguments);

    if (status == CLI_OK)
        status = cli_signals_catch();
    if (status == CLI_OK) {
        status = bisect_program(&b);
        if (b.html != NULL && b.confirmed)
            (void)cli_bisect_write_page(&b); /* it prints its errors */
        else if (b.html != NULL)
            (void)cli_print_message(status, "%s is not written: there is no culprit to show", b.html);
        cli_bisect_print(&b, status, cli_monotonic_seconds() - began);
    }
    cli_temporary_directory_remove(b.place);
    cJSON_Delete(b.root);
    free(b.place);
    free(b.base);
    free(b.names);
    free(b.culprits);
    return status;
}

static const cli_flag flags[] = {
    {"--check", "CMD", NULL, NULL,
     "a shell command that judges each run by its exit status: 0 good, 125 skip, any other bad. It reads the "
     "program's output from standard input, or from the file that BREAKGRAPH_OUTPUT names. Without it, the "
     "program's own exit status decides"},
    {"--shadow", NULL, NULL, NULL,
     "a run is bad if a replay differs from the eager pass, in its outputs or in those of an op call (BG_SHADOW)"},
    {"--compiled", NULL, NULL, NULL,
     "search for the runs of calls that must not be fused by rules (BG_COMPILE, 3 where it is not set)"},
    {"--tolerance", "SPEC", NULL, NULL, "differences that --shadow accepts (BG_TOLERANCE)"},
    {"--only", "PATTERNS", NULL, NULL, "search only the calls that match; patterns as for run --eager-ops"},
    {"--count", "N", NULL, NULL, "run the program N times for each verdict; one bad run makes the verdict bad"},
    {"--timeout", "SECONDS", NULL, NULL, "runs longer than SECONDS are killed"},
    {"--state", "FILE", NULL, NULL, "keep the verdicts in this file; it is not removed at the end"},
    {"--fresh", NULL, NULL, NULL, "ignore the verdicts that are kept, and start over"},
    {"--json", NULL, NULL, NULL, "print the result as JSON"},
    {"--html", "FILE", NULL, NULL, "write the culprits and trials into one HTML page"},
    {0},
};

static const char more[] =
    "The program is run without standard input: twice as it is; with its nodes one after the other (BG_DEBUG=step; "
    "with "
    "--shadow under HOSTCUDA_SEED=0, if a seed is set); twice without a graph (BG_DEBUG=forward; not with --shadow); "
    "with every op eager. If these runs leave a fault to search for, other sets of eager ops follow "
    "(BG_EAGER_OPS), until a set of calls is known that must be eager and of which none can be left out. They are "
    "culprits if then, in three trials each, the program is bad with only them captured and good with only them eager. "
    "A fault that is gone where the nodes run one after the other is one of order: no call is to blame. A run is "
    "judged by the exit status of the program, or of --check's command, as git bisect run does: 0 is good, 125 means "
    "that the run cannot be judged, any other is bad. A crash or a "
    "timeout is not judged: before the search it ends the command, and during the search that set is skipped. To count "
    "a crash as bad, write: sh -c 'PROGRAM || exit 1'.\n\n"
    "With --compiled the search is for runs of calls that rules have fused, such as add_rms_norm#3, and the sets are "
    "of "
    "runs that are left out (BG_COMPILE_OPS). The program is run twice as it is, and with nothing fused; nothing runs "
    "eagerly. A rule that its proof has refused is not fused: BG_COMPILE_PROVE=off fuses without proofs.\n\n"
    "With --ranks a run is good if all ranks are good. All ranks get the same BG_EAGER_OPS. If a rank exits with "
    "another status than 0, the others get 5 s to end, too. --check reads the outputs of the ranks in the order of "
    "the ranks.\n\n"
    "With --attach, for programs that do not use libbreakgraph, the search is for nodes of graphs that must be "
    "launched "
    "outside of them (run --break): the program is run twice as it is, once with all nodes outside, and then with "
    "other "
    "sets of them. It finds faults of order, of what runs beside what, and of what a graph does differently from "
    "launches. Where the fault stays with all nodes outside, the values in the graphs are wrong (status 13).\n\n"
    "Verdicts are kept in .breakgraph-bisect.json until there is a result (exit status 0, 12, 13, 14, or 1 with "
    "culprits). After an interruption, or a failure that is not the fault (a full disk, a missing program, a "
    "hang), the same command continues where it stopped.";

const cli_command cli_bisect = {
    .name = "bisect",
    .arguments = "-- PROGRAM ARG...",
    .text = "find the op calls that must be eager, or nodes outside of graphs, for a fault to vanish",
    .more = more,
    .flags = {cli_attach_flags, cli_job_flags, flags},
    .run = run_bisect,
};
