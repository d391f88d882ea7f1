/** Reads JSON about a pod from paths of its node's kubelet. */
import { errorMessage } from '../../base/errors.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Net } from '../../platform/net.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import { type KubeletAccess, kubeletTarget } from './kubelet-target.ts';

export interface KubeletJsonDeps extends KubeletAccess {
  readonly net: Pick<Net, 'http'>;
  readonly clock: Clock;
}

export interface PodOnNode {
  readonly nodeName: string;
  readonly namespace: string;
  readonly name: string;
}

/** The first segment of the path, and what a kubelet's 404 means. */
export interface KubeletRoute {
  readonly route: string;
  readonly notFound: string;
}

const TIMEOUT_MS = 5000;
/** The size limit, five times that of hundreds of steps or of all texts of a pod's state. */
const MAX_BYTES = 256 * 1024;

/** The kubelet's answer, or the reason why there is none. */
export async function readKubeletJson<T extends object>(
  deps: KubeletJsonDeps,
  { route, notFound }: KubeletRoute,
  { nodeName, namespace, name }: PodOnNode,
  signal: AbortSignal,
): Promise<T | string> {
  const { net, clock } = deps;
  const late = new AbortController();
  const cancel = clock.setTimer(TIMEOUT_MS, () => late.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
  const both = AbortSignal.any([signal, late.signal]);
  try {
    const path = [route, namespace, name].map(encodeURIComponent).join('/');
    const { base, tls } = kubeletTarget(deps, nodeName);
    const answer = await net.http({ method: 'GET', url: `${base}/${path}`, tls, signal: both });
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
