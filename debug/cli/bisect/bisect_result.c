#include "bisect_result.h"

#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect_attached_result.h"
#include "debug/cli/arguments/next_command.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/shell_line.h"

enum { RESULT_VERSION = 1 };

/* ---- lines for a shell ---- */

/* The command line of the program with these calls eager; the caller frees it. NULL: out of host memory. */
static char *make_command_line(const cli_bisection *b, const bool *eager)
{
    char *line = NULL, *list = cli_eager_patterns(b, eager);
    const char *level = getenv("BG_COMPILE"), *prove = getenv("BG_COMPILE_PROVE");
    size_t bytes = 0;
    FILE *out = list != NULL ? open_memstream(&line, &bytes) : NULL;

    if (out == NULL) {
        free(list);
        return NULL;
    }
    if (b->shadow)
        fprintf(out, "BG_SHADOW=calls ");
    if (b->tolerance != NULL) {
        fprintf(out, "BG_TOLERANCE=");
        cli_print_shell_word(out, b->tolerance);
        fputc(' ', out);
    }
    if (b->compiled)
        fprintf(out, "BG_COMPILE=%s ", level != NULL ? level : "3");
    if (b->compiled && prove != NULL)
        fprintf(out, "BG_COMPILE_PROVE=%s ", prove);
    if (list[0] != '\0') {
        fputs(b->compiled ? "BG_COMPILE_OPS=" : "BG_EAGER_OPS=", out);
        cli_print_shell_word(out, list);
        fputc(' ', out);
    }
    if (b->ranks > 0)
        fprintf(out, "breakgraph run --ranks=%d%s -- ", b->ranks, b->oversubscribe ? " --oversubscribe" : "");
    cli_print_shell_words(out, b->argv);
    free(list);
    if (fclose(out) == 0)
        return line;
    free(line);
    return NULL;
}

static char *make_run_line(const cli_bisection *b, const bool *eager)
{
    return b->attached ? cli_attached_command_line(b, eager) : make_command_line(b, eager);
}

static char *make_good_line(const cli_bisection *b)
{
    bool *eager = calloc(b->name_count + 1, sizeof *eager);
    char *line = NULL;
    for (size_t i = 0; eager != NULL && i < b->found; i++)
        eager[b->culprits[i]] = true;
    if (eager != NULL)
        line = make_run_line(b, eager);
    free(eager);
    return line;
}

/* The next command for this result; NULL: none is known. */
static const char *choose_next(const cli_bisection *b, cli_status status)
{
    if (b->compiled)
        return status == CLI_STAYS ? "bisect" : NULL;
    if (b->attached)
        return status == CLI_STAYS ? "check --attach --what=recapture" : NULL;
    switch (status) {
    case CLI_OK:
        return b->shadow ? "check" : strcmp(bg_device_kind(), "host") == 0 ? "run --seeds=20" : "check --what=graph";
    case CLI_FAILED: return b->confirmed ? "check" : b->found > 0 ? "check --what=graph" : NULL;
    case CLI_NONDETERMINISTIC: return "check --what=graph";
    case CLI_STAYS:
        return b->runner && b->without_graph ? "run -e BG_RUNNER_MODE=none"
               : b->shadow                   ? "run --shadow=calls"
                                             : "check";
    default: return NULL;
    }
}

static char *make_next(const cli_bisection *b, cli_status status)
{
    const char *command = choose_next(b, status);
    return command != NULL ? cli_make_next_command(b->arguments, command) : NULL;
}

/* ---- text ---- */

static void print_culprits(const cli_bisection *b, double seconds)
{
    const char *calls =
        b->compiled ? (b->found == 1 ? "this run" : "these runs") : (b->found == 1 ? "this call" : "these calls");
    char *good = make_good_line(b), *bad = make_run_line(b, NULL);
    if (b->attached) {
        cli_attached_print_culprits(b, good != NULL ? good : "", bad != NULL ? bad : "", seconds);
        goto done;
    }
    for (size_t i = 0; i < b->found; i++) {
        const cJSON *call = cJSON_GetArrayItem(b->calls, (int)b->culprits[i]);
        printf("%sculprit%s ", cli_color_on(CLI_RED), cli_color_off());
        cli_print(stdout, "%s (%s%s) at %s:%d", cli_json_text(call, "name"), b->compiled ? "" : "op ",
                  cli_json_text(call, b->compiled ? "run" : "op"), cli_json_text(call, "file"),
                  (int)cli_json_number(call, "line"));
        fputs("\n", stdout);
    }
    printf("%zu of %zu %s, %zu trials, %.1f s\n", b->found, b->name_count,
           b->compiled ? "fused runs of calls" : "captured calls", b->next, seconds);
    printf("confirmed: with only %s %s, the program is bad in %d of %d trials, and with only %s %s it is good\n", calls,
           cli_bisect_bad_word(b), CLI_CONFIRMATIONS, CLI_CONFIRMATIONS, calls, cli_bisect_good_word(b));
    cli_print(stdout, "good: %s", good != NULL ? good : "");
    fputs("\n", stdout);
    cli_print(stdout, "bad:  %s", bad != NULL ? bad : "");
    fputs("\n", stdout);
done:
    free(good);
    free(bad);
}

