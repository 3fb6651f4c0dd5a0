/* Reads BG_HANG, and manages rows in the file of running_file.h. */
#include <stdatomic.h>
#include <stdlib.h>

#include "debug/report/running_file.h"
#include "hang.h"
#include "hang_copies.h"

static atomic_bool hangs_wanted; /* several threads read the environment */

bg_status bg__hangs_read_environment(void)
{
    bool wanted = false;
    bg_status status = bg__env_flag("BG_HANG", &wanted);

    atomic_store(&hangs_wanted, wanted);
    return status;
}

bool bg__hangs_wanted(void)
{
    return atomic_load(&hangs_wanted);
}

void bg__hang_remove_row(int *place)
{
    if (*place > 0)
        bg__running_remove_row(*place - 1);
    *place = 0;
}

/* Adds the new row before it removes the old one, so that there is always one. */
void bg__hang_replace_row(int *place, char *row, unsigned long count)
{
    const int fresh = row != NULL ? bg__running_add_row(row, count) + 1 : 0;

    free(row);
    if (fresh == 0)
        return;
    bg__hang_remove_row(place);
    *place = fresh;
}
