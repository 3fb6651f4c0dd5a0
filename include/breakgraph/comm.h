/* The ranks of one job, and NCCL's communicator between them. In libbreakgraph_nccl (pkg-config breakgraph_nccl).
 * The ranks come from what launchers set: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT (torchrun, breakgraph
 * run --ranks); else Open MPI's OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK; else, except in a batch script, Slurm's
 * SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID; else there is one rank.
 * If communication, an agreement or NCCL fails on any rank, the error is fatal on all ranks: each later call returns
 * it, and NCCL's communicator is aborted, so that no stream waits forever. Errors of the arguments or the host memory
 * of one call (INVALID_ARGUMENT, OUT_OF_MEMORY) only fail that call. Connections, tokens, watchdog and fork() are
 * described below.
 * Threads: a communicator serves one thread at a time; it has a watchdog thread of its own. */
#ifndef BREAKGRAPH_COMM_H
#define BREAKGRAPH_COMM_H

#include <breakgraph/ranks.h>

BG_BEGIN_C_

/* This process's membership in a job. */
typedef struct bg_comm bg_comm;
struct ncclComm;

/* Options of bg_comm_create. An empty string counts as NULL. */
typedef struct bg_comm_options {
    size_t struct_size;         /* set by BG_COMM_OPTIONS_INIT */
    int rank, size, local_rank; /* -1: from the environment */
    const char *address;        /* address of rank 0; NULL: MASTER_ADDR, else 127.0.0.1 */
    int port;          /* port of rank 0; 0: the Unix socket that BG_RANKS_SOCKET names, else the port MASTER_PORT.
                        * Under torchrun, 0 always means MASTER_PORT + 1, since torchrun's store uses MASTER_PORT */
    const char *bind;  /* address that rank 0 listens on; NULL: BG_RANKS_BIND, else loopback. An address that is not
                        * loopback needs a token */
    const char *token; /* secret of the job, up to 255 bytes; NULL: BG_RANKS_TOKEN */
    double timeout;    /* seconds that a rank waits for the others; 0: BG_RANKS_TIMEOUT, else 60. Looking up a name in
                        * address may take longer, since the system's resolver has its own limits */
    double watchdog;   /* seconds without progress after which a replay, or an eager run of a runner, is given up;
                        * 0: BG_RANKS_WATCHDOG, else timeout; below 0: never */
    bool set_device;   /* true: the current device becomes local_rank modulo the number of devices */
} bg_comm_options;
#define BG_COMM_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(bg_comm_options), -1, -1, -1, NULL, 0, NULL, NULL, 0, 0, true                                           \
    }

/* ---- how the ranks of a job work together -------------------------------------------------------------------- */

/* Connections: each rank has two connections to rank 0, for NCCL's id, barriers, comparisons and the watchdog. They use
 * TCP, or the Unix-domain socket BG_RANKS_SOCKET (which breakgraph run --ranks sets), unless one of these is set:
 * address, port or bind in options, or BG_RANKS_BIND. Under torchrun they use TCP. Rank 0 listens only until all ranks
 * have joined. Unless bind or BG_RANKS_BIND names an address, it listens only on this machine, and address or
 * MASTER_ADDR must be a loopback address. */

/* Token: with a token, each rank and rank 0 prove to each other that they know it, by HMAC-SHA-256 (RFC 2104, of
 * libcrypto) over a nonce of each side, the rank, the number of ranks and the port; the token is not sent. On one
 * machine the other process must also belong to this user, as the kernel reports (/proc/net/tcp, SO_PEERCRED); without
 * a token only such processes may join. Later traffic is neither encrypted nor signed: see SECURITY.md. */

/* Errors after joining: NCCL's communicator is aborted. If the watchdog or bg_comm_abort reported the error, that
 * happens at once, or up to one second later while a replay is being queued; if another bg_comm operation reported it,
 * one second later. An operation that waits longer than the timeout fails. */

/* Watchdog: if a replay (here also an eager run of a runner) makes no progress for the watchdog's time, each rank
 * reports its position. Within 3 seconds all ranks then abort the replay, unless it makes progress first. An eager run
 * counts as one step, so the watchdog's time must be longer than the longest eager run. Plain passes (warm-ups) and
 * eager bodies at capture are not watched. If one of them waits for a collective that another rank does not begin, the
 * wait ends after some rank has waited in a bg_comm operation for longer than the timeout. If all ranks wait for
 * collectives, or the other rank is stopped (SIGSTOP), only breakgraph run --ranks --timeout ends the wait. */

