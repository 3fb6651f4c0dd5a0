/* How a case's scene is made, its second thread, and how it is taken down. */
#ifndef CONFORMANCE_CASE_SCENE_H
#define CONFORMANCE_CASE_SCENE_H

#include "case.h"

void scene_open(struct scene *s);
/* Ends every capture that is left, asks each stream to capture, launch and run again, and frees all. What a stream
 * could not do is the text; empty: nothing. */
void scene_close(struct scene *s, char *unusable, size_t room);
cudaError_t scene_in_thread(struct scene *s, const struct case_call *call);
/* A call without which the case means nothing. */
void scene_must(struct scene *s, const char *call, cudaError_t error);

#endif
