/* What the tests of outlines, drawings and timelines share: passes to look at, and their JSON. */
#ifndef BG_TESTS_PICTURE_SUPPORT_H
#define BG_TESTS_PICTURE_SUPPORT_H

#include "tests/support/support.h"

#include <cjson/cJSON.h>

/* A fixture, a file to write to, and what the passes need. */
int pictures_setup(void **state);
int pictures_teardown(void **state);
extern char picture_path[96];
/* What the file holds; the caller frees it. */
char *read_picture(void);
/* Files that lie where it is written. */
int count_pictures(void);

/* Forward passes; user is a fixture. */
extern void *picture_elsewhere; /* where move leaves its result; NULL: in place */
extern int picture_fails;       /* the ordinal of the run of move, from now on, that returns BG_ERROR_OP; 0: none */
/* scale#0 | move#0, eager | outer#0 with two scales in it | add#0 */
bg_status broken_pass(void *user, cudaStream_t stream);
/* scale#0 | move#0, eager */
bg_status ending_pass(void *user, cudaStream_t stream);
/* scale#0 on other, scale#1, scale#2 on other, add#0; the same again, without fork, as scale#3 to add#1. */
bg_status forked_pass(void *user, cudaStream_t stream);
/* mixed#0: a fill, a copy, a host function and an event node; nested#0: a child graph of two kernels. */
bg_status mixed_pass(void *user, cudaStream_t stream);
/* allocate#0: a memory node and a kernel | use#0 | release#0: a memory node */
bg_status memory_pass(void *user, cudaStream_t stream);

bg_graph *capture_picture(fixture *f, bg_forward pass);

/* Fail the test where there is none, or it is of another type. */
const cJSON *member(const cJSON *object, const char *name);
const char *string_of(const cJSON *object, const char *name);
double number_of(const cJSON *object, const char *name);
/* A member that need not be there. */
bool has_member(const cJSON *object, const char *name);
/* Element index of the list of that name. */
const cJSON *element(const cJSON *object, const char *list, int index);
int size_of(const cJSON *object, const char *list);

#endif
