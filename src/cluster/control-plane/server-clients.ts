/**
 * The clients of a server's own API: controllers, scheduler, addons, charts, load balancers, the gateway and scheduled
 * snapshots. Their code is loaded once the API server answers.
 */
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import { endFormerDataPlane } from '../gateway/former-data-plane.ts';
import type { MachinePorts } from '../gateway/machine-ports.ts';
import type { RouteFeed } from '../gateway/nodes/route-feed.ts';
import { nodePortUser } from '../gateway/route-ports.ts';
import { createGateway, type Gateway } from '../gateway/run-gateway.ts';
import { withdrawRoutes } from '../gateway/withdraw-routes.ts';
import type { Snapshots } from '../snapshots/run-snapshots.ts';
import { createServerSnapshots } from '../snapshots/server-snapshots.ts';
import type { ControlPlane } from './control-plane.ts';
import type { LedComponent } from './leadership.ts';
import type { LocalServerConfig } from './local-server-contract.ts';

export interface ServerClientsDeps {
  readonly platform: Platform;
  readonly controlPlane: ControlPlane;
  readonly store: Store;
  readonly feed: RouteFeed;
  readonly machinePorts: MachinePorts;
  readonly caPem: string;
}

type Lead = (component: LedComponent, signal: AbortSignal) => Promise<void>;

export class ServerClients {
  readonly #deps: ServerClientsDeps;
  readonly #config: LocalServerConfig;
  #gateway: Gateway | undefined;
  #snapshots: Snapshots | undefined;

  constructor(deps: ServerClientsDeps, config: LocalServerConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  get gateway(): Gateway | undefined {
    return this.#gateway;
  }

  get snapshots(): Snapshots | undefined {
    return this.#snapshots;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, controlPlane, store, machinePorts, caPem } = this.#deps;
    const { instance, options } = this.#config;
    const { runLoadBalancers } = await import('./load-balancers.ts');
    const { runAddons } = await import('../addons/run-addons.ts');
    const { runHelm } = await import('../helm/run-helm.ts');
    const { ledComponents } = await import('./leadership.ts');
    const lead = await this.#leading();
    signal.throwIfAborted();
    const deps = { platform, controlPlane };
    this.#gateway = this.#createGateway();
    const ports = this.#gateway && options.gateway;
    if (this.#gateway === undefined || options.disableAgent === true) await endFormerDataPlane(platform, instance);
    this.#snapshots = await createServerSnapshots({ ...deps, store }, this.#config);
    const addons = { folder: `${instance.dataDir}/manifests`, server: instance.nodeName };
    await Promise.all([
      ...ledComponents(controlPlane).map((component) => lead(component, signal)),
      runAddons(deps, addons, signal),
      runHelm({ ...deps, lead }, { instance, options, caPem }, signal),
      this.#gateway === undefined ? withdrawRoutes(deps, signal) : this.#gateway.run(signal),
      this.#snapshots?.run(signal),
      options.loadBalancer === 'none'
        ? undefined
        : runLoadBalancers(deps, () => nodePortUser(controlPlane.server.objects, { machinePorts, ports }), signal),
    ]);
  }

  /** Returns a function that runs a component on only one of several servers over a store. */
  async #leading(): Promise<Lead> {
    const { runLed } = await import('./leadership.ts');
    const { platform, controlPlane, store } = this.#deps;
    const { advertiseAddress, instance } = this.#config;
    const deps = {
      platform,
      clientFor: controlPlane.clientFor,
      shared: store.latestRevision !== undefined,
      // The same after a restart, so that it need not wait for its own lease to expire; the instance's lock ensures
      // that there is only one process.
      identity: `${instance.nodeName}_${advertiseAddress}:${instance.httpsPort}_${instance.hash}`,
    };
    return (component, signal) => runLed(deps, component, signal);
  }

  #createGateway(): Gateway | undefined {
    const { platform, controlPlane, feed, machinePorts } = this.#deps;
    const { instance, options } = this.#config;
    if (options.gateway === undefined) return undefined;
    const hasNode = options.disableAgent !== true;
    return createGateway({ platform, controlPlane }, { instance, ports: options.gateway, machinePorts, feed, hasNode });
  }
}
