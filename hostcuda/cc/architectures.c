#include "architectures.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc_memory.h"

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* ---- conditions of #if ------------------------------------------------------------------------------------------- */

/* The value of a preprocessor expression. `known`: the value does not depend on macros of the program. */
typedef struct value {
    bool known;
    long number;
} value;

typedef struct expression {
    const char *at;
    bool needs_newer; /* whether it requires a minimum __CUDA_ARCH__ */
    int depth;
    long architecture; /* 0: __CUDA_ARCH__ is not defined */
} expression;

static value read_or(expression *e);

static void skip_blanks(expression *e)
{
    while (isspace((unsigned char)*e->at) || *e->at == '\\')
        e->at++;
}

static bool accept_sign(expression *e, const char *sign)
{
    size_t length = strlen(sign);
    skip_blanks(e);
    if (strncmp(e->at, sign, length) != 0)
        return false;
    e->at += length;
    return true;
}

/* Skips the word at e->at if it is __CUDA_ARCH__. */
static bool accept_architecture(expression *e)
{
    static const char name[] = "__CUDA_ARCH__";
    bool is = strncmp(e->at, name, sizeof name - 1) == 0 && !is_word_character(e->at[sizeof name - 1]);
    while (is_word_character(*e->at))
        e->at++;
    return is;
}

static value read_defined(expression *e)
{
    bool bracket = accept_sign(e, "("), is;
    skip_blanks(e);
    is = accept_architecture(e);
    if (bracket)
        (void)accept_sign(e, ")");
    return (value){is, e->architecture > 0};
}

static value read_operand(expression *e)
{
    enum { DEPTH_MAX = 1000 };
    if (e->depth++ > DEPTH_MAX)
        return (value){false, 0};
    if (accept_sign(e, "!")) {
        value v = read_operand(e);
        return (value){v.known, !v.number};
    }
    if (accept_sign(e, "(")) {
        value v = read_or(e);
        (void)accept_sign(e, ")");
        return v;
    }
    skip_blanks(e);
    if (isdigit((unsigned char)*e->at)) {
        char *end;
        value v = {true, strtol(e->at, &end, 0)};
        e->at = end;
        while (is_word_character(*e->at)) /* 800L */
            e->at++;
        return v;
    }
    if (strncmp(e->at, "defined", strlen("defined")) == 0 && !is_word_character(e->at[strlen("defined")])) {
        e->at += strlen("defined");
        return read_defined(e);
    }
    if (is_word_character(*e->at))
        return (value){accept_architecture(e), e->architecture}; /* nothing is known about other macros */
    return (value){false, 0};
}

static long compare_numbers(int sign, long a, long b)
{
    switch (sign) {
    case 0: return a >= b;
    case 1: return a <= b;
    case 2: return a == b;
    case 3: return a != b;
    case 4: return a > b;
    default: return a < b;
    }
}

static value read_comparison(expression *e)
{
    static const char *const signs[] = {">=", "<=", "==", "!=", ">", "<"};
    const char *from = e->at;
    value a = read_operand(e);
    for (int i = 0; i < (int)(sizeof signs / sizeof *signs); i++) {
        if (!accept_sign(e, signs[i]))
            continue;
        value b = read_operand(e);
        bool needs_newer = signs[i][0] == '>' || strcmp(signs[i], "==") == 0;
        e->needs_newer |=
            needs_newer && memmem(from, (size_t)(e->at - from), "__CUDA_ARCH__", strlen("__CUDA_ARCH__")) != NULL;
        return (value){a.known && b.known, compare_numbers(i, a.number, b.number)};
    }
    return a;
}

static value read_and(expression *e)
{
    value a = read_comparison(e);
    while (accept_sign(e, "&&")) {
        value b = read_comparison(e);
        bool no = (a.known && a.number == 0) || (b.known && b.number == 0);
        a = (value){no || (a.known && b.known), !no && a.number != 0 && b.number != 0};
    }
    return a;
}

static value read_or(expression *e)
{
    value a = read_and(e);
    while (accept_sign(e, "||")) {
        value b = read_and(e);
        bool yes = (a.known && a.number != 0) || (b.known && b.number != 0);
        a = (value){yes || (a.known && b.known), yes || a.number != 0 || b.number != 0};
    }
    return a;
}

/* ---- scanning a file --------------------------------------------------------------------------------------------- */

typedef struct braces {
    size_t depth, function; /* function: the depth of the outermost brace of a function; 0: outside of functions */
} braces;

