/** Reads a pod's image pull secrets. Upstream: getPullSecretsForPod in pkg/kubelet/kubelet_pods.go. */
import type { Pod, Secret } from '../../api/gen/core-v1.ts';
import { Secrets } from '../../api/gen/resources.ts';
import { beginInTurns } from '../../base/begin-in-turns.ts';
import type { Client } from '../../client/client.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { podFields, podNamespace } from '../types/pod-update.ts';

export interface PullSecrets {
  /**
   * The secrets that can be read. Others are recorded in an event, and the pull is tried without them. Rejects on
   * abort.
   */
  forPod(pod: Pod, signal: AbortSignal): Promise<readonly Secret[]>;
}

/** Reads that begin in one turn of the loop. */
const SECRETS_PER_TURN = 32;

/** Reads pull secrets from the API server at each sync that needs them. */
export function createPullSecrets(deps: {
  client: Client;
  clock: Clock;
  recorder: KubeletEventRecorder;
  log: Log;
}): PullSecrets {
  const secrets = deps.client.resource(Secrets);
  return {
    async forPod(pod, signal) {
      const names = (pod.spec?.imagePullSecrets ?? []).flatMap(({ name }) =>
        name === undefined || name === '' ? [] : [name],
      );
      if (names.length === 0) return [];
      const failed: string[] = [];
      const read = async (name: string): Promise<Secret | undefined> => {
        try {
          return await secrets.get({ namespace: podNamespace(pod), name }, { signal });
        } catch (error) {
          signal.throwIfAborted();
          failed.push(name);
          deps.log.warn('Unable to retrieve pull secret, the image pull may not succeed.', {
            ...podFields(pod),
            secret: name,
            err: error,
          });
          return undefined;
        }
      };
      const secretsOrMissing = await beginInTurns(names, read, {
        perTurn: SECRETS_PER_TURN,
        pause: () => deps.clock.yield(),
      });
      if (failed.length > 0) {
        const message = `Unable to retrieve some image pull secrets (${failed.join(', ')}); attempting to pull the image may not succeed.`;
        deps.recorder.event(pod, 'Warning', 'FailedToRetrieveImagePullSecret', message);
      }
      return secretsOrMissing.filter((secret) => secret !== undefined);
    },
  };
}
