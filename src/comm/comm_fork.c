/* A child after fork() has the communicator's memory and connections, but not its threads nor a CUDA context; threads
 * of the parent may hold its locks. So the child may only release it. */
#include "comm/parts.h"

#include <stdlib.h>
#include <string.h>

static unsigned forks; /* number of forks between the process that made the first communicator and this one */
static int register_error;

static void count_fork(void)
{
    forks++;
}

static void register_fork_handler(void)
{
    register_error = pthread_atfork(NULL, NULL, count_fork);
}

bg_status bg__comm_init_fork_check(bg_comm *comm)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handler);
    comm->forks = forks;
    return register_error == 0
               ? BG_OK
               : bg__fail(BG_ERROR_OUT_OF_MEMORY, "pthread_atfork failed: %s", strerror(register_error));
}

bool bg__comm_is_forked(const bg_comm *comm)
{
    return comm->forks != forks;
}

bg_status bg__comm_fail_forked(const bg_comm *comm, const char *call)
{
    return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                    "%s: the communicator is the parent's, rank %d of %d, and this process was forked from it; fork "
                    "before bg_comm_create, or release it here with bg_comm_destroy",
                    call, comm->link.rank, comm->link.size);
}

void bg__comm_release_forked(bg_comm *comm)
{
    if (--comm->references > 0)
        return;
    bg__watchdog_free(&comm->watchdog);
    bg__link_free(&comm->link);
    free(comm);
}
