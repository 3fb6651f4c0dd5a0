#include "links.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* that Linux follows */

/* What the link at path names, from where path is seen; NULL with errno. */
static char *follow(const char *path)
{
    const char *slash = strrchr(path, '/');
    int lead = slash != NULL ? (int)(slash - path) + 1 : 0;
    char target[PATH_MAX], *whole = NULL;
    ssize_t bytes = readlink(path, target, sizeof target);

    if (bytes < 0)
        return NULL;
    if (bytes == sizeof target) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return asprintf(&whole, "%.*s%.*s", target[0] == '/' ? 0 : lead, path, (int)bytes, target) >= 0 ? whole : NULL;
}

char *bg__link_resolve(const char *path)
{
    char *at = strdup(path);
    struct stat about;
    for (int links = 0; at != NULL && lstat(at, &about) == 0 && S_ISLNK(about.st_mode); links++) {
        char *next = links < MOST_LINKS ? follow(at) : NULL;
        if (links == MOST_LINKS)
            errno = ELOOP;
        free(at);
        at = next;
    }
    return at;
}
