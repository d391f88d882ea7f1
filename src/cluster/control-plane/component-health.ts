/**
 * Health of controller manager, scheduler and store for `kubectl get componentstatuses`. A component is healthy when
 * this process runs it, or when its lease is held. Upstream: registry/core/componentstatus, which requests healthz at
 * ports of its own machine.
 */
import { Leases } from '../../api/gen/resources.ts';
import { parseTime } from '../../api/time.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { ComponentHealth } from '../../apiserver/registry/services.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Store } from '../../storage/store.ts';

/** A component that may run in this process. */
export type LedPart = 'controller-manager' | 'scheduler';

export interface ComponentHealthSource {
  /** The component runs here from now on; call the returned function when it has ended. */
  runs(part: LedPart): () => void;
  read(): Promise<readonly ComponentHealth[]>;
}

export interface ComponentHealthDeps {
  readonly objects: ObjectStore;
  readonly store: Pick<Store, 'status'>;
  readonly clock: Clock;
  /** Whether the component runs in this process, started by other code. */
  readonly runsBeside?: ((part: LedPart) => boolean) | undefined;
}

export function createComponentHealth({
  objects,
  store,
  clock,
  runsBeside,
}: ComponentHealthDeps): ComponentHealthSource {
  const running: LedPart[] = [];
  const partHealth = (name: LedPart): ComponentHealth => {
    const lease = `kube-${name}`;
    const {
      holderIdentity = '',
      renewTime,
      leaseDurationSeconds = 0,
    } = objects.get(Leases, 'kube-system', lease)?.spec ?? {};
    const isHeld = holderIdentity !== '' && parseTime(renewTime) + leaseDurationSeconds * 1000 > clock.nowMs();
    if (running.includes(name) || runsBeside?.(name) === true || isHeld) return { name, healthy: true, message: 'ok' };
    return { name, healthy: false, message: `it does not run here, and nobody holds the lease kube-system/${lease}` };
  };
  const storeHealth = async (): Promise<ComponentHealth> => {
    const name = 'etcd-0';
    try {
      await store.status();
      return { name, healthy: true, message: 'ok' };
    } catch (error) {
      return { name, healthy: false, message: errorMessage(error) };
    }
  };
  return {
    runs(part) {
      running.push(part);
      return () => running.splice(running.indexOf(part), 1);
    },
    read: async () => [partHealth('controller-manager'), partHealth('scheduler'), await storeHealth()],
  };
}
