/* Defers SIGINT and SIGTERM: a walk ends between two nodes, so that its report and its dump are complete. */
#ifndef BG_DEBUG_STEP_STOP_SIGNALS_H
#define BG_DEBUG_STEP_STOP_SIGNALS_H

/* From now on, these signals are deferred. A handler of the program's own is called as well, as the program installed
 * it. A handler that the program installs meanwhile stays, and an ignored signal stays ignored. Signals still end a
 * forked child. The fourth signal acts at once, since the running node may never end. Several threads may defer signals
 * at the same time. Returns the argument for bg__stop_signals_release. */
int bg__stop_signals_defer(void);
/* Call it once for each hold. When all holds from before a signal have ended, the signal is sent again if it would have
 * ended the program. */
void bg__stop_signals_release(int hold);
/* Returns "SIGINT" or "SIGTERM" if one came; NULL: none. */
const char *bg__stop_signals_received(void);

#endif
