/** Says on the Node, in events and in the status which ports the data plane has, and who keeps others from it. */
import type { Node, Service } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { isReason } from '../../api/status-error.ts';
import { onAbort } from '../../base/abort.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../component-helpers/gateway-class.ts';
import type { DataPlaneReport, ListenerState } from '../../gateway/snapshot/snapshot.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { background } from '../../platform/unexpected.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import { portHolder } from '../instance/preflight.ts';
import type { GatewayConfig, GatewayDeps } from './gateway-contract.ts';
import { recordedPorts } from './recorded-ports.ts';
import { routesPrecede } from './route-ports.ts';

const RETRY_MS = 1000;

export interface Surroundings {
  readonly warn: (message: string) => void;
  readonly services: () => readonly Service[];
  readonly signal: AbortSignal;
}

export class PortAnnouncements {
  readonly #deps: GatewayDeps;
  readonly #config: GatewayConfig;
  readonly #surroundings: Surroundings;
  #report: DataPlaneReport | undefined;
  /** Nothing is known of the data plane until it has reported or ended: what the Node records stays. */
  #isKnown = false;
  #isSettling = false;
  #isStale = false;
  #messages: readonly string[] = [];

  constructor(deps: GatewayDeps, config: GatewayConfig, surroundings: Surroundings) {
    this.#deps = deps;
    this.#config = config;
    this.#surroundings = surroundings;
    // A Node that registers anew has no record.
    const stop = deps.controlPlane.server.objects.onChange(Nodes, (node) => {
      if (node?.metadata.name === config.instance.nodeName) this.touch();
    });
    onAbort(surroundings.signal, stop);
  }

  /** `report`: undefined once no data plane runs. */
  take(report: DataPlaneReport | undefined): void {
    this.#report = report;
    this.#isKnown = true;
    this.touch();
  }

  /** Something that decides about ports has changed. */
  touch(): void {
    this.#isStale = true;
    if (!this.#isKnown || this.#isSettling) return;
    background(this.#deps.platform.log, 'the ports of routes were not published', this.#settle());
  }

  status(): readonly ComponentStatus[] {
    if (this.#report === undefined) return [];
    return [{ name: 'gateway', healthy: this.#messages.length === 0, message: this.#messages.join('; ') }];
  }

  async #settle(): Promise<void> {
    this.#isSettling = true;
    try {
      while (this.#isStale && !this.#surroundings.signal.aborted) {
        this.#isStale = false;
        await this.#settleOnce();
      }
    } finally {
      this.#isSettling = false;
    }
  }

  async #settleOnce(): Promise<void> {
    const messages: string[] = [];
    const open: number[] = [];
    for (const state of this.#report?.listeners ?? []) {
      const message = await this.#messageOf(state);
      if (message === undefined) open.push(state.port);
      else messages.push(message);
    }
    for (const message of messages) {
      if (this.#messages.includes(message)) continue;
      this.#deps.platform.log.warn(message);
      this.#surroundings.warn(message);
    }
    this.#messages = messages;
    await this.#record(open.sort((a, b) => a - b).join(','));
  }

  /** Why the port does not serve; undefined: it does. */
  async #messageOf({ port, problem }: ListenerState): Promise<string | undefined> {
    const service = this.#serviceOn(port)?.metadata;
    if (service !== undefined)
      return `port ${port} of routes belongs to service ${service.namespace}/${service.name} of type LoadBalancer`;
    if (problem === undefined) return undefined;
    if (problem !== 'EADDRINUSE') return `port ${port} cannot be opened: ${problem}`;
    const holder = (await portHolder(this.#deps.platform.files, port)) ?? 'another program';
    return `port ${port} of routes is used by ${holder}; stop it, or ${this.#otherPort(port)}`;
  }

  /** The load balancer whose rules take the port's traffic before any listener sees it. */
  #serviceOn(port: number): Service | undefined {
    const precede = routesPrecede(this.#deps.controlPlane.server.objects, this.#config.ports);
    return this.#surroundings
      .services()
      .find(
        (service) =>
          service.spec?.type === 'LoadBalancer' &&
          (service.spec.loadBalancerClass ?? '') === '' &&
          (service.status?.loadBalancer?.ingress ?? []).length > 0 &&
          (service.spec.ports ?? []).some((one) => one.port === port && (one.protocol ?? 'TCP') === 'TCP') &&
          !precede(service, port),
      );
  }

  #otherPort(port: number): string {
    const { http, https } = this.#config.ports;
    if (port === http) return 'start with another --gateway-http-port';
    return port === https ? 'start with another --gateway-https-port' : 'give the listener another port';
  }

  /** Again later where it fails, as for a node that has not registered yet. */
  async #record(text: string): Promise<void> {
    const { platform, controlPlane } = this.#deps;
    const { signal } = this.#surroundings;
    const { nodeName } = this.#config.instance;
    const { objects } = controlPlane.server;
    if (recordedPorts(objects, nodeName) === text) return;
    try {
      // Nodes themselves may not write it: it decides where routes are reached, and which ports they have.
      await objects.guaranteedUpdate(Nodes, '', nodeName, (node) => withPorts(node, text));
    } catch (error) {
      if (!signal.aborted && !isReason(error, 'NotFound'))
        platform.log.warn('the ports of routes were not published, again later', { err: error });
      await sleepUnlessAborted(platform.clock, RETRY_MS, signal);
      this.#isStale = true;
    }
  }
}

function withPorts(node: Stored<Node>, text: string): Stored<Node> {
  const { [GATEWAY_PORTS_ANNOTATION]: _before, ...others } = node.metadata.annotations ?? {};
  const annotations = text === '' ? others : { ...others, [GATEWAY_PORTS_ANNOTATION]: text };
  return { ...node, metadata: { ...node.metadata, annotations } };
}
