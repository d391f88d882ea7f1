/** Which pod sources have told their first full set. Upstream: pkg/kubelet/config/sources.go. */
import type { PodSource } from '../types/pod-update.ts';

/** The tracker. */
export interface SourcesReady {
  addSource(source: PodSource): void;
  /** True once every configured source has been heard and handled. */
  allReady(): boolean;
}

/** Waits for these sources. */
export function createSourcesReady(expected: () => readonly PodSource[]): SourcesReady {
  const seen = new Set<PodSource>();
  return {
    addSource: (source) => seen.add(source),
    allReady: () => expected().every((source) => seen.has(source)),
  };
}
