/**
 * A server's own etcd member (`keelson server --cluster-init`, `--join`): certificates, process, and membership.
 * Joining is level-triggered: what an earlier start achieved (added, started, promoted) is read from the members.
 * Upstream: kubeadm's stacked etcd, k3s's embedded etcd.
 *
 * Invariants: a member is a learner before it votes, so that joining never endangers the quorum; nothing of the
 * cluster is removed here.
 */
import { onAbort } from '../../base/abort.ts';
import { ensureEtcdPki } from '../../component-helpers/pki/etcd-pki.ts';
import type { GrpcTls } from '../../grpc/grpc-target.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { background, callEach } from '../../platform/unexpected.ts';
import type { EtcdMember } from '../../storage/etcd/etcd-table.ts';
import { createEtcdMembers, type EtcdMembers } from '../../storage/etcd/members.ts';
import { StoreError } from '../../storage/store.ts';
import { hostAddresses } from '../instance/host-address.ts';
import { PreflightError } from '../preflight-error.ts';
import { type EtcdFile, readEtcdFile, writeEtcdFile } from './etcd-file.ts';
import { createEtcdProcess, etcdDataDir, type EtcdProcess } from './etcd-process.ts';

export interface OwnEtcdConfig {
  readonly dataDir: string;
  readonly pkiDir: string;
  readonly logDir: string;
}

export interface OwnEtcd {
  /** Resolves when the member runs and votes; from then on it is supervised. Rejects with `PreflightError`. */
  start(signal: AbortSignal): Promise<{ readonly endpoints: readonly string[]; readonly tls: GrpcTls }>;
  /** Calls back when the members change; returns a function that stops this. */
  followEndpoints(listener: (endpoints: readonly string[]) => void): () => void;
  running(): boolean;
}

export const RETRY_MS = 300;
/**
 * Consecutive member lists without this member after which it counts as removed, since another member's list may be
 * old.
 */
const LISTS_WITHOUT = 3;
const CHECK_PERIOD_MS = 5_000;
/** The timeout of one call to the members; joining retries anyway. */
export const CALL_TIMEOUT_MS = 5_000;

/** The folder of a data directory's etcd. */
export function etcdDir(dataDir: string): string {
  return `${dataDir}/etcd`;
}

/** The folder of its certificates. */
export function etcdPkiDir(pkiDir: string): string {
  return `${pkiDir}/etcd`;
}

/** Nothing runs before `start`. */
export function createOwnEtcd(platform: Platform, config: OwnEtcdConfig): OwnEtcd {
  return new Member(platform, config);
}

class Member implements OwnEtcd {
  readonly #platform: Platform;
  readonly #config: OwnEtcdConfig;
  readonly #listeners = new Set<(endpoints: readonly string[]) => void>();
  #file: EtcdFile | undefined;
  #process: EtcdProcess | undefined;

  constructor(platform: Platform, config: OwnEtcdConfig) {
    this.#platform = platform;
    this.#config = config;
  }

