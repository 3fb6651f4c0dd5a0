#include "op/op.h"

_Thread_local bg__thread bg__thread_state;
