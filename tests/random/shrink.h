/* Makes a failing program small. */
#ifndef RANDOM_SHRINK_H
#define RANDOM_SHRINK_H

#include "run.h"

/* p fails with f; on return it is a smaller one that fails with the same kind of failure, *f that failure. No step
 * makes it pass: taking away any one instruction or option. Returns how many programs were run. */
int shrink(program *p, failure *f);

#endif
