/** Messages of events about resizes. Pure. Upstream: pkg/kubelet/events/resize.go. Differs: with pod-level resources. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { resourcesToKeep } from './resources.ts';

/** The requested resources, the generation, and the error if there is one. */
export function resizeMessage(what: string, { metadata, spec }: Pod, error?: string): string {
  const summary = {
    ...(spec?.resources && { resources: resourcesToKeep(spec.resources) }),
    ...(spec?.initContainers?.length && { initContainers: spec.initContainers.map(summaryOf) }),
    containers: (spec?.containers ?? []).map(summaryOf),
    generation: metadata.generation ?? 0,
    ...(error === undefined ? {} : { error }),
  };
  return `Pod resize ${what}: ${JSON.stringify(summary)}`;
}

function summaryOf({ name, resources }: Container) {
  return { name, resources: resourcesToKeep(resources ?? {}) };
}
