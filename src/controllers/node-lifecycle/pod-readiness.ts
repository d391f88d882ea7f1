/** Marks the pods of nodes that are not ready as not ready. */
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { isNodeReady, nodeCondition } from '../../component-helpers/nodes.ts';
import { isPodReady, podCondition, withPodCondition } from '../../component-helpers/pods.ts';
import type { Clock } from '../../platform/clock.ts';

const BY_NODE = 'node-name';
/** Reason and message of the event and of the condition. Differs: upstream leaves those of the kubelet in the condition. */
const NOT_READY = { reason: 'NodeNotReady', message: 'Node is not ready' } as const;

interface PodReadinessDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly pods: Informer<Pod>;
  readonly recorder: EventRecorder;
}

export class PodReadiness {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;

  constructor({ client, clock, pods, recorder }: PodReadinessDeps) {
    this.#client = client;
    this.#clock = clock;
    this.#pods = pods;
    this.#recorder = recorder;
    pods.addIndex(BY_NODE, (pod) => [pod.spec?.nodeName ?? '']);
  }

  /** Upstream: controllerutil.MarkPodsNotReady. */
  async markPodsNotReady(node: Stored<Node>, wasReady: boolean, signal: AbortSignal): Promise<void> {
    const name = node.metadata.name;
    if (isNodeReady(node) || nodeCondition(node, 'Ready') === undefined) return;
    if (wasReady) this.#recorder.event(node, 'Normal', 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    // In every round, so that a failed write or a restart is made up for.
    for (const pod of this.#pods.byIndex(BY_NODE, name)) if (isPodReady(pod)) await this.#markNotReady(pod, signal);
  }

  async #markNotReady(pod: Pod, signal: AbortSignal): Promise<void> {
    const condition = {
      ...podCondition(pod, 'Ready'),
      type: 'Ready',
      status: 'False',
      lastTransitionTime: formatTime(this.#clock.nowMs()),
      ...NOT_READY,
    };
    try {
      await this.#client
        .resource(Pods)
        .updateStatus(
          { ...pod, status: { ...pod.status, conditions: withPodCondition(pod.status?.conditions, condition) } },
          { signal },
        );
      this.#recorder.event(pod, 'Warning', NOT_READY.reason, NOT_READY.message);
    } catch (error) {
      // The next round uses the pod's new state.
      if (!isReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }
}
