/* Starting other programs, and files that do not outlive this one. */
#ifndef HCC_PROCESS_H
#define HCC_PROCESS_H

#include "cc_memory.h"

/* From now on SIGINT, SIGTERM and SIGHUP end the command that runs, and this program goes on, to tidy up. At its end it
 * calls hcc_end_by_signal, which does not return if there was such a signal. */
void hcc_watch_signals(void);
void hcc_end_by_signal(void);

/* Runs a command to its end; verbose prints it first. Returns its exit status; 1, with a message, if it cannot be
 * started or is killed; 1 after a signal. */
int hcc_run(const struct hcc_list *command, bool verbose);

/* Makes a folder for files of this run, in $TMPDIR or /tmp; NULL, with a message: none can be made. Removed, with its
 * files, by hcc_folder_remove, which takes NULL, too. */
char *hcc_folder_make(void);
void hcc_folder_remove(char *folder);

/* Returns the folder in which this program's file is; NULL, with a message, if the system does not tell. */
char *hcc_own_folder(void);

#endif
