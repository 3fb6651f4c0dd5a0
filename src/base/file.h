/* Reading files. */
#ifndef BG_FILE_H
#define BG_FILE_H

#include <breakgraph/status.h>

/* Reads a regular file into *bytes, which the caller frees, and appends a zero byte. It reads at most `most` + 1 bytes,
 * so that *size shows that a file is too large. links: true follows a symbolic link at the end of path, for paths that
 * the user gave; false makes it an error, for names that the library or the command chose. Errors: IO, with errno
 * (ENOENT: there is no file), OUT_OF_MEMORY. */
bg_status bg__file_read(const char *path, bool links, size_t most, char **bytes, size_t *size);

#endif
