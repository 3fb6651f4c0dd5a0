/* Who called: the C stack of a call, and that of Python where the program is a Python program. */
#ifndef BG_ATTACH_STACKS_H
#define BG_ATTACH_STACKS_H

#include <breakgraph/op.h>

/* A stack that was seen. Equal ones are kept once, until the process ends. */
typedef struct bg__stack bg__stack;

/* The file name, in stacks of Python, of what the tools run there: no line of it is shown. */
#define BG__FEED_FILE "<breakgraph>"

/* The function of that name in the program or a library of it, such as its interpreter, written to *function, a pointer
 * to a function; NULL: there is none. */
void bg__program_function(const char *name, void *function);

/* Before the first stack: finds the interpreter's functions, and lets the unwinder load what it needs. */
void bg__stacks_begin(void);
/* The calling thread's. NULL: there is no host memory for it. Never waits for Python's global lock. */
const bg__stack *bg__stack_here(void);

/* Where a reader looks first: in Python the innermost line that is in no installed package, or else the innermost; in C
 * the innermost function that is in no library of CUDA's, with line 0. The text lives as long as the process. */
bg_site bg__stack_site(const bg__stack *stack);
/* Whether it was the CUDA runtime that called the driver there, not the program itself. NULL: false. */
bool bg__stack_is_of_runtime(const bg__stack *stack);
/* All frames as text, a line each, the innermost first. The text lives as long as the process. */
const char *bg__stack_text(const bg__stack *stack);

#endif
