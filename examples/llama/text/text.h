/* Text in, text out: with a file's tokenizer, or without one as token numbers. */
#ifndef LLAMA_TEXT_H
#define LLAMA_TEXT_H
#include "tokenizer.h"
#include "unicode.h"
#include <stdio.h>

/* Reads a prompt into tokens, which the caller frees. tokenizer NULL: whole numbers below `vocabulary`, with spaces
 * between. 0, or -1 with a sentence in error. */
int llama_read_prompt(const tokenizer *t, int vocabulary, const char *text, int **tokens, int *count, char *error);

/* Writes tokens to out as text, as they come. */
typedef struct llama_printer {
    const tokenizer *tokenizer; /* NULL: numbers */
    FILE *out;
    unicode_stream stream;
} llama_printer;

void llama_print_token(void *printer, int token);
/* Ends the text: writes what an unfinished character has held back, and a line end. */
void llama_print_end(llama_printer *printer);
#endif
