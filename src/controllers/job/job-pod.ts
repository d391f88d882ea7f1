/** The pods of a job. Pure. Upstream: manageJob's template, addCompletionIndexEnvVariables. */
import { Jobs } from '../../api/gen/resources.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { podFromTemplate } from '../pod-control.ts';
import { COMPLETION_INDEX } from './indexes.ts';
import type { PodOrder } from './plan.ts';
import { INDEX_FAILURES, INDEX_IGNORED_FAILURES, TRACKING_FINALIZER } from './view.ts';

const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';

/** The pod for an order, with the finalizer that keeps it until it is counted. */
export function jobPod(job: Stored<Job>, order: PodOrder): Pod {
  const pod = podFromTemplate(job.spec?.template ?? {}, job, Jobs);
  const finalizers = [...(pod.metadata.finalizers ?? []), TRACKING_FINALIZER];
  if (order.index === undefined) return { ...pod, metadata: { ...pod.metadata, finalizers } };
  const index = String(order.index);
  const { counted = 0, ignored = 0 } = order.failures ?? {};
  const failures =
    order.failures === undefined
      ? {}
      : { [INDEX_FAILURES]: String(counted), ...(ignored === 0 ? {} : { [INDEX_IGNORED_FAILURES]: String(ignored) }) };
  const name = `${job.metadata.name}-${index}`;
  const spec = pod.spec as NonNullable<Pod['spec']>;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      finalizers,
      generateName: `${name.slice(0, 62)}-`,
      labels: { ...pod.metadata.labels, [COMPLETION_INDEX]: index },
      annotations: { ...pod.metadata.annotations, [COMPLETION_INDEX]: index, ...failures },
    },
    spec: {
      ...spec,
      hostname: spec.hostname ?? name,
      containers: spec.containers.map(withIndex),
      ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withIndex) }),
    },
  };
}

function withIndex(container: Container): Container {
  if (container.env?.some((variable) => variable.name === INDEX_VARIABLE) === true) return container;
  const fieldRef = { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` };
  return { ...container, env: [...(container.env ?? []), { name: INDEX_VARIABLE, valueFrom: { fieldRef } }] };
}
