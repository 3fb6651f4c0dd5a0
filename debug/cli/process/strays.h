/* Processes whose parents have ended, in any process group or session: a subreaper becomes the parent of its orphaned
 * descendants (man 2 PR_SET_CHILD_SUBREAPER). */
#ifndef BG_CLI_STRAYS_H
#define BG_CLI_STRAYS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes this process a subreaper. cli_strays_end spares the children that it has now: those of a shell that became the
 * command by exec. */
void cli_strays_adopt(void);

/* Called for a process that still runs: another user's, which cannot be killed (refused), or one that has not ended in
 * time. */
typedef void cli_stray_left(const void *user, pid_t pid, bool refused);
/* Kills all other children, and the orphans that become children by that. Calls left (may be NULL) for at most eight
 * that remain. */
void cli_strays_end(cli_stray_left *left, const void *user);

#endif
