#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "links.h"

static bg_status fail(const char *path)
{
    return bg__fail(BG_ERROR_IO, "%s cannot be written: %s", path, strerror(errno));
}

/* In its place by one call, which leaves what is there alone where it must be fresh. */
static bg_status put_in_place(const char *unfinished, const char *target, const char *path, bool fresh)
{
    if (!fresh)
        return rename(unfinished, target) == 0 ? BG_OK : fail(path);
    if (link(unfinished, target) != 0)
        return fail(path);
    (void)remove(unfinished);
    return BG_OK;
}

/* As mkstemp, but for whom the process's mask allows. */
static int create(char *name)
{
    char *end = name + strlen(name) - strlen("XXXXXX");
    int descriptor = -1;
    errno = EEXIST;
    for (unsigned i = 0; i < 10000 && descriptor < 0 && errno == EEXIST; i++) {
        snprintf(end, sizeof "XXXXXX", "%06x", ((unsigned)getpid() * 1021U + i) & 0xffffffU);
        descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return descriptor;
}

static bg_status open_unfinished(char *name, const char *path, FILE **file)
{
    int descriptor = create(name);
    if (descriptor < 0)
        return fail(path);
    *file = fdopen(descriptor, "w");
    if (*file == NULL) {
        bg_status status = fail(path);
        (void)close(descriptor);
        (void)remove(name);
        return status;
    }
    return BG_OK;
}

/* A device or a pipe, like /dev/null: another file must not take its name. */
static bool is_special(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

static bg_status write_special(const char *path, bg__file_writer write, void *user)
{
    FILE *file = fopen(path, "w");
    bg_status status;

    if (file == NULL)
        return fail(path);
    status = write(user, file);
    if ((fflush(file) != 0 || ferror(file) != 0) && status == BG_OK)
        status = fail(path);
    if (fclose(file) != 0 && status == BG_OK)
        status = fail(path);
    return status;
}

static bg_status write_file(const char *path, bool fresh, bg__file_writer write, void *user)
{
    char *target = fresh ? strdup(path) : bg__link_resolve(path), *unfinished = NULL;
    FILE *file = NULL;
    bg_status status;

    if (target == NULL && errno != ENOMEM)
        return fail(path);
    if (target == NULL || asprintf(&unfinished, "%s.XXXXXX", target) < 0) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for a path");
        unfinished = NULL;
        goto done;
    }
    BG__TRY(open_unfinished(unfinished, path, &file));
    status = write(user, file);
    if (fflush(file) != 0 && status == BG_OK)
        status = fail(path);
    if (ferror(file) != 0 && status == BG_OK)
        status = fail(path);
    if (fclose(file) != 0 && status == BG_OK)
        status = fail(path);
    if (status == BG_OK)
        status = put_in_place(unfinished, target, path, fresh);
    if (status != BG_OK)
        (void)remove(unfinished);
done:
    free(unfinished);
    free(target);
    return status;
}

bg_status bg__file_write(const char *path, bool fresh, bg__file_writer write, void *user)
{
    bg_status status;

    if (strcmp(path, "-") != 0)
        return !fresh && is_special(path) ? write_special(path, write, user) : write_file(path, fresh, write, user);
    status = write(user, stdout);
    if (fflush(stdout) != 0 && status == BG_OK)
        status = fail("standard output");
    return status;
}

typedef struct parts {
    const void *bytes[2];
    size_t count[2];
    const char *path;
} parts;

static bg_status write_parts(void *user, FILE *out)
{
    const parts *p = user;
    for (int i = 0; i < 2; i++)
        if (p->count[i] > 0 && fwrite(p->bytes[i], 1, p->count[i], out) != p->count[i])
            return fail(p->path);
    return BG_OK;
}

bg_status bg__file_write_bytes(const char *path, bool fresh, const void *head, size_t head_bytes, const void *body,
                               size_t body_bytes)
{
    parts p = {{head, body}, {head_bytes, body_bytes}, path};
    return bg__file_write(path, fresh, write_parts, &p);
}
