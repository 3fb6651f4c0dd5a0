/* Writes the trials and culprits of a bisect as one HTML page. */
#ifndef BG_CLI_BISECT_PAGE_H
#define BG_CLI_BISECT_PAGE_H

#include "bisection.h"

/* Writes the page of --html. CLI_FAILED, with a message: it cannot be written. */
cli_status cli_bisect_write_page(const cli_bisection *b);

#endif
