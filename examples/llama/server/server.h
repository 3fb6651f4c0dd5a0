/* Continuous batching: requests arrive while others are being served. Each batch has one token of every text that is
 * being continued, and as many tokens of new prompts as fit. Nothing here depends on the device. */
#ifndef LLAMA_SERVER_H
#define LLAMA_SERVER_H
#include "examples/llama/serve.h"
#include "traffic.h"

typedef struct llama_server_limits {
    int slots; /* texts at once */
    int rows;  /* of a batch; at least slots */
    /* Called after each batch with the number of served requests; may be NULL. */
    void (*progress)(int served, int requests);
} llama_server_limits;

/* A request that was served. Times are in seconds since the start. */
typedef struct llama_served {
    double first, last; /* times of its first and its last token */
    int *tokens;
    int count;
} llama_served;

typedef struct llama_server_result {
    llama_served *list; /* in order of arrival */
    int count;
    double *gaps; /* seconds between a token and the next one of the same request */
    int gap_count, tokens, batches, rows;
    double seconds; /* until all were served */
} llama_server_result;

/* Serves all requests of traffic greedily, each in its own slot, 0 to slots - 1, from position 0. Calls run with logits
 * NULL. Sleeps while there is no request. Call llama_server_result_free also after a failure. */
bg_status llama_server_run(const llama_traffic *traffic, const llama_server_limits *limits, llama_serve_run run,
                           void *user, llama_server_result *result);
void llama_server_result_free(llama_server_result *result);
#endif
