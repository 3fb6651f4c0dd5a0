#include "running_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

static atomic_bool used_places[BG__RUNNING_PLACES];
static char *places; /* NULL: there is no file */

/* Allocates the whole file before it is written to: on a full disk a write to the mapping would end the program. */
static bool create_mapped_file(const char *path)
{
    const size_t bytes = (size_t)BG__RUNNING_PLACES * BG__RUNNING_BYTES;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void *memory = MAP_FAILED;

    if (file < 0)
        return false;
    errno = posix_fallocate(file, 0, (off_t)bytes);
    if (errno == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
    places = memory != MAP_FAILED ? memory : NULL;
    return places != NULL;
}

static void create_running_file(void)
{
    const char *directory = bg__env_value("BG_REPORT");
    char *path = NULL;

    if (directory == NULL)
        return;
    if (asprintf(&path, "%s/running-%ld", directory, (long)getpid()) < 0)
        return;
    if (!create_mapped_file(path) && errno != EEXIST) /* another copy of the tools in this process has made it */
        bg__warn("--attach: %s cannot be created: a host function that ends the program is not reported: %s", path,
                 strerror(errno));
    free(path);
}

void bg__running_create_file(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, create_running_file);
}

static int acquire_place(void)
{
    for (int i = 0; i < BG__RUNNING_PLACES; i++)
        if (!atomic_exchange(&used_places[i], true))
            return i;
    return -1;
}

/* Writes the first byte last, and bg__running_remove_row clears it first: a place is either complete or empty. */
int bg__running_add_row(const char *row, unsigned long count)
{
    int place = places != NULL ? acquire_place() : -1;
    char *at = places + (size_t)place * BG__RUNNING_BYTES;
    int length;

    if (place < 0)
        return -1;
    length = snprintf(at + 1, BG__RUNNING_BYTES - 1, "%s, \"count\": %lu, \"began\": %.3f}", row + 1, count,
                      bg__now_ms() / 1000);
    if (length < BG__RUNNING_BYTES - 1)
        __atomic_store_n(at, row[0], __ATOMIC_RELEASE);
    return place;
}

void bg__running_remove_row(int place)
{
    if (place < 0)
        return;
    __atomic_store_n(places + (size_t)place * BG__RUNNING_BYTES, '\0', __ATOMIC_RELEASE);
    atomic_store(&used_places[place], false);
}
