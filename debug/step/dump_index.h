/* The index of a dump that was stopped, in which the next dump into the same directory goes on. */
#ifndef BG_DEBUG_DUMP_INDEX_H
#define BG_DEBUG_DUMP_INDEX_H

#include <breakgraph/status.h>
#include <cjson/cJSON.h>

enum { BG__DUMP_VERSION = 1 }; /* of the index; a reader refuses others */

/* *index: of a dump in directory that was stopped, for the caller to free; NULL: there is none. Errors:
 * INVALID_ARGUMENT if it has another index, whose dump is complete, or ended by a fault; OUT_OF_MEMORY. */
bg_status bg__dump_index_read(const char *directory, cJSON **index);
/* Before an index with "next" is written: adds a number that changes with all that it holds. Errors: OUT_OF_MEMORY. */
bg_status bg__dump_index_seal(cJSON *index);
/* Whether the index is as it was sealed, and the files that it lists are there. Errors: INVALID_ARGUMENT if not;
 * OUT_OF_MEMORY. */
bg_status bg__dump_index_verify(const char *directory, cJSON *index);

#endif
