/* The job of this process: ranks that a launcher started, each with its own GPU, which share one model (split.h). */
#ifndef LLAMA_RANKS_H
#define LLAMA_RANKS_H
#include <breakgraph/comm.h>

typedef struct llama_ranks {
    int rank, size;
    bg_comm *comm;         /* NULL: no job */
    struct ncclComm *nccl; /* without a job: of ranks that the program created itself */
    const bg_ranks *table; /* for captures; NULL: no job */
} llama_ranks;

/* Joins the job that the environment describes (breakgraph/comm.h), and sets the device. Without a job the program is
 * the only rank, and the device does not change. Call llama_ranks_leave also after an error. */
bg_status llama_ranks_join(llama_ranks *ranks);
/* Ends the job: sends `why` to the other ranks, so that they do not wait for this one, and aborts collectives in
 * flight. */
void llama_ranks_abort(llama_ranks *ranks, const char *why);
void llama_ranks_leave(llama_ranks *ranks);
#endif
