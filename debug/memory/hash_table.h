/* Includes uthash, set up so that host memory may run out. An item that cannot be added is freed, and the variable that
 * was given to HASH_ADD becomes NULL. */
#ifndef BG_DEBUG_HASH_TABLE_H
#define BG_DEBUG_HASH_TABLE_H

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(added)                                                                                     \
    do {                                                                                                               \
        free(added);                                                                                                   \
        (added) = NULL;                                                                                                \
    } while (0)
#include <uthash.h>

#endif
