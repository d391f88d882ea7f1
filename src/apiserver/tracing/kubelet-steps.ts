/** Asks the kubelet of a node for the steps of a pod's start. */
import { errorMessage } from '../../base/errors.ts';
import { POD_STEPS_ROUTE, type ComponentSteps } from '../../component-helpers/pod-trace/trace-step.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { kubeletBaseUrl } from '../streaming/kubelet-location.ts';

export interface KubeletStepsDeps {
  readonly objects: ObjectStore;
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
  readonly kubeletTls: () => TlsOptions;
  /** Kinds of node addresses in the order they are tried; absent: as for logs. */
  readonly addressTypes?: readonly string[] | undefined;
}

export interface PodOnNode {
  readonly nodeName: string;
  readonly namespace: string;
  readonly name: string;
}

const TIMEOUT_MS = 5000;
/** A hundred steps have a fifth of it. */
const MAX_BYTES = 256 * 1024;

/** The steps, or why they cannot be had. */
export async function readKubeletSteps(
  { objects, net, clock, kubeletTls, addressTypes }: KubeletStepsDeps,
  { nodeName, namespace, name }: PodOnNode,
  signal: AbortSignal,
): Promise<ComponentSteps | string> {
  const late = new AbortController();
  const cancel = clock.setTimer(TIMEOUT_MS, () => late.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
  const both = AbortSignal.any([signal, late.signal]);
  try {
    const path = [POD_STEPS_ROUTE, namespace, name].map(encodeURIComponent).join('/');
    const url = `${kubeletBaseUrl(objects, nodeName, addressTypes)}/${path}`;
    const answer = await net.http({ method: 'GET', url, tls: kubeletTls(), signal: both });
    const text = await answerText(answer, MAX_BYTES);
    if (answer.status === 200) return JSON.parse(text) as ComponentSteps;
    if (answer.status === 404) return 'it remembers no start of the pod';
    return `it answered with status ${answer.status}`;
  } catch (error) {
    signal.throwIfAborted();
    if (isProgramError(error)) throw error;
    return errorMessage(error);
  } finally {
    cancel();
  }
}
