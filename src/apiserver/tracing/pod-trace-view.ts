/**
 * The view `trace` of pods: the timeline of a pod's start, combined from the records of this API server, the
 * scheduler in its process and the kubelet. The answer names missing parts.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import { badRequest, notFound } from '../../api/status-error.ts';
import { parseTime } from '../../api/time.ts';
import type { ApiResponse } from '../../api/transport.ts';
import { podTrace, type PodTrace } from '../../component-helpers/pod-trace/pod-trace.ts';
import { parseSteps } from '../../component-helpers/pod-trace/parse-steps.ts';
import { POD_STEPS_ROUTE, type ComponentSteps, type StepsOf } from '../../component-helpers/pod-trace/trace-step.ts';
import { readableUid } from '../history/readable-uid.ts';
import type { ObjectView } from '../object-views.ts';
import { JSON_HEADERS } from '../responses.ts';
import { readKubeletJson, type KubeletJsonDeps } from '../streaming/kubelet-json.ts';
import type { PodRequests } from './pod-requests.ts';

export interface PodTraceViewDeps extends KubeletJsonDeps {
  readonly podRequests: PodRequests;
  /** Undefined while no scheduler runs in this process. */
  readonly schedulerSteps: () => StepsOf | undefined;
}

const STEPS = { route: POD_STEPS_ROUTE, notFound: 'it remembers no start of the pod' };

export function podTraceView(deps: PodTraceViewDeps): ObjectView {
  return {
    name: 'trace',
    async serve(scope, store): Promise<ApiResponse> {
      const { info, signal } = scope;
      if (store.info !== Pods) throw badRequest('only the starts of pods are traced');
      // A deleted pod of that name may have been another tenant's.
      if (deps.objects.get(Pods, info.namespace, info.name) === undefined) await readableUid(store, scope);
      const trace = await traceOf(deps, info, signal);
      return { kind: 'bytes', status: 200, headers: JSON_HEADERS, chunks: [Buffer.from(JSON.stringify(trace))] };
    },
  };
}

/** The recorded steps of a component, or the reason why they are missing. */
interface Source {
  readonly steps?: ComponentSteps | undefined;
  readonly missing?: string | undefined;
}

interface NamedPod {
  readonly namespace: string;
  readonly name: string;
  /** Undefined for a deleted pod. */
  readonly pod: Pod | undefined;
  readonly uid: string;
}

async function traceOf(
  deps: PodTraceViewDeps,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<PodTrace> {
  const pod = deps.objects.get(Pods, namespace, name);
  const uid = pod?.metadata.uid ?? deps.podRequests.stepsOf(namespace, name)?.uid;
  if (uid === undefined) throw notFound(Pods, name);
  const named = { namespace, name, pod, uid };
  const sources = [requestSource(deps, named), schedulerSource(deps, named), await kubeletSource(deps, named, signal)];
  const nodeName = pod?.spec?.nodeName;
  return podTrace({
    metadata: { name, namespace, uid },
    nodeName,
    createdMs: parseTime(pod?.metadata.creationTimestamp) || 0,
    components: sources.flatMap(({ steps }) => steps ?? []),
    missing: sources.flatMap(({ missing }) => missing ?? []),
  });
}

function requestSource({ podRequests }: PodTraceViewDeps, { namespace, name, uid }: NamedPod): Source {
  const steps = ofPod(podRequests.stepsOf(namespace, name), uid);
  if (steps?.steps.some((step) => step.name === 'create') === true) return { steps };
  return {
    steps,
    missing: 'kube-apiserver: the request that created the pod was taken by another server, or long ago',
  };
}

function schedulerSource({ schedulerSteps }: PodTraceViewDeps, { namespace, name, pod, uid }: NamedPod): Source {
  const stepsOf = schedulerSteps();
  if (stepsOf === undefined) return { missing: 'kube-scheduler: none works in the process of this API server' };
  const steps = ofPod(stepsOf(namespace, name), uid);
  if (steps !== undefined) return { steps };
  const assigned = pod?.spec?.nodeName !== undefined;
  return {
    missing: `kube-scheduler: ${assigned ? 'it did not bind the pod, or long ago' : 'it has not tried the pod'}`,
  };
}

async function kubeletSource(
  deps: PodTraceViewDeps,
  { namespace, name, pod, uid }: NamedPod,
  signal: AbortSignal,
): Promise<Source> {
  const nodeName = pod?.spec?.nodeName;
  if (nodeName === undefined)
    return { missing: `kubelet: ${pod === undefined ? 'the pod is gone' : 'the pod has no node'}` };
  const answer = await readKubeletJson<object>(deps, STEPS, { nodeName, namespace, name }, signal);
  if (typeof answer === 'string') return { missing: `kubelet of ${nodeName}: ${answer}` };
  const parsed = parseSteps(answer, 'kubelet');
  if (parsed === undefined) return { missing: `kubelet of ${nodeName}: its answer is no list of steps` };
  const steps = ofPod(parsed, uid);
  return steps === undefined ? { missing: `kubelet of ${nodeName}: it remembers another pod of this name` } : { steps };
}

function ofPod(steps: ComponentSteps | undefined, uid: string): ComponentSteps | undefined {
  return steps?.uid === uid ? steps : undefined;
}