/* An open #if. */
typedef struct condition {
    value now;       /* the condition of the current branch */
    bool sure;       /* all conditions around it hold */
    bool is_dropped; /* the current branch is dropped because __CUDA_ARCH__ is undefined */
    bool another;    /* another branch may be compiled */
    unsigned line;   /* line of the first dropped branch that has code; 0: none */
    size_t code;     /* where the current branch begins */
    braces before;   /* the braces at the start of the first branch */
} condition;

typedef struct scan {
    const char *name;
    char *raw, *text; /* `text` is `raw` with comments and quoted text blanked out; both have the same length */
    size_t length;
    condition *open;
    size_t count, capacity;
    braces braces;
    size_t statement; /* where the current statement begins */
    bool defines;     /* the program defines __CUDA_ARCH__ itself, so dropped code is no error */
    bool good;
} scan;

/* Returns the end of a raw string R"mark( ... )mark" whose " is at i, or 0 if it is none. */
static size_t end_of_raw_string(const scan *s, size_t i)
{
    const char *from = s->raw + i + 1;
    size_t mark = strcspn(from, "( \\)\n\"");
    char *close;
    const char *end;
    if (i == 0 || s->raw[i] != '"' || s->raw[i - 1] != 'R' || from[mark] != '(')
        return 0;
    close = hcc_format(")%.*s\"", (int)mark, from);
    end = strstr(from, close);
    free(close);
    return end != NULL ? (size_t)(end - s->raw) + mark + 2 : 0;
}

/* Returns the end of the comment that begins at i. */
static size_t end_of_comment(const scan *s, size_t i)
{
    const char *end = s->raw[i + 1] == '/' ? strchr(s->raw + i, '\n') : strstr(s->raw + i + 2, "*/");
    if (end == NULL)
        return s->length;
    return (size_t)(end - s->raw) + (s->raw[i + 1] == '/' ? 0 : 2);
}

static size_t end_of_quoted(const scan *s, size_t i)
{
    size_t end = end_of_raw_string(s, i);
    if (end > 0)
        return end;
    end = i + 1;
    while (end < s->length && s->raw[end] != s->raw[i] && s->raw[end] != '\n')
        end += s->raw[end] == '\\' ? 2 : 1;
    return end < s->length ? end + (s->raw[end] == s->raw[i]) : s->length;
}

static void blank_comments(scan *s)
{
    for (size_t i = 0; i < s->length;) {
        bool comment = s->raw[i] == '/' && (s->raw[i + 1] == '/' || s->raw[i + 1] == '*');
        bool separator = s->raw[i] == '\'' && i > 0 && isxdigit((unsigned char)s->raw[i - 1]); /* 1'000 */
        bool quoted = s->raw[i] == '"' || (s->raw[i] == '\'' && !separator);
        size_t end = comment ? end_of_comment(s, i) : quoted ? end_of_quoted(s, i) : i + 1;
        for (; i < end; i++)
            if ((comment || quoted) && s->text[i] != '\n')
                s->text[i] = ' ';
    }
}

static bool has_word(const char *text, size_t length, const char *word)
{
    size_t bytes = strlen(word);
    for (size_t i = 0; i + bytes <= length; i++)
        if (memcmp(text + i, word, bytes) == 0 && (i == 0 || !is_word_character(text[i - 1])) &&
            (i + bytes == length || !is_word_character(text[i + bytes])))
            return true;
    return false;
}

/* Whether the { at i begins the body of a device function. In other functions, nvcc drops the code, too. */
static bool begins_function(const scan *s, size_t i)
{
    const char *from = s->text + s->statement;
    size_t length = i - s->statement;
    return memchr(from, '(', length) != NULL &&
           (has_word(from, length, "__global__") || has_word(from, length, "__device__"));
}

static void read_code(scan *s, size_t i)
{
    char c = s->text[i];
    if (c == '{') {
        s->braces.depth++;
        if (s->braces.function == 0 && begins_function(s, i))
            s->braces.function = s->braces.depth;
    } else if (c == '}') {
        if (s->braces.function == s->braces.depth)
            s->braces.function = 0;
        s->braces.depth -= s->braces.depth > 0;
    }
    if (c == '{' || c == '}' || c == ';')
        s->statement = i + 1;
}

/* ---- dropped code ------------------------------------------------------------------------------------------------ */

