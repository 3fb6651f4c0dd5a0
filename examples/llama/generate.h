/* Generates text with a model: eagerly, or with a graph that the first step captures and later steps replay. */
#ifndef LLAMA_GENERATE_H
#define LLAMA_GENERATE_H
#include "model.h"

typedef enum llama_mode {
    LLAMA_EAGER,    /* plain calls, no graph */
    LLAMA_FULL,     /* everything in one graph */
    LLAMA_BREAKABLE /* graph segments with attention and sampling between them */
} llama_mode;

typedef struct llama_request {
    llama_mode mode;
    bg_debug debug; /* for the capture; BG_DEBUG_FORWARD: the whole step is one eager call */
    const int *prompt;
    int prompt_count;
    int tokens; /* the most to generate; prompt_count + tokens - 1 must not exceed the context */
    int stop;   /* a token that ends the text, or -1 */
    bool keep_logits;
    void (*each)(void *user, int token); /* called with each generated token; may be NULL */
    void *user;
} llama_request;

typedef struct llama_result {
    int *tokens; /* generated */
    int count;
    float *logits; /* of each step, including the prompt's: steps x vocabulary; NULL without keep_logits */
    int steps;
    double seconds;           /* of all steps except the first, which captures */
    double launches_per_step; /* by the host in the last step: graphs, and launches of eager ops */
    bool captured;
    bg_graph_info graph; /* valid if captured; its name is NULL */
} llama_result;

/* Runs a request from an empty context. The caller frees the result, also after an error. */
bg_status llama_generate(llama_model *model, const llama_request *request, llama_result *result);
void llama_result_free(llama_result *result);

/* Returns the tokens per second, including the prompt's. */
double llama_tokens_per_second(const llama_result *result);
/* "eager", "full", "breakable" */
const char *llama_mode_name(llama_mode mode);
#endif
