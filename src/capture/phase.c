/* The calling thread's phase, and the body that it runs. */
#include "capture/capture.h"

bg_phase bg_current_phase(void)
{
    bg__thread *self = bg__thread_self();
    /* Another thread may have ended the capture. */
    if (self->phase == BG_PHASE_CAPTURE && bg__thread_capture() == NULL)
        self->phase = BG_PHASE_PLAIN;
    return self->phase;
}

bg__body_scope bg__body_enter(bg_phase phase, bg__call *call)
{
    bg__thread *self = bg__thread_self();
    bg__body_scope scope = {self->phase, self->call, self->pass};
    self->phase = phase;
    self->call = call;
    self->pass = NULL;
    bg__call_rewind(call);
    return scope;
}

void bg__body_leave(bg__body_scope scope)
{
    bg__thread *self = bg__thread_self();
    self->phase = scope.phase;
    self->call = scope.call;
    self->pass = scope.pass;
}
