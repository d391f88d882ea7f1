/** Messages of events about resizes. Pure. Upstream: pkg/kubelet/events/resize.go. Differs: with pod-level resources. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { resourcesToKeep } from './resources.ts';

/** The requested resources, the generation, and the error if there is one. */
export function resizeMessage(what: string, { metadata, spec }: Pod, error?: string): string {
  const summary = {
    resources: spec?.resources && resourcesToKeep(spec.resources),
    initContainers: spec?.initContainers?.length ? spec.initContainers.map(summaryOf) : undefined,
    containers: (spec?.containers ?? []).map(summaryOf),
    generation: metadata.generation ?? 0,
    error,
  };
  return `Pod resize ${what}: ${JSON.stringify(summary)}`;
}

function summaryOf({ name, resources }: Container) {
  return { name, resources: resourcesToKeep(resources ?? {}) };
}
