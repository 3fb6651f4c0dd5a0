/* A runner's settings and counts as JSON, for reports. */
#ifndef BG_RUNNER_RUNNER_JSON_H
#define BG_RUNNER_RUNNER_JSON_H

#include <breakgraph/runner.h>
#include <cjson/cJSON.h>

/* Makes a row of "runners" (docs/report-format.md), without its name and process; NULL: out of host memory. Call it in
 * the thread that uses the runner. */
cJSON *bg__runner_json(const bg_runner *runner);
/* Whether a thread is in a run or capture of the runner. */
bool bg__runner_is_running(const bg_runner *runner);

#endif
