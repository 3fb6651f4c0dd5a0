/* A preprocessed source file as tokens. */
#ifndef HCC_SOURCE_H
#define HCC_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

enum hcc_kind { HCC_WORD, HCC_NUMBER, HCC_QUOTED, HCC_SIGN };

/* Signs are single characters, except <<< << <= >= == != && || :: -> and `...`. Closing angle brackets are never
 * joined. */
struct hcc_token {
    size_t start, length; /* bytes of the text; blanks and preprocessor lines separate tokens */
    unsigned line;
    unsigned file; /* index in files */
    enum hcc_kind kind;
};

struct hcc_file {
    const char *name; /* points into the text, escaped as the preprocessor wrote it */
    size_t length;
    bool system; /* a header of the system, CUDA or the host device */
};

struct hcc_source {
    char *text;
    size_t length;
    struct hcc_token *tokens;
    size_t count, capacity;
    struct hcc_file *files;
    size_t file_count, file_capacity;
};

/* Reads the output of a preprocessor. Files whose names begin with `own` count as system headers. Returns false, with a
 * message, if the file cannot be read. hcc_source_free also accepts a source that could not be read. */
bool hcc_source_read(struct hcc_source *source, const char *path, const char *own);
void hcc_source_free(struct hcc_source *source);

/* Whether token i exists and has this text. */
bool hcc_token_is(const struct hcc_source *source, size_t i, const char *text);
bool hcc_token_is_word(const struct hcc_source *source, size_t i);

/* Whether a token in [first, end) has this text. */
bool hcc_range_has(const struct hcc_source *source, size_t first, size_t end, const char *text);

/* Returns the token that closes the bracket at token `open`: ( [ { or, between types, <. Returns source->count if there
 * is none. */
size_t hcc_find_close(const struct hcc_source *source, size_t open);

/* Returns the token that opens the bracket which token `close` closes; source->count if there is none. */
size_t hcc_find_open(const struct hcc_source *source, size_t close);

/* Prints an error at token i, in the format of a compiler. */
void hcc_report_error(const struct hcc_source *source, size_t i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
