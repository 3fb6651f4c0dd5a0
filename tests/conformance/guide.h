/* docs/records/capture-rules.md: the conformance table and its recorded answers, as a text for people. */
#ifndef CONFORMANCE_GUIDE_H
#define CONFORMANCE_GUIDE_H

#include "expected.h"

#define GUIDE_FILE "docs/records/capture-rules.md" /* from the repository's root */

/* Runs every case for the calls that it makes; the answers are the recorded ones. false: problem says why not. */
bool guide_write(const struct expected *expected, FILE *file, char *problem);
/* Is the file what would be written? */
bool guide_check(const struct expected *expected, const char *path, char *problem);

#endif
