#include "cli_files.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "exits.h"

enum { SHOWN = 10, MOST = 1 << 28 }; /* lines; bytes of a file that is read */

char *cli_join_path(const char *directory, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) >= 0 ? path : NULL;
}

/* The directories that this process has created; NULL: removed since. */
static struct {
    char **list;
    size_t count, capacity;
} created_directories;

static void record_directory(const char *name)
{
    char *copy = strdup(name);
    if (copy != NULL && BG__ARRAY_GROW(created_directories.list, created_directories.count,
                                       created_directories.capacity, "temporary directories") == BG_OK)
        created_directories.list[created_directories.count++] = copy;
    else
        free(copy); /* the directory stays if the command is killed */
}

static void forget_directory(const char *name)
{
    for (size_t i = 0; i < created_directories.count; i++)
        if (created_directories.list[i] != NULL && strcmp(created_directories.list[i], name) == 0) {
            free(created_directories.list[i]);
            created_directories.list[i] = NULL;
        }
}

/* An absolute path: a program may change its directory. */
char *cli_temporary_directory_create(void)
{
    const char *given = getenv("TMPDIR"), *parent = given != NULL && given[0] != '\0' ? given : "/tmp";
    char *root = realpath(parent, NULL), *name = cli_join_path(root != NULL ? root : parent, "breakgraph.XXXXXX");

    free(root);
    if (name != NULL && mkdtemp(name) != NULL) {
        record_directory(name);
        return name;
    }
    (void)cli_print_message(CLI_FAILED, "no temporary directory can be made (%s): %s; set TMPDIR",
                            name != NULL ? name : "", strerror(errno));
    free(name);
    return NULL;
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

static bool remove_tree(const char *directory)
{
    return nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT;
}

void cli_temporary_directory_remove(const char *directory)
{
    if (directory == NULL)
        return;
    if (!remove_tree(directory))
        (void)cli_print_message(CLI_FAILED, "%s cannot be removed: %s", directory, strerror(errno));
    forget_directory(directory);
}

void cli_temporary_directories_remove(void)
{
    for (size_t i = 0; i < created_directories.count; i++)
        if (created_directories.list[i] != NULL)
            (void)remove_tree(created_directories.list[i]);
}

bool cli_directory_recreate(const char *directory)
{
    cli_temporary_directory_remove(directory);
    return mkdir(directory, 0700) == 0;
}

char *cli_file_read(const char *path, bool links, size_t *bytes)
{
    char *text = NULL, why[512];

    if (bg__file_read(path, links, MOST, &text, bytes) != BG_OK)
        return NULL;
    if (*bytes <= MOST)
        return text;
    free(text);
    errno = EFBIG;
    snprintf(why, sizeof why, "%s is larger than %d MiB", path, MOST >> 20);
    (void)bg_report_failure(BG_ERROR_IO, "reading", why, "name another file");
    return NULL;
}

bool cli_file_write(const char *path, bg__file_origin name, const char *text)
{
    return bg__file_write_bytes(path, name, text, strlen(text), NULL, 0) == BG_OK;
}

void cli_file_show_end(const char *path)
{
    size_t bytes = 0, from;
    char *text = cli_file_read(path, false, &bytes), *line, *rest;
    int lines = 0;

    if (text == NULL)
        return;
    while (bytes > 0 && text[bytes - 1] == '\n')
        text[--bytes] = '\0';
    for (from = bytes; from > 0 && lines < SHOWN; from--)
        lines += text[from - 1] == '\n';
    if (lines == SHOWN) {
        from++;
        fputs("  ...\n", stderr);
    }
    rest = text + from;
    while (bytes > 0 && (line = strsep(&rest, "\n")) != NULL)
        fprintf(stderr, "  %s\n", line);
    free(text);
}
