/** Follows the logs of a pod or of a workload's pods into a store. */
import { ApiError } from '../../api/http.ts';
import { type Kind, kindId, type ObjectRef } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { MOST_LINES } from './log-buffer.ts';
import type { LogStore } from './log-store.ts';
import { followPodLogs } from './pod-logs.ts';
import { followWorkloadLogs } from './workload-logs.ts';

interface Wanted {
  readonly container: string;
  readonly previous: boolean;
}

/** Starts to follow; the returned function ends it. */
export function followLogs(
  store: LogStore,
  ref: ObjectRef,
  { pods, container, previous }: Wanted & { readonly pods: Kind | undefined },
): () => void {
  const life = new AbortController();
  store.clear();
  const order = { container, previous, tailLines: MOST_LINES };
  const { gone } = texts.object;
  const following = async (): Promise<void> => {
    if (kindId(ref.kind) === 'pods') return followPodLogs({ ...order, pod: ref }, { sink: store, gone }, life.signal);
    if (pods !== undefined) await followWorkloadLogs(ref, { pods, order, gone, sink: store }, life.signal);
  };
  following().catch((error: unknown) => {
    if (life.signal.aborted) return;
    if (!(error instanceof ApiError)) throw error;
    store.problem(error.message);
  });
  return () => {
    life.abort();
    store.stop();
  };
}
