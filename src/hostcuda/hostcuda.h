/* What a test program may ask of the host device beyond CUDA. A program that also runs on a GPU declares these weak, or
 * looks them up with dlsym, and leaves them alone where they are missing. */
#ifndef HOSTCUDA_H
#define HOSTCUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* As HOSTCUDA_SEED, from now on. Graphs instantiated under seed 0 keep their order of issue. Call it while no work is
 * queued, and the same calls after it run in the same order each time. */
void hostcuda_seed(unsigned long long seed);

#ifdef __cplusplus
}
#endif

#endif
