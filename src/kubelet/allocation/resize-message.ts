/** What events about resizes tell. Pure. Upstream: pkg/kubelet/events/resize.go. Differs: a pod's own resources are told too. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { resourcesToKeep } from './resources.ts';

/** The message: what is asked for, of which generation, and what is wrong, if anything. */
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
