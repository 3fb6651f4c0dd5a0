#include "launcher_rank.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* Reads a variable that must be a number, not negative. Returns false if it is not. */
static bool read_number(const char *variable, long *number)
{
    const char *text = getenv(variable);
    char *end;

    if (text == NULL || !isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *number = strtol(text, &end, 10);
    return *end == '\0' && errno == 0;
}

bool bg__launcher_rank(long *rank, long *ranks)
{
    static const char *const pairs[][2] = {
        {"RANK", "WORLD_SIZE"}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};
    bool script = getenv("SLURM_JOB_ID") != NULL && getenv("SLURM_STEP_ID") == NULL;
    size_t count = sizeof pairs / sizeof *pairs - (script ? 1 : 0); /* a batch script is not a task of Slurm */
    for (size_t i = 0; i < count; i++)
        if (read_number(pairs[i][0], rank) && read_number(pairs[i][1], ranks) && *rank < *ranks)
            return true;
    return false;
}
