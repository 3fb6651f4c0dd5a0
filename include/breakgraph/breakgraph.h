/* breakgraph: capture a forward pass as CUDA graphs with eager functions between them, and replay it.
 * This header includes the whole API but for
 * what other libraries need: breakgraph/cublas.h and breakgraph/dlpack.h stand apart, since they need their
 * libraries. */
#ifndef BREAKGRAPH_BREAKGRAPH_H
#define BREAKGRAPH_BREAKGRAPH_H

#include <breakgraph/status.h>
#include <breakgraph/tensor.h>
#include <breakgraph/op.h>
#include <breakgraph/capture.h>
#include <breakgraph/stream.h>

#endif
