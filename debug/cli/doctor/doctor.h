/* What the doctor asks of a machine: each question is tried, not looked up. */
#ifndef BG_CLI_DOCTOR_H
#define BG_CLI_DOCTOR_H

#include "debug/cli/cli.h"

/* WORKS; MISSING: does not work, and little needs it; BROKEN: breakgraph or the program needs it; TOLD: a fact. */
typedef enum cli_health { CLI_WORKS, CLI_MISSING, CLI_BROKEN, CLI_TOLD } cli_health;

/* Notes an answer: what was asked, and in words what there is, or why it does not work. */
void cli_answer(const char *what, cli_health health, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* probes_device.c: the CUDA calls of this build, on each device; false where there is none. */
bool cli_probe_devices(void);
/* probes_system.c: libraries, profilers, limits. */
void cli_probe_libraries(void);
void cli_probe_system(void);

#endif
