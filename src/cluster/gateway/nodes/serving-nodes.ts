/** The data planes of all nodes, this machine's and those of joined nodes, with their reports. */
import { Nodes } from '../../../api/gen/resources.ts';
import { linkedController, onAbort } from '../../../base/abort.ts';
import { isExcludedFromLoadBalancers } from '../../../component-helpers/nodes.ts';
import type { PublishedSnapshot } from '../../../gateway/gateway-controller.ts';
import type { DataPlaneReport } from '../../../gateway/snapshot/snapshot.ts';
import type { ComponentStatus } from '../../cluster-status.ts';
import { DataPlaneDaemon } from '../data-plane-daemon.ts';
import type { GatewayConfig, GatewayDeps } from '../gateway-contract.ts';
import { PortAnnouncements, type AnnouncementContext } from '../port-announcements.ts';
import { NO_ROUTES } from './protocol.ts';
import type { NodeReports } from './route-feed.ts';

interface Announced {
  readonly announcements: PortAnnouncements;
  readonly end: ReturnType<typeof linkedController>;
}

export class ServingNodes {
  readonly #deps: GatewayDeps;
  readonly #config: GatewayConfig;
  readonly #surroundings: AnnouncementContext;
  readonly #daemon: DataPlaneDaemon | undefined;
  readonly #own: PortAnnouncements | undefined;
  #snapshot: PublishedSnapshot | undefined;
  /** The last snapshot for this machine's data plane. */
  #published: PublishedSnapshot | undefined;
  /** Connected nodes that have sent a report, by name. */
  readonly #joined = new Map<string, Announced>();

  constructor(deps: GatewayDeps, config: GatewayConfig, surroundings: AnnouncementContext) {
    [this.#deps, this.#config, this.#surroundings] = [deps, config, surroundings];
    if (config.hasNode) {
      const own = this.#announcementsOf(config.instance.nodeName, surroundings.signal);
      this.#own = own;
      this.#daemon = new DataPlaneDaemon(deps.platform, config.instance, (report) => own.take(report));
    }
    config.feed.useReports(this.#reports());
    const stop = deps.controlPlane.server.objects.onChange(Nodes, (node, before) => {
      const name = (node ?? before)?.metadata.name;
      if (name === undefined) return;
      if (name === config.instance.nodeName) this.#publishOwn();
      else config.feed.refresh(name);
    });
    onAbort(surroundings.signal, stop);
  }

  publish(snapshot: PublishedSnapshot): void {
    this.#snapshot = snapshot;
    this.#publishOwn();
    this.#config.feed.publish(snapshot);
  }

  /** Runs until the signal aborts; the data planes continue. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#daemon?.run(signal);
  }

  /** Called when an object that decides about ports has changed. */
  touch(): void {
    this.#own?.touch();
    for (const { announcements } of this.#joined.values()) announcements.touch();
  }

  status(): readonly ComponentStatus[] {
    return this.#own?.status() ?? [];
  }

  #publishOwn(): void {
    if (this.#snapshot === undefined || this.#daemon === undefined) return;
    const isExcluded = isExcludedFromLoadBalancers(this.#node(this.#config.instance.nodeName));
    const served = isExcluded ? NO_ROUTES : this.#snapshot;
    if (served === this.#published) return;
    this.#published = served;
    this.#daemon.publish(served);
  }

  #node(name: string) {
    return this.#deps.controlPlane.server.objects.get(Nodes, '', name);
  }

  #announcementsOf(nodeName: string, signal: AbortSignal): PortAnnouncements {
    const { instance, ports } = this.#config;
    const node = { nodeName, isOwn: nodeName === instance.nodeName, ports };
    return new PortAnnouncements(this.#deps, node, { ...this.#surroundings, signal });
  }

  #reports(): NodeReports {
    return {
      serves: (name) => {
        const node = this.#node(name);
        if (node === undefined) return 'unknown node';
        return isExcludedFromLoadBalancers(node) ? 'no' : 'yes';
      },
      take: (name, report) => this.#take(name, report),
      leave: (name) => {
        const { end } = this.#joined.get(name) ?? {};
        end?.abort();
        end?.dispose();
        this.#joined.delete(name);
      },
    };
  }

  #take(name: string, report: DataPlaneReport | undefined): void {
    let joined = this.#joined.get(name);
    if (joined === undefined) {
      const end = linkedController(this.#surroundings.signal);
      joined = { announcements: this.#announcementsOf(name, end.signal), end };
      this.#joined.set(name, joined);
    }
    joined.announcements.take(report);
  }
}
