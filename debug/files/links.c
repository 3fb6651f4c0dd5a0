#include "links.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as many as Linux follows */

/* The target of the link at `path`, relative to the same directory as `path`. Returns NULL with errno after a
 * failure. */
static char *follow_link(const char *path)
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

/* Shortens path, which does not end in a slash, to its directory. */
static const char *cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return ".";
    slash[slash == path] = '\0';
    return path;
}

bool bg__path_is_foreign(const char *path)
{
    const mode_t shared = S_ISVTX | S_IWOTH;
    size_t length = strlen(path);
    struct stat about, around;
    char *own;
    bool foreign;

    while (length > 1 && path[length - 1] == '/')
        length--;
    own = strndup(path, length);
    if (own == NULL)
        return true;
    foreign = lstat(own, &about) == 0 && about.st_uid != geteuid() && stat(cut_to_parent(own), &around) == 0 &&
              (around.st_mode & shared) == shared && about.st_uid != around.st_uid;
    free(own);
    return foreign;
}

char *bg__link_resolve(const char *path)
{
    char *at = strdup(path);
    struct stat about;
    for (int links = 0; at != NULL && lstat(at, &about) == 0 && S_ISLNK(about.st_mode); links++) {
        bool foreign = bg__path_is_foreign(at);
        char *next = links < MOST_LINKS && !foreign ? follow_link(at) : NULL;
        if (links == MOST_LINKS || foreign)
            errno = foreign ? EACCES : ELOOP;
        free(at);
        at = next;
    }
    return at;
}
