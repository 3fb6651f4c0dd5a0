/* breakgraph: captures a forward pass as CUDA graphs with eager calls between them, and replays it.
 * This header includes the whole API except breakgraph/cublas.h, breakgraph/dlpack.h and breakgraph/comm.h, which need
 * other libraries, breakgraph/workspace.h, which such headers use, breakgraph/hooks.h, which redefines CUDA's names,
 * and breakgraph/attach.h, for programs that run under `breakgraph COMMAND --attach`. breakgraph/breakgraph.hpp is for
 * C++. */
#ifndef BREAKGRAPH_BREAKGRAPH_H
#define BREAKGRAPH_BREAKGRAPH_H

#include <breakgraph/status.h>
#include <breakgraph/tensor.h>
#include <breakgraph/op.h>
#include <breakgraph/eager.h>
#include <breakgraph/capture.h>
#include <breakgraph/memory.h>
#include <breakgraph/stream.h>
#include <breakgraph/compile.h>
#include <breakgraph/config.h>
#include <breakgraph/runner.h>
#include <breakgraph/report.h>
#include <breakgraph/check.h>
#include <breakgraph/step.h>
#include <breakgraph/shadow.h>
#include <breakgraph/bisect.h>
#include <breakgraph/trace.h>

#endif
