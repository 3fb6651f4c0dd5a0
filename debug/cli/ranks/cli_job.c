#include "cli_job.h"

#include <arpa/inet.h>
#include <breakgraph/breakgraph.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug/cli/arguments/flags.h"
#include "debug/cli/output/cli_files.h"

const cli_flag cli_job_flags[] = {
    {"-e", "NAME=VALUE", NULL, NULL,
     "set an environment variable of the program; repeat the flag for more than one. BG_ and HOSTCUDA_ variables "
     "must be known, and their values allowed"},
    {"--ranks", "N", NULL, NULL,
     "start the program N times, as the ranks of one job; sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, "
     "MASTER_PORT, BG_RANKS_SOCKET, BG_RANKS_TOKEN"},
    {"--oversubscribe", NULL, NULL, NULL, "allow more ranks than there are devices"},
    {0},
};

/* ---- devices ---- */

/* The host device has as many devices as HOSTCUDA_DEVICES says; a value of the user stays. */
static cli_status set_host_devices(const char *count)
{
    if (strcmp(bg_device_kind(), "host") == 0 && setenv("HOSTCUDA_DEVICES", count, 0) != 0)
        return cli_print_message(CLI_FAILED, "HOSTCUDA_DEVICES cannot be set: %s", strerror(errno));
    return CLI_OK;
}

typedef struct device_count {
    cudaError_t error;
    int devices;
} device_count;

/* Counts in a child process: a driver starts threads and opens descriptors, and the command forks later. */
static bool count_devices(device_count *found)
{
    int ends[2], error;
    bool answered = false;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    (void)fflush(NULL);
    pid = fork();
    error = errno;
    if (pid == 0) {
        found->error = cudaGetDeviceCount(&found->devices);
        _exit(write(ends[1], found, sizeof *found) == sizeof *found ? 0 : 1);
    }
    (void)close(ends[1]);
    if (pid > 0) {
        answered = read(ends[0], found, sizeof *found) == sizeof *found;
        (void)waitpid(pid, NULL, 0);
        error = ECHILD;
    }
    (void)close(ends[0]);
    errno = error;
    return answered;
}

static cli_status check_devices(int count)
{
    device_count found = {0};
    if (!count_devices(&found))
        return cli_print_message(CLI_FAILED, "devices cannot be counted: the child process gave no answer: %s",
                                 strerror(errno));
    if (found.error != cudaSuccess)
        return cli_print_message(
            CLI_USAGE, "--ranks=%d needs %d device%s, and there is none (%s); --oversubscribe starts the ranks anyway",
            count, count, count == 1 ? "" : "s", cudaGetErrorName(found.error));
    if (found.devices < count)
        return cli_print_message(
            CLI_USAGE, "--ranks=%d needs %d device%s, and there %s %d; --oversubscribe lets ranks share a device",
            count, count, count == 1 ? "" : "s", found.devices == 1 ? "is" : "are", found.devices);
    return CLI_OK;
}

cli_status cli_job_read(const cli_arguments *arguments, int *count)
{
    const char *value = cli_given_value(arguments, "--ranks");
    bool oversubscribe = cli_given_value(arguments, "--oversubscribe") != NULL;
    char *end = NULL;
    long number = value != NULL ? strtol(value, &end, 10) : 0;
    cli_status status;

    *count = (int)number;
    if (value == NULL)
        return oversubscribe ? cli_print_message(CLI_USAGE, "--oversubscribe needs --ranks") : CLI_OK;
    if (end == value || *end != '\0' || number < 1 || number > CLI_RANKS_MOST)
        return cli_print_message(CLI_USAGE, "'--ranks=%s': allowed are whole numbers from 1 to %d", value,
                                 CLI_RANKS_MOST);
    for (size_t i = 0; i < arguments->count; i++)
        if (strncmp(arguments->given[i].value, "BG_RANKS_BIND=", 14) == 0)
            return cli_print_message(
                CLI_USAGE, "BG_RANKS_BIND is for ranks of several machines; those of --ranks meet on loopback");
    status = set_host_devices(value);
    return status == CLI_OK && !oversubscribe ? check_devices(*count) : status;
}

