/**
 * Publishes the ports that the data plane of one node serves, and the programs that hold the others: as an annotation of the
 * Node, in events and in the component status.
 */
import type { Node, Service } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { isReason } from '../../api/status-error.ts';
import { onAbort } from '../../base/abort.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../component-helpers/gateway-class.ts';
import type { DataPlaneReport, ListenerState } from '../../gateway/snapshot/snapshot.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { background } from '../../platform/unexpected.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import type { GatewayPorts } from '../../gateway/snapshot/build-snapshot.ts';
import type { GatewayDeps } from './gateway-contract.ts';
import { portProblem, withHolders } from './port-problem.ts';
import { recordedPorts } from './recorded-ports.ts';
import { routesPrecede } from './route-ports.ts';

const RETRY_MS = 1000;

export interface AnnouncedNode {
  readonly nodeName: string;
  /** Whether the node is this machine's. */
  readonly isOwn: boolean;
  /** The ports of ingresses. */
  readonly ports: GatewayPorts;
}

export interface AnnouncementContext {
  readonly warn: (message: string) => void;
  readonly services: () => readonly Service[];
  readonly signal: AbortSignal;
}

export class PortAnnouncements {
  readonly #deps: GatewayDeps;
  readonly #node: AnnouncedNode;
  readonly #surroundings: AnnouncementContext;
  #report: DataPlaneReport | undefined;
  /** False until the data plane has reported or ended; the Node's record stays until then. */
  #isKnown = false;
  #isSettling = false;
  #isStale = false;
  #messages: readonly string[] = [];

  constructor(deps: GatewayDeps, node: AnnouncedNode, surroundings: AnnouncementContext) {
    this.#deps = deps;
    this.#node = node;
    this.#surroundings = surroundings;
    // A Node that registers again has no record.
    const stop = deps.controlPlane.server.objects.onChange(Nodes, (changed) => {
      if (changed?.metadata.name === node.nodeName) this.touch();
    });
    onAbort(surroundings.signal, stop);
  }

  /** `report` is undefined once no data plane runs. */
  take(report: DataPlaneReport | undefined): void {
    this.#report = report;
    this.#isKnown = true;
    this.touch();
  }

  /** Called when an object that decides about ports has changed. */
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
    const { files } = this.#deps.platform;
    const report = this.#report && this.#node.isOwn ? await withHolders(files, this.#report) : this.#report;
    const serviceOn = this.#serviceLookup();
    for (const state of report?.listeners ?? []) {
      const message = this.#messageOf(state, serviceOn(state.port));
      if (message === undefined) open.push(state.port);
      else messages.push(message);
    }
    const reported = new Set(this.#messages);
    for (const message of messages) {
      if (reported.has(message)) continue;
      this.#deps.platform.log.warn(message);
      this.#surroundings.warn(message);
    }
    this.#messages = messages;
    await this.#record(open.sort((a, b) => a - b).join(','));
  }

  /** The reason why the port does not serve; undefined when it does. */
  #messageOf(state: ListenerState, service: Service | undefined): string | undefined {
    const { nodeName, isOwn } = this.#node;
    const place = isOwn ? '' : ` of node ${nodeName}`;
    if (service !== undefined) {
      const { namespace, name } = service.metadata;
      return `port ${state.port} of routes${place} belongs to service ${namespace}/${name} of type LoadBalancer`;
    }
    const problem = portProblem(state, place);
    return state.problem === 'EADDRINUSE' ? `${problem}; stop it, or ${this.#otherPort(state.port)}` : problem;
  }

  /**
   * Finds the load balancer service whose rules take a port's traffic before any listener. Services and Gateways are walked once
   * for all ports of a report.
   */
  #serviceLookup(): (port: number) => Service | undefined {
    const byPort = new Map<number, Service[]>();
    for (const service of this.#surroundings.services()) {
      const { type, loadBalancerClass = '', ports = [] } = service.spec ?? {};
      const isAssigned = (service.status?.loadBalancer?.ingress ?? []).length > 0;
      if (type !== 'LoadBalancer' || loadBalancerClass !== '' || !isAssigned) continue;
      for (const { port, protocol = 'TCP' } of ports)
        if (protocol === 'TCP') getOrMake(byPort, port, (): Service[] => []).push(service);
    }
    if (byPort.size === 0) return () => undefined;
    const precede = routesPrecede(this.#deps.controlPlane.server.objects, this.#node.ports);
    return (port) => byPort.get(port)?.find((service) => !precede(service, port));
  }

  #otherPort(port: number): string {
    const { http, https } = this.#node.ports;
    if (port === http) return 'start with another --gateway-http-port';
    return port === https ? 'start with another --gateway-https-port' : 'give the listener another port';
  }

  /** A failed write is repeated later, as for a node that has not registered yet. */
  async #record(text: string): Promise<void> {
    const { platform, controlPlane } = this.#deps;
    const { signal } = this.#surroundings;
    const { nodeName } = this.#node;
    const { objects } = controlPlane.server;
    if (recordedPorts(objects, nodeName) === text) return;
    try {
      // Nodes may not write the annotation themselves, because it decides where routes are reached and which ports they have.
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
