/* Continues several texts at once, greedily: one batch with all prompts, then batches with one token of each unfinished
 * text. A callback runs each batch, eagerly or with graphs. Nothing here depends on the device. */
#ifndef LLAMA_SERVE_H
#define LLAMA_SERVE_H
#include <breakgraph/breakgraph.h>

enum { LLAMA_SERVE_MAX_TEXTS = 8 }; /* at most */

typedef struct llama_serve_request {
    const int *prompt;
    int prompt_count; /* 1 or more */
    int tokens;       /* the most to generate, 1 or more; prompt_count + tokens - 1 must not exceed the capacity */
    int stop;         /* a token that ends the text, or -1 */
} llama_serve_request;

/* The size of a batch, by which a runner chooses a graph. */
typedef struct llama_serve_batch {
    int tokens;          /* rows */
    int requests;        /* texts in it */
    int max_query_len;   /* the most rows of one text */
    bool uniform_decode; /* each text has one row */
} llama_serve_batch;

/* Runs a batch of `rows` rows. Row r is token[r] at position[r] of the text in slot[r], 0 <= slot < texts. The rows of
 * a text are in order, and its earlier rows were in earlier batches. Fills logits (rows x vocabulary) and next (rows),
 * each row's token with the largest logit. An error ends llama_serve. */
typedef bg_status (*llama_serve_run)(void *user, const llama_serve_batch *batch, const int *token, const int *position,
                                     const int *slot, int rows, float *logits, int *next);

/* The limits of the model behind the callback. */
typedef struct llama_serve_limits {
    int vocabulary;
    int capacity;   /* positions of a text */
    int max_tokens; /* rows of a batch */
} llama_serve_limits;

typedef struct llama_serve_text {
    int *tokens; /* generated */
    int count;
    float *logits; /* of each generated token: count x vocabulary */
} llama_serve_text;

typedef struct llama_serve_result {
    llama_serve_text text[LLAMA_SERVE_MAX_TEXTS];
    int batches;
} llama_serve_result;

/* Serves 1 to LLAMA_SERVE_MAX_TEXTS requests, request i in slot i, all from position 0. The caller frees the result,
 * also after an error. */
bg_status llama_serve(const llama_serve_request *requests, int count, const llama_serve_limits *limits,
                      llama_serve_run run, void *user, llama_serve_result *result);
void llama_serve_result_free(llama_serve_result *result);
#endif
