/* How rank 0 and another rank prove to each other that they belong to one job:
 *
 *     rank to rank 0   HELLO       its rank and size, and a nonce
 *     rank 0           CHALLENGE   a nonce of its own
 *     rank             PROOF       HMAC-SHA-256 over "rank", HELLO and rank 0's nonce, with the token as key
 *     rank 0           PROOF       the same over "rank 0"
 *
 * for each of its two connections. The token itself is never sent; a proof counts for one connection, rank and size of
 * the job, and cannot be sent back as the other side's. Rank 0 sends no proof to a peer that has not proved itself. */
#ifndef BG_COMM_HANDSHAKE_H
#define BG_COMM_HANDSHAKE_H

#include "comm/address.h"
#include "comm/link.h"

enum { BG__PROTOCOL = 3, BG__TOKEN_MAX = 256, BG__SLACK_MS = 2000 };

/* Why rank 0 may refuse a rank to which it has not proven itself. */
#define BG__REFUSED_VERSION  "it has a different version of breakgraph than rank 0"
#define BG__REFUSED_TOKEN    "the rank's token is not rank 0's; set the same BG_RANKS_TOKEN on all ranks"
#define BG__REFUSED_USER     "on this machine only processes of rank 0's user may join"
#define BG__REFUSED_STRANGER "without BG_RANKS_TOKEN only processes of rank 0's user and machine may join"

typedef struct bg__nonce {
    unsigned char bytes[32];
} bg__nonce;

typedef struct bg__handshake_proof {
    unsigned char bytes[32];
} bg__handshake_proof;

/* `magic` and `protocol` come first in every version of the protocol. There are no padding bytes between the
 * members. */
typedef struct bg__hello {
    char magic[8];
    uint32_t protocol;
    int32_t rank, size;
    uint32_t port; /* the port that it has connected to; 0: a Unix-domain socket */
    uint64_t instance;
    uint64_t watch; /* 1: for the watchdog's thread */
    char version[32];
    bg__nonce nonce;
} bg__hello;

typedef enum bg__handshake_side { BG__SIDE_RANK, BG__SIDE_RANK_0 } bg__handshake_side;

/* Makes the HELLO of a rank, except its nonce, which differs for each connection. */
bg_status bg__hello_make(const bg__job *job, bg__hello *hello);
/* Whether a frame is a HELLO, and of which protocol. The other members are valid only for BG__PROTOCOL. */
bool bg__hello_parse(const bg__frame *frame, uint32_t *protocol);
bg_status bg__nonce_make(bg__nonce *nonce);
/* Makes a proof. Without a token it is all zeros, and only the owner of the connection decides who may join. */
bg_status bg__handshake_proof_make(const bg__job *job, bg__handshake_side side, const bg__hello *hello,
                                   const bg__nonce *challenge, bg__handshake_proof *proof);
/* Compares in constant time. */
bool bg__handshake_proof_equal(const bg__handshake_proof *a, const bg__handshake_proof *b);

/* Where the job's ranks meet; on rank 0 that may be another address than for the others. Without a token only processes
 * of this user on this machine can be recognised: INVALID_ARGUMENT for any other address. */
bg_status bg__job_rendezvous(const bg__job *job, bg__rendezvous *meeting);

/* On rank 0 (accept.c): returns when all ranks have joined. */
bg_status bg__accept_ranks(bg__link *link, const bg__job *job);

#endif
