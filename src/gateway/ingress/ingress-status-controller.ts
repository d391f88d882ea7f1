/** Keeps the addresses in the status of our ingresses current. */
import type { Ingress } from '../../api/gen/networking-v1.ts';
import { IngressClasses, Ingresses, Nodes } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { isReason } from '../../api/status-error.ts';
import { onAbort } from '../../base/abort.ts';
import type { Client } from '../../client/client.ts';
import type { InformerFactory } from '../../client/informer.ts';
import { createWorkQueue } from '../../client/workqueue.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { logFailure } from '../../platform/unexpected.ts';
import { isServedIngress } from './ingress-class.ts';
import { gatewayAddresses, publishAddresses } from './ingress-status.ts';

export interface IngressStatusDeps {
  readonly client: Client;
  /** Informers that their owner starts. */
  readonly informers: InformerFactory;
  readonly platform: Pick<BasePlatform, 'clock' | 'log' | 'metrics'>;
}

/** The key of all ingresses, which have the same addresses and are handled together. */
const ALL = 'all';

/** Runs until the signal aborts. Never rejects. */
export async function runIngressStatus(deps: IngressStatusDeps, signal: AbortSignal): Promise<void> {
  const { client, informers, platform } = deps;
  const queue = createWorkQueue<string>({ name: 'ingress-status', clock: platform.clock, metrics: platform.metrics });
  const [ingresses, classes, nodes] = [
    informers.informer(Ingresses),
    informers.informer(IngressClasses),
    informers.informer(Nodes),
  ];
  const touch = (): void => queue.add(ALL);
  for (const informer of [ingresses, classes, nodes])
    informer.addHandler({ onAdd: touch, onUpdate: touch, onDelete: touch });
  onAbort(signal, () => queue.shutDown());
  const sync = async (): Promise<void> => {
    // Changes come in bursts, and each concerns all ingresses.
    await platform.clock.yield();
    const addresses = gatewayAddresses(nodes.list());
    const isOurs = (ingress: Stored<Ingress>): boolean => isServedIngress(ingress, (name) => classes.get({ name }));
    const written = ingresses
      .list()
      .filter(isOurs)
      .map((ingress) => publishAddresses(client, ingress, addresses, signal));
    const failed = (await Promise.allSettled(written)).find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  try {
    await Promise.all([ingresses, classes, nodes].map((informer) => informer.waitForSync(signal)));
  } catch {
    return; // aborted before the caches were synced
  }
  for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
    try {
      await sync();
      queue.forget(key);
    } catch (error) {
      if (!signal.aborted) {
        if (!isReason(error, 'Conflict'))
          logFailure(platform.log, 'addresses of ingresses were not written, again later', error);
        queue.addRateLimited(key);
      }
    }
    queue.done(key);
  }
}
