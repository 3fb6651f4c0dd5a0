/* What the ranks do together over their connections: each sends something, and receives what all sent. */
#ifndef BG_COMM_EXCHANGE_H
#define BG_COMM_EXCHANGE_H

#include "comm/link.h"

/* An operation of this type (BARRIER to GATHER). bytes is the same on all ranks but for AGREE, whose bodies are those
 * of bg__agree_body. all: room for size times bytes, BG__BODY_MAX at most; NULL if not wanted. A failure is fatal on
 * all ranks. */
bg_status bg__exchange(bg__link *link, bg__frame_type type, const char *what, const void *mine, size_t bytes,
                       void *all);
/* Whether all ranks have the same text. */
bg_status bg__agree(bg__link *link, const char *what, const char *text);

#endif
