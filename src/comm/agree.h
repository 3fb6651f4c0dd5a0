/* Comparing texts of ranks: by length and hash, so that they may be long; a disagreement shows where they part. */
#ifndef BG_COMM_AGREE_H
#define BG_COMM_AGREE_H

#include "comm/link.h"

/* What stands for a text in a frame; the caller frees *body. what: for the sentence of a failure. */
bg_status bg__agree_body(const char *what, const char *text, void **body, size_t *bytes);
/* Whether the texts of two frames are the same; if not, the failure. */
bool bg__agree_same(const bg__frame *zero, const bg__frame *other, int rank, bg__failure *failure);

#endif
