#include "files.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "links.h"

static bg_status fail_write(const char *path)
{
    return bg__fail(BG_ERROR_IO, "%s cannot be written: %s", path, strerror(errno));
}

static bg_status refuse_foreign(const char *path)
{
    return bg__fail(BG_ERROR_IO,
                    "%s cannot be written: it belongs to another user, in a shared directory; name a file in a "
                    "directory of your own",
                    path);
}

/* ---- a new file ---- */

/* As mkstemp, but with the access rights of mode and the umask of the process. O_EXCL refuses a name that exists:
 * another user cannot have created it first. */
static int create_temporary(char *name, mode_t mode)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *end = name + strlen(name) - strlen("XXXXXX");
    int descriptor = -1;

    errno = EEXIST;
    for (unsigned i = 0; i < 100 && descriptor < 0 && errno == EEXIST; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
            random = (uint64_t)getpid() * 1021U + i;
        for (int k = 0; k < 6; k++, random /= sizeof letters - 1)
            end[k] = letters[random % (sizeof letters - 1)];
        descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    }
    return descriptor;
}

/* Makes a name for the unfinished file. The caller frees it. */
static char *make_temporary_name(const char *target)
{
    char *name = NULL;
    return asprintf(&name, "%s.XXXXXX", target) >= 0 ? name : NULL;
}

static bg_status open_temporary(char *name, const char *path, FILE **file)
{
    int descriptor = create_temporary(name, 0666);
    if (descriptor < 0)
        return fail_write(path);
    *file = fdopen(descriptor, "w");
    if (*file == NULL) {
        bg_status status = fail_write(path);
        (void)close(descriptor);
        (void)remove(name);
        return status;
    }
    return BG_OK;
}

int bg__file_create(const char *path)
{
    char *unfinished = make_temporary_name(path);
    int descriptor = unfinished != NULL ? create_temporary(unfinished, 0600) : -1, error;

    if (descriptor >= 0 && (fcntl(descriptor, F_SETFL, O_APPEND) != 0 || rename(unfinished, path) != 0)) {
        error = errno;
        (void)close(descriptor);
        (void)remove(unfinished);
        errno = error;
        descriptor = -1;
    }
    free(unfinished);
    return descriptor;
}

/* Renames the finished file in one step. fresh: fails if the file `path` exists. */
static bg_status rename_temporary(const char *unfinished, const char *target, const char *path, bool fresh)
{
    if (!fresh)
        return rename(unfinished, target) == 0 ? BG_OK : fail_write(path);
    if (link(unfinished, target) != 0)
        return fail_write(path);
    (void)remove(unfinished);
    return BG_OK;
}

/* ---- its contents ---- */

static bg_status write_and_close(FILE *file, const char *path, bg__file_writer write, void *user)
{
    bg_status status = write(user, file);
    if ((fflush(file) != 0 || ferror(file) != 0) && status == BG_OK)
        status = fail_write(path);
    if (fclose(file) != 0 && status == BG_OK)
        status = fail_write(path);
    return status;
}

/* Whether `path` is a device or a pipe, like /dev/null. A file must not replace it. */
static bool is_special_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static bg_status write_special_file(const char *path, bg__file_writer write, void *user)
{
    int descriptor = -1;
    FILE *file;

    if (bg__path_is_foreign(path))
        return refuse_foreign(path);
    descriptor = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC); /* for a pipe, this waits for a reader */
    file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file != NULL)
        return write_and_close(file, path, write, user);
    if (descriptor >= 0)
        (void)close(descriptor);
    return fail_write(path);
}

static bg_status replace_file(const char *path, bg__file_origin name, bg__file_writer write, void *user)
{
    char *target = name == BG__FILE_FROM_USER ? bg__link_resolve(path) : strdup(path), *unfinished = NULL;
    FILE *file = NULL;
    bg_status status;

    if (target == NULL && errno != ENOMEM)
        return errno == EACCES ? refuse_foreign(path) : fail_write(path);
    unfinished = target != NULL ? make_temporary_name(target) : NULL;
    if (unfinished == NULL) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a path");
        goto done;
    }
    BG__TRY(open_temporary(unfinished, path, &file));
    status = write_and_close(file, path, write, user);
    if (status == BG_OK)
        status = rename_temporary(unfinished, target, path, name == BG__FILE_EXCLUSIVE);
    if (status != BG_OK)
        (void)remove(unfinished);
done:
    free(unfinished);
    free(target);
    return status;
}

bg_status bg__file_write(const char *path, bg__file_origin name, bg__file_writer write, void *user)
{
    bg_status status;

    if (name != BG__FILE_FROM_USER)
        return replace_file(path, name, write, user);
    if (strcmp(path, "-") != 0)
        return is_special_file(path) ? write_special_file(path, write, user) : replace_file(path, name, write, user);
    status = write(user, stdout);
    if (fflush(stdout) != 0 && status == BG_OK)
        status = fail_write("standard output");
    return status;
}

bg_status bg__directory_make(const char *path)
{
    struct stat about;

    if (mkdir(path, 0777) == 0)
        return BG_OK;
    if (errno != EEXIST)
        return bg__fail(BG_ERROR_IO, "%s cannot be created: %s", path, strerror(errno));
    if (bg__path_is_foreign(path))
        return refuse_foreign(path);
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        return bg__fail(BG_ERROR_IO, "%s cannot be created: it exists and is not a directory; name another one", path);
    return BG_OK;
}

typedef struct file_parts {
    const void *bytes[2];
    size_t count[2];
    const char *path;
} file_parts;

static bg_status write_parts(void *user, FILE *out)
{
    const file_parts *p = user;
    for (int i = 0; i < 2; i++)
        if (p->count[i] > 0 && fwrite(p->bytes[i], 1, p->count[i], out) != p->count[i])
            return fail_write(p->path);
    return BG_OK;
}

bg_status bg__file_write_bytes(const char *path, bg__file_origin name, const void *head, size_t head_bytes,
                               const void *body, size_t body_bytes)
{
    file_parts p = {{head, body}, {head_bytes, body_bytes}, path};
    return bg__file_write(path, name, write_parts, &p);
}