/* fork(): a child process must not use the communicator (nor graphs, as with CUDA). In a child each call returns
 * INVALID_ARGUMENT and bg_comm_nccl NULL, and the other ranks are not affected; bg_comm_destroy only frees the child's
 * memory and closes its copies of the connections. A child that does not call exec should call bg_comm_destroy:
 * until it does, its copies of the connections stay open, and the other ranks do not notice if the parent dies. */

/* ---- functions ------------------------------------------------------------------------------------------------ */

/* Joins the job. Returns on every rank when all have joined, or fails on every rank. options may be NULL. The caller
 * owns *comm, which is NULL after an error.
 * Errors: INVALID_ARGUMENT (the environment, options), TIMEOUT (bg_last_error() names the ranks that did not join),
 * RANKS (an unknown process, two processes of one rank, another size, version, token or port), IO, OUT_OF_MEMORY, NCCL,
 * CUDA. */
BG_API bg_status bg_comm_create(bg_comm **comm, const bg_comm_options *options);

/* Return this rank, from 0, and the number of ranks. */
BG_API int bg_comm_rank(const bg_comm *comm);
BG_API int bg_comm_size(const bg_comm *comm);

/* Returns NCCL's communicator (an ncclComm_t), on the device that is current when bg_comm_create returns. comm owns
 * it. Returns NULL, with bg_last_error(), after an error: the communicator is then aborted, which frees it unless
 * graphs hold it.
 * Call this in the op's body each time, and do not keep the result. Do not pass it in arguments, because the
 * graph stores those of eager calls: pass comm. */
BG_API struct ncclComm *bg_comm_nccl(bg_comm *comm);

/* Returns the table for bg_capture_options.ranks, bg_runner_config.ranks and bg_compare_options.ranks. It is valid as
 * long as comm and the graphs that retain it. compare_choices is the value of BG_RANKS_COMPARE (0 or 1; default 0).
 * With 1 each replay is compared, too; else ranks that replay different graphs are noticed only where their
 * collectives do not match. */
BG_API const bg_ranks *bg_comm_ranks(bg_comm *comm);

/* As `barrier` and `agree` of bg_ranks.
 * Errors: INVALID_ARGUMENT (a NULL, a child process), OUT_OF_MEMORY, the error of a failed job (RANKS, NCCL). */
BG_API bg_status bg_comm_barrier(bg_comm *comm, const char *what);
BG_API bg_status bg_comm_agree(bg_comm *comm, const char *what, const char *text);

/* Sets *largest to the largest value of `mine` over all ranks; for bg_runner_config.pad_across_ranks. After an error
 * *largest is unchanged.
 * Errors: as for bg_comm_barrier. */
BG_API bg_status bg_comm_max(bg_comm *comm, const char *what, int64_t mine, int64_t *largest);

/* Copies the bytes at `mine` of each rank to `all`, in order of the ranks. `bytes` must be the same on all ranks. `all`
 * has room for the bytes of all ranks, up to 64 MiB.
 * Errors: as for bg_comm_barrier. */
BG_API bg_status bg_comm_gather(bg_comm *comm, const char *what, const void *mine, size_t bytes, void *all);

/* Returns BG_OK, or the error of the communicator: RANKS, with the message, after the watchdog has given up a replay;
 * NCCL for NCCL's own errors. */
BG_API bg_status bg_comm_check(bg_comm *comm);

/* Ends the job: sends the text `why` to the other ranks, and lets the watchdog's thread abort collectives in flight
 * (ncclCommAbort). comm must still be destroyed. */
BG_API void bg_comm_abort(bg_comm *comm, const char *why);

/* Leaves the job. NULL does nothing; allowed after an error, too. Replays in flight complete first, or the watchdog
 * ends them. Graphs that retain comm may still exist: NCCL's part is freed with the last of them. Before this call,
 * destroy each graph that contains collectives of comm and does not retain comm: freeing NCCL's part does not return
 * while such a graph exists. */
BG_API void bg_comm_destroy(bg_comm *comm);

BG_END_C_

#endif
