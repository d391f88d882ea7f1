/** Follows custom resources that quotas count. Each has an informer that can be stopped, as definitions are deleted. */
import type { KubernetesObject } from '../../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import { linkedController } from '../../base/abort.ts';
import type { Client } from '../../client/client.ts';
import type { Informer, InformerFactory } from '../../client/informer.ts';
import { createSharedInformer } from '../../client/shared-informer.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { background } from '../../platform/unexpected.ts';

/** Limits the wait for an informer, whose definition may be deleted meanwhile; discovery then runs again. */
const SYNC_TIMEOUT_MS = 30_000;

export interface CustomMonitorDeps {
  readonly client: Client;
  /** Informers of built-in kinds. */
  readonly informers: InformerFactory;
  readonly platform: Pick<BasePlatform, 'clock' | 'random' | 'log'>;
}

interface Monitor {
  readonly informer: Informer<KubernetesObject>;
  stop(): void;
}

/** The custom resources that are followed now. */
export interface CustomMonitors {
  /** The synced caches. Rejects when aborted, or when a cache does not sync. */
  follow(
    infos: readonly ResourceInfo<KubernetesObject>[],
    signal: AbortSignal,
  ): Promise<readonly Informer<KubernetesObject>[]>;
  /** Stops following those that match. */
  drop(matches: (info: ResourceInfo) => boolean): void;
  followed(): readonly ResourceInfo[];
  isEmpty(): boolean;
}

/** `attach` is called with each informer before it starts. */
export function createCustomMonitors(
  deps: CustomMonitorDeps,
  attach: (informer: Informer<KubernetesObject>) => void,
): CustomMonitors {
  const { clock, random, log } = deps.platform;
  const monitors = new Map<string, Monitor>();

  function start(info: ResourceInfo<KubernetesObject>, signal: AbortSignal): Monitor {
    const term = linkedController(signal);
    const client = deps.client.resource(info);
    const source = random.fork(`quota/${groupResourceOf(info)}`);
    const informer = createSharedInformer({ client, options: {}, clock, random: source, log });
    attach(informer);
    background(log, 'an informer broke off', informer.run(term.signal));
    const stop = (): void => {
      term.abort(new Error('no quota counts the resource any more, or it is no longer served'));
      term.dispose();
    };
    return { informer, stop };
  }

  return {
    async follow(infos, signal) {
      const followed = infos.map((info) => {
        const key = keyOf(info);
        const monitor = monitors.get(key) ?? start(info, signal);
        monitors.set(key, monitor);
        return monitor.informer;
      });
      const wait = linkedController(signal);
      const late = (): void => wait.abort(new Error('a counted resource could not be listed in time'));
      const cancel = clock.setTimer(SYNC_TIMEOUT_MS, late);
      try {
        await Promise.all(followed.map((informer) => informer.waitForSync(wait.signal)));
      } finally {
        cancel();
        wait.dispose();
      }
      return followed;
    },
    drop(matches) {
      for (const [key, { informer, stop }] of monitors) {
        if (!matches(informer.info)) continue;
        stop();
        monitors.delete(key);
      }
    },
    followed: () => [...monitors.values()].map(({ informer }) => informer.info),
    isEmpty: () => monitors.size === 0,
  };
}

function keyOf(info: ResourceInfo): string {
  return `${groupResourceOf(info)}/${info.version}`;
}
