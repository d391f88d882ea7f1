/** Drains a node: cordons it, then evicts its pods. Evictions that a disruption budget refuses are repeated. */
import { signal } from '@preact/signals';
import { ApiError } from '../../api/http.ts';
import { type Kind, type ObjectRef, objectPath } from '../../api/kinds.ts';
import { createObject, patchObject } from '../../api/objects.ts';
import { pause } from '../../api/pause.ts';

export interface Eviction {
  readonly state: 'asking' | 'refused' | 'leaving' | 'failed';
  /** The server's message. */
  readonly message: string;
}

/** A pod to evict. */
export interface Leaving {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The pause between attempts, as in kubectl. */
const AGAIN_MS = 5000;

export class DrainRun {
  /** The state of the evictions by the pods' uids. */
  readonly evictions = signal<ReadonlyMap<string, Eviction>>(new Map());
  readonly #life = new AbortController();
  readonly #pods: Kind;

  constructor(pods: Kind) {
    this.#pods = pods;
  }

  /** Resolves when each eviction was granted or has failed. Rejects with `ApiError` when the node cannot be cordoned. */
  async start(node: ObjectRef, leaving: readonly Leaving[]): Promise<void> {
    await patchObject(node, { spec: { unschedulable: true } });
    await Promise.all(leaving.map((pod) => this.#evict(pod)));
  }

  stop(): void {
    this.#life.abort();
  }

  async #evict(pod: Leaving): Promise<void> {
    const { signal: life } = this.#life;
    const path = objectPath({ kind: this.#pods, ...pod }, 'eviction');
    const { namespace, name, uid } = pod;
    const eviction = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { namespace, name },
      // A later pod of this name may be on another node.
      deleteOptions: { preconditions: { uid } },
    };
    this.#set(uid, 'asking');
    while (!life.aborted) {
      try {
        await createObject(path, eviction);
        return this.#set(uid, 'leaving');
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.code === 404 || error.code === 409) return this.#set(uid, 'leaving');
        if (error.code !== 429) return this.#set(uid, 'failed', error.message);
        this.#set(uid, 'refused', reasonOf(error));
      }
      await pause(AGAIN_MS, life);
    }
  }

  #set(uid: string, state: Eviction['state'], message = ''): void {
    this.evictions.value = new Map(this.evictions.peek()).set(uid, { state, message });
  }
}

/** The causes name the budget that refuses the eviction. */
function reasonOf({ message, status }: ApiError): string {
  const causes = (status.details?.causes ?? []).flatMap(({ message: text = '' }) => (text === '' ? [] : [text]));
  return [message, ...causes].join(' ');
}
