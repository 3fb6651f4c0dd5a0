/* Integer divisions by zero in kernels: a GPU returns some result, x86-64 raises a signal. */
#ifndef HOSTCUDA_INTEGER_DIVISION_H
#define HOSTCUDA_INTEGER_DIVISION_H

#include <stdbool.h>

/* Call it on the thread that runs a grid, before each grid. `runs` tells whether the calling thread runs a grid. The
 * signal handler calls `runs`. */
void hc_division_install_handler(bool (*runs)(void));
/* Call it when code of the program may have run, since that code may have set a handler or blocked the signal. The next
 * grid of each thread then checks both, with two system calls. Otherwise, one grid in 64 checks them. */
void hc_division_recheck_handler(void);

#endif
