/* The phase of a thread, which bg_current_phase (breakgraph/capture.h) returns. */
#ifndef BREAKGRAPH_PHASE_H
#define BREAKGRAPH_PHASE_H

/* What the calling thread does.
 *   PLAIN:   none of the following
 *   WARMUP:  runs a runner's warm-up pass
 *   CAPTURE: captures: between the begin and the end of its capture, outside bodies that run at a break
 *   EAGER:   runs a body at a break of a capture
 *   REPLAY:  runs a body in a replay */
typedef enum bg_phase { BG_PHASE_PLAIN, BG_PHASE_WARMUP, BG_PHASE_CAPTURE, BG_PHASE_EAGER, BG_PHASE_REPLAY } bg_phase;

#endif
