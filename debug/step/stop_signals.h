/* SIGINT and SIGTERM, which end a walk between two nodes, so that its report and its dump are whole. */
#ifndef BG_DEBUG_STEP_STOP_SIGNALS_H
#define BG_DEBUG_STEP_STOP_SIGNALS_H

/* From here on these signals are noted. A handler of the program's own is called as well, by the rules that it was
 * installed with; one that the program installs meanwhile stays. A signal that the program ignores stays ignored, and
 * a child is ended by one. The fourth signal does what it did before: the node that runs may never end. Threads may
 * hold them at the same time. Returns what bg__stop_signals_release takes. */
int bg__stop_signals_hold(void);
/* Once for each hold. When all have ended that were there when a signal came, it is sent again, if it would have ended
 * the program. */
void bg__stop_signals_release(int hold);
/* "SIGINT" where one was noted; NULL: none. */
const char *bg__stop_signals_noted(void);

#endif
