/* What a rank says when it joins. */
#include "comm/hello.h"

#include "comm/address.h"

#include <errno.h>
#include <string.h>
#include <stdio.h>
#include <sys/random.h>

static const char magic[8] = "bgranks";

bg_status bg__hello_make(const bg__job *job, bg__hello *mine)
{
    *mine = (bg__hello){.protocol = BG__PROTOCOL, .rank = job->rank, .size = job->size};
    memcpy(mine->magic, magic, sizeof magic);
    snprintf(mine->version, sizeof mine->version, "%s", BG_VERSION);
    if (job->token != NULL && strlen(job->token) >= sizeof mine->token)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the token has %zu bytes; BG_RANKS_TOKEN may have up to %zu",
                        strlen(job->token), sizeof mine->token - 1);
    if (job->token != NULL)
        memcpy(mine->token, job->token, strlen(job->token));
    if (getrandom(&mine->instance, sizeof mine->instance, 0) != (ssize_t)sizeof mine->instance)
        return bg__fail(BG_ERROR_IO, "getrandom failed: %s", strerror(errno));
    return BG_OK;
}

bool bg__hello_is(const bg__hello *from)
{
    return memcmp(from->magic, magic, sizeof magic) == 0 && from->protocol == BG__PROTOCOL;
}

/* In a time that does not depend on where they differ. */
bool bg__hello_same_token(const bg__hello *a, const bg__hello *b)
{
    unsigned char differ = 0;
    for (size_t i = 0; i < BG__TOKEN_MAX; i++)
        differ |= (unsigned char)(a->token[i] ^ b->token[i]);
    return differ == 0;
}

bg_status bg__need_token(const bg__job *job, const char *address, const struct addrinfo *found)
{
    if (job->token != NULL || bg__are_loopback(found))
        return BG_OK;
    return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                    "rank 0 is at %s, which others can reach, too; set BG_RANKS_TOKEN to the same secret on all ranks",
                    address);
}
