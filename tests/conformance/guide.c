#include "guide.h"

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

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- one rule -------------------------------------------------------------------------------------------------- */

enum { COMMENT_COLUMN = 68, FINAL_LINES = 3 };

/* Success needs no mention where the call is a plain step, and few words elsewhere. */
static void write_answer(FILE *file, int column, const char *answer)
{
    static const char *const successes[] = {"cudaSuccess", "CUDA_SUCCESS"};
    const char *shown = answer;
    fprintf(file, "%*s  // ", column < COMMENT_COLUMN ? COMMENT_COLUMN - column : 0, "");
    for (size_t i = 0; i < sizeof successes / sizeof successes[0]; i++) {
        if (!begins_with(answer, successes[i]))
            continue;
        fputs("success", file);
        shown += strlen(successes[i]);
    }
    fprintf(file, "%s\n", shown);
}

/* Assignments have their semicolon already. */
static bool is_call(const char *text)
{
    size_t length = strlen(text);
    return strchr(text, '(') && strncmp(text, "/*", 2) != 0 && strncmp(text, "x after", 7) != 0 &&
           text[length - 1] != ';';
}

/* Macros reached the transcript as what they stand for. Gives the length. */
static int write_names(FILE *file, const char *text)
{
    static const char *const names[][2] = {
        {"((void *)0)", "NULL"},
        {"((cudaStream_t)0x1)", "cudaStreamLegacy"},
        {"((cudaStream_t)0x2)", "cudaStreamPerThread"},
    };
    int length = 0;
    while (*text) {
        size_t i = 0, count = sizeof names / sizeof names[0];
        while (i < count && strncmp(text, names[i][0], strlen(names[i][0])) != 0)
            i++;
        length += i < count ? fprintf(file, "%s", names[i][1]) : fprintf(file, "%c", *text);
        text += i < count ? strlen(names[i][0]) : 1;
    }
    return length;
}

static const char thread_mark[] = "[thread 2] ";

static const char *without_thread(const char *call)
{
    return strncmp(call, thread_mark, sizeof thread_mark - 1) == 0 ? call + sizeof thread_mark - 1 : call;
}

