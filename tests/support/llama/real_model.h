/* The real model file, for the tests that can use it: $BREAKGRAPH_MODEL, or what `make model` fetches. */
#ifndef REAL_MODEL_H
#define REAL_MODEL_H

/* Its path, or NULL after printing why the test is skipped. */
const char *find_real_model(void);
#endif
