#include "result.h"

#include <breakgraph/breakgraph.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/output/exits.h"
#include "debug/cli/output/json.h"

enum { RESULT_VERSION = 1 };

/* ---- a line for a shell ---- */

static void quote(FILE *out, const char *word)
{
    bool plain = word[0] != '\0';
    for (const char *c = word; *c != '\0' && plain; c++)
        plain = isalnum((unsigned char)*c) || strchr("-_./=:,@%+", *c) != NULL;
    if (plain) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
    fputc('\'', out);
}

/* The program with these calls eager; the caller frees it. NULL: out of host memory. */
static char *make_line(const cli_bisection *b, const bool *eager)
{
    char *line = NULL, *list = cli_eager_list(b, eager);
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
        quote(out, b->tolerance);
        fputc(' ', out);
    }
    if (list[0] != '\0') {
        fprintf(out, "BG_EAGER_OPS=");
        quote(out, list);
        fputc(' ', out);
    }
    if (b->ranks > 0)
        fprintf(out, "breakgraph run --ranks=%d%s -- ", b->ranks, b->oversubscribe ? " --oversubscribe" : "");
    for (char *const *word = b->argv; *word != NULL; word++) {
        fputs(word > b->argv ? " " : "", out);
        quote(out, *word);
    }
    free(list);
    if (fclose(out) == 0)
        return line;
    free(line);
    return NULL;
}

static char *make_good_line(const cli_bisection *b)
{
    bool *eager = calloc(b->name_count + 1, sizeof *eager);
    char *line = NULL;
    for (size_t i = 0; eager != NULL && i < b->found; i++)
        eager[b->culprits[i]] = true;
    if (eager != NULL)
        line = make_line(b, eager);
    free(eager);
    return line;
}

/* ---- text ---- */

static void print_culprits(const cli_bisection *b, double seconds)
{
    const char *calls = b->found == 1 ? "this call" : "these calls";
    char *good = make_good_line(b), *bad = make_line(b, NULL);
    for (size_t i = 0; i < b->found; i++) {
        const cJSON *call = cJSON_GetArrayItem(b->calls, (int)b->culprits[i]);
        printf("%sculprit%s ", cli_color_on(CLI_RED), cli_color_off());
        cli_print(stdout, "%s (op %s) at %s:%d", cli_text(call, "name"), cli_text(call, "op"), cli_text(call, "file"),
                  (int)cli_number(call, "line"));
        fputs("\n", stdout);
    }
    printf("%zu of %zu captured calls, %zu trials, %.1f s\n", b->found, b->name_count, b->next, seconds);
    if (b->confirmed)
        printf("confirmed: with only %s captured, the program is bad\n", calls);
    else if (b->unjudged)
        printf("not confirmed: with only %s captured, the program crashes, hangs or cannot be judged\n", calls);
    else
        printf("not confirmed: with only %s captured, the program is good; the fault needs other captured calls, too\n",
               calls);
    cli_print(stdout, "good: %s", good != NULL ? good : "");
    fputs("\n", stdout);
    cli_print(stdout, "bad:  %s", bad != NULL ? bad : "");
    fputs("\n", stdout);
    free(good);
    free(bad);
}

/* ---- JSON ---- */

/* Names, not numbers. */
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
        cJSON_AddBoolToObject(trial, "all", strcmp(cli_text(trial, "why"), cli_why_names[CLI_ALL_EAGER]) == 0);
    }
    return list;
}

static void add_line(cJSON *root, const char *name, char *line)
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
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return b->found > 0 && status == CLI_FAILED ? "culprits" : "failed";
}

static const char *sentence_of(const cli_bisection *b, cli_status status)
{
    if (status == CLI_FAILED && b->found > 0)
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
    cJSON_AddStringToObject(root, "breakgraph", bg_version());
    cJSON_AddNumberToObject(root, "bisect_version", RESULT_VERSION);
    cJSON_AddNumberToObject(root, "exit", status);
    cJSON_AddStringToObject(root, "result", result_name(b, status));
    cJSON_AddStringToObject(root, "sentence", sentence_of(b, status));
    culprits = cJSON_AddArrayToObject(root, "culprits");
    for (size_t i = 0; i < b->found; i++)
        cJSON_AddItemToArray(culprits, cJSON_Duplicate(cJSON_GetArrayItem(b->calls, (int)b->culprits[i]), true));
    if (b->found > 0) {
        cJSON_AddBoolToObject(root, "confirmed", b->confirmed);
        add_line(root, "good", make_good_line(b));
        add_line(root, "bad", make_line(b, NULL));
    }
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

void cli_bisect_print(const cli_bisection *b, cli_status status, double seconds)
{
    if (b->json)
        print_json(b, status, seconds);
    else if (status == CLI_FAILED && b->found > 0)
        print_culprits(b, seconds);
    else if (status == CLI_OK)
        print_sentence(b->sentence);
    if (status != CLI_OK && b->sentence[0] != '\0')
        (void)cli_say(status, "%s", b->sentence);
}
