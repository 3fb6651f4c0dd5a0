/* Forwards the output of several programs, line by line, with the name of the program before each line. */
#ifndef BG_CLI_FORWARD_H
#define BG_CLI_FORWARD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_byte_buffer {
    char *data;
    size_t first, end, room; /* the bytes are in [first, end) */
} cli_byte_buffer;

/* Where bytes are written. It never blocks the command. */
typedef struct cli_sink {
    int descriptor; /* -1: closed */
    bool owned;     /* closed when its source has ended and all is written */
    bool gone;      /* no one reads it any more, or it cannot be written */
    cli_byte_buffer bytes;
} cli_sink;

/* Where bytes are read: the read end of a pipe. */
typedef struct cli_source {
    int descriptor; /* -1: closed */
    cli_sink *sink;
    bool raw; /* forwards bytes at once, not line by line */
    bool finishing;
    size_t left;           /* while finishing: how many bytes may still be read */
    char prefix[40];       /* before each line */
    cli_byte_buffer bytes; /* an incomplete line */
} cli_source;

/* With so many bytes waiting in a sink, its sources are not read. */
enum { CLI_SINK_FULL = 1 << 20 };

bool cli_sink_has_bytes(const cli_sink *sink); /* has bytes to write */
bool cli_source_ready(const cli_source *source);
/* Call these when poll says that the descriptor is ready. */
void cli_sink_write(cli_sink *sink);
void cli_source_read(cli_source *source);
/* Forwards what the pipe has now, ends an incomplete last line, and closes the source. If the sink is full, the source
 * stays open: call it again. */
void cli_source_finish(cli_source *source);
void cli_source_close(cli_source *source);
void cli_sink_close(cli_sink *sink);

#endif
