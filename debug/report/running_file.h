/* Keeps a file of the running host functions of graphs, the open captures, and the launches, op calls and single nodes
 * that hang. If the process ends in one of these, the command reads the file. */
#ifndef BG_DEBUG_RUNNING_FILE_H
#define BG_DEBUG_RUNNING_FILE_H

/* The file is DIR/running-PID of BG_REPORT. It has places of BG__RUNNING_BYTES, each empty, or with a JSON object that
 * ends with a 0 byte. */
enum { BG__RUNNING_PLACES = 64, BG__RUNNING_BYTES = 2048 };

/* Creates the file. If there is no file, as when BG_REPORT is not set, nothing is recorded. */
void bg__running_create_file(void);
/* Records what begins. row: a JSON object without its last brace. count: how often the function ran before, or how much
 * was captured. Returns its place, or -1 if none is free. Takes no lock. */
int bg__running_add_row(const char *row, unsigned long count);
void bg__running_remove_row(int place);

#endif