/* Thread 2's calls are marked as such. */
static int write_call(FILE *file, const char *call)
{
    const char *text = without_thread(call);
    int length = text == call ? 0 : fprintf(file, "/* thread 2 */ ");
    length += write_names(file, text);
    return length + (is_call(text) ? fprintf(file, ";") : 0);
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

/* ---- a topic by mode --------------------------------------------------------------------------------------------- */

enum { MODES = 3 }; /* each has two rows: what the call gave, and the capture's end */

static void write_mode(FILE *file, const struct expected_row *call, const struct expected_row *end)
{
    if (strcmp(call->answer, "cudaSuccess") == 0 && begins_with(end->answer, "cudaSuccess,"))
        fputs(" allowed |", file);
    else if (strcmp(call->answer, "cudaErrorStreamCaptureUnsupported") == 0 &&
             begins_with(end->answer, "cudaErrorStreamCaptureInvalidated,"))
        fputs(" refused |", file);
    else
        fprintf(file, " %s, and the end: %s |", call->answer, end->answer);
}

static bool write_by_mode(FILE *file, const struct expected *expected, const struct case_topic *topic, char *problem)
{
    fputs("| what | call | global | thread-local | relaxed |\n| --- | --- | --- | --- | --- |\n", file);
    for (size_t i = 0; i < topic->count; i++) {
        const char *name = topic->rules[i].body->name;
        size_t count = 0;
        const struct expected_row *rows = expected_find(expected, name, &count);
        if (!rows || count != 2 * MODES + FINAL_LINES)
            return fail(problem, "no recorded answers for the three modes of ", name);
        fprintf(file, "| <a id=\"%s\"></a>%s | `", name, topic->rules[i].sentence);
        write_names(file, without_thread(rows[0].call));
        fputs("` |", file);
        for (size_t mode = 0; mode < MODES; mode++)
            write_mode(file, &rows[2 * mode], &rows[2 * mode + 1]);
        fputc('\n', file);
    }
    fputc('\n', file);
    return true;
}

/* ---- which error where ----------------------------------------------------------------------------------------- */

/* The answer's error: what stands before the first comma. NULL: it is none, or the end of an invalidated capture, which
 * half of the cases have. */
static const char *error_of(const struct expected_row *row, char *name, size_t room)
{
    if (!(begins_with(row->answer, "cudaError") || begins_with(row->answer, "CUDA_ERROR")) ||
        begins_with(row->call, "afterwards"))
        return NULL;
    snprintf(name, room, "%.*s", (int)strcspn(row->answer, ","), row->answer);
    bool usual = strcmp(name, "cudaErrorStreamCaptureInvalidated") == 0 &&
                 begins_with(without_thread(row->call), "cudaStreamEndCapture");
    return usual ? NULL : name;
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

static void write_link(FILE *file, const struct case_topic *topic)
{
    fprintf(file, "  - [%s](#", topic->title);
    write_anchor(file, topic->title);
    fputc(')', file);
}

/* The topic's cases that give the error. In a table they need no list. */
static void write_cases_of(FILE *file, const struct expected *expected, const struct case_topic *topic,
                           const char *error)
{
    const char *between = ": ";
    bool any = false;
    for (size_t i = 0; i < topic->count; i++) {
        const char *name = topic->rules[i].body->name;
        if (!case_gives(expected, name, error))
            continue;
        if (!any)
            write_link(file, topic);
        any = true;
        if (topic->by_mode)
            break;
        fprintf(file, "%s[%s](#%s)", between, name, name);
        between = ", ";
    }
    if (any)
        fprintf(file, "%s\n", topic->by_mode ? ": what is refused there" : "");
}

/* Do the page's cases give the error of this row, and is it the first row of them that has it? */
static bool is_first(const struct expected *expected, const struct case_page *page, size_t row, const char *error)
{
    char name[CASE_ANSWER_MAX];
    for (size_t i = 0; i < row; i++)
        if (error_of(&expected->rows[i], name, sizeof name) && strcmp(name, error) == 0)
            return false;
    for (size_t t = 0; t < page->count; t++)
        for (size_t i = 0; i < page->topics[t]->count; i++)
            if (case_gives(expected, page->topics[t]->rules[i].body->name, error))
                return true;
    return false;
}

static void write_errors(FILE *file, const struct expected *expected, const struct case_page *page)
{
    char name[CASE_ANSWER_MAX];
    fputs("## Which error did you get?\n\nThe cases that give each error. The end of an invalidated capture always "
          "gives `cudaErrorStreamCaptureInvalidated`; such ends are left out here.\n\n",
          file);
    for (size_t i = 0; i < expected->count; i++) {
        if (!error_of(&expected->rows[i], name, sizeof name) || !is_first(expected, page, i, name))
            continue;
        fprintf(file, "- `%s`\n", name);
        for (size_t t = 0; t < page->count; t++)
            write_cases_of(file, expected, page->topics[t], name);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

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
    "- An *invalidated* capture gives no graph any more: its end returns an error.\n"
    "- Each rule has an anchor with the name of its case in the tests; the last section lists them by "
    "error.\n\n"
    "This page is generated from [tests/conformance](../../tests/conformance): `make docs` writes it.\n\n";

static void write_contents(FILE *file, const struct case_page *page)
{
    fputs("## Contents\n\n", file);
    for (size_t t = 0; t < page->count; t++) {
        fprintf(file, "- [%s](#", page->topics[t]->title);
        write_anchor(file, page->topics[t]->title);
        fputs(")\n", file);
    }
    fputs("- [Which error did you get?](#which-error-did-you-get)\n\n", file); /* as write_errors titles it */
}

static bool write_topic(FILE *file, const struct expected *expected, const struct case_topic *topic, char *problem)
{
    fprintf(file, "## %s\n\n%s\n\n", topic->title, topic->introduction);
    if (topic->by_mode)
        return write_by_mode(file, expected, topic, problem);
    for (size_t i = 0; i < topic->count; i++)
        if (!write_rule(file, expected, &topic->rules[i], problem))
            return false;
    return true;
}

bool guide_write(const struct expected *expected, const struct case_page *page, FILE *file, char *problem)
{
    fprintf(file,
            "# %s\n\n%s Every rule below is a program that ran on a GPU; what stands behind `//` is what CUDA "
            "answered.\n\n",
            page->title, page->introduction);
    fprintf(file, "GPU: %s. Driver: %s.\n\n", expected->gpu, expected->driver);
    fputs(conventions, file);
    write_contents(file, page);
    for (size_t t = 0; t < page->count; t++)
        if (!write_topic(file, expected, page->topics[t], problem))
            return false;
    write_errors(file, expected, page);
    return ferror(file) ? fail(problem, "the page cannot be written: ", page->file) : true;
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

bool guide_check(const struct expected *expected, const struct case_page *page, char *problem)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return fail(problem, "no memory for ", page->file);
    bool written = guide_write(expected, page, memory, problem);
    if (fclose(memory) != 0 && written)
        written = fail(problem, "no memory for ", page->file);
    if (written && !same_text(page->file, text))
        written = fail(problem, page->file, " is not what the table and its answers give: 'make docs' writes it");
    free(text);
    return written;
}
