/* Integer divisions by zero in kernels: a GPU gives them some result, x86-64 a signal. */
#ifndef HOSTCUDA_DIVISION_H
#define HOSTCUDA_DIVISION_H

#include <stdbool.h>

/* Call it on the thread that runs a grid, before each grid. runs: whether the calling thread runs one; called in the
 * handler. */
void hc_division_install(bool (*runs)(void));
/* The program's own code has run, and may have set a handler of its own, or blocked the signal: the next grid of each
 * thread looks, which takes two calls of the system. Without this, one grid in 64 looks. */
void hc_division_look_again(void);

#endif
