/* The probes of the doctor: each tries what it reports. */
#ifndef BG_CLI_PROBES_H
#define BG_CLI_PROBES_H

#include <stdbool.h>

/* probes_device.c: tries CUDA calls on each device. false: there is no device, or one does not work. */
bool cli_probe_devices(void);
/* probes_system.c: libraries, profilers, limits. */
void cli_probe_libraries(void);
void cli_probe_system(void);

#endif
