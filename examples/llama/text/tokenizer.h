/* Byte-level BPE, as a GGUF file with tokenizer.ggml.model "gpt2" describes it: text to tokens and back. Errors as in
 * gguf.h. A tokenizer is read-only after its creation, and any number of threads may use it. */
#ifndef LLAMA_TOKENIZER_H
#define LLAMA_TOKENIZER_H
#include "examples/llama/weights/gguf.h"

typedef struct tokenizer tokenizer;

/* Reads the vocabulary, merges and special tokens of the file, which may be closed afterwards. */
int tokenizer_create(tokenizer **made, const gguf *file, char *error);
void tokenizer_destroy(tokenizer *t);

int tokenizer_size(const tokenizer *t);
/* The token that ends a text, or -1 if the file names none. */
int tokenizer_end_token(const tokenizer *t);
/* Returns the id of the token with these bytes, special or not; -1 if there is none. */
int tokenizer_find_token(const tokenizer *t, const char *bytes, size_t length);

/* Splits text (any bytes) into tokens. Special tokens that are written out, such as <|im_start|>, become that token.
 * The caller frees *tokens. A byte that the vocabulary lacks becomes the file's unknown token, or is an error if the
 * file has none. */
int tokenizer_encode(const tokenizer *t, const char *text, size_t length, int **tokens, size_t *count, char *error);

/* The bytes of one token, which may be a part of a character; empty for an id outside the vocabulary. */
gguf_string tokenizer_get_bytes(const tokenizer *t, int token);
#endif
