/* Reading files. */
#ifndef BG_FILE_H
#define BG_FILE_H

#include <breakgraph/status.h>

/* What a regular file holds, a zero behind it: *bytes, which the caller frees. Of a file with more than `most` bytes it
 * reads one more than that. links: a symbolic link at the end of path is followed, as for a path that the user gave; it
 * is an error where the library or the command made up the name. IO, with errno: ENOENT where there is no file;
 * OUT_OF_MEMORY. */
bg_status bg__file_read(const char *path, bool links, size_t most, char **bytes, size_t *size);

#endif