  async start(signal: AbortSignal): Promise<{ readonly endpoints: readonly string[]; readonly tls: GrpcTls }> {
    const { dataDir } = this.#config;
    this.#file = await readEtcdFile(this.#platform.files, dataDir);
    if (this.#file === undefined) throw new PreflightError(`${dataDir}/etcd.json is missing`);
    const tls = await this.#certificates(this.#file);
    const { others, clientUrl } = this.#file;
    const members = createEtcdMembers(this.#platform, {
      endpoints: others.length === 0 ? [clientUrl] : others,
      tls,
      timeoutMs: CALL_TIMEOUT_MS,
    });
    onAbort(signal, () => members.close());
    if (this.#file.initial === undefined) await this.#keep({ initial: await this.#register(members, signal) });
    this.#process = createEtcdProcess(this.#platform, this.#processConfig(this.#file));
    await this.#process.start(signal);
    await this.#vote(members, signal);
    members.setEndpoints(this.#endpoints());
    background(this.#platform.log, 'the members of etcd are followed no more', this.#checkMembers(members, signal));
    return { endpoints: this.#endpoints(), tls };
  }

  followEndpoints(listener: (endpoints: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  running(): boolean {
    return this.#process?.running() === true;
  }

  async #certificates({ name, clientUrl }: EtcdFile): Promise<GrpcTls> {
    const { files, crypto, random, clock, net } = this.#platform;
    // From another member's view the connection may come from any address of this machine.
    const own = new URL(clientUrl).hostname.replace(/^\[(.*)\]$/, '$1');
    const ipAddresses = [...new Set([own, '127.0.0.1', ...hostAddresses(net.interfaces())])];
    const { ca, client } = await ensureEtcdPki(
      files,
      { crypto, random, nowMs: () => clock.nowMs() },
      { dir: etcdPkiDir(this.#config.pkiDir), name, ipAddresses },
    );
    return { caPem: ca.certPem, certPem: client.certPem, keyPem: client.keyPem };
  }

  /**
   * Adds this member to the existing cluster, unless an earlier attempt did. Retries until the signal aborts, for
   * errors that may pass.
   */
  async #register(members: EtcdMembers, signal: AbortSignal): Promise<NonNullable<EtcdFile['initial']>> {
    const { name, peerUrl } = this.#file!;
    for (;;) {
      try {
        const before = await members.list();
        const same = before.find((member) => member.name === name || member.peerURLs.includes(peerUrl));
        if (same !== undefined && same.name !== '')
          throw new PreflightError(
            `the cluster has a server ${same.name} at ${same.peerURLs.join()} already; where that one is gone for good, first run on another server: keelson server remove ${same.name}`,
          );
        if (same === undefined) await members.addLearner(peerUrl);
        return { state: 'existing', cluster: initialCluster(await members.list(), { name, peerUrl }) };
      } catch (error) {
        await this.#pauseAfter(error, 'joining etcd', signal);
      }
    }
  }

  /** Waits until this member is a voting member. */
  async #vote(members: EtcdMembers, signal: AbortSignal): Promise<void> {
    const { clientUrl, peerUrl, others } = this.#file!;
    if (others.length === 0) return;
    let without = 0;
    for (let attempt = 0; ; attempt++) {
      // A learner serves no member list, so other members are asked, alternating with this one, which after a restore
      // is the only one.
      members.setEndpoints(attempt % 2 === 0 ? others : [clientUrl]);
      try {
        const own = (await members.list()).find(({ peerURLs }) => peerURLs.includes(peerUrl));
        without = own === undefined ? without + 1 : 0;
        if (without >= LISTS_WITHOUT)
          throw new PreflightError(
            'this server was removed from its cluster (keelson server remove); keelson down --delete-data clears it',
          );
        if (own !== undefined && !own.isLearner) return;
        if (own === undefined) await this.#platform.clock.sleep(RETRY_MS, signal);
        else await members.promote(own.ID);
      } catch (error) {
        await this.#pauseAfter(error, 'promoting the etcd member', signal);
      }
    }
  }

  /**
   * Waits before a retry; rethrows errors that a retry cannot help. It can while etcd elects, catches up or is not
   * reachable.
   */
  async #pauseAfter(error: unknown, doing: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!(error instanceof StoreError)) throw error;
    this.#platform.log.info(`${doing}: not yet`, { err: error });
    await this.#platform.clock.sleep(RETRY_MS, signal);
  }

  /** Follows the list of members. */
  async #checkMembers(members: EtcdMembers, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#platform;
    for (; !signal.aborted; await sleepUnlessAborted(clock, CHECK_PERIOD_MS, signal)) {
      try {
        const others = (await members.list())
          .filter(({ isLearner, peerURLs }) => !isLearner && !peerURLs.includes(this.#file!.peerUrl))
          .flatMap(({ clientURLs }) => clientURLs)
          .toSorted();
        if (others.join() === this.#file!.others.join()) continue;
        await this.#keep({ others });
        members.setEndpoints(this.#endpoints());
        callEach({ log, what: 'a client of etcd threw' }, this.#listeners, this.#endpoints());
      } catch (error) {
        if (!signal.aborted) log.debug('cannot list the members of etcd', { err: error });
      }
    }
  }

  async #keep(change: Partial<EtcdFile>): Promise<void> {
    this.#file = { ...this.#file!, ...change };
    await writeEtcdFile(this.#platform.files, this.#config.dataDir, this.#file);
  }

  /** This member first, as the nearest. */
  #endpoints(): readonly string[] {
    return [this.#file!.clientUrl, ...this.#file!.others];
  }

  #processConfig({ name, clientUrl, peerUrl, initial }: EtcdFile): Parameters<typeof createEtcdProcess>[1] {
    const dir = etcdDir(this.#config.dataDir);
    const pki = etcdPkiDir(this.#config.pkiDir);
    const tls = (prefix: string, pair: string): string[] => [
      `--${prefix}client-cert-auth`,
      `--${prefix}trusted-ca-file=${pki}/ca.crt`,
      `--${prefix}cert-file=${pki}/${pair}.crt`,
      `--${prefix}key-file=${pki}/${pair}.key`,
    ];
    return {
      dir,
      logFile: `${this.#config.logDir}/etcd.log`,
      args: [
        ...['--name', name, '--data-dir', etcdDataDir(dir), '--logger', 'zap', '--pre-vote'],
        ...['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl],
        ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
        ...['--initial-cluster', initial?.cluster ?? '', '--initial-cluster-state', initial?.state ?? 'new'],
        ...tls('', 'server'),
        ...tls('peer-', 'peer'),
      ],
    };
  }
}

/** Members that have not started have no name: they are identified by their address. */
function initialCluster(
  members: readonly EtcdMember[],
  own: { readonly name: string; readonly peerUrl: string },
): string {
  return members
    .flatMap(({ ID, name, peerURLs }) =>
      peerURLs.map((url) => `${url === own.peerUrl ? own.name : name === '' ? ID : name}=${url}`),
    )
    .join();
}
