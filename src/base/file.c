/* Reads files, but only regular ones: opening a pipe in a file's place would block for ever. */
#include "base/file.h"

#include "base/errors.h"
#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *describe_file_type(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR: return "it is a directory, not a file";
    case S_IFIFO: return "it is a pipe, not a file";
    case S_IFSOCK: return "it is a socket, not a file";
    default: return "it is a device, not a file";
    }
}

static bg_status open_regular_file(const char *path, bool links, int *descriptor)
{
    struct stat about;

    *descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (links ? 0 : O_NOFOLLOW));
    if (*descriptor < 0 && errno == ELOOP && !links)
        return bg__fail(BG_ERROR_IO, "%s cannot be read: it is a symbolic link, which is not allowed here; remove it",
                        path);
    if (*descriptor < 0 || fstat(*descriptor, &about) != 0)
        return bg__fail(BG_ERROR_IO, "%s cannot be read: %s", path, strerror(errno));
    errno = EINVAL;
    return S_ISREG(about.st_mode)
               ? BG_OK
               : bg__fail(BG_ERROR_IO, "%s cannot be read: %s; %s", path, describe_file_type(about.st_mode),
                          links ? "name a regular file" : "remove it");
}

/* Reads at most `most` + 1 bytes, and appends a zero byte. */
static bg_status read_limited(int descriptor, const char *path, size_t most, char **bytes, size_t *size)
{
    enum { READ_BYTES = 1 << 16 };
    size_t room = 0;
    ssize_t got = 1;
    bg_status status = BG_OK;

    for (*size = 0; got > 0 && *size <= most; *size += (size_t)got) {
        size_t left = most + 1 - *size;
        BG__TRY(bg__array_grow(bytes, &room, *size + READ_BYTES + 1, 1, "bytes of a file"));
        do
            got = read(descriptor, *bytes + *size, left < READ_BYTES ? left : READ_BYTES);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return bg__fail(BG_ERROR_IO, "%s cannot be read: %s", path, strerror(errno));
    }
    (*bytes)[*size] = '\0';
done:
    return status;
}

bg_status bg__file_read(const char *path, bool links, size_t most, char **bytes, size_t *size)
{
    char *read = NULL;
    int descriptor = -1, error;
    bg_status status;

    BG__TRY(open_regular_file(path, links, &descriptor));
    BG__TRY(read_limited(descriptor, path, most, &read, size));
    *bytes = read;
    read = NULL;
done:
    error = errno;
    if (descriptor >= 0)
        (void)close(descriptor); /* nothing was written */
    free(read);
    errno = error;
    return status;
}
