#include "launches.h"

typedef bg_status begin_function(const bg__launcher **launcher);

bg_status bg__launches_begin(void)
{
    static begin_function *const list[] = {
        bg__attach_poison_begin, bg__attach_padding_begin, bg__probes_begin, bg__break_begin,
        bg__orders_begin,        bg__attach_shadow_begin,  bg__launch_hangs, NULL,
    };
    const bg__launcher *launcher = NULL;
    bg_status status = BG_OK;

    for (size_t i = 0; list[i] != NULL; i++) {
        const bg__launcher *before = launcher;
        BG__TRY(list[i](&launcher));
        if (before != NULL && launcher != before)
            BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                     "%s and %s exclude each other, since each launches graphs in the program's place; ask for one",
                     before->name, launcher->name);
    }
    if (launcher != NULL)
        bg__graph_table_set_launcher(launcher);
done:
    return status;
}
