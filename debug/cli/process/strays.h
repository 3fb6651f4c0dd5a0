/* Processes whose parents are gone, in whatever process group or session: those of a subreaper's descendants become its
 * children (man 2 PR_SET_CHILD_SUBREAPER). */
#ifndef BG_CLI_STRAYS_H
#define BG_CLI_STRAYS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes this process a subreaper. The children that it has now stay out of cli_strays_end: a shell's, that has become
 * the command by exec. */
void cli_strays_adopt(void);

/* Called for a process that goes on: another user's, which cannot be ended (refused), or one that has not ended in
 * time.
 */
typedef void cli_stray_left(const void *user, pid_t pid, bool refused);
/* Ends all other children with SIGKILL, and those that become children by that. left is called for at most eight, NULL:
 * for none. */
void cli_strays_end(cli_stray_left *left, const void *user);

#endif
