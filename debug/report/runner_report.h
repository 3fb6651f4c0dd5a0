/* BG_REPORT=DIR: what each runner of the process has done, in files of their own.
 *
 *   runner-PID-N.json   a report of the tool "runner": written when the runner is created, after 1, 2, 4, ... batches,
 * from BG__MIX_REPORT_INTERVAL on after each BG__MIX_REPORT_INTERVAL, when it is destroyed, and at a normal end of the
 * process */
#ifndef BG_DEBUG_RUNNER_REPORT_H
#define BG_DEBUG_RUNNER_REPORT_H

struct bg_runner;

/* Both functions do nothing without BG_REPORT. The first call for a runner gives it its name, "runner#0". */
void bg__runner_report_write(const struct bg_runner *runner);
void bg__runner_report_end(const struct bg_runner *runner);

#endif
