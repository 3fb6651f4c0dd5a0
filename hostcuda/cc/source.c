#include "source.h"

#include "cc_memory.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of the lexer. */
struct reader {
    struct hcc_source *source;
    const char *own;
    size_t at;
    unsigned line, file;
    bool line_begins; /* only blanks since the last newline */
};

static char peek(const struct reader *r, size_t ahead)
{
    return r->at + ahead < r->source->length ? r->source->text[r->at + ahead] : '\0';
}

static bool next_is(const struct reader *r, const char *text)
{
    size_t length = strlen(text);
    return r->at + length <= r->source->length && memcmp(r->source->text + r->at, text, length) == 0;
}

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* ---- lines of the preprocessor ----------------------------------------------------------------------------------- */

static void add_file(struct reader *r, size_t name, size_t length, bool system)
{
    struct hcc_source *source = r->source;
    size_t own = strlen(r->own);
    HCC_ARRAY_RESERVE_ONE(source->files, source->file_count, source->file_capacity);
    system = system || (own && length >= own && memcmp(source->text + name, r->own, own) == 0);
    source->files[source->file_count] = (struct hcc_file){source->text + name, length, system};
    r->file = (unsigned)source->file_count++;
}

/* Returns the " that ends the name which begins with the " at `quote`; `end` if there is none. */
static size_t find_quote(const char *text, size_t quote, size_t end)
{
    size_t i = quote + 1;
    while (i < end && text[i] != '"')
        i += text[i] == '\\' ? 2 : 1;
    return i < end ? i : end;
}

/* Reads a line marker, # LINE "FILE" FLAGS: the file and line of what follows. The flag 3 means a system header. */
static void read_marker(struct reader *r, size_t end)
{
    const char *text = r->source->text;
    char *after = NULL;
    unsigned long line = strtoul(text + r->at, &after, 10);
    const char *quote = memchr(after, '"', (size_t)(text + end - after));
    if (quote) {
        size_t name = (size_t)(quote + 1 - text), last = find_quote(text, name - 1, end);
        add_file(r, name, last - name, memchr(text + last, '3', end - last) != NULL);
    }
    r->line = (unsigned)line - 1; /* the newline behind the marker is still counted */
}

/* Reads a line that begins with #: a marker or a pragma. Leaves the reader at the newline. */
static void read_hash(struct reader *r)
{
    const char *newline = memchr(r->source->text + r->at, '\n', r->source->length - r->at);
    size_t end = newline ? (size_t)(newline - r->source->text) : r->source->length;
    for (r->at++; peek(r, 0) == ' ' || peek(r, 0) == '\t'; r->at++)
        ;
    if (next_is(r, "line"))
        for (r->at += 4; peek(r, 0) == ' '; r->at++)
            ;
    if (isdigit((unsigned char)peek(r, 0)))
        read_marker(r, end);
    r->at = end;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* Skips R"MARK( ... )MARK" from its quote. */
static void skip_raw_string(struct reader *r)
{
    char close[24];
    size_t length = 0;
    while (length < 17 && peek(r, 1 + length) && peek(r, 1 + length) != '(')
        length++;
    snprintf(close, sizeof close, ")%.*s\"", (int)length, r->source->text + r->at + 1);
    while (r->at < r->source->length && !next_is(r, close))
        r->line += r->source->text[r->at++] == '\n';
    r->at += strlen(close);
}

static void skip_quoted(struct reader *r)
{
    char quote = peek(r, 0);
    for (r->at++; r->at < r->source->length && peek(r, 0) != quote && peek(r, 0) != '\n'; r->at++)
        r->at += peek(r, 0) == '\\';
    r->at += peek(r, 0) == quote;
}

/* Skips digits with separators ('), and exponents with their sign. */
static void skip_number(struct reader *r)
{
    while (is_word_character(peek(r, 0)) || peek(r, 0) == '.' || (peek(r, 0) == '\'' && is_word_character(peek(r, 1))))
        r->at += strchr("eEpP", peek(r, 0)) && peek(r, 1) && strchr("+-", peek(r, 1)) ? 2 : 1;
}

static void skip_sign(struct reader *r)
{
    static const char *const signs[] = {"<<<", "...", "<<", "<=", ">=", "==", "!=", "&&", "||", "::", "->"};
    const struct hcc_source *source = r->source;
    bool after_operator = source->count > 0 && hcc_token_is(source, source->count - 1, "operator");
    for (size_t i = after_operator ? 1 : 0; i < sizeof signs / sizeof *signs; i++)
        if (next_is(r, signs[i])) {
            r->at += strlen(signs[i]);
            return;
        }
    r->at++;
}

static bool is_string_prefix(const char *text, size_t length)
{
    static const char *const prefixes[] = {"L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strlen(prefixes[i]) == length && memcmp(prefixes[i], text, length) == 0)
            return true;
    return false;
}

static enum hcc_kind skip_word(struct reader *r)
{
    size_t start = r->at;
    while (is_word_character(peek(r, 0)))
        r->at++;
    const char *word = r->source->text + start;
    bool quoted = peek(r, 0) == '"' || peek(r, 0) == '\'';
    if (!quoted || !is_string_prefix(word, r->at - start))
        return HCC_WORD;
    if (word[r->at - start - 1] == 'R' && peek(r, 0) == '"')
        skip_raw_string(r);
    else
        skip_quoted(r);
    return HCC_QUOTED;
}

static enum hcc_kind skip_token(struct reader *r)
{
    char c = peek(r, 0);
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(r, 1)))) {
        skip_number(r);
        return HCC_NUMBER;
    }
    if (is_word_character(c))
        return skip_word(r);
    if (c == '"' || c == '\'') {
        skip_quoted(r);
        return HCC_QUOTED;
    }
    skip_sign(r);
    return HCC_SIGN;
}

