/**
 * Trace spans of the syncs of terminating and terminated pods, as upstream's. `pod/start-steps.ts` creates the spans
 * of a running pod's sync.
 */
import type { SpanAttributes, Tracer } from '../../platform/tracing.ts';
import { podAttributes } from '../pod/start-steps.ts';
import type { PodSyncer } from '../pod-workers/pod-syncer.ts';

export function withSpans(syncer: PodSyncer, tracer: Tracer | undefined): PodSyncer {
  if (tracer === undefined) return syncer;
  const spanning = async <T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> => {
    const span = tracer.start(name, { attributes });
    try {
      const result = await work();
      span?.end();
      return result;
    } catch (error) {
      span?.end(error);
      throw error;
    }
  };
  return {
    syncPod: (request) => syncer.syncPod(request),
    syncTerminatingPod: (request) =>
      spanning('syncTerminatingPod', podAttributes(request.pod), () => syncer.syncTerminatingPod(request)),
    syncTerminatingRuntimePod(pod, signal) {
      const { uid, name, namespace } = pod;
      return spanning('syncTerminatingRuntimePod', podAttributes({ metadata: { uid, name, namespace } }), () =>
        syncer.syncTerminatingRuntimePod(pod, signal),
      );
    },
    syncTerminatedPod: (request) =>
      spanning('syncTerminatedPod', podAttributes(request.pod), () => syncer.syncTerminatedPod(request)),
  };
}
