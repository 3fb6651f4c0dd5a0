/* Reports of several ranks: what all of them found is there once, what some found names these. */
#ifndef BG_CLI_GATHER_RANKS_H
#define BG_CLI_GATHER_RANKS_H

#include <stdbool.h>

#include "gathered.h"

/* Whose reports a process's are, where it is a rank's. */
void cli_gathered_note_rank(cli_gathered *gathered, const cJSON *process);
/* Of the process that wrote a file "report-PID-N.json"; -1: none. */
int cli_gathered_rank_of(const cli_gathered *gathered, const char *file);
/* Whether the same finding, to the letter, was given before for that rank (-1: none). */
bool cli_gathered_is_again(cli_gathered *gathered, const cJSON *finding, int rank);
/* Frees what was noted of the findings. */
void cli_gathered_forget(cli_gathered *gathered);
/* Takes out of report, which is to be added, what others have found, and notes there who else has. */
void cli_gathered_merge(cli_gathered *gathered, cJSON *report, int rank);
/* Messages of findings that only some ranks have get "rank 1: " in front. */
void cli_gathered_name_ranks(const cli_gathered *gathered);

#endif
