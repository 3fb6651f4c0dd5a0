/* Tokens: moments in a stream's order of work. */
#ifndef HOSTCUDA_TOKEN_H
#define HOSTCUDA_TOKEN_H

#include <stdbool.h>

/* A moment that others can wait for. */
struct hc_token {
    unsigned references;
    bool done;
    double milliseconds; /* the time when it was reached */
};

struct hc_token *hc_token_make(void); /* one reference; NULL: no memory */
struct hc_token *hc_token_retain(struct hc_token *token);
void hc_token_release(struct hc_token *token);
void hc_token_reach(struct hc_token *token);

#endif
