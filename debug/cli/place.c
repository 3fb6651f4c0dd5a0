#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines; bytes of a file that is read; links on the way to one, as Linux follows them. */
enum { SHOWN = 10, MOST = 1 << 28, MOST_LINKS = 40 };

char *cli_path(const char *directory, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) >= 0 ? path : NULL;
}

/* From the root: a program may change its directory. */
char *cli_place_make(void)
{
    const char *given = getenv("TMPDIR"), *parent = given != NULL && given[0] != '\0' ? given : "/tmp";
    char *root = realpath(parent, NULL), *name = cli_path(root != NULL ? root : parent, "breakgraph.XXXXXX");

    free(root);
    if (name != NULL && mkdtemp(name) != NULL)
        return name;
    (void)cli_say(CLI_FAILED, "no temporary directory can be made (%s): %s; set TMPDIR", name != NULL ? name : "",
                  strerror(errno));
    free(name);
    return NULL;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

void cli_place_remove(const char *directory)
{
    if (directory != NULL && nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        (void)cli_say(CLI_FAILED, "%s cannot be removed: %s", directory, strerror(errno));
}

bool cli_place_renew(const char *directory)
{
    cli_place_remove(directory);
    return mkdir(directory, 0700) == 0;
}

char *cli_file_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    char *text = NULL;
    size_t size, got;

    if (file == NULL)
        return NULL;
    if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > MOST) {
        errno = EINVAL;
        goto done;
    }
    size = (size_t)about.st_size;
    text = malloc(size + 1);
    if (text == NULL)
        goto done;
    got = fread(text, 1, size, file);
    if (got < size && ferror(file)) {
        free(text);
        text = NULL;
        errno = EIO;
        goto done;
    }
    text[got] = '\0';
    *bytes = got;
done:
    (void)fclose(file);
    return text;
}

static bool write_all(int descriptor, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t wrote = write(descriptor, text, left);
        if (wrote < 0 && errno != EINTR)
            return false;
        text += wrote > 0 ? wrote : 0;
        left -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

/* A device or a pipe, like /dev/null: another file must not take its name. */
static bool write_special(const char *path, const char *text)
{
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    bool written = descriptor >= 0 && write_all(descriptor, text);
    return descriptor >= 0 && close(descriptor) == 0 && written;
}

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

char *cli_file_resolve(const char *path)
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

static bool write_new(const char *unfinished, int descriptor, const char *target, const char *text)
{
    bool written = write_all(descriptor, text) && fchmod(descriptor, 0644) == 0;
    written = close(descriptor) == 0 && written;
    return written && rename(unfinished, target) == 0;
}

bool cli_file_write(const char *path, const char *text)
{
    struct stat about;
    char *target, *unfinished = NULL;
    int descriptor = -1, error;
    bool written = false;

    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return write_special(path, text);
    target = cli_file_resolve(path);
    if (target != NULL && asprintf(&unfinished, "%s.XXXXXX", target) < 0)
        unfinished = NULL;
    if (unfinished != NULL)
        descriptor = mkstemp(unfinished);
    if (descriptor >= 0)
        written = write_new(unfinished, descriptor, target, text);
    error = errno;
    if (descriptor >= 0 && !written)
        (void)remove(unfinished);
    free(unfinished);
    free(target);
    errno = error;
    return written;
}

void cli_file_show_end(const char *path)
{
    size_t bytes = 0, from;
    char *text = cli_file_read(path, &bytes), *line, *rest;
    int lines = 0;

    if (text == NULL)
        return;
    while (bytes > 0 && text[bytes - 1] == '\n')
        text[--bytes] = '\0';
    for (from = bytes; from > 0 && lines < SHOWN; from--)
        lines += text[from - 1] == '\n';
    if (lines == SHOWN)
        from++;
    rest = text + from;
    while (bytes > 0 && (line = strsep(&rest, "\n")) != NULL)
        fprintf(stderr, "  %s\n", line);
    free(text);
}
