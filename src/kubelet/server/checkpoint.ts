/**
 * `POST /checkpoint/NAMESPACE/POD/CONTAINER`: checkpoints a running container into a file on the node. Upstream:
 * checkpoint in server.go, CheckpointContainer in kubelet.go. A runtime without checkpoints answers 404, as upstream.
 */
import { podUid } from '../types/pod-update.ts';
import { errorMessage } from '../../base/errors.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import { formatTime } from '../../api/time.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import type { KubeletHost } from './host.ts';
import { jsonResponse, ServerError, textResponse } from './text-response.ts';

export interface CheckpointDeps {
  readonly host: KubeletHost;
  readonly runtime: Pick<ContainerRuntime, 'checkpointContainer'>;
  readonly platform: Pick<Platform, 'clock' | 'files'>;
  /** The directory of checkpoints. */
  readonly directory: string;
}

/** Answers with the file's path. */
export async function serveCheckpoint(
  { host, runtime, platform, directory }: CheckpointDeps,
  request: HttpRequest,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (request.method !== 'POST') return textResponse(405, 'Method Not Allowed\n');
  const [namespace = '', name = '', containerName = ''] = parts;
  const pod = host.podByName(namespace, name);
  if (pod === undefined) throw new ServerError(404, 'pod does not exist');
  const container = host
    .podStatus(podUid(pod))
    ?.containers.find((candidate) => candidate.name === containerName && candidate.state === 'running');
  if (container === undefined) throw new ServerError(404, `container ${containerName} does not exist`);
  const timeoutSeconds = timeoutOf(request.query);
  const stamp = formatTime(platform.clock.nowMs());
  const location = `${directory}/checkpoint-${name}_${namespace}-${containerName}-${stamp}.tar`;
  await platform.files.makeDir(directory, { mode: 0o700 });
  try {
    await runtime.checkpointContainer(container.id, location, timeoutSeconds);
  } catch (error) {
    const text = errorMessage(error);
    const message = `checkpointing of ${namespace}/${name}/${containerName} failed (${text})`;
    throw new ServerError(isCriCode(error, 'Unimplemented') ? 404 : 500, message);
  }
  return jsonResponse({ items: [location] });
}

/** 0: the runtime's default. */
function timeoutOf(query: string): number {
  const text = new URLSearchParams(query).get('timeout');
  if (text === null) return 0;
  // Upstream parses an int64; a number beyond exact integers means no timeout in practice.
  if (!/^\d{1,19}$/.test(text) || BigInt(text) >= 2n ** 63n)
    throw new ServerError(500, `cannot parse value of timeout parameter: "${text}"`);
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}
