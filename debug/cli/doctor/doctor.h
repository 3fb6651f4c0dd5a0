/* breakgraph doctor: what this machine has, what works here, and what the environment says. */
#ifndef BG_CLI_DOCTOR_H
#define BG_CLI_DOCTOR_H

#include "debug/cli/arguments/command.h"

extern const cli_command cli_doctor;

#endif
