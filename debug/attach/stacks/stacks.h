/* Call stacks: the C stack and, in a Python program, the Python stack. */
#ifndef BG_ATTACH_STACKS_H
#define BG_ATTACH_STACKS_H

#include <breakgraph/op.h>

/* A recorded stack. Equal stacks are kept once, until the process ends. */
typedef struct bg__stack bg__stack;

/* The file name, in Python stacks, of the tools' own script. Its lines are not shown. */
#define BG__FEED_FILE "<breakgraph>"

/* Finds a function of the program or its libraries, such as the interpreter. function points to a function pointer,
 * which becomes NULL if there is none. */
void bg__find_program_function(const char *name, void *function);

/* Finds the interpreter's functions, and lets the unwinder load its library. Call it before the first stack. */
void bg__stacks_begin(void);
/* Records the stack of the calling thread. Returns NULL if out of host memory. Never waits for Python's global lock. */
const bg__stack *bg__stack_here(void);

/* The frame to show first. Python: the innermost line outside of installed packages, or else the innermost line. C: the
 * innermost function outside of CUDA's libraries, with line 0. The text lives as long as the process. */
bg_site bg__stack_site(const bg__stack *stack);
/* Whether the CUDA runtime, and not the program itself, called the driver. Returns false for NULL. */
bool bg__stack_is_from_runtime(const bg__stack *stack);
/* All frames as text, one line each, the innermost first. The text lives as long as the process. */
const char *bg__stack_text(const bg__stack *stack);

#endif
