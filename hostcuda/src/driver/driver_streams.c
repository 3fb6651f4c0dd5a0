/* Driver functions for streams, events and captures. Runtime functions do their work. */
#include "hostcuda/src/driver/driver_calls.h"

/* Pointers to types that runtime and driver both have, under two names. */
#define STATUS(pointer) HC_SAME_AS(enum cudaStreamCaptureStatus *, pointer)
#define MODE(mode)      ((enum cudaStreamCaptureMode)(mode))
#define EDGES(pointer)  HC_SAME_AS(const cudaGraphEdgeData *, pointer)

/* ---- streams ----------------------------------------------------------------------------------------------------- */

HC_CONTEXT_ENTRY(cuStreamCreate, (CUstream * phStream, unsigned int Flags), cudaStreamCreateWithFlags(phStream, Flags))
HC_CONTEXT_ENTRY(cuStreamCreateWithPriority, (CUstream * phStream, unsigned int flags, int priority),
                 cudaStreamCreateWithPriority(phStream, flags, priority))
HC_ENTRY(cuStreamDestroy, (CUstream hStream), cudaStreamDestroy(hStream))

HC_ENTRY(cuStreamSynchronize, (CUstream hStream), cudaStreamSynchronize(hStream))
HC_PER_THREAD(cuStreamSynchronize, (CUstream hStream), hStream)
HC_ENTRY(cuStreamQuery, (CUstream hStream), cudaStreamQuery(hStream))
HC_PER_THREAD(cuStreamQuery, (CUstream hStream), hStream)
HC_ENTRY(cuStreamWaitEvent, (CUstream hStream, CUevent hEvent, unsigned int Flags),
         cudaStreamWaitEvent(hStream, hEvent, Flags))
HC_PER_THREAD(cuStreamWaitEvent, (CUstream hStream, CUevent hEvent, unsigned int Flags), hStream, hEvent, Flags)
HC_ENTRY(cuStreamAddCallback, (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
         cudaStreamAddCallback(hStream, (cudaStreamCallback_t)(void (*)(void))callback, userData, flags))
HC_PER_THREAD(cuStreamAddCallback, (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
              hStream, callback, userData, flags)

HC_ENTRY(cuLaunchHostFunc, (CUstream hStream, CUhostFn fn, void *userData), cudaLaunchHostFunc(hStream, fn, userData))
HC_PER_THREAD(cuLaunchHostFunc, (CUstream hStream, CUhostFn fn, void *userData), hStream, fn, userData)

HC_ENTRY(cuStreamGetId, (CUstream hStream, unsigned long long *streamId), cudaStreamGetId(hStream, streamId))
HC_PER_THREAD(cuStreamGetId, (CUstream hStream, unsigned long long *streamId), hStream, streamId)
HC_ENTRY(cuStreamGetDevice, (CUstream hStream, CUdevice *device), cudaStreamGetDevice(hStream, device))
HC_PER_THREAD(cuStreamGetDevice, (CUstream hStream, CUdevice *device), hStream, device)
HC_ENTRY(cuStreamGetFlags, (CUstream hStream, unsigned int *flags), cudaStreamGetFlags(hStream, flags))
HC_PER_THREAD(cuStreamGetFlags, (CUstream hStream, unsigned int *flags), hStream, flags)
HC_ENTRY(cuStreamGetPriority, (CUstream hStream, int *priority), cudaStreamGetPriority(hStream, priority))
HC_PER_THREAD(cuStreamGetPriority, (CUstream hStream, int *priority), hStream, priority)

/* ---- events ------------------------------------------------------------------------------------------------------ */

HC_CONTEXT_ENTRY(cuEventCreate, (CUevent * phEvent, unsigned int Flags), cudaEventCreateWithFlags(phEvent, Flags))
HC_ENTRY(cuEventDestroy, (CUevent hEvent), cudaEventDestroy(hEvent))
HC_ENTRY(cuEventQuery, (CUevent hEvent), cudaEventQuery(hEvent))
HC_ENTRY(cuEventSynchronize, (CUevent hEvent), cudaEventSynchronize(hEvent))
HC_ENTRY(cuEventElapsedTime, (float *pMilliseconds, CUevent hStart, CUevent hEnd),
         cudaEventElapsedTime(pMilliseconds, hStart, hEnd))
HC_ENTRY(cuEventRecord, (CUevent hEvent, CUstream hStream), cudaEventRecord(hEvent, hStream))
HC_PER_THREAD(cuEventRecord, (CUevent hEvent, CUstream hStream), hEvent, hStream)
HC_ENTRY(cuEventRecordWithFlags, (CUevent hEvent, CUstream hStream, unsigned int flags),
         cudaEventRecordWithFlags(hEvent, hStream, flags))
HC_PER_THREAD(cuEventRecordWithFlags, (CUevent hEvent, CUstream hStream, unsigned int flags), hEvent, hStream, flags)

/* ---- captures ---------------------------------------------------------------------------------------------------- */

HC_ENTRY(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode),
         cudaThreadExchangeStreamCaptureMode(HC_SAME_AS(enum cudaStreamCaptureMode *, mode)))

HC_ENTRY(cuStreamBeginCapture, (CUstream hStream, CUstreamCaptureMode mode),
         cudaStreamBeginCapture(hStream, MODE(mode)))
HC_PER_THREAD(cuStreamBeginCapture, (CUstream hStream, CUstreamCaptureMode mode), hStream, mode)
HC_ENTRY(cuStreamBeginCaptureToGraph,
         (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
          size_t numDependencies, CUstreamCaptureMode mode),
         cudaStreamBeginCaptureToGraph(hStream, hGraph, dependencies, EDGES(dependencyData), numDependencies,
                                       MODE(mode)))
HC_PER_THREAD(cuStreamBeginCaptureToGraph,
              (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
               size_t numDependencies, CUstreamCaptureMode mode),
              hStream, hGraph, dependencies, dependencyData, numDependencies, mode)
HC_ENTRY(cuStreamEndCapture, (CUstream hStream, CUgraph *phGraph), cudaStreamEndCapture(hStream, phGraph))
HC_PER_THREAD(cuStreamEndCapture, (CUstream hStream, CUgraph *phGraph), hStream, phGraph)
HC_ENTRY(cuStreamIsCapturing, (CUstream hStream, CUstreamCaptureStatus *captureStatus),
         cudaStreamIsCapturing(hStream, STATUS(captureStatus)))
HC_PER_THREAD(cuStreamIsCapturing, (CUstream hStream, CUstreamCaptureStatus *captureStatus), hStream, captureStatus)
HC_ENTRY(cuStreamUpdateCaptureDependencies,
         (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies,
          unsigned int flags),
         cudaStreamUpdateCaptureDependencies(hStream, dependencies, EDGES(dependencyData), numDependencies, flags))
HC_PER_THREAD(cuStreamUpdateCaptureDependencies,
              (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
               size_t numDependencies, unsigned int flags),
              hStream, dependencies, dependencyData, numDependencies, flags)
HC_PER_THREAD(cuStreamGetCaptureInfo,
              (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
               const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out),
              hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out)
