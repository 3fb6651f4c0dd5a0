/* A preprocessed source file as tokens. */
#ifndef HCC_SOURCE_H
#define HCC_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

enum hcc_kind { HCC_WORD, HCC_NUMBER, HCC_QUOTED, HCC_SIGN };

/* Signs are single characters, but for <<< << <= >= == != && || :: -> and `...`: closing angle brackets stay apart. */
struct hcc_token {
    size_t start, length; /* bytes of the text; what lies between two tokens are blanks and lines of the preprocessor */
    unsigned line;
    unsigned file; /* index of files */
    enum hcc_kind kind;
};

struct hcc_file {
    const char *name; /* in the text, as the preprocessor writes it: quoted */
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

/* Reads what a preprocessor wrote. Files whose names begin with `own` count as those of the system. Returns false, with
 * a message, if the file cannot be read. hcc_source_free takes a source that was not read, too. */
bool hcc_source_read(struct hcc_source *source, const char *path, const char *own);
void hcc_source_free(struct hcc_source *source);

/* Whether token i is there and is this. */
bool hcc_is(const struct hcc_source *source, size_t i, const char *text);
bool hcc_is_word(const struct hcc_source *source, size_t i);

/* Whether one of the tokens from `first` up to, not including, `end` is this. */
bool hcc_has(const struct hcc_source *source, size_t first, size_t end, const char *text);

/* Returns the token that closes the bracket at token `open`: ( [ { or, between types, <. Returns count if none does. */
size_t hcc_close(const struct hcc_source *source, size_t open);

/* Returns the token that opens the bracket that token `close` closes; count if none does. */
size_t hcc_open(const struct hcc_source *source, size_t close);

/* Prints an error at token i, as a compiler does. */
void hcc_error(const struct hcc_source *source, size_t i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
