/* What ranks prove to each other when they join. */
#include "comm/handshake.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const char magic[8] = "bgranks";

static bg_status fill_random_bytes(void *bytes, size_t count)
{
    if (getrandom(bytes, count, 0) != (ssize_t)count)
        return bg__fail(BG_ERROR_IO, "getrandom failed: %s", strerror(errno));
    return BG_OK;
}

bg_status bg__hello_make(const bg__job *job, bg__hello *hello)
{
    *hello = (bg__hello){.protocol = BG__PROTOCOL,
                         .rank = job->rank,
                         .size = job->size,
                         .port = job->socket != NULL ? 0 : (uint32_t)job->port};
    memcpy(hello->magic, magic, sizeof magic);
    snprintf(hello->version, sizeof hello->version, "%s", BG_VERSION);
    return fill_random_bytes(&hello->instance, sizeof hello->instance);
}

bool bg__hello_parse(const bg__frame *frame, uint32_t *protocol)
{
    bg__hello begun = {.protocol = 0};
    if (frame->type != BG__HELLO || frame->bytes < offsetof(bg__hello, rank))
        return false;
    memcpy(&begun, frame->body, offsetof(bg__hello, rank));
    *protocol = begun.protocol;
    return memcmp(begun.magic, magic, sizeof magic) == 0;
}

bg_status bg__nonce_make(bg__nonce *nonce)
{
    return fill_random_bytes(nonce, sizeof *nonce);
}

/* The data that a proof signs. */
typedef struct transcript {
    char side[8];
    bg__hello hello;
    bg__nonce challenge;
} transcript;

static const char *const side_names[] = {[BG__SIDE_RANK] = "rank", [BG__SIDE_RANK_0] = "rank 0"};

bg_status bg__handshake_proof_make(const bg__job *job, bg__handshake_side side, const bg__hello *hello,
                                   const bg__nonce *challenge, bg__handshake_proof *proof)
{
    transcript said = {.hello = *hello, .challenge = *challenge};
    unsigned int bytes = 0;

    _Static_assert(sizeof said == 8 + sizeof *hello + sizeof *challenge && sizeof *hello == 104, "no bytes between");
    memset(proof, 0, sizeof *proof);
    if (job->token == NULL)
        return BG_OK;
    snprintf(said.side, sizeof said.side, "%s", side_names[side]);
    if (HMAC(EVP_sha256(), job->token, (int)strlen(job->token), (const unsigned char *)&said, sizeof said, proof->bytes,
             &bytes) == NULL ||
        bytes != sizeof proof->bytes)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "libcrypto cannot compute HMAC-SHA-256 with the token's %zu bytes",
                        strlen(job->token));
    return BG_OK;
}

bool bg__handshake_proof_equal(const bg__handshake_proof *a, const bg__handshake_proof *b)
{
    return CRYPTO_memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* ---- where ---------------------------------------------------------------------------------------------------- */

static bg_status check_reachable_needs_token(const bg__job *job, const bg__rendezvous *meeting)
{
    const char *address = job->rank == 0 && job->bind != NULL ? job->bind : job->address;
    if (bg__rendezvous_is_local(meeting))
        return BG_OK;
    if (job->rank == 0 && job->bind == NULL)
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "rank 0 is at %s, which other machines can reach; set BG_RANKS_BIND to the address to listen on, and "
            "BG_RANKS_TOKEN to the same secret on all ranks",
            address);
    if (job->token == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "rank 0 is at %s, which other machines can reach; set BG_RANKS_TOKEN to the same secret on "
                        "all ranks",
                        address);
    return BG_OK;
}

bg_status bg__job_rendezvous(const bg__job *job, bg__rendezvous *meeting)
{
    bg_status status;
    if (job->token != NULL && strlen(job->token) >= BG__TOKEN_MAX)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the token has %zu bytes; BG_RANKS_TOKEN may have at most %d",
                        strlen(job->token), BG__TOKEN_MAX - 1);
    if (job->socket != NULL)
        return bg__rendezvous_at_path(meeting, job->socket);
    BG__TRY(bg__rendezvous_resolve(meeting, job->rank == 0 && job->bind != NULL ? job->bind : job->address, job->port));
    status = check_reachable_needs_token(job, meeting);
done:
    return status;
}
