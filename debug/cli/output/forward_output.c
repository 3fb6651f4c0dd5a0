#include "forward_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exits.h"

/* A longer line is cut: no program's output may take all memory. */
enum { READ_AT_ONCE = 1 << 16, LONGEST_LINE = 1 << 26 };

/* ---- bytes ---- */

static size_t count_bytes(const cli_byte_buffer *bytes)
{
    return bytes->end - bytes->first;
}

/* Makes room for more bytes; false: out of host memory. */
static bool reserve_output_bytes(cli_byte_buffer *bytes, size_t more)
{
    size_t count = count_bytes(bytes), room = bytes->room;
    char *data;

    if (bytes->room - bytes->end >= more)
        return true;
    if (count > 0 && bytes->first > 0)
        memmove(bytes->data, bytes->data + bytes->first, count);
    bytes->first = 0;
    bytes->end = count;
    while (room - count < more)
        room = 2 * room + READ_AT_ONCE;
    data = room > bytes->room ? realloc(bytes->data, room) : bytes->data;
    if (data == NULL)
        return false;
    bytes->data = data;
    bytes->room = room;
    return true;
}

static void free_output_bytes(cli_byte_buffer *bytes)
{
    free(bytes->data);
    *bytes = (cli_byte_buffer){0};
}

static void append_to_sink(cli_sink *sink, const char *data, size_t count)
{
    if (sink->gone || count == 0)
        return;
    if (!reserve_output_bytes(&sink->bytes, count)) {
        (void)cli_print_message(CLI_FAILED, "out of host memory for the output of a rank");
        sink->gone = true;
        return;
    }
    memcpy(sink->bytes.data + sink->bytes.end, data, count);
    sink->bytes.end += count;
}

/* ---- sinks ---- */

bool cli_sink_has_bytes(const cli_sink *sink)
{
    return sink->descriptor >= 0 && !sink->gone && count_bytes(&sink->bytes) > 0;
}

/* The bytes that a write takes without blocking: PIPE_BUF for a pipe that poll calls writable. */
static size_t nonblocking_bytes(const cli_sink *sink)
{
    struct stat about;
    bool file = fstat(sink->descriptor, &about) == 0 && S_ISREG(about.st_mode);
    return file ? count_bytes(&sink->bytes) : PIPE_BUF;
}

void cli_sink_write(cli_sink *sink)
{
    size_t count = count_bytes(&sink->bytes), most = nonblocking_bytes(sink);
    ssize_t wrote = write(sink->descriptor, sink->bytes.data + sink->bytes.first, count < most ? count : most);
    if (wrote > 0)
        sink->bytes.first += (size_t)wrote;
    else if (wrote < 0 && errno != EAGAIN && errno != EINTR)
        sink->gone = true;
}

void cli_sink_close(cli_sink *sink)
{
    if (sink->owned && sink->descriptor >= 0)
        (void)close(sink->descriptor);
    sink->descriptor = -1;
    free_output_bytes(&sink->bytes);
}

/* ---- sources ---- */

bool cli_source_ready(const cli_source *source)
{
    return source->descriptor >= 0 && count_bytes(&source->sink->bytes) < CLI_SINK_FULL;
}

void cli_source_close(cli_source *source)
{
    if (source->descriptor >= 0 && source->descriptor != STDIN_FILENO)
        (void)close(source->descriptor);
    source->descriptor = -1;
    free_output_bytes(&source->bytes);
}

/* Forwards the bytes before end as lines; the last line may lack its newline, and gets one. */
static void forward_lines_before(cli_source *source, size_t end)
{
    cli_byte_buffer *bytes = &source->bytes;
    while (bytes->first < end) {
        const char *line = bytes->data + bytes->first, *stop = memchr(line, '\n', end - bytes->first);
        size_t count = stop != NULL ? (size_t)(stop - line) + 1 : end - bytes->first;
        append_to_sink(source->sink, source->prefix, strlen(source->prefix));
        append_to_sink(source->sink, line, count);
        if (stop == NULL)
            append_to_sink(source->sink, "\n", 1);
        bytes->first += count;
    }
}

/* Forwards the lines that the last count bytes have completed. */
static void forward_complete_lines(cli_source *source, size_t count)
{
    cli_byte_buffer *bytes = &source->bytes;
    const char *stop = memrchr(bytes->data + bytes->end - count, '\n', count);
    if (stop != NULL)
        forward_lines_before(source, (size_t)(stop - bytes->data) + 1);
    if (count_bytes(bytes) >= LONGEST_LINE)
        forward_lines_before(source, bytes->end);
}

static bool read_source(cli_source *source, bool *ended)
{
    size_t wanted = READ_AT_ONCE;
    ssize_t got;
    if (!reserve_output_bytes(&source->bytes, READ_AT_ONCE)) {
        (void)cli_print_message(CLI_FAILED, "out of host memory for a line of a rank");
        *ended = true;
        return false;
    }
    if (source->finishing && source->left < wanted)
        wanted = source->left;
    got = read(source->descriptor, source->bytes.data + source->bytes.end, wanted);
    *ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    if (got <= 0)
        return false;
    source->bytes.end += (size_t)got;
    source->left -= source->finishing ? (size_t)got : 0;
    if (source->raw) {
        append_to_sink(source->sink, source->bytes.data + source->bytes.first, count_bytes(&source->bytes));
        source->bytes.first = source->bytes.end;
    } else {
        forward_complete_lines(source, (size_t)got);
    }
    return true;
}

static void end_source(cli_source *source)
{
    /* Raw bytes were forwarded already. */
    forward_lines_before(source, source->bytes.end);
    cli_source_close(source);
}

void cli_source_read(cli_source *source)
{
    bool ended = false;
    if (!read_source(source, &ended) && ended)
        end_source(source);
}

void cli_source_finish(cli_source *source)
{
    bool ended = false;
    if (!source->finishing && source->descriptor >= 0) {
        int room = fcntl(source->descriptor, F_GETPIPE_SZ);
        source->finishing = true;
        source->left = room > 0 ? (size_t)room : 0;
    }
    /* A process that still writes must not keep the source open: `left` limits how many bytes are read. */
    while (source->left > 0 && cli_source_ready(source) && read_source(source, &ended))
        ;
    if (cli_source_ready(source))
        end_source(source);
}
