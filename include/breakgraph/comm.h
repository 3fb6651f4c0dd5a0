/* The ranks of one job, and NCCL's communicator between them. In libbreakgraph_nccl (pkg-config breakgraph_nccl).
 *
 * Who the ranks are comes from what launchers set: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT (torchrun,
 * breakgraph run --ranks), else Open MPI's OMPI_COMM_WORLD_RANK, _SIZE and _LOCAL_RANK, else Slurm's SLURM_PROCID,
 * SLURM_NTASKS and SLURM_LOCALID, but for a batch script, which is no step; none: one rank.
 *
 * Beside NCCL the ranks hold two connections each to rank 0: for NCCL's id, barriers, comparisons and the watchdog.
 * They are TCP, or, where BG_RANKS_SOCKET names a path (breakgraph run --ranks does) and options name neither address
 * nor port, a Unix-domain socket of this machine. Rank 0 listens only until all ranks have joined, and only on this
 * machine (MASTER_ADDR must be a loopback address) unless BG_RANKS_BIND names an address.
 *
 * With a token (BG_RANKS_TOKEN, up to 255 bytes) each rank and rank 0 prove to each other that they know it, by
 * HMAC-SHA-256 (RFC 2104, of libcrypto) over nonces of both, rank, size and port; it is not sent. On one machine the
 * other process must also be of this user, as the kernel tells (/proc/net/tcp, SO_PEERCRED); without a token only such
 * are let in. What follows is neither encrypted nor signed: SECURITY.md tells what is protected against whom.
 *
 * A failure is everybody's and final: each later call returns it with the first one's sentence, and NCCL's communicator
 * is aborted, a second later where it came from the ranks' own calls, so that no stream waits for ever.
 *
 * A replay (an eager run of a runner is one here) that has not moved for the watchdog's time is given up on all ranks
 * when they have told where they are, up to 3 seconds later; where it moves again before that, on none. An eager run is
 * one step: the watchdog's time is to be longer than any takes. An operation that has waited too long has failed.
 *
 * It looks at no plain pass (a warm-up), and at no eager body at capture. Where one waits for a stream whose collective
 * another rank does not begin, that ends when some rank has waited at a meeting for the timeout; where all ranks wait
 * so, or the one that is missing is stopped, nothing here ends it: breakgraph run --ranks has --timeout.
 *
 * Threads: a communicator serves one thread at a time; it has a watchdog thread of its own.
 *
 * fork(): a communicator is not for a child of its process. There each call is INVALID_ARGUMENT, bg_comm_nccl NULL, and
 * the other ranks hear of nothing; bg_comm_destroy only frees the child's memory and closes its copies of the
 * connections. (Graphs are not for it either, as CUDA is not.) A child that goes on without exec should do so: until
 * then the others do not see it when the rank itself dies. */
#ifndef BREAKGRAPH_COMM_H
#define BREAKGRAPH_COMM_H

#include <breakgraph/ranks.h>

BG_BEGIN_C_

typedef struct bg_comm bg_comm;
struct ncclComm;

/* Texts that are empty count as NULL. */
typedef struct bg_comm_options {
    size_t struct_size;         /* set by BG_COMM_OPTIONS_INIT */
    int rank, size, local_rank; /* -1: from the environment */
    const char *address;        /* of rank 0; NULL: MASTER_ADDR, else 127.0.0.1 */
    int port;          /* 0: BG_RANKS_SOCKET, else MASTER_PORT (under torchrun no socket, and one above the port,
                        * which its own store has) */
    const char *bind;  /* NULL: BG_RANKS_BIND, else loopback; another needs a token */
    const char *token; /* NULL: BG_RANKS_TOKEN */
    double timeout;    /* seconds that a rank waits for the others; 0: BG_RANKS_TIMEOUT, else 60. The system's
                        * resolver has its own limits: where address is a name, it may take longer */
    double watchdog;   /* seconds without progress after which a replay, or an eager run of a runner, is given
                        * up; 0: BG_RANKS_WATCHDOG, else timeout; below 0: never */
    bool set_device;   /* true: the current device becomes local_rank modulo the devices there are */
} bg_comm_options;
#define BG_COMM_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(bg_comm_options), -1, -1, -1, NULL, 0, NULL, NULL, 0, 0, true                                           \
    }

/* Joins the job: returns on every rank when all have joined, or fails on each. options may be NULL. Errors:
 * INVALID_ARGUMENT (the environment, options), TIMEOUT (with the ranks that did not come), RANKS (a stranger, two of
 * one rank, another size, version, token or port), IO, NCCL, CUDA. *comm is NULL after an error. */
BG_API bg_status bg_comm_create(bg_comm **comm, const bg_comm_options *options);
BG_API int bg_comm_rank(const bg_comm *comm);
BG_API int bg_comm_size(const bg_comm *comm);
/* NCCL's communicator (an ncclComm_t), owned by comm; on the device that was current at create. After a failure it is
 * aborted, which frees it unless graphs hold it, and this is NULL, with bg_last_error(): an op asks here each time, and
 * keeps no copy. Nor do the arguments of a call that may be eager, which its graph keeps: give comm to the op, whose
 * body asks. */
BG_API struct ncclComm *bg_comm_nccl(bg_comm *comm);
/* For bg_capture_options.ranks, bg_runner_config.ranks and bg_compare_options.ranks; lives as long as comm, and what
 * retains it. compare_choices is what BG_RANKS_COMPARE says (0 or 1; 0); with it each replay
 * is compared, too: else ranks that replay different graphs are noticed only where their collectives do not fit. */
BG_API const bg_ranks *bg_comm_ranks(bg_comm *comm);

/* See bg_ranks. */
BG_API bg_status bg_comm_barrier(bg_comm *comm, const char *what);
BG_API bg_status bg_comm_agree(bg_comm *comm, const char *what, const char *text);
/* The largest of what the ranks say; for bg_runner_config.pad_across_ranks. After an error *largest is as before. */
BG_API bg_status bg_comm_max(bg_comm *comm, const char *what, int64_t mine, int64_t *largest);
/* all: room for size times bytes, up to 64 MiB, in order of the ranks; bytes is the same on all. */
BG_API bg_status bg_comm_gather(bg_comm *comm, const char *what, const void *mine, size_t bytes, void *all);
/* BG_OK, or what went wrong: RANKS after the watchdog has given up, with the sentence; NCCL's own errors. */
BG_API bg_status bg_comm_check(bg_comm *comm);

/* Gives up: tells the other ranks why, and has the watchdog's thread end collectives in flight (ncclCommAbort). comm is
 * still to be destroyed. */
BG_API void bg_comm_abort(bg_comm *comm, const char *why);
/* Leaves the job. Graphs that retain comm may still be there: NCCL's part goes with the last of them. Graphs that hold
 * its collectives and do not retain it must be gone: NCCL waits for them. Replays in flight end first, or the watchdog
 * ends them. NULL is fine, after a failure too. */
BG_API void bg_comm_destroy(bg_comm *comm);

BG_END_C_

#endif
