/* Exchanges over the ranks' connections: each rank sends a body, and receives the bodies of all. */
#ifndef BG_COMM_EXCHANGE_H
#define BG_COMM_EXCHANGE_H

#include "comm/link.h"

/* Does an operation of this type (BARRIER to GATHER). bytes must be the same on all ranks, except for AGREE, whose body
 * is made by bg__agree_make_body. all: room for size times bytes, at most BG__BODY_MAX; NULL: not wanted. A failure is
 * fatal on all ranks. */
bg_status bg__exchange(bg__link *link, bg__frame_type type, const char *what, const void *mine, size_t bytes,
                       void *all);
/* Fails on all ranks unless they have the same text. */
bg_status bg__agree(bg__link *link, const char *what, const char *text);

#endif
