#include "edits.h"

#include "cc_memory.h"

#include <stdlib.h>

void hcc_edits_begin(struct hcc_edits *edits, const struct hcc_source *source)
{
    *edits = (struct hcc_edits){.tokens = hcc_allocate(source->count, sizeof *edits->tokens), .count = source->count};
}

void hcc_edits_free(struct hcc_edits *edits)
{
    for (size_t i = 0; i < edits->count; i++) {
        free(edits->tokens[i].before);
        free(edits->tokens[i].after);
    }
    free(edits->tokens);
    free(edits->launches);
    *edits = (struct hcc_edits){0};
}

static void append_text(char **into, const char *first, const char *second)
{
    char *joined = hcc_format("%s%s", first ? first : "", second ? second : "");
    free(*into);
    *into = joined;
}

void hcc_insert_before(struct hcc_edits *edits, size_t i, char *text)
{
    append_text(&edits->tokens[i].before, text, edits->tokens[i].before);
    free(text);
}

void hcc_insert_after(struct hcc_edits *edits, size_t i, char *text)
{
    append_text(&edits->tokens[i].after, edits->tokens[i].after, text);
    free(text);
}

void hcc_drop_token(struct hcc_edits *edits, size_t i)
{
    edits->tokens[i].dropped = true;
}

void hcc_replace_token(struct hcc_edits *edits, size_t i, char *text)
{
    hcc_drop_token(edits, i);
    hcc_insert_before(edits, i, text);
}

void hcc_add_launch(struct hcc_edits *edits, struct hcc_launch launch)
{
    HCC_ARRAY_RESERVE_ONE(edits->launches, edits->launch_count, edits->launch_capacity);
    edits->launches[edits->launch_count++] = launch;
    edits->tokens[launch.first].launch = edits->launch_count;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct writer {
    const struct hcc_edits *edits;
    const struct hcc_source *source;
    FILE *file;
};

static void write_blanks(const struct writer *w, size_t i)
{
    const struct hcc_token *tokens = w->source->tokens;
    size_t start = i == 0 ? 0 : tokens[i - 1].start + tokens[i - 1].length;
    size_t end = i < w->source->count ? tokens[i].start : w->source->length;
    fwrite(w->source->text + start, 1, end - start, w->file);
}

static void write_token(const struct writer *w, size_t i)
{
    const struct hcc_edit *edit = &w->edits->tokens[i];
    const struct hcc_token *token = &w->source->tokens[i];
    if (edit->before)
        fputs(edit->before, w->file);
    if (!edit->dropped)
        fwrite(w->source->text + token->start, 1, token->length, w->file);
    if (edit->after)
        fputs(edit->after, w->file);
}

static void write_range(const struct writer *w, size_t first, size_t end);

/* Writes (::hostcuda::configured(CONFIGURATION), KERNEL(ARGUMENTS)). The blanks before the first token are already
 * written. */
static void write_launch(const struct writer *w, const struct hcc_launch *launch)
{
    fputs("(::hostcuda::configured(", w->file);
    write_range(w, launch->less + 1, launch->greater);
    write_blanks(w, launch->greater);
    fputs("), ", w->file);
    write_token(w, launch->first);
    write_range(w, launch->first + 1, launch->less);
    write_blanks(w, launch->less);
    write_range(w, launch->greater + 3, launch->last + 1);
    fputs(")", w->file);
}

/* NOLINTNEXTLINE(misc-no-recursion): a launch may stand in another one's arguments */
static void write_range(const struct writer *w, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        size_t launch = w->edits->tokens[i].launch;
        write_blanks(w, i);
        if (!launch) {
            write_token(w, i);
            continue;
        }
        write_launch(w, &w->edits->launches[launch - 1]);
        i = w->edits->launches[launch - 1].last;
    }
}

bool hcc_write_edited(const struct hcc_edits *edits, const struct hcc_source *source, FILE *file)
{
    struct writer writer = {edits, source, file};
    write_range(&writer, 0, source->count);
    write_blanks(&writer, source->count);
    return !ferror(file);
}
