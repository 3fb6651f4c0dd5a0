/* Compares texts of ranks, by length and hash, so that they may be long. A failure shows where the texts differ. */
#ifndef BG_COMM_AGREE_H
#define BG_COMM_AGREE_H

#include "comm/link.h"

/* Makes the body of a frame for a text; the caller frees *body. what: for messages. */
bg_status bg__agree_make_body(const char *what, const char *text, void **body, size_t *bytes);
/* Returns whether the texts of two frames are the same; if not, sets the failure's text. */
bool bg__agree_compare(const bg__frame *zero, const bg__frame *other, int rank, bg__failure *failure);

#endif