static void read_token(struct reader *r)
{
    struct hcc_source *source = r->source;
    struct hcc_token token = {r->at, 0, r->line, r->file, HCC_SIGN};
    token.kind = skip_token(r);
    if (r->at > source->length)
        r->at = source->length;
    token.length = r->at - token.start;
    HCC_ARRAY_RESERVE_ONE(source->tokens, source->count, source->capacity);
    source->tokens[source->count++] = token;
    r->line_begins = false;
}

static void read_tokens(struct reader *r)
{
    r->line_begins = true;
    while (r->at < r->source->length) {
        char c = peek(r, 0);
        if (c == '#' && r->line_begins) {
            read_hash(r);
        } else if (isspace((unsigned char)c)) {
            r->line_begins = r->line_begins || c == '\n';
            r->line += c == '\n';
            r->at++;
        } else {
            read_token(r);
        }
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool read_text(struct hcc_source *source, FILE *file)
{
    size_t capacity = 0, got = 0;
    do {
        source->length += got;
        hcc_array_reserve_one(&source->text, source->length + 1, &capacity, 1);
        got = fread(source->text + source->length, 1, capacity - source->length - 1, file);
    } while (got);
    source->text[source->length] = '\0';
    return !ferror(file);
}

bool hcc_source_read(struct hcc_source *source, const char *path, const char *own)
{
    *source = (struct hcc_source){0};
    FILE *file = fopen(path, "r");
    bool ok = file && read_text(source, file);
    if (!ok)
        fprintf(stderr, "hostcuda-cc: error: %s cannot be read: %s\n", path, strerror(errno));
    if (file && fclose(file) != 0 && ok) {
        fprintf(stderr, "hostcuda-cc: error: %s cannot be closed: %s\n", path, strerror(errno));
        ok = false;
    }
    struct reader reader = {.source = source, .own = own, .line = 1};
    if (ok) {
        add_file(&reader, 0, 0, true);
        read_tokens(&reader);
    }
    return ok;
}

void hcc_source_free(struct hcc_source *source)
{
    free(source->text);
    free(source->tokens);
    free(source->files);
    *source = (struct hcc_source){0};
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

bool hcc_token_is(const struct hcc_source *source, size_t i, const char *text)
{
    if (i >= source->count)
        return false;
    const struct hcc_token *token = &source->tokens[i];
    return strncmp(source->text + token->start, text, token->length) == 0 && text[token->length] == '\0';
}

bool hcc_token_is_word(const struct hcc_source *source, size_t i)
{
    return i < source->count && source->tokens[i].kind == HCC_WORD;
}

bool hcc_range_has(const struct hcc_source *source, size_t first, size_t end, const char *text)
{
    for (size_t i = first; i < end; i++)
        if (hcc_token_is(source, i, text))
            return true;
    return false;
}

static const char brackets[] = "()[]{}<>";

/* Returns +1 for an opening bracket, -1 for a closing one, else 0. Angle brackets count if `angles` is set. */
static int bracket_depth_change(const struct hcc_source *source, size_t i, bool angles)
{
    const struct hcc_token *token = &source->tokens[i];
    const char *found =
        token->kind == HCC_SIGN && token->length == 1 ? strchr(brackets, source->text[token->start]) : NULL;
    if (!found || (!angles && found - brackets >= 6))
        return 0;
    return (found - brackets) % 2 ? -1 : 1;
}

/* Inside other brackets, < and > may be comparisons, so only the outermost ones are matched. */
size_t hcc_find_close(const struct hcc_source *source, size_t open)
{
    bool angles = hcc_token_is(source, open, "<");
    int depth = 0;
    for (size_t i = open; i < source->count; i++) {
        if (angles && i > open && bracket_depth_change(source, i, false) > 0) {
            i = hcc_find_close(source, i);
            continue;
        }
        depth += bracket_depth_change(source, i, angles);
        if (depth <= 0)
            return i;
    }
    return source->count;
}

size_t hcc_find_open(const struct hcc_source *source, size_t close)
{
    bool angles = hcc_token_is(source, close, ">");
    int depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
        if (angles && i < close && bracket_depth_change(source, i, false) < 0) {
            i = hcc_find_open(source, i);
            if (i == source->count)
                break;
            continue;
        }
        depth += bracket_depth_change(source, i, angles);
        if (depth >= 0)
            return i;
    }
    return source->count;
}

void hcc_report_error(const struct hcc_source *source, size_t i, const char *format, ...)
{
    const struct hcc_token *token = &source->tokens[i];
    const struct hcc_file *file = &source->files[token->file];
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%.*s:%u: error: ", (int)file->length, file->name, token->line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}
