/* What a thread is doing, as bg_current_phase (breakgraph/capture.h) tells. */
#ifndef BREAKGRAPH_PHASE_H
#define BREAKGRAPH_PHASE_H

/* Where a thread is.
 *   PLAIN:   outside all below
 *   WARMUP:  in a runner's warm-up pass
 *   CAPTURE: between begin and end of its capture, outside bodies that run at a break
 *   EAGER:   in a body that runs at a break of a capture
 *   REPLAY:  in a body that runs in a replay */
typedef enum bg_phase { BG_PHASE_PLAIN, BG_PHASE_WARMUP, BG_PHASE_CAPTURE, BG_PHASE_EAGER, BG_PHASE_REPLAY } bg_phase;

#endif
