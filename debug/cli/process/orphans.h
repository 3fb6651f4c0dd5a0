/* Processes whose parents have ended, in any process group or session: a subreaper becomes the parent of its orphaned
 * descendants (man 2 PR_SET_CHILD_SUBREAPER). */
#ifndef BG_CLI_ORPHANS_H
#define BG_CLI_ORPHANS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes this process a subreaper. cli_orphans_kill spares the children that it has now: those of a shell that became
 * the command by exec. */
void cli_orphans_adopt(void);

/* Called for a process that still runs: another user's, which cannot be killed (refused), or one that has not ended in
 * time. */
typedef void cli_orphan_visit(const void *user, pid_t pid, bool refused);
/* Kills all other children, and the orphans that become children by that. Calls `left` (may be NULL) for at most eight
 * that remain. */
void cli_orphans_kill(cli_orphan_visit *left, const void *user);

#endif
