/* Merges reports of several ranks: a finding of all ranks is kept once, a finding of some ranks names them. */
#ifndef BG_CLI_GATHER_RANKS_H
#define BG_CLI_GATHER_RANKS_H

#include <stdbool.h>

#include "gathered.h"

/* Records the rank of a process, if it has one. */
void cli_gathered_record_rank(cli_gathered *gathered, const cJSON *process);
/* The rank of the process that wrote a file "report-PID-N.json"; -1: none. */
int cli_gathered_rank_of(const cli_gathered *gathered, const char *file);
/* Whether an identical finding was passed before for that rank (-1: none). */
bool cli_gathered_is_repeated(cli_gathered *gathered, const cJSON *finding, int rank);
/* Whether another check than `by` has passed a finding of that kind and op call before. */
bool cli_gathered_is_found_by_other(cli_gathered *gathered, const cJSON *finding, const char *by);
/* Frees the index of findings. */
void cli_gathered_free_known(cli_gathered *gathered);
/* Removes from `report` the findings that another rank has, too, and adds this rank to the findings of that rank. */
void cli_gathered_merge(cli_gathered *gathered, cJSON *report, int rank);
/* Adds the rank to the finding. */
void cli_gathered_add_rank(cJSON *finding, int rank);
/* Writes "rank 1: " before messages of findings that only some ranks have, from the report of index `first` on. */
void cli_gathered_prefix_ranks(const cli_gathered *gathered, int first);

#endif
