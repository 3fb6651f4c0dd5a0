/* A process that outlives the command when that is killed, to end the process groups that it started. */
#ifndef BG_CLI_KEEPER_H
#define BG_CLI_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_keeper {
    pid_t pid;
    int told; /* it reads the other end */
} cli_keeper;

/* false with errno. */
bool cli_keeper_start(cli_keeper *keeper);
bool cli_keeper_add(const cli_keeper *keeper, pid_t group);
/* The groups are no longer its concern. */
void cli_keeper_end(cli_keeper *keeper);

#endif
