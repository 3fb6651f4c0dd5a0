#include "text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_numbers(int vocabulary, const char *text, int **tokens, int *count, char *error)
{
    const char *at = text;
    *tokens = malloc((strlen(text) / 2 + 1) * sizeof **tokens); /* a number and a space take two bytes at least */
    if (!*tokens) {
        snprintf(error, GGUF_ERROR_SIZE, "out of host memory for the prompt; shorten it");
        return -1;
    }
    while (*(at += strspn(at, " \t\n"))) {
        char *end;
        long value = strtol(at, &end, 10);
        if (*at < '0' || *at > '9' || strchr(" \t\n", *end) == NULL || value < 0 || value >= vocabulary) {
            snprintf(error, GGUF_ERROR_SIZE,
                     "the prompt has \"%.40s\"; without --model, give token numbers from 0 to %d with spaces between",
                     at, vocabulary - 1);
            free(*tokens);
            *tokens = NULL;
            return -1;
        }
        (*tokens)[(*count)++] = (int)value;
        at = end;
    }
    return 0;
}

int llama_read_prompt(const tokenizer *t, int vocabulary, const char *text, int **tokens, int *count, char *error)
{
    size_t length = strlen(text), found;
    *count = 0;
    if (!t)
        return read_numbers(vocabulary, text, tokens, count, error);
    if (tokenizer_encode(t, text, length, tokens, &found, error))
        return -1;
    *count = (int)found;
    return 0;
}

void llama_print_token(void *user, int token)
{
    llama_printer *p = user;
    if (!p->tokenizer) {
        fprintf(p->out, " %d", token);
    } else {
        gguf_string text = tokenizer_get_bytes(p->tokenizer, token);
        for (size_t i = 0; i < text.length; i++) {
            char decoded[15];
            fwrite(decoded, 1, unicode_stream_push(&p->stream, text.text + i, 1, decoded), p->out);
        }
    }
    fflush(p->out);
}

void llama_print_end(llama_printer *p)
{
    char decoded[12];
    fwrite(decoded, 1, unicode_stream_finish(&p->stream, decoded), p->out);
    fputc('\n', p->out);
    fflush(p->out);
}
