/* Requests that arrive at random: their times, prompts and numbers of tokens. The same seed gives the same requests. */
#ifndef LLAMA_TRAFFIC_H
#define LLAMA_TRAFFIC_H
#include <breakgraph/breakgraph.h>

typedef struct llama_arrival {
    double at; /* seconds since the start, ascending */
    int *prompt;
    int prompt_count;
    int tokens; /* to generate */
} llama_arrival;

typedef struct llama_traffic {
    llama_arrival *list;
    int count;
} llama_traffic;

typedef struct llama_traffic_options {
    int count;
    double rate; /* arrivals per second; the time between two is exponential */
    uint64_t seed;
    int vocabulary;
    int longest_prompt, most_tokens; /* upper limits; each number from 1 is equally likely */
} llama_traffic_options;

/* Call llama_traffic_free also after a failure. */
bg_status llama_traffic_create(llama_traffic *traffic, const llama_traffic_options *options);
void llama_traffic_free(llama_traffic *traffic);
#endif
