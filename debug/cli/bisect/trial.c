#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "debug/cli/observe/observe.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "bisect_calls.h"
#include "bisect_fusions.h"
#include "bisect_nodes.h"
#include "bisect_progress.h"
#include "bisect_state.h"

enum { LONGEST_LIST = 8192 }; /* bytes of BG_EAGER_OPS; a longer list goes through a file */

static const char *const verdict_names[] = {"good", "bad", "skip"};

/* ---- which calls are eager ---- */

/* Marks of calls; at most one of the two is set. */
typedef struct call_marks {
    const bool *eager, *first;
} call_marks;

static char *marked_list(const cli_bisection *b, call_marks calls)
{
    if (calls.first != NULL)
        return cli_nodes_patterns_first(b, calls.first, false);
    return b->attached ? cli_nodes_patterns(b, calls.eager, false) : cli_eager_patterns(b, calls.eager);
}

/* The variable's value: the list, or "@FILE". */
static char *marked_value(const cli_bisection *b, call_marks calls)
{
    char *list = marked_list(b, calls), *path = NULL, *value = NULL;
    if (list == NULL || strlen(list) <= LONGEST_LIST)
        return list;
    path = cli_join_path(b->place, "eager");
    if (path == NULL || !cli_file_write(path, BG__FILE_GENERATED, list) || asprintf(&value, "@%s", path) < 0)
        value = NULL;
    free(path);
    free(list);
    return value;
}

/* ---- verdicts ---- */

static cli_status judge_exit(int code, bg_verdict *verdict)
{
    *verdict = code == 0 ? BG_GOOD : code == 125 ? BG_SKIP : BG_BAD;
    return CLI_OK;
}

static bool is_empty(const char *path)
{
    struct stat about;
    return stat(path, &about) != 0 || about.st_size == 0;
}

static cli_status judge_check_end(const cli_bisection *b, const cli_end *end, bg_verdict *verdict)
{
    int signal;
    if (end->how == CLI_STOPPED)
        return CLI_INTERRUPTED;
    if (end->how == CLI_TIMED_OUT)
        return cli_print_message(CLI_HANGS, "the check '%s' ran longer than %g s and was killed", b->check, b->timeout);
    if (end->how == CLI_UNSTARTED || (end->how == CLI_EXITED && (end->code == 126 || end->code == 127)))
        return cli_print_message(CLI_NOT_STARTED, "the check '%s' cannot be started", b->check);
    if (cli_is_crash(end, &signal))
        return cli_print_message(CLI_CRASHED, "signal %d (%s) ended the check '%s'", signal, strsignal(signal),
                                 b->check);
    return judge_exit(end->code, verdict);
}

static cli_status judge_output(const cli_bisection *b, cli_trial_purpose why, bg_verdict *verdict)
{
    char *output = cli_join_path(b->place, "output"), *said = cli_join_path(b->place, "check-output");
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)b->check, NULL};
    const char *const set[] = {"BREAKGRAPH_OUTPUT", output, NULL};
    cli_child child = {.argv = argv,
                       .set = set,
                       .input = output,
                       .output = said,
                       .errors = said,
                       .timeout = b->timeout,
                       .apart = true};
    cli_end end;
    cli_status status;

    if (output == NULL || said == NULL) {
        status = cli_print_message(CLI_FAILED, "out of host memory");
    } else if (is_empty(output)) {
        *verdict = BG_SKIP;
        status = why >= CLI_SEARCH
                     ? CLI_OK
                     : cli_print_message(CLI_SILENT, "'%s' printed nothing that the check could judge", b->argv[0]);
    } else {
        cli_child_run(&child, &end);
        status = judge_check_end(b, &end, verdict);
    }
    free(output);
    free(said);
    return status;
}

void cli_trial_show_check(const cli_bisection *b)
{
    char *said = b->check != NULL ? cli_join_path(b->place, "check-output") : NULL;
    if (said != NULL && !is_empty(said)) {
        fprintf(stderr, "the last lines that the check printed:\n");
        cli_file_show_end(said);
    }
    free(said);
}

