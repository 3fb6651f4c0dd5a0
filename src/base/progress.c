#include "base/progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/base.h"

static atomic_llong last_ms = -1000; /* when a line was drawn */

bg__progress bg__progress_begin(const char *what, int first, int total)
{
    return (bg__progress){.what = what,
                          .shown = isatty(STDERR_FILENO) == 1,
                          .first = first,
                          .done = first,
                          .total = total,
                          .began_ms = bg__now_ms()};
}

/* A longer line would continue in a second one, which bg__progress_clear does not remove. */
static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 199;
}

void bg__progress_draw(bg__progress *progress, const char *text)
{
    enum { WIDTH = 24 };
    static const char full[] = "########################", none[] = "                        ";
    int filled = progress->total > 0 ? (int)((double)WIDTH * progress->done / progress->total) : WIDTH;
    double spent = (bg__now_ms() - progress->began_ms) / 1e3, left = 0;
    char line[200];

    if (!progress->shown)
        return;
    if (progress->done > progress->first)
        left = spent / (progress->done - progress->first) * (progress->total - progress->done);
    snprintf(line, sizeof line, "%s [%.*s%.*s] %d of %d, %s, %.0f s, %.0f s left ", progress->what, filled, full,
             WIDTH - filled, none, progress->done, progress->total, text, spent, left);
    fprintf(stderr, "\r%.*s\033[K", terminal_width(), line);
    fflush(stderr);
    progress->drawn = true;
    atomic_store_explicit(&last_ms, (long long)bg__now_ms(), memory_order_relaxed);
}

bool bg__progress_is_due(const bg__progress *progress)
{
    enum { INTERVAL_MS = 100 };
    return progress->shown &&
           (long long)bg__now_ms() - atomic_load_explicit(&last_ms, memory_order_relaxed) >= INTERVAL_MS;
}

void bg__progress_clear(bg__progress *progress)
{
    if (!progress->drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->drawn = false;
}
