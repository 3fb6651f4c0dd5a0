/* A bisect as one page: a report of its trials and culprits, which the library draws. */
#ifndef BG_CLI_RESULT_PAGE_H
#define BG_CLI_RESULT_PAGE_H

#include "bisection.h"

/* For --html. CLI_FAILED, and said, where it cannot be written. */
cli_status cli_bisect_write_page(const cli_bisection *b);

#endif