static cli_status end_nondeterministic(cli_bisection *b, const cJSON *reports)
{
    const cJSON *report, *finding;
    cJSON_ArrayForEach(report, reports)
    {
        cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(report, "findings"))
        {
            const char *call = cli_json_text(finding, "call");
            if (strcmp(cli_json_text(finding, "kind"), "nondeterministic") == 0)
                return call[0] != '\0'
                           ? cli_bisect_set_sentence(b, CLI_NONDETERMINISTIC, "%s at %s:%.0f: %s", call,
                                                     cli_json_text(finding, "file"), cli_json_number(finding, "line"),
                                                     cli_json_text(finding, "message"))
                           : cli_bisect_set_sentence(b, CLI_NONDETERMINISTIC, "%s", cli_json_text(finding, "message"));
        }
    }
    return CLI_OK;
}

/* Whether there is a finding that run --shadow=calls calls a fault. A pass that varies by itself is no fault of its
 * graph. */
static bool has_difference(const cli_gathered *gathered)
{
    static const char *const faults[] = {"frozen-value", "frozen-argument", "frozen-control-flow", "unstable-pointer",
                                         "race"};
    enum { NOTE, WARNING, FAULT };
    int count = cli_gathered_count(gathered, "mismatch", NOTE) + cli_gathered_count(gathered, "mismatch-origin", NOTE);

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        count += cli_gathered_count(gathered, faults[i], FAULT);
    return count > 0;
}

/* A run that ended before a replay, or whose pass varies by itself, has no verdict. */
static cli_status judge_shadow(cli_bisection *b, cli_trial_purpose why, const cli_gathered *gathered,
                               const cli_end *end, bg_verdict *verdict)
{
    bool differs = has_difference(gathered);
    if (why == CLI_AS_IS && cli_gathered_count(gathered, "nondeterministic", 0) > 0)
        return end_nondeterministic(b, gathered->reports);
    if (why == CLI_AS_IS && !differs && gathered->replays > 0 && gathered->compared == 0)
        return cli_bisect_set_sentence(
            b, CLI_UNJUDGED,
            "no replay of '%s' could be compared with its eager pass: breakgraph run --shadow=calls says why; or "
            "judge it by its exit status, without --shadow, or by --check",
            b->argv[0]);
    if (why == CLI_AS_IS && !differs && end->code != 0 && end->code != 125)
        (void)cli_print_message(
            CLI_OK,
            "no replay differs, but '%s' ended with status %d: --shadow ignores the status; without it the status "
            "decides",
            b->argv[0], end->code);
    *verdict = differs ? BG_BAD : end->code == 125 || gathered->replays == 0 ? BG_SKIP : BG_GOOD;
    return CLI_OK;
}

static cli_status get_verdict(cli_bisection *b, cli_trial_purpose why, const cli_gathered *gathered, const cli_end *end,
                              bg_verdict *verdict)
{
    if (b->check != NULL)
        return judge_output(b, why, verdict);
    return b->shadow ? judge_shadow(b, why, gathered, end, verdict) : judge_exit(end->code, verdict);
}

/* ---- starts ---- */

/* Keeps the outlines of all graphs: which one has the culprits is known at the end. */
static void store_outlines(const cli_bisection *b, const cli_gathered *gathered)
{
    cJSON *outlines = cJSON_AddArrayToObject(b->root, "outlines"), *graph;
    cJSON_ArrayForEach(graph, gathered->captured)
    {
        cJSON_AddItemToArray(outlines, cJSON_DetachItemFromObjectCaseSensitive(graph, "outline"));
    }
}

/* Collects the calls in the first start. */
static cli_status collect_calls(cli_bisection *b, const cli_observation *o, cli_gathered *gathered)
{
    cli_status status;
    if (b->names != NULL)
        return CLI_OK;
    status = cli_observed_check_replays(o, gathered);
    if (status == CLI_OK)
        status = b->compiled   ? cli_fusions_collect(gathered, b->only, b->calls)
                 : b->attached ? cli_nodes_collect(gathered, b->calls)
                               : cli_calls_collect(gathered, b->only, b->calls);
    if (status == CLI_OK && b->html != NULL)
        store_outlines(b, gathered);
    return status == CLI_OK ? cli_state_set_names(b) : status;
}

/* Ends the bisect if no pattern can have chosen a node: the verdict would not be about the nodes that were
 * requested. */
