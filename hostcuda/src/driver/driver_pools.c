/* Driver functions for memory pools. Runtime functions do their work. */
#include "hostcuda/src/driver/driver_calls.h"

HC_ENTRY(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *poolProps),
         cudaMemPoolCreate(pool, HC_SAME_AS(const struct cudaMemPoolProps *, poolProps)))
HC_ENTRY(cuMemPoolDestroy, (CUmemoryPool pool), cudaMemPoolDestroy(pool))
HC_ENTRY(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool_out, CUdevice dev), cudaDeviceGetDefaultMemPool(pool_out, dev))
HC_ENTRY(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice dev), cudaDeviceGetMemPool(pool, dev))
HC_ENTRY(cuDeviceSetMemPool, (CUdevice dev, CUmemoryPool pool), cudaDeviceSetMemPool(dev, pool))
/* Attributes, locations and accesses have the same numbers as the runtime's. */
HC_ENTRY(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value),
         cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attr, value))
HC_ENTRY(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void *value),
         cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attr, value))
HC_ENTRY(cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), cudaMemPoolTrimTo(pool, minBytesToKeep))
HC_ENTRY(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc *map, size_t count),
         cudaMemPoolSetAccess(pool, HC_SAME_AS(const struct cudaMemAccessDesc *, map), count))
HC_ENTRY(cuMemPoolGetAccess, (CUmemAccess_flags * flags, CUmemoryPool memPool, CUmemLocation *location),
         cudaMemPoolGetAccess(HC_SAME_AS(enum cudaMemAccessFlags *, flags), memPool,
                              HC_SAME_AS(struct cudaMemLocation *, location)))
HC_ENTRY(cuDeviceGraphMemTrim, (CUdevice device), cudaDeviceGraphMemTrim(device))
HC_ENTRY(cuDeviceGetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void *value),
         cudaDeviceGetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attr, value))
HC_ENTRY(cuDeviceSetGraphMemAttribute, (CUdevice device, CUgraphMem_attribute attr, void *value),
         cudaDeviceSetGraphMemAttribute(device, (enum cudaGraphMemAttributeType)attr, value))
