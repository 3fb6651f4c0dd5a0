#include "op/op.h"

bg__thread *bg__thread_self(void)
{
    static _Thread_local bg__thread self;
    return &self;
}