static cli_status record_nodes(cli_bisection *b, cli_trial_purpose why, const cli_gathered *gathered, call_marks calls)
{
    cli_nodes_record_outside(b, gathered, why == CLI_ALL_EAGER);
    if (calls.eager == NULL || why == CLI_ALL_EAGER || !cli_nodes_are_renamed(b, gathered, calls.eager))
        return CLI_OK;
    return cli_bisect_set_sentence(
        b, CLI_UNJUDGED,
        "the graphs of '%s' have other names in this start than in the first one, so that none of their nodes can "
        "be chosen; give them names (bg_attach_name_next, breakgraph.graph)",
        b->argv[0]);
}

static cli_status start_trial(cli_bisection *b, cli_trial_purpose why, call_marks calls, const char *eager,
                              bg_verdict *verdict)
{
    const char *level = getenv("BG_COMPILE");
    const char *set[] = {b->compiled   ? "BG_COMPILE_OPS"
                         : b->attached ? "BG_ATTACH_BREAK"
                                       : "BG_EAGER_OPS",
                         eager[0] != '\0' ? eager : NULL,
                         "BG_COMPILE",
                         b->compiled && level == NULL ? "3" : level,
                         "BG_DEBUG",
                         why == CLI_FORWARD                ? "forward"
                         : why == CLI_SERIAL && !b->shadow ? "step"
                                                           : getenv("BG_DEBUG"),
                         "HOSTCUDA_SEED",
                         why == CLI_SERIAL && b->shadow ? "0" : getenv("HOSTCUDA_SEED"),
                         "BG_SHADOW",
                         b->shadow ? "calls" : getenv("BG_SHADOW"),
                         "BG_TOLERANCE",
                         b->tolerance != NULL ? b->tolerance : getenv("BG_TOLERANCE"),
                         NULL};
    cli_observation o = {
        .argv = b->argv, .set = set, .place = b->place, .timeout = b->timeout, .quiet = true, .ranks = b->ranks};
    cli_gathered gathered;
    cli_end end = {.how = CLI_UNSTARTED};
    cli_status status = cli_observe(&o, &gathered, &end);
    int signal;

    b->seconds += end.seconds;
    if (status == CLI_OK && why >= CLI_SEARCH && (end.how == CLI_TIMED_OUT || cli_is_crash(&end, &signal))) {
        *verdict = BG_SKIP;
        goto done;
    }
    if (status == CLI_OK)
        status = cli_observed_print_end(&o, &end);
    if (status == CLI_OK)
        status = collect_calls(b, &o, &gathered);
    if (status == CLI_OK && b->attached && eager[0] != '\0')
        status = record_nodes(b, why, &gathered, calls);
    if (status == CLI_OK)
        status = get_verdict(b, why, &gathered, &end, verdict);
    b->runner |= gathered.runner;
done:
    cli_gathered_clear(&gathered);
    return status;
}

/* The verdict is bad if one start is bad; else skip if one start is skip. */
static cli_status run_starts(cli_bisection *b, cli_trial_purpose why, call_marks calls, bg_verdict *verdict)
{
    char *value = marked_value(b, calls);
    cli_status status = CLI_OK;

    if (value == NULL)
        return cli_print_message(
            CLI_FAILED,
            "the list of %s cannot be kept: out of host memory, or the directory for temporary files cannot be "
            "written; set TMPDIR",
            b->compiled   ? "rules"
            : b->attached ? "nodes"
                          : "eager ops");
    *verdict = BG_GOOD;
    b->seconds = 0;
    for (int i = 0; status == CLI_OK && i < b->count && *verdict != BG_BAD; i++) {
        bg_verdict one = BG_SKIP;
        status = start_trial(b, why, calls, value, &one);
        if (one != BG_GOOD)
            *verdict = one;
    }
    free(value);
    return status;
}

/* ---- what is kept ---- */

static void add_marks(cJSON *trial, const char *name, const bool *marks, size_t count)
{
    cJSON *list = cJSON_AddArrayToObject(trial, name);
    for (size_t i = 0; marks != NULL && i < count; i++)
        if (marks[i])
            cJSON_AddItemToArray(list, cJSON_CreateNumber((double)i));
}