/* Whether the statement from `from` to `to` only waits, hints or checks, so that the result is the same without it. */
static bool may_be_dropped(const scan *s, size_t from, size_t to)
{
    static const char *const calls[] = {"__nanosleep",
                                        "cudaGridDependencySynchronize",
                                        "cudaTriggerProgrammaticLaunchCompletion",
                                        "assert",
                                        "static_assert",
                                        "__trap",
                                        "printf",
                                        "__builtin_assume",
                                        "void"};
    static const char *const instructions[] = {"griddepcontrol", "nanosleep", "prefetch"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (has_word(s->text + from, to - from, calls[i]))
            return true;
    if (!has_word(s->text + from, to - from, "asm") && !has_word(s->text + from, to - from, "__asm__"))
        return false;
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
        if (memmem(s->raw + from, to - from, instructions[i], strlen(instructions[i])) != NULL)
            return true;
    return false;
}

static size_t end_of_line(const scan *s, size_t i);

/* Whether this range has code whose absence would matter. */
static bool has_code(const scan *s, size_t from, size_t to)
{
    static const char *const leaves[] = {"return", "break", "continue", "goto"};
    size_t statement = from;
    bool any = false, found = false, left = false;
    for (size_t i = from; i < to; i++) {
        char c = s->text[i];
        if (c == '#') {
            i = end_of_line(s, i);
            continue;
        }
        any = any || !(isspace((unsigned char)c) || strchr("{};", c) != NULL);
        if (c != ';' && i + 1 < to)
            continue;
        if (any)
            left = false;
        for (size_t k = 0; any && k < sizeof leaves / sizeof *leaves; k++)
            left |= has_word(s->text + statement, i - statement, leaves[k]);
        found |= any && !may_be_dropped(s, statement, i);
        any = false;
        statement = i + 1;
    }
    return found && !left; /* otherwise the code behind the branch replaces it */
}

static void end_branch(scan *s, condition *c, size_t at, unsigned line)
{
    if (c->is_dropped && c->line == 0 && s->braces.function > 0 && has_code(s, c->code, at))
        c->line = line;
    c->another |= !c->is_dropped && !(c->now.known && c->now.number == 0);
}

static void end_condition(scan *s, const condition *c)
{
    if (c->line == 0 || c->another || !c->sure || s->defines)
        return;
    fprintf(stderr,
            "%s:%u: error: the code under this condition is for GPUs of some __CUDA_ARCH__, which the host device "
            "does not define, so it would be dropped; add an #else for other devices, or || "
            "defined(__HOSTCUDA_CC__)\n",
            s->name, c->line);
    s->good = false;
}

/* ---- preprocessor lines ------------------------------------------------------------------------------------------ */

/* Returns the newline that ends the line, or the end of the file. A newline behind \ does not end it. */
static size_t end_of_line(const scan *s, size_t i)
{
    bool goes_on = false;
    for (; i < s->length && (s->text[i] != '\n' || goes_on); i++)
        goes_on = s->text[i] == '\\' || (goes_on && s->text[i] != '\n' && isspace((unsigned char)s->text[i]));
    return i;
}

static value read_expression(expression *e)
{
    value v = read_or(e);
    skip_blanks(e);
    return (value){v.known && *e->at == '\0', v.number}; /* otherwise an unsupported operator follows */
}

/* *is_dropped is set if the condition would hold for the newest GPU. */
static value read_condition(const char *text, bool *is_dropped)
{
    enum { NEWEST_ARCHITECTURE = 9999 };
    expression here = {.at = text}, there = {.at = text, .architecture = NEWEST_ARCHITECTURE};
    value v = read_expression(&here), on_gpu = read_expression(&there);
    *is_dropped = v.known && v.number == 0 && here.needs_newer && on_gpu.known && on_gpu.number != 0;
    return v;
}

/* Whether #define NAME follows #ifndef NAME. Such a file has an include guard and is read once. */
static bool is_guard(const scan *s, size_t behind, const char *name)
{
    char next[200];
    size_t length = strcspn(name, " \t\r\n");
    return sscanf(s->text + behind, " # define %199s", next) == 1 && strlen(next) == length &&
           strncmp(next, name, length) == 0;
}

static value read_ifdef(const scan *s, size_t behind, const char *name, bool no)
{
    if (has_word(name, strcspn(name, " \t\r\n"), "__CUDA_ARCH__"))
        return (value){true, no};
    return (value){no && is_guard(s, behind, name), 1};
}

static void open_condition(scan *s, condition added, size_t behind)
{
    const condition *outer = s->count > 0 ? &s->open[s->count - 1] : NULL;
    added.sure = outer == NULL || (outer->sure && outer->now.known && outer->now.number != 0);
    added.code = behind;
    added.before = s->braces;
    HCC_ARRAY_RESERVE_ONE(s->open, s->count, s->capacity);
    s->open[s->count++] = added;
}

/* Reads the directive in [at, behind); `at` is behind # and its blanks. `line` is the directive's line. `*branch` is
 * the line of the branch before the directive. */
static void read_directive(scan *s, size_t at, size_t behind, unsigned line, unsigned *branch)
{
    char *text = hcc_format("%.*s", (int)(behind - at), s->text + at);
    const char *rest = text;
    condition *c = s->count > 0 ? &s->open[s->count - 1] : NULL;
    bool is_dropped = false;
    while (isalpha((unsigned char)*rest))
        rest++;
    size_t length = (size_t)(rest - text);
    rest += strspn(rest, " \t");
    if (length == 2 && strncmp(text, "if", 2) == 0) {
        value now = read_condition(rest, &is_dropped);
        open_condition(s, (condition){.now = now, .is_dropped = is_dropped}, behind);
        *branch = line;
    } else if (hcc_starts_with(text, "ifdef") || hcc_starts_with(text, "ifndef")) {
        open_condition(s, (condition){.now = read_ifdef(s, behind, rest, text[2] == 'n')}, behind);
        *branch = line;
    } else if (c != NULL && (hcc_starts_with(text, "el"))) {
        end_branch(s, c, at, *branch);
        c->now = hcc_starts_with(text, "elif") ? read_condition(rest, &is_dropped) : (value){false, 1};
        c->is_dropped = is_dropped;
        c->code = behind;
        s->braces = c->before;
        *branch = line;
    } else if (hcc_starts_with(text, "define") && has_word(rest, strcspn(rest, " \t\r\n("), "__CUDA_ARCH__")) {
        s->defines = true;
    } else if (c != NULL && hcc_starts_with(text, "endif")) {
        end_branch(s, c, at, *branch);
        end_condition(s, c);
        s->count--;
    }
    free(text);
}

static void read_lines(scan *s)
{
    unsigned line = 1, branches[64] = {0};
    bool begins = true;
    for (size_t i = 0; i < s->length; i++) {
        char c = s->text[i];
        if (c == '#' && begins) {
            size_t end = end_of_line(s, i), word = i + 1, depth = s->count < 63 ? s->count : 63;
            while (s->text[word] == ' ' || s->text[word] == '\t')
                word++;
            /* the line of a branch is kept at the depth of its condition; an #if has the next depth */
            unsigned *branch = &branches[hcc_starts_with(s->text + word, "if") || depth == 0 ? depth : depth - 1];
            read_directive(s, word, end, line, branch);
            for (; i < end; i++)
                line += s->text[i] == '\n';
            i--;
            s->statement = end; /* a macro's definition begins no function */
            continue;
        }
        line += c == '\n';
        begins = c == '\n' || (begins && isspace((unsigned char)c));
        read_code(s, i);
    }
}

static bool read_file(const struct hcc_file *file)
{
    scan s = {.name = hcc_format("%.*s", (int)file->length, file->name), .good = true};
    FILE *from = fopen(s.name, "re");
    FILE *to = from != NULL ? hcc_memory_file(&s.raw, &s.length) : NULL;
    char buffer[4096];
    size_t got;
    while (to != NULL && (got = fread(buffer, 1, sizeof buffer, from)) > 0)
        fwrite(buffer, 1, got, to);
    if (to != NULL) {
        hcc_memory_file_close(to);
        s.length = strlen(s.raw);
        s.text = hcc_format("%s", s.raw);
        blank_comments(&s);
        read_lines(&s);
    }
    if (from != NULL)
        (void)fclose(from); /* the file was only read, so closing cannot lose data */
    free(s.open);
    free(s.raw);
    free(s.text);
    free((char *)s.name);
    return s.good || s.defines;
}

static bool is_same(const struct hcc_file *a, const struct hcc_file *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

bool hcc_check_architectures(const struct hcc_source *source)
{
    bool good = true;
    for (size_t i = 0; i < source->file_count; i++) {
        size_t first = 0;
        while (!is_same(&source->files[first], &source->files[i]))
            first++;
        if (first == i && !source->files[i].system)
            good = read_file(&source->files[i]) && good;
    }
    return good;
}
