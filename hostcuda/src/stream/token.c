#include "hostcuda/src/stream/token.h"

#include <stdlib.h>
#include <time.h>

struct hc_token *hc_token_make(void)
{
    struct hc_token *token = calloc(1, sizeof *token);
    if (token)
        token->references = 1;
    return token;
}

struct hc_token *hc_token_retain(struct hc_token *token)
{
    token->references++;
    return token;
}

void hc_token_release(struct hc_token *token)
{
    if (token && !--token->references)
        free(token);
}

void hc_token_reach(struct hc_token *token)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now); /* if the clock fails, the time is 0 */
    token->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    token->done = true;
}
