/* What a rank says when it joins, and who may. */
#ifndef BG_COMM_HELLO_H
#define BG_COMM_HELLO_H

#include "comm/link.h"

enum { BG__PROTOCOL = 2, BG__TOKEN_MAX = 256, BG__SLACK_MS = 2000 };

typedef struct bg__hello {
    char magic[8];
    uint32_t protocol, watch; /* watch: for the watchdog's thread */
    int32_t rank, size;
    uint64_t instance;
    char version[32];
    char token[BG__TOKEN_MAX]; /* zeros after it */
} bg__hello;

bg_status bg__hello_make(const bg__job *job, bg__hello *mine);
bool bg__hello_is(const bg__hello *from);
bool bg__hello_same_token(const bg__hello *a, const bg__hello *b);
/* Without a token nobody but this user on this machine can be told from strangers: INVALID_ARGUMENT elsewhere. */
struct addrinfo;
bg_status bg__need_token(const bg__job *job, const char *address, const struct addrinfo *found);

/* On rank 0 (door.c): returns when all are there. */
bg_status bg__open_door(bg__link *link, const bg__job *job);

#endif
