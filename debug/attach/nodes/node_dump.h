/* Dumps of the bytes that a node wrote. */
#ifndef BG_ATTACH_NODE_DUMP_H
#define BG_ATTACH_NODE_DUMP_H

#include "debug/step/dump.h"
#include "node_pieces.h"

/* A copy of a piece, made before the node ran. */
typedef struct bg__piece_copy {
    bool there;
    size_t offset;
    char *data; /* device memory */
    bgk_changes changes;
} bg__piece_copy;

/* Dumps the bytes that node changed. copies: one for each piece, with its changes; NULL: none. For a copy or memset
 * node the whole destination is dumped. Waits for stream. */
bg_status bg__node_dump(bg__dump *dump, const bg__node *node, const char *text, const bg__pieces *pieces,
                        const bg__piece_copy *copies, cudaStream_t stream);

#endif
