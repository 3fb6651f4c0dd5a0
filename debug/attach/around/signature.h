/* How a kernel accesses memory behind its pointer parameters, guessed from its signature. */
#ifndef BG_ATTACH_SIGNATURE_H
#define BG_ATTACH_SIGNATURE_H

#include <stdbool.h>

typedef enum bg__touch { BG__MAY_READ, BG__DOES_READ, BG__DOES_WRITE } bg__touch;

/* name: demangled, "scale(float*, float const*, int)". parameters: their number according to CUDA; if name has another
 * number, the result is BG__MAY_READ.
 * A kernel reads a pointer to const. It writes a pointer that is not const if there are other parameters, and all of
 * them are pointers to const or small numbers, since a kernel writes something. Everything else is BG__MAY_READ, it may
 * read or write: pointers in structs or to volatile, several pointers that are not const, names without parameters
 * (extern "C"). */
bg__touch bg__signature_touch(const char *name, int parameters, int index);
/* Whether a parameter points to volatile or atomic memory: the kernel may wait for others to write it. */
bool bg__signature_may_wait(const char *name);

#endif
