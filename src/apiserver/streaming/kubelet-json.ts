/** Asks the kubelet of a node for what it knows of a pod: JSON at paths of its own. */
import { errorMessage } from '../../base/errors.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { kubeletBaseUrl } from './kubelet-location.ts';

export interface KubeletJsonDeps {
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

/** What is read: the first segment of the path, and what a kubelet means that does not find the pod there. */
export interface KubeletRoute {
  readonly route: string;
  readonly notFound: string;
}

const TIMEOUT_MS = 5000;
/** Hundreds of steps, and all texts of a pod's state, have a fifth of it. */
const MAX_BYTES = 256 * 1024;

/** The kubelet's answer, or why it cannot be had. */
export async function readKubeletJson<T extends object>(
  { objects, net, clock, kubeletTls, addressTypes }: KubeletJsonDeps,
  { route, notFound }: KubeletRoute,
  { nodeName, namespace, name }: PodOnNode,
  signal: AbortSignal,
): Promise<T | string> {
  const late = new AbortController();
  const cancel = clock.setTimer(TIMEOUT_MS, () => late.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
  const both = AbortSignal.any([signal, late.signal]);
  try {
    const path = [route, namespace, name].map(encodeURIComponent).join('/');
    const url = `${kubeletBaseUrl(objects, nodeName, addressTypes)}/${path}`;
    const answer = await net.http({ method: 'GET', url, tls: kubeletTls(), signal: both });
    const text = await answerText(answer, MAX_BYTES);
    if (answer.status === 200) return JSON.parse(text) as T;
    return answer.status === 404 ? notFound : `it answered with status ${answer.status}`;
  } catch (error) {
    signal.throwIfAborted();
    if (isProgramError(error)) throw error;
    return errorMessage(error);
  } finally {
    cancel();
  }
}
