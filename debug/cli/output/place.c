#include "place.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug/report/files.h"
#include "exits.h"

enum { SHOWN = 10, MOST = 1 << 28 }; /* lines; bytes of a file that is read */

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

bool cli_file_write(const char *path, const char *text)
{
    return bg__file_write_bytes(path, false, text, strlen(text), NULL, 0) == BG_OK;
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
