/**
 * Reads the registries of the cluster's other nodes, so that an image pushed to one node runs on all: a node's
 * containerd asks its own registry, which asks those of the others at their kubelets' servers, over TLS with
 * certificates of the cluster's authority on both sides. Modelled on spegel, the embedded registry mirror of k3s.
 * Differs: only images pushed to `--registry` are shared, not every image of containerd, and there is no distributed
 * table, since every node lists the others.
 */
import { errorMessage } from '../../base/errors.ts';
import type { KeyPairPem } from '../../component-helpers/pki/certificates.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { HttpAnswer, Net } from '../../platform/net.ts';
import { tryDigest } from './oci-names.ts';
import { PEER_PATH } from './peer-access.ts';
import { TAGGED_AT_HEADER } from './manifest-requests.ts';
import type { TaggedManifest } from './repositories.ts';

/** The kubelet server of another node. */
export interface Peer {
  readonly nodeName: string;
  /** `https://ADDRESS:PORT`. */
  readonly server: string;
}

export interface PeerDeps {
  readonly net: Net;
  readonly clock: Clock;
  readonly log: Log;
  /** The authority that signs kubelets' serving certificates. */
  readonly caPem: string;
  readonly peers: () => readonly Peer[];
  /** This node's client certificate. */
  readonly certificate: () => Promise<KeyPairPem | undefined>;
}

const HEAD_TIMEOUT_MS = 2_000;
/** How long a node that did not answer is left out. */
const REST_MS = 15_000;
const PARALLEL_PEERS = 16;

export class PeerRegistries {
  readonly #deps: PeerDeps;
  /** The monotonic time until which a node is left out, by node name. */
  readonly #resting = new Map<string, number>();

  constructor(deps: PeerDeps) {
    this.#deps = deps;
  }

  /** The latest push of the tag to another node. */
  async latest(path: string): Promise<TaggedManifest | undefined> {
    const found = await this.#eachPeer(async (peer) => {
      const answer = await this.#send(peer, 'HEAD', path);
      answer?.cancel();
      const digest = answer?.status === 200 ? tryDigest(answer.headers['docker-content-digest'] ?? '') : undefined;
      const taggedAtMs = Number(answer?.headers[TAGGED_AT_HEADER]);
      return digest === undefined || !Number.isFinite(taggedAtMs) ? undefined : { digest, taggedAtMs };
    });
    return found.sort((a, b) => b.taggedAtMs - a.taggedAtMs || (a.digest.text < b.digest.text ? -1 : 1))[0];
  }

  /** A response of another node that has the content; undefined where none has it. */
  async open(
    path: string,
    { method, headers }: { readonly method: 'GET' | 'HEAD'; readonly headers: Readonly<Record<string, string>> },
  ): Promise<HttpAnswer | undefined> {
    const having = await this.#eachPeer(async (peer) => {
      const answer = await this.#send(peer, 'HEAD', path);
      answer?.cancel();
      return answer?.status === 200 ? peer : undefined;
    });
    for (const peer of having) {
      const answer = await this.#send(peer, method, path, headers);
      if (answer !== undefined && [200, 206, 416].includes(answer.status)) return answer;
      answer?.cancel();
    }
    return undefined;
  }

  /** The results of all peers, with limited concurrency. */
  async #eachPeer<T>(ask: (peer: Peer) => Promise<T | undefined>): Promise<T[]> {
    const nowMs = this.#deps.clock.monotonicMs();
    const waiting = this.#deps.peers().filter(({ nodeName }) => (this.#resting.get(nodeName) ?? 0) <= nowMs);
    const found: T[] = [];
    const work = async (): Promise<void> => {
      for (let peer = waiting.shift(); peer !== undefined; peer = waiting.shift()) {
        const answer = await ask(peer);
        if (answer !== undefined) found.push(answer);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_PEERS }, work));
    return found;
  }

  #rest(nodeName: string, nowMs: number): void {
    for (const [name, untilMs] of this.#resting) if (untilMs <= nowMs) this.#resting.delete(name);
    this.#resting.set(nodeName, nowMs + REST_MS);
  }

  /** Resolves with the response's head; undefined where the node does not answer in time. */
  async #send(
    { nodeName, server }: Peer,
    method: 'GET' | 'HEAD',
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpAnswer | undefined> {
    const { net, clock, log, caPem, certificate } = this.#deps;
    const ending = new AbortController();
    const stopTimer = clock.setTimer(HEAD_TIMEOUT_MS, () =>
      ending.abort(new Error(`no answer for ${HEAD_TIMEOUT_MS} ms`)),
    );
    try {
      const tls = { caPem, ...(await certificate()) };
      return await net.http({ method, url: `${server}${PEER_PATH}${path}`, headers, tls, signal: ending.signal });
    } catch (error) {
      this.#rest(nodeName, clock.monotonicMs());
      log.info('A node cannot be asked for images', { node: nodeName, err: errorMessage(error) });
      return undefined;
    } finally {
      stopTimer();
    }
  }
}