/* ---- the rendezvous ---- */

/* With SO_REUSEADDR on both sides rank 0 may listen on the port, as this socket is bound to it and does not listen (man
 * 7 socket). Every other user may do so, too: so ranks of breakgraph use the socket in a private directory instead. */
static bool reserve_port(cli_job *job)
{
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;

    job->held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (job->held < 0 || setsockopt(job->held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(job->held, (struct sockaddr *)&address, size) != 0 ||
        getsockname(job->held, (struct sockaddr *)&address, &size) != 0)
        return false;
    job->port = ntohs(address.sin_port);
    return true;
}

/* The length of a socket's path is limited; if the directory's name is too long, the ranks use the port. */
static bool create_socket_path(cli_job *job)
{
    const struct sockaddr_un *address = NULL;
    job->directory = cli_temporary_directory_create();
    if (job->directory == NULL)
        return false;
    job->socket = cli_join_path(job->directory, "ranks");
    if (job->socket != NULL && strlen(job->socket) >= sizeof address->sun_path) {
        free(job->socket);
        job->socket = NULL;
        return true;
    }
    return job->socket != NULL;
}

bool cli_job_create(cli_job *job, int count)
{
    unsigned char random[sizeof job->token / 2];
    *job = (cli_job){.count = count, .held = -1};
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random || !reserve_port(job) || !create_socket_path(job))
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(job->token + 2 * i, 3, "%02x", random[i]);
    return true;
}

void cli_job_destroy(cli_job *job)
{
    if (job->held >= 0)
        (void)close(job->held);
    job->held = -1;
    cli_temporary_directory_remove(job->directory);
    free(job->directory);
    free(job->socket);
    job->directory = job->socket = NULL;
}

/* ---- in a rank ---- */

static int set_number_variable(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    return setenv(name, text, 1);
}

char *cli_job_rank_path(const char *path, int rank)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    bool ends = dot != NULL && dot > path && (slash == NULL || dot > slash + 1);
    int length = (int)(ends ? (size_t)(dot - path) : strlen(path));
    char *own = NULL;
    return asprintf(&own, "%.*s.rank-%d%s", length, path, rank, path + length) >= 0 ? own : NULL;
}

char *cli_rank_output_path(const char *directory, int rank, const char *ending)
{
    char *path = NULL;
    return asprintf(&path, "%s/rank-%d.%s", directory, rank, ending) >= 0 ? path : NULL;
}

static int set_rank_path_variable(const char *name, int rank)
{
    const char *path = getenv(name);
    char *own;
    int set;

    if (path == NULL || path[0] == '\0')
        return 0;
    own = cli_job_rank_path(path, rank);
    if (own == NULL)
        return -1;
    set = setenv(name, own, 1);
    free(own);
    return set;
}

int cli_job_set_environment(const cli_job *job, int rank)
{
    bool set = set_number_variable("RANK", rank) == 0 && set_number_variable("WORLD_SIZE", job->count) == 0 &&
               set_number_variable("LOCAL_RANK", rank) == 0 &&
               set_number_variable("LOCAL_WORLD_SIZE", job->count) == 0 &&
               set_number_variable("MASTER_PORT", job->port) == 0 && setenv("MASTER_ADDR", "127.0.0.1", 1) == 0 &&
               setenv("BG_RANKS_TOKEN", job->token, 1) == 0 &&
               (job->socket != NULL ? setenv("BG_RANKS_SOCKET", job->socket, 1) : unsetenv("BG_RANKS_SOCKET")) == 0 &&
               unsetenv("BG_RANKS_BIND") == 0 &&     /* all ranks are on this machine */
               unsetenv("TORCHELASTIC_RUN_ID") == 0; /* of a torchrun that started this: its ranks use the next port */
    if (set && job->count > 1)
        set = set_rank_path_variable("BG_TRACE", rank) == 0 && set_rank_path_variable("BG_STEP_DUMP", rank) == 0;
    return set ? 0 : errno;
}
