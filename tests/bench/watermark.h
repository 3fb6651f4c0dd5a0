/* The most memory that a piece of work takes, beyond what was taken before. */
#ifndef BG_BENCH_WATERMARK_H
#define BG_BENCH_WATERMARK_H

#include "bench.h"

typedef struct watermark {
    double host_kib;   /* of resident memory, by the kernel's own high-water mark */
    double device_kib; /* by the driver's count, looked at every millisecond; 0 on the host device, whose device memory
                        * is host memory */
} watermark;

/* Runs contender once and sets *most. */
bg_status watermark_measure(const contender *contender, watermark *most);

#endif
