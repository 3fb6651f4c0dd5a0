#include "guide.h"

#include "cases.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool fail(char *problem, const char *what, const char *detail)
{
    snprintf(problem, EXPECTED_PROBLEM_MAX, "%s%s", what, detail);
    return false;
}

/* As GitHub makes anchors of titles. */
static void write_anchor(FILE *file, const char *title)
{
    for (; *title; title++) {
        if (*title == ' ')
            fputc('-', file);
        else if (isalnum((unsigned char)*title) || *title == '-' || *title == '_')
            fputc(tolower((unsigned char)*title), file);
    }
}

/* ---- one rule -------------------------------------------------------------------------------------------------- */

enum { COMMENT_COLUMN = 68, FINAL_LINES = 3 };

/* Success needs no mention where the call is a plain step, and few words elsewhere. */
static void write_answer(FILE *file, int column, const char *answer)
{
    const char *shown = answer;
    fprintf(file, "%*s  // ", column < COMMENT_COLUMN ? COMMENT_COLUMN - column : 0, "");
    if (strncmp(answer, "cudaSuccess", 11) == 0) {
        fputs("success", file);
        shown += 11;
    }
    fprintf(file, "%s\n", shown);
}

static bool is_call(const char *text)
{
    return strchr(text, '(') && strncmp(text, "/*", 2) != 0 && strncmp(text, "x after", 7) != 0;
}

/* Thread 2's calls are marked as such. */
static int write_call(FILE *file, const char *call)
{
    static const char mark[] = "[thread 2] ";
    bool other = strncmp(call, mark, sizeof mark - 1) == 0;
    const char *text = other ? call + sizeof mark - 1 : call;
    return fprintf(file, "%s%s%s", other ? "/* thread 2 */ " : "", text, is_call(text) ? ";" : "");
}

static const char *find_answer(const struct expected_row *rows, size_t count, const char *call)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].call, call) == 0)
            return rows[i].answer;
    return NULL;
}

static bool write_rule(FILE *file, const struct expected *expected, const struct case_rule *rule, char *problem)
{
    static struct scene scene;
    size_t count = 0, next = 0;
    const struct expected_row *rows = expected_find(expected, rule->body->name, &count);
    if (!rows)
        return fail(problem, "no recorded answer for ", rule->body->name);
    case_run(rule->body, &scene);
    fprintf(file, "<a id=\"%s\"></a>\n%s\n\n```c\n", rule->body->name, rule->sentence);
    for (int i = 0; i < scene.count - FINAL_LINES; i++) {
        int column = write_call(file, scene.lines[i].call);
        if (!scene.lines[i].asked)
            fputc('\n', file);
        else if (next < count)
            write_answer(file, column, rows[next++].answer);
        else
            return fail(problem, "too few recorded answers for ", rule->body->name);
    }
    fputs("```\n", file);
    const char *capturing = find_answer(rows, count, "afterwards: capturing");
    if (capturing && strcmp(capturing, "none") != 0)
        fprintf(file, "Afterwards: %s.\n", capturing);
    fputc('\n', file);
    return true;
}

/* ---- which error where ----------------------------------------------------------------------------------------- */

/* The answer's error: what stands before the first comma. NULL: it is none. */
static const char *error_of(const struct expected_row *row, char *name, size_t room)
{
    if (strncmp(row->answer, "cudaError", 9) != 0 || strncmp(row->call, "afterwards", 10) == 0)
        return NULL;
    snprintf(name, room, "%.*s", (int)strcspn(row->answer, ","), row->answer);
    return name;
}

static bool case_gives(const struct expected *expected, const char *body, const char *error)
{
    char name[CASE_ANSWER_MAX];
    size_t count = 0;
    const struct expected_row *rows = expected_find(expected, body, &count);
    for (size_t i = 0; i < count; i++)
        if (error_of(&rows[i], name, sizeof name) && strcmp(name, error) == 0)
            return true;
    return false;
}

