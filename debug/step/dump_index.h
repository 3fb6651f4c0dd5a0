/* The index of a stopped dump; the next dump into the same directory continues it. */
#ifndef BG_DEBUG_DUMP_INDEX_H
#define BG_DEBUG_DUMP_INDEX_H

#include <breakgraph/status.h>
#include <cjson/cJSON.h>

enum { BG__DUMP_VERSION = 1 }; /* version of the index; a reader refuses others */

/* *index becomes the index of a stopped dump in directory, which the caller frees; NULL: there is none. Errors:
 * INVALID_ARGUMENT if the dump in directory is complete, or ended by a fault; OUT_OF_MEMORY. */
bg_status bg__dump_index_read(const char *directory, cJSON **index);
/* Call it before an index with "next" is written: adds a hash of the whole index. Errors: OUT_OF_MEMORY. */
bg_status bg__dump_index_seal(cJSON *index);
/* Checks that the index still has its hash, and that the files that it lists exist. Errors: INVALID_ARGUMENT if not;
 * OUT_OF_MEMORY. */
bg_status bg__dump_index_verify(const char *directory, cJSON *index);

#endif
