#include "expected.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define RERECORD "on a machine with a GPU, 'make record' renews it"

static bool fail(char *problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, EXPECTED_PROBLEM_MAX, format, arguments);
    va_end(arguments);
    return false;
}

void expected_hash(const struct case_body *body, char *hash)
{
    unsigned long long value = XXH64(body->source, strlen(body->source), 0);
    snprintf(hash, EXPECTED_HASH_MAX, "%016llx", value);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static char *read_all(FILE *file)
{
    size_t length = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text) {
        length += fread(text + length, 1, room - 1 - length, file);
        if (length < room - 1)
            break;
        char *grown = realloc(text, room *= 2);
        if (!grown)
            free(text);
        text = grown;
    }
    if (text)
        text[length] = 0;
    return text;
}

/* Cuts the field off at the next tab. NULL: there is none. */
static char *cut(char **rest)
{
    char *field = *rest, *tab = field ? strchr(field, '\t') : NULL;
    if (!tab)
        return NULL;
    *tab = 0;
    *rest = tab + 1;
    return field;
}

static bool parse_row(char *line, struct expected_row *row)
{
    row->name = cut(&line);
    row->hash = cut(&line);
    row->call = cut(&line);
    row->answer = line;
    return row->name && row->hash && row->call && *row->answer && !strchr(row->answer, '\t');
}

static void parse_comment(struct expected *expected, const char *line)
{
    if (strncmp(line, "# gpu: ", 7) == 0)
        expected->gpu = line + 7;
    else if (strncmp(line, "# driver: ", 10) == 0)
        expected->driver = line + 10;
}

/* A table filled in without a GPU says so, as a whole or for a case: it is nothing to be held to. */
static bool is_recorded(const char *text)
{
    return text[0] && !strstr(text, EXPECTED_UNRECORDED);
}

static bool check_recorded(const struct expected *expected, const char *path, char *problem)
{
    if (!expected->gpu || !expected->driver)
        return fail(problem, "%s: no line '# gpu: ' or '# driver: ' says where it was recorded; " RERECORD, path);
    if (!is_recorded(expected->gpu) || !is_recorded(expected->driver))
        return fail(problem, "%s: recorded on the GPU '%s' with the driver '%s', which is no GPU's record; " RERECORD,
                    path, expected->gpu, expected->driver);
    for (size_t i = 0; i < expected->count; i++)
        if (!is_recorded(expected->rows[i].answer))
            return fail(problem, "%s: %s is unrecorded; " RERECORD, path, expected->rows[i].name);
    return true;
}

static bool parse(struct expected *expected, const char *path, char *problem)
{
    size_t lines = 1, number = 0;
    char *rest = expected->text, *line;
    for (const char *at = expected->text; *at; at++)
        lines += *at == '\n';
    expected->rows = calloc(lines, sizeof *expected->rows);
    if (!expected->rows)
        return fail(problem, "%s: no memory for %zu lines", path, lines);
    while ((line = strsep(&rest, "\n")) != NULL) {
        number++;
        if (line[0] == '#')
            parse_comment(expected, line);
        else if (line[0] && !parse_row(line, &expected->rows[expected->count++]))
            return fail(problem,
                        "%s:%zu: not four fields, case, hash, observation and answer, with tabs between; " RERECORD,
                        path, number);
    }
    return check_recorded(expected, path, problem);
}

bool expected_read(struct expected *expected, const char *path, char *problem)
{
    memset(expected, 0, sizeof *expected);
    FILE *file = fopen(path, "r");
    if (!file)
        return fail(problem, "%s cannot be opened: run from the repository's root; " RERECORD, path);
    expected->text = read_all(file);
    bool read = expected->text && !ferror(file);
    fclose(file);
    if (!read)
        fail(problem, "%s cannot be read", path);
    if (read && parse(expected, path, problem))
        return true;
    expected_free(expected);
    return false;
}

void expected_free(struct expected *expected)
{
    free(expected->rows);
    free(expected->text);
    memset(expected, 0, sizeof *expected);
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

const struct expected_row *expected_find(const struct expected *expected, const char *name, size_t *count)
{
    size_t first = 0;
    while (first < expected->count && strcmp(expected->rows[first].name, name) != 0)
        first++;
    *count = 0;
    while (first + *count < expected->count && strcmp(expected->rows[first + *count].name, name) == 0)
        ++*count;
    return *count ? &expected->rows[first] : NULL;
}

static bool compare_line(const struct case_rule *rule, const struct expected_row *row, const struct case_line *line,
                         char *problem)
{
    const char *name = rule->body->name;
    if (strcmp(row->call, line->call) != 0)
        return fail(problem, "%s: observation '%s', recorded was '%s': the row is stale; " RERECORD, name, line->call,
                    row->call);
    if (strcmp(row->answer, line->answer) != 0)
        return fail(problem, "%s: %s -- %s: expected %s, found %s", name, rule->sentence, row->call, row->answer,
                    line->answer);
    return true;
}

bool expected_compare(const struct expected *expected, const struct case_rule *rule, const struct scene *found,
                      char *problem)
{
    const char *name = rule->body->name;
    char hash[EXPECTED_HASH_MAX];
    size_t count = 0, next = 0;
    const struct expected_row *rows = expected_find(expected, name, &count);
    expected_hash(rule->body, hash);
    if (found->wrong[0])
        return fail(problem, "%s: %s", name, found->wrong);
    if (!rows)
        return fail(problem, "%s: %s has no row of this case; " RERECORD, name, EXPECTED_FILE);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].hash, hash) != 0)
            return fail(problem, "%s: the case is no longer what was recorded (hash %s, recorded %s); " RERECORD, name,
                        hash, rows[i].hash);
    for (int i = 0; i < found->count; i++) {
        if (!found->lines[i].asked)
            continue;
        if (next == count)
            return fail(problem, "%s: no row for the observation '%s'; " RERECORD, name, found->lines[i].call);
        if (!compare_line(rule, &rows[next++], &found->lines[i], problem))
            return false;
    }
    if (next < count)
        return fail(problem, "%s: recorded was '%s', which is no longer observed; " RERECORD, name, rows[next].call);
    return true;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

void expected_write_head(FILE *file, const char *gpu, const char *driver)
{
    fprintf(file,
            "# What CUDA answers in the conformance cases. Written by tests/conformance/record on a GPU; not to be "
            "edited.\n"
            "# gpu: %s\n# driver: %s\n# case\thash\tobservation\tanswer\n",
            gpu, driver);
}

void expected_write(FILE *file, const struct case_body *body, const struct scene *found)
{
    char hash[EXPECTED_HASH_MAX];
    expected_hash(body, hash);
    for (int i = 0; i < found->count; i++)
        if (found->lines[i].asked)
            fprintf(file, "%s\t%s\t%s\t%s\n", body->name, hash, found->lines[i].call, found->lines[i].answer);
}
