/* How a kernel accesses memory behind its pointer parameters, guessed from its signature. */
#ifndef BG_ATTACH_SIGNATURE_H
#define BG_ATTACH_SIGNATURE_H

#include <stdbool.h>

typedef enum bg__access_kind { BG__ACCESS_UNKNOWN, BG__ACCESS_READ, BG__ACCESS_WRITE } bg__access_kind;

/* name: demangled, "scale(float*, float const*, int)". parameters: their number according to CUDA; if `name` has
 * another number, the result is BG__ACCESS_UNKNOWN.
 * A kernel reads a pointer to const. It writes a pointer that is not const if there are other parameters, and all of
 * them are pointers to const or small numbers, since a kernel writes something. Every other access is
 * BG__ACCESS_UNKNOWN, that is, may read or write: pointers in structs or to volatile, several pointers that are not
 * const, names without parameters (extern "C"). */
bg__access_kind bg__signature_access(const char *name, int parameters, int index);
/* Whether a parameter points to volatile or atomic memory: the kernel may wait for others to write it. */
bool bg__signature_may_wait(const char *name);

#endif
