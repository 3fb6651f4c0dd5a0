/* Reads prompts and prints tokens: as text with a file's tokenizer, or as token numbers without one. */
#ifndef LLAMA_TEXT_H
#define LLAMA_TEXT_H
#include "tokenizer.h"
#include "unicode.h"
#include <stdio.h>

/* Reads a prompt into tokens, which the caller frees. If t is NULL, the text is whole numbers below `vocabulary`, with
 * spaces between. Returns 0, or -1 with a message in error. */
int llama_read_prompt(const tokenizer *t, int vocabulary, const char *text, int **tokens, int *count, char *error);

/* Writes tokens to out as text, as they come. */
typedef struct llama_printer {
    const tokenizer *tokenizer; /* NULL: numbers */
    FILE *out;
    unicode_stream stream;
} llama_printer;

void llama_print_token(void *printer, int token);
/* Ends the text: writes U+FFFD for an unfinished character, and a line end. */
void llama_print_end(llama_printer *printer);
#endif
