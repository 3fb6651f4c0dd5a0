/* The job that the program is a rank of: processes that a launcher started, each with a GPU of its own, which share one
 * model (split.h). */
#ifndef LLAMA_RANKS_H
#define LLAMA_RANKS_H
#include <breakgraph/comm.h>

typedef struct llama_ranks {
    int rank, size;
    bg_comm *comm;         /* NULL: no job */
    struct ncclComm *nccl; /* where there is no job, of ranks that the program made itself */
    const bg_ranks *table; /* for captures; NULL: no job */
} llama_ranks;

/* Joins the job that the environment describes (breakgraph/comm.h), and sets the device; without one the program is one
 * rank, and the device stays. Leave after an error too. */
bg_status llama_ranks_join(llama_ranks *ranks);
/* Tells the other ranks why this one ends, so that they do not wait for it; nothing in flight waits for them. */
void llama_ranks_give_up(llama_ranks *ranks, const char *why);
void llama_ranks_leave(llama_ranks *ranks);
#endif
