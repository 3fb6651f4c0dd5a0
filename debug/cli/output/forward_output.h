/* Lines of several programs on one output: each stays whole, behind the name of the program that it is of. */
#ifndef BG_CLI_FORWARD_H
#define BG_CLI_FORWARD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_bytes {
    char *data;
    size_t first, end, room; /* what is there: [first, end) */
} cli_bytes;

/* Where bytes go, as fast as it takes them; it never makes the command wait. */
typedef struct cli_sink {
    int descriptor; /* -1: closed */
    bool owned;     /* closed when its source has ended and all is written */
    bool gone;      /* no one reads it any more, or it cannot be written */
    cli_bytes bytes;
} cli_sink;

/* Where they come from: the reading end of a pipe. */
typedef struct cli_source {
    int descriptor; /* -1: closed */
    cli_sink *sink;
    bool raw; /* bytes as they come, no lines */
    bool finishing;
    size_t left;     /* bytes at most that were there when it began to */
    char prefix[40]; /* before each line */
    cli_bytes bytes; /* of a line whose end is not there yet */
} cli_source;

/* How many more bytes than these wait for an output that takes none before its sources wait, too. */
enum { CLI_SINK_FULL = 1 << 20 };

bool cli_sink_waits(const cli_sink *sink); /* has bytes to write */
bool cli_source_ready(const cli_source *source);
/* To be called where poll says so. */
void cli_sink_write(cli_sink *sink);
void cli_source_read(cli_source *source);
/* What is there now: a last line without an end gets one. Closes it, unless the sink is full: then it is to be called
 * again. */
void cli_source_finish(cli_source *source);
void cli_source_close(cli_source *source);
void cli_sink_close(cli_sink *sink);

#endif