static cJSON *describe_trial(const cli_bisection *b, cli_trial_purpose why, call_marks calls)
{
    cJSON *trial = cJSON_CreateObject();
    if (trial != NULL)
        cJSON_AddStringToObject(trial, "why", cli_trial_purpose_names[why]);
    add_marks(trial, "eager", calls.eager, b->name_count);
    if (calls.first != NULL)
        add_marks(trial, "first", calls.first, b->name_count);
    return trial;
}

static bool has_same_member(const cJSON *kept, const cJSON *trial, const char *name)
{
    const cJSON *one = cJSON_GetObjectItemCaseSensitive(kept, name),
                *other = cJSON_GetObjectItemCaseSensitive(trial, name);
    return one == NULL || other == NULL ? one == other : cJSON_Compare(one, other, true);
}

static bool is_same_trial(const cJSON *kept, const cJSON *trial)
{
    return strcmp(cli_json_text(kept, "why"), cli_json_text(trial, "why")) == 0 &&
           has_same_member(kept, trial, "eager") && has_same_member(kept, trial, "first");
}

static cli_status recall_verdict(const cli_bisection *b, const cJSON *trial, bg_verdict *verdict)
{
    const cJSON *kept = cJSON_GetArrayItem(b->trials, (int)b->next);
    const char *name = cli_json_text(kept, "verdict");
    if (!is_same_trial(kept, trial))
        return cli_print_message(CLI_UNREADABLE,
                                 "trial %zu in %s differs from the one that this command makes; --fresh starts over",
                                 b->next + 1, b->state);
    *verdict = name[0] == 'g' ? BG_GOOD : name[0] == 'b' ? BG_BAD : BG_SKIP;
    return CLI_OK;
}

static cli_status store_trial(cli_bisection *b, cJSON *trial, bg_verdict verdict)
{
    if (!cJSON_AddStringToObject(trial, "verdict", verdict_names[verdict]) ||
        !cJSON_AddNumberToObject(trial, "seconds", b->seconds) || !cJSON_AddItemToArray(b->trials, trial)) {
        cJSON_Delete(trial);
        return cli_print_message(CLI_FAILED, "out of host memory");
    }
    return cli_state_save(b);
}

static cli_status make_trial(cli_bisection *b, cli_trial_purpose why, call_marks calls, bg_verdict *verdict)
{
    cJSON *trial = describe_trial(b, why, calls);
    cli_status status;

    if (b->next < b->replayed) {
        status = recall_verdict(b, trial, verdict);
        cJSON_Delete(trial);
    } else {
        cli_progress_print(b, why);
        status = run_starts(b, why, calls, verdict);
        cli_progress_clear();
        if (status == CLI_OK)
            status = store_trial(b, trial, *verdict);
        else
            cJSON_Delete(trial);
    }
    b->next += status == CLI_OK;
    return status;
}

cli_status cli_trial_run(cli_bisection *b, cli_trial_purpose why, const bool *eager, bg_verdict *verdict)
{
    return make_trial(b, why, (call_marks){.eager = eager}, verdict);
}

cli_status cli_trial_run_first(cli_bisection *b, cli_trial_purpose why, const bool *first, bg_verdict *verdict)
{
    return make_trial(b, why, (call_marks){.first = first}, verdict);
}

cli_status cli_trial_run_twice(cli_bisection *b, cli_trial_purpose why, bool *bad)
{
    bg_verdict verdicts[2] = {BG_SKIP, BG_SKIP};
    cli_status status = CLI_OK;
    for (int i = 0; i < 2 && status == CLI_OK; i++)
        status = cli_trial_run(b, why, NULL, &verdicts[i]);
    if (status != CLI_OK)
        return status;
    if (verdicts[0] == BG_SKIP || verdicts[1] == BG_SKIP)
        return cli_bisect_set_sentence(
            b, CLI_UNJUDGED, "'%s', run %s, cannot be judged (status 125); bisect needs a verdict of this run",
            b->argv[0], cli_trial_purpose_names[why]);
    if (verdicts[0] != verdicts[1])
        return cli_bisect_set_sentence(
            b, CLI_NONDETERMINISTIC,
            "'%s', run %s, is good in one trial and bad in another: make its result repeatable, or run it more "
            "often in each trial with --count=N",
            b->argv[0], cli_trial_purpose_names[why]);
    *bad = verdicts[0] == BG_BAD;
    return CLI_OK;
}
