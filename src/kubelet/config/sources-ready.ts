/** Which pod sources have sent their first full set. Upstream: pkg/kubelet/config/sources.go. */
import type { PodSource } from '../types/pod-update.ts';

export interface SourcesReady {
  addSource(source: PodSource): void;
  /** True once the first set of every configured source has been handled. */
  allReady(): boolean;
}

/** `expected`: the configured sources. */
export function createSourcesReady(expected: () => readonly PodSource[]): SourcesReady {
  const seen = new Set<PodSource>();
  return {
    addSource: (source) => seen.add(source),
    allReady: () => expected().every((source) => seen.has(source)),
  };
}
