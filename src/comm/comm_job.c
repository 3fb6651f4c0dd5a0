/* The variables that launchers set, and the rules for them. */
#include "comm/comm_job.h"

#include "base/base.h"
#include "base/variables.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 4096, MOST_PORT = 65535 };

typedef struct launcher {
    const char *rank, *size, *local_rank;
    bool slurm;
} launcher;

/* The first launcher whose variables are set is used. */
static const launcher launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", false},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", false},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true},
};

/* If the variable is not set, *number is unchanged. */
static bg_status read_number(const char *variable, long least, long most, int *number)
{
    const char *value = bg__env_value(variable);
    char *end = NULL;
    long found;
    if (value == NULL)
        return BG_OK;
    errno = 0;
    found = strtol(value, &end, 10);
    if (errno != 0 || *end != '\0' || found < least || found > most)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the environment variable %s is \"%s\"; allowed are %ld to %ld",
                        variable, value, least, most);
    *number = (int)found;
    return BG_OK;
}

static bg_status read_launcher(bg__job *job, const launcher *from)
{
    bg_status status = BG_OK;
    if (bg__env_value(from->rank) == NULL || bg__env_value(from->size) == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the environment variable %s is set and %s is not; set both",
                        bg__env_value(from->rank) ? from->rank : from->size,
                        bg__env_value(from->rank) ? from->size : from->rank);
    BG__TRY(read_number(from->rank, 0, MOST_RANKS - 1, &job->rank));
    BG__TRY(read_number(from->size, 1, MOST_RANKS, &job->size));
    BG__TRY(read_number(from->local_rank, 0, MOST_RANKS - 1, &job->local_rank));
done:
    return status;
}

/* A batch script has SLURM_PROCID=0 but is not a task: it has no step id. Inside an allocation without a step, only the
 * number of tasks is set. */
static bool is_launcher_set(const launcher *one)
{
    bool rank = bg__env_value(one->rank) != NULL, size = bg__env_value(one->size) != NULL;
    bool task = bg__env_value("SLURM_STEP_ID") != NULL || bg__env_value("SLURM_JOB_ID") == NULL;
    return one->slurm ? rank && size && task : rank || size;
}

static bg_status read_ranks(bg__job *job, const bg_comm_options *options)
{
    bg_status status = BG_OK;
    *job = (bg__job){.rank = -1, .size = -1, .local_rank = -1};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && job->rank < 0; i++)
        if ((options->rank < 0 || options->size < 0) && is_launcher_set(&launchers[i]))
            BG__TRY(read_launcher(job, &launchers[i]));
    job->rank = options->rank >= 0 ? options->rank : job->rank >= 0 ? job->rank : 0;
    job->size = options->size >= 0 ? options->size : job->size >= 0 ? job->size : 1;
    if (options->local_rank >= 0)
        job->local_rank = options->local_rank;
    else if (job->local_rank < 0)
        BG__TRY(read_number("LOCAL_RANK", 0, MOST_RANKS - 1, &job->local_rank));
    if (job->local_rank < 0)
        job->local_rank = job->rank;
    if (job->size < 1 || job->size > MOST_RANKS || job->rank >= job->size)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "rank %d of %d ranks is not possible; a rank is 0 to size - 1, and the size 1 to %d",
                          job->rank, job->size, MOST_RANKS);
done:
    return status;
}

/* An empty text counts as not set, as for variables: an empty token would protect nothing. */
static const char *option_or_variable(const char *option, const char *variable)
{
    return option != NULL && *option != '\0' ? option : bg__env_value(variable);
}

/* The socket of BG_RANKS_SOCKET; NULL if options or BG_RANKS_BIND name another place, or under torchrun: a torchrun
 * inside a rank of breakgraph run starts a job of its own, but inherits the variable. breakgraph run --ranks itself
 * sets no variable of torchrun. */
static const char *find_socket(const bg_comm_options *options)
{
    bool address = options->address != NULL && *options->address != '\0';
    bool bind = option_or_variable(options->bind, "BG_RANKS_BIND") != NULL;
    bool torchrun = bg__env_value("TORCHELASTIC_RUN_ID") != NULL;
    return options->port != 0 || address || bind || torchrun ? NULL : bg__env_value("BG_RANKS_SOCKET");
}

/* torchrun itself uses MASTER_PORT. */
static bg_status find_port(bg__job *job, const bg_comm_options *options)
{
    bg_status status = BG_OK;
    job->port = options->port;
    if (job->port == 0) {
        BG__TRY(read_number("MASTER_PORT", 1, MOST_PORT - 1, &job->port));
        job->port += job->port != 0 && bg__env_value("TORCHELASTIC_RUN_ID") != NULL;
    }
    if (job->port < 0 || job->port > MOST_PORT)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "options.port is %d; allowed are 1 to %d", job->port, MOST_PORT);
    else if (job->port == 0 && job->size > 1 && job->socket == NULL)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "the job has %d ranks and no port; start it with breakgraph run --ranks, or set "
                          "MASTER_PORT, and MASTER_ADDR if rank 0 is on another machine",
                          job->size);
done:
    return status;
}

bg_status bg__job_read(bg__job *job, const bg_comm_options *options)
{
    bg_status status = BG_OK;
    BG__TRY(read_ranks(job, options));
    job->socket = find_socket(options);
    BG__TRY(find_port(job, options));
    job->address = option_or_variable(options->address, "MASTER_ADDR");
    job->address = job->address != NULL ? job->address : "127.0.0.1";
    job->bind = option_or_variable(options->bind, "BG_RANKS_BIND");
    job->token = option_or_variable(options->token, "BG_RANKS_TOKEN");
    BG__TRY(bg__env_number("BG_RANKS_TIMEOUT", &job->timeout));
    job->timeout = options->timeout > 0 ? options->timeout : job->timeout;
    job->watchdog = job->timeout;
    BG__TRY(bg__env_number("BG_RANKS_WATCHDOG", &job->watchdog));
    job->watchdog = options->watchdog != 0 ? options->watchdog : job->watchdog;
    if (!(options->timeout >= 0 && job->timeout <= BG__SECONDS_MAX && job->watchdog <= BG__SECONDS_MAX))
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "options.timeout is %g and options.watchdog %g; allowed are up to %d seconds, 0 for the "
                          "environment's value, and below 0 only for watchdog (never)",
                          options->timeout, options->watchdog, BG__SECONDS_MAX);
done:
    return status;
}
