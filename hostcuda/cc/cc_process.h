/* Starting other programs, and temporary files. */
#ifndef HCC_PROCESS_H
#define HCC_PROCESS_H

#include "cc_memory.h"

/* From now on, SIGINT, SIGTERM and SIGHUP end the running command, and this program goes on to clean up. At the end,
 * this program calls hcc_end_by_signal, which does not return if such a signal came. */
void hcc_forward_signals(void);
void hcc_end_by_signal(void);

/* Runs a command and waits for it. If `verbose` is set, prints the command first. Returns the command's exit status.
 * Returns 1, with a message, if the command cannot be started or is killed. Returns 1 after a signal. */
int hcc_run_command(const struct hcc_list *command, bool verbose);

/* Makes a temporary folder in $TMPDIR or /tmp. Returns NULL, with a message, on failure. hcc_remove_temporary_folder
 * removes the folder and its files, and accepts NULL. */
char *hcc_make_temporary_folder(void);
void hcc_remove_temporary_folder(char *folder);

/* Returns the folder of this program's file. Returns NULL, with a message, if the system does not provide it. */
char *hcc_program_folder(void);

#endif
