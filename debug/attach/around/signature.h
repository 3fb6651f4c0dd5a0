/* What a kernel does with memory that it gets pointers to, as far as its signature tells. */
#ifndef BG_ATTACH_SIGNATURE_H
#define BG_ATTACH_SIGNATURE_H

#include <stdbool.h>

typedef enum bg__touch { BG__MAY_READ, BG__DOES_READ, BG__DOES_WRITE } bg__touch;

/* name: as the source writes it, "scale(float*, float const*, int)". A pointer to const is read. Another one is written
 * if all other parameters, of which there are some, are pointers to const or small numbers, since a kernel writes
 * something. All else may be read: pointers in structs or to volatile, several pointers that are not const, names
 * without parameters (extern "C"). parameters: how many the kernel has; another number in its name tells nothing. */
bg__touch bg__signature_touch(const char *name, int parameters, int index);
/* The kernel may wait for what others write while it runs: a parameter points to what is volatile or atomic. */
bool bg__signature_may_wait(const char *name);

#endif