/* ---- JSON ---- */

/* Replaces the indices of calls by their names. */
cJSON *cli_bisect_trials(const cli_bisection *b)
{
    cJSON *list = cJSON_Duplicate(b->trials, true), *trial, *number;
    cJSON_ArrayForEach(trial, list)
    {
        cJSON *names = cJSON_CreateArray();
        cJSON_ArrayForEach(number, cJSON_GetObjectItemCaseSensitive(trial, "eager"))
        {
            if (number->valuedouble >= 0 && number->valuedouble < (double)b->name_count)
                cJSON_AddItemToArray(names, cJSON_CreateString(b->names[(size_t)number->valuedouble]));
        }
        cJSON_ReplaceItemInObjectCaseSensitive(trial, "eager", names);
        cJSON_AddBoolToObject(trial, "all",
                              strcmp(cli_json_text(trial, "why"), cli_trial_purpose_names[CLI_ALL_EAGER]) == 0);
    }
    return list;
}

static void add_text_and_free(cJSON *root, const char *name, char *line)
{
    cJSON_AddStringToObject(root, name, line != NULL ? line : "");
    free(line);
}

static const char *result_name(const cli_bisection *b, cli_status status)
{
    static const struct {
        cli_status status;
        const char *name;
    } names[] = {{CLI_OK, "no difference"},
                 {CLI_NONDETERMINISTIC, "nondeterministic"},
                 {CLI_STAYS, "stays"},
                 {CLI_UNJUDGED, "cannot be judged"},
                 {CLI_INTERRUPTED, "interrupted"}};
    if (b->order)
        return "order";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    if (status == CLI_FAILED && b->found > 0)
        return b->confirmed ? "culprits" : "not confirmed";
    return "failed";
}

static const char *result_sentence(const cli_bisection *b, cli_status status)
{
    if (status == CLI_FAILED && b->confirmed && b->attached)
        return b->found == 1 ? "the program is good if the culprit runs outside of its graph"
                             : "the program is good if all culprits run outside of their graphs";
    if (status == CLI_FAILED && b->confirmed && b->compiled)
        return b->found == 1 ? "the program is good if the culprit is not fused"
                             : "the program is good if all culprits are not fused";
    if (status == CLI_FAILED && b->confirmed)
        return b->found == 1 ? "the program is good if the culprit is eager"
                             : "the program is good if all culprits are eager";
    for (size_t i = 0; i < cli_exits_count && b->sentence[0] == '\0'; i++)
        if (cli_exits[i].number == (int)status)
            return cli_exits[i].text;
    return b->sentence;
}

static void print_json(const cli_bisection *b, cli_status status, double seconds)
{
    cJSON *root = cJSON_CreateObject(), *culprits;
    char *next;
    cJSON_AddStringToObject(root, "breakgraph", bg_version());
    cJSON_AddNumberToObject(root, "bisect_version", RESULT_VERSION);
    cJSON_AddNumberToObject(root, "exit", status);
    cJSON_AddStringToObject(root, "result", result_name(b, status));
    cJSON_AddStringToObject(root, "sentence", result_sentence(b, status));
    culprits = cJSON_AddArrayToObject(root, "culprits");
    for (size_t i = 0; b->confirmed && i < b->found; i++)
        cJSON_AddItemToArray(culprits, b->attached
                                           ? cli_attached_culprit(b, i)
                                           : cJSON_Duplicate(cJSON_GetArrayItem(b->calls, (int)b->culprits[i]), true));
    if (b->found > 0) {
        cJSON_AddBoolToObject(root, "confirmed", b->confirmed);
        add_text_and_free(root, "good", make_good_line(b));
        add_text_and_free(root, "bad", make_run_line(b, NULL));
        if (b->attached)
            add_text_and_free(root, "bad_by_order", cli_attached_bad_command_line(b));
    }
    next = make_next(b, status);
    if (next != NULL)
        add_text_and_free(root, "next", next);
    cJSON_AddNumberToObject(root, "calls", (double)b->name_count);
    cJSON_AddItemToObject(root, "trials", cli_bisect_trials(b));
    cJSON_AddNumberToObject(root, "seconds", seconds);
    cli_json_print(root);
    cJSON_Delete(root);
}

static void print_sentence(const char *sentence)
{
    fputs(cli_color_on(CLI_GREEN), stdout);
    cli_print(stdout, "%s", sentence);
    printf("%s\n", cli_color_off());
}

/* Prints the next command as the last line, after the reason. */
static void print_next(const cli_bisection *b, cli_status status, FILE *out)
{
    char *next = make_next(b, status);
    if (next != NULL) {
        cli_print(out, "next: %s", next);
        fputc('\n', out);
    }
    free(next);
}

void cli_bisect_print(const cli_bisection *b, cli_status status, double seconds)
{
    bool said = b->sentence[0] != '\0';
    if (b->json)
        print_json(b, status, seconds);
    else if (b->confirmed)
        print_culprits(b, seconds);
    else if (status == CLI_OK)
        print_sentence(b->sentence);
    if (status != CLI_OK && said)
        (void)cli_print_message(status, "%s", b->sentence);
    if (!b->json)
        print_next(b, status, status != CLI_OK && said ? stderr : stdout);
}
