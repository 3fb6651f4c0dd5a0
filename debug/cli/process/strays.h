/* Processes whose parents have ended, in any process group or session: a subreaper becomes the parent of its orphaned
 * descendants (man 2 PR_SET_CHILD_SUBREAPER). */
#ifndef BG_CLI_STRAYS_H
#define BG_CLI_STRAYS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes this process a subreaper. cli_strays_end spares the children that it has now: those of a shell that became the
 * command by exec. */
void cli_strays_adopt(void);

/* Called for a process that goes on: another user's, which cannot be ended (refused), or one that has not ended in
 * time.
 */
typedef void cli_stray_left(const void *user, pid_t pid, bool refused);
/* Ends all other children with SIGKILL, and processes that become children by that. left (NULL: none) is called for at
 * most eight that remain. */
void cli_strays_end(cli_stray_left *left, const void *user);

#endif