static void write_cases_of(FILE *file, const struct expected *expected, const char *error)
{
    const char *between = "";
    for (size_t t = 0; t < case_topic_count; t++) {
        for (size_t i = 0; i < case_topics[t]->count; i++) {
            const char *name = case_topics[t]->rules[i].body->name;
            if (!case_gives(expected, name, error))
                continue;
            fprintf(file, "%s[%s](#%s)", between, name, name);
            between = ", ";
        }
    }
}

static bool seen_before(const struct expected *expected, size_t row, const char *error)
{
    char name[CASE_ANSWER_MAX];
    for (size_t i = 0; i < row; i++)
        if (error_of(&expected->rows[i], name, sizeof name) && strcmp(name, error) == 0)
            return true;
    return false;
}

static void write_errors(FILE *file, const struct expected *expected)
{
    char name[CASE_ANSWER_MAX];
    fputs("## Which error did you get?\n\n| error | cases that give it |\n| --- | --- |\n", file);
    for (size_t i = 0; i < expected->count; i++) {
        if (!error_of(&expected->rows[i], name, sizeof name) || seen_before(expected, i, name))
            continue;
        fprintf(file, "| `%s` | ", name);
        write_cases_of(file, expected, name);
        fputs(" |\n", file);
    }
    fputc('\n', file);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static const char introduction[] =
    "# What CUDA answers during stream capture\n\n"
    "Which calls may a program make while a stream captures? Which error does it get otherwise, and what is left of "
    "the\n"
    "capture? Every rule below is a program that ran on a GPU; what stands behind `//` is what CUDA answered.\n\n";

static const char conventions[] =
    "How to read the programs:\n\n"
    "- `a`, `b` and `c` are streams made with `cudaStreamNonBlocking`, `blocking` is one made with "
    "`cudaStreamCreate`;\n"
    "  `e`, `f` and `event` are events, `x` is an int in device memory, and `kernel` adds 1 to it.\n"
    "- A call without an answer succeeded. `cudaStreamEndCapture` is followed by its code and what became of the "
    "graph;\n"
    "  `cudaStreamIsCapturing` and `cudaStreamGetCaptureInfo` by the status that they gave.\n"
    "- \"Afterwards\" lists the streams that were left in a capture. In every case, all streams could capture, launch "
    "and run\n"
    "  plain work again as soon as those captures had been ended.\n"
    "- An *invalidated* capture gives no graph any more: its end returns an error.\n\n"
    "This page is generated from [tests/conformance](../tests/conformance): `make docs` writes it.\n\n";

static void write_contents(FILE *file)
{
    fputs("## Contents\n\n", file);
    for (size_t t = 0; t < case_topic_count; t++) {
        fprintf(file, "- [%s](#", case_topics[t]->title);
        write_anchor(file, case_topics[t]->title);
        fputs(")\n", file);
    }
    fputs("- [Which error did you get?](#which-error-did-you-get)\n\n", file);
}

bool guide_write(const struct expected *expected, FILE *file, char *problem)
{
    fputs(introduction, file);
    fprintf(file, "GPU: %s. Driver: %s.\n\n", expected->gpu, expected->driver);
    fputs(conventions, file);
    write_contents(file);
    for (size_t t = 0; t < case_topic_count; t++) {
        fprintf(file, "## %s\n\n%s\n\n", case_topics[t]->title, case_topics[t]->introduction);
        for (size_t i = 0; i < case_topics[t]->count; i++)
            if (!write_rule(file, expected, &case_topics[t]->rules[i], problem))
                return false;
    }
    write_errors(file, expected);
    return ferror(file) ? fail(problem, "the guide cannot be written", "") : true;
}

static bool same_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    while (*text && fgetc(file) == (unsigned char)*text)
        text++;
    bool same = !*text && fgetc(file) == EOF;
    fclose(file);
    return same;
}

bool guide_check(const struct expected *expected, const char *path, char *problem)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return fail(problem, "no memory for ", path);
    bool written = guide_write(expected, memory, problem);
    if (fclose(memory) != 0 && written)
        written = fail(problem, "no memory for ", path);
    if (written && !same_text(path, text))
        written = fail(problem, path, " is not what the table and its answers give: 'make docs' writes it");
    free(text);
    return written;
}
