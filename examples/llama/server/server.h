/* Continuous batching: requests come while others are being served, and each batch holds a token of every text that is
 * being continued and as much of the new prompts as has room. Knows nothing of the device. */
#ifndef LLAMA_SERVER_H
#define LLAMA_SERVER_H
#include "examples/llama/serve.h"
#include "traffic.h"

typedef struct llama_server_limits {
    int slots; /* texts at once */
    int rows;  /* of a batch, slots or more */
    /* After each batch, with how many requests have been served; NULL: nothing. */
    void (*progress)(int served, int requests);
} llama_server_limits;

/* A request that was served; the times in seconds after the begin. */
typedef struct llama_served {
    double first, last; /* when its first token was there, and its last one */
    int *tokens;
    int count;
} llama_served;

typedef struct llama_server_result {
    llama_served *list; /* in the order of the arrivals */
    int count;
    double *gaps; /* seconds between a token and the next one of the same request */
    int gap_count, tokens, batches, rows;
    double seconds; /* until all were served */
} llama_server_result;

/* Serves all of traffic, each text greedily and in a slot of its own, 0 to slots - 1, from position 0 on. run gets
 * logits NULL. Sleeps where there is nothing to do. Call llama_server_result_free also after a failure. */
bg_status llama_server_run(const llama_traffic *traffic, const llama_server_limits *limits, llama_serve_run run,
                           void *user, llama_server_result *result);
void llama_server_result_free(llama_server_result *result);
#endif
