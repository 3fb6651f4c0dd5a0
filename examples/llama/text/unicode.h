/* UTF-8 and the three character classes that a byte-level BPE pre-tokenizer asks for. */
#ifndef LLAMA_UNICODE_H
#define LLAMA_UNICODE_H
#include <stddef.h>
#include <stdint.h>

typedef enum unicode_class { UNICODE_OTHER, UNICODE_LETTER, UNICODE_NUMBER, UNICODE_SPACE } unicode_class;

/* \p{L}, \p{N}, \s or none of them. */
unicode_class unicode_classify(uint32_t code);

/* Reads the character that text (length > 0 bytes) starts with; returns its bytes, 1 to 4. A byte that starts no
 * well-formed UTF-8 character counts as one character: *code is UNICODE_INVALID, whose class is UNICODE_OTHER. */
#define UNICODE_INVALID 0xFFFFFFFFu
size_t unicode_read(const char *text, size_t length, uint32_t *code);

/* Writes code, at most 0x10FFFF, as UTF-8 to out; returns its bytes, 1 to 4. */
size_t unicode_write(uint32_t code, char out[4]);

/* Makes well-formed UTF-8 from pieces that may end within a character. The first bytes of a character are pending until
 * the others arrive; bytes that can never become a character turn into U+FFFD. Initialize it with {0}. */
typedef struct unicode_stream {
    char pending[4];
    size_t count;
} unicode_stream;

/* Adds length bytes, and writes complete characters to out (at least 3 * length + 12 bytes). Returns the number of
 * bytes written. */
size_t unicode_stream_push(unicode_stream *stream, const char *bytes, size_t length, char *out);
/* Ends the text: pending bytes become U+FFFD. out: at least 12 bytes. */
size_t unicode_stream_finish(unicode_stream *stream, char *out);
#endif
