/* Continues several texts at once, greedily: one batch with all prompts, then batches of one token for each text that
 * still goes on. How a batch is run, eagerly or through graphs, is a callback's business. Knows nothing of the device.
 */
#ifndef LLAMA_SERVE_H
#define LLAMA_SERVE_H
#include <breakgraph/breakgraph.h>

enum { LLAMA_SERVE_TEXTS = 8 }; /* at most */

typedef struct llama_serve_request {
    const int *prompt;
    int prompt_count; /* 1 or more */
    int tokens;       /* to generate at most, 1 or more; prompt_count + tokens - 1 may not exceed the capacity */
    int stop;         /* a token that ends the text, or -1 */
} llama_serve_request;

/* What a batch is, for who chooses a graph for it. */
typedef struct llama_serve_batch {
    int tokens;          /* rows */
    int requests;        /* texts in it */
    int max_query_len;   /* the most rows of one text */
    bool uniform_decode; /* each text has one row */
} llama_serve_batch;

/* Runs a batch of `rows` rows, row r being token[r] at position[r] of the text slot[r], 0 <= slot < texts. Each text's
 * rows are in order, and the rows before them were in batches before. Fills logits (rows x vocabulary) and next (rows),
 * each row's token with the largest logit. An error ends the serving. */
typedef bg_status (*llama_serve_run)(void *user, const llama_serve_batch *batch, const int *token, const int *position,
                                     const int *slot, int rows, float *logits, int *next);

/* What the model behind the callback takes. */
typedef struct llama_serve_limits {
    int vocabulary;
    int capacity;   /* positions of a text */
    int max_tokens; /* rows of a batch */
} llama_serve_limits;

typedef struct llama_serve_text {
    int *tokens; /* generated */
    int count;
    float *logits; /* those that each token was chosen from: count x vocabulary */
} llama_serve_text;

typedef struct llama_serve_result {
    llama_serve_text text[LLAMA_SERVE_TEXTS];
    int batches;
} llama_serve_result;

/* Serves 1 to LLAMA_SERVE_TEXTS requests, request i in slot i, all from position 0. The caller frees the result, also
 * after an error. */
bg_status llama_serve(const llama_serve_request *requests, int count, const llama_serve_limits *limits,
                      llama_serve_run run, void *user, llama_serve_result *result);
void llama_serve_result_free(llama_serve_result *result);
#endif
