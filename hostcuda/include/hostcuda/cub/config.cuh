/* Every header of NVIDIA's cub includes this one first, and so do Thrust's for the device: a program that includes one
 * of them, which is not in this folder, gets here. */
#error "hostcuda: of cub there are Block{Reduce,Scan,Load,Store} and Warp{Reduce,Scan} alone; Thrust is not supported"
