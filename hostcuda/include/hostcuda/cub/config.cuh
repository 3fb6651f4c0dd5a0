/* Every header of NVIDIA's cub includes this one first, and so do Thrust's device headers. A program that includes one
 * of them, which this folder does not have, gets this error. */
#error "hostcuda: of cub there are Block{Reduce,Scan,Load,Store} and Warp{Reduce,Scan} alone; Thrust is not supported"
