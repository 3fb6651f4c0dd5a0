/* The pages of docs/records that show the conformance table and its recorded answers, as a text for people. */
#ifndef CONFORMANCE_GUIDE_H
#define CONFORMANCE_GUIDE_H

#include "cases.h"
#include "expected.h"

/* Runs every case of the page for the calls that it makes; the answers are the recorded ones. false: problem says why
 * not. */
bool guide_write(const struct expected *expected, const struct case_page *page, FILE *file, char *problem);
/* Is the page's file what would be written? */
bool guide_check(const struct expected *expected, const struct case_page *page, char *problem);

#endif
