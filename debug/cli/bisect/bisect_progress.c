#include "bisect_progress.h"

#include <stdio.h>
#include <unistd.h>

void cli_progress_print(const cli_bisection *b, cli_trial_purpose why)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[Ktrial %zu", b->next + 1);
    if (b->wanted > 0)
        fprintf(stderr, " of about %d", b->wanted);
    fprintf(stderr, ": %s", cli_trial_purpose_names[why]);
    (void)fflush(stderr);
}

void cli_progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}
