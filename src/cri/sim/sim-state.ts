/** What the parts of the simulated runtime share: its ports, its configuration, and everything that runs. */
import type { TextInterner } from '../../base/text-interner.ts';
import type { Clock } from '../../platform/clock.ts';
import type { InflateRaw } from '../../platform/compression.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { HttpHandler } from '../../platform/http.ts';
import type { Files } from '../../platform/files.ts';
import type { Duplex } from '../../platform/streams.ts';
import type { Random } from '../../platform/random.ts';
import type { CriEvent } from '../runtime-service.ts';
import type { SimContainer } from './sim-container.ts';
import type { Duration, SimImage } from './sim-image.ts';
import type { SimImageStore } from './sim-images.ts';
import type { SimSandbox } from './sim-sandbox.ts';
import type { PendingForward } from './sim-port-forward.ts';
import type { PendingStream } from './sim-streaming.ts';

export interface SimRuntimeDeps {
  readonly clock: Clock;
  readonly files: Files;
  readonly random: Random;
  /** Makes a pod's HTTP port reachable in the simulated network; gives how to close it. Without it only `SimRuntime.http` reaches pods. */
  listen?(address: string, port: number, handler: HttpHandler): () => void;
  /** Has a server on a loopback port of this machine answer on a pod's port; gives how to close it. With `listen`. */
  listenServer?(address: string, port: number, serverPort: () => number): () => void;
  /** Connects to such a server. */
  dialServer?(serverPort: number): Promise<Duplex>;
  /** Serves HTTP on a connection, to its end. Without it pods' ports cannot be reached from outside. */
  serveHttp?(handler: HttpHandler, socket: Duplex): Promise<void>;
  /** For exec and port-forward from outside, besides `listen`: both or none. */
  readonly crypto?: CryptoPort;
  readonly inflate?: InflateRaw;
  /** Makes values of equal environments one; shared with other machines. Default: its own. */
  readonly texts?: TextInterner;
}

export interface SimRuntimeConfig {
  /** Pods may have users of their own. Default false. */
  readonly userNamespaces?: boolean;
  /** Keeps of configurations what shows in the runtime's answers and nothing for tests to look at. Default false. */
  readonly lean?: boolean;
  readonly images?: readonly SimImage[];
  /** Addresses of pods; the first is the gateway's. Default 10.244.0.0/16. */
  readonly podCidr?: string;
  /** How long RunPodSandbox takes. */
  readonly sandboxStart?: Duration;
  /** Images without a description: `run` makes them plain containers that run for ever; `refuse` fails to pull them. Default run. */
  readonly unknownImages?: 'run' | 'refuse';
  /** Address of the node on the simulated network; with it (and `listen` and `crypto`) exec works from outside. */
  readonly nodeAddress?: string;
  /** Default true; 'with-range': as soon as the kubelet tells the node's range, from which pods then get their addresses. */
  readonly networkReady?: boolean | 'with-range';
}

/** Shared state of the services. */
export interface SimState {
  readonly deps: SimRuntimeDeps;
  readonly config: SimRuntimeConfig;
  readonly sandboxes: Map<string, SimSandbox>;
  readonly containers: Map<string, SimContainer>;
  readonly store: SimImageStore;
  readonly texts: TextInterner;
  /** Streams asked for by `exec`, `attach` and `portForward` and not yet fetched, by token. */
  readonly pendingStreams: Map<string, PendingStream | PendingForward>;
  /** Address and port of the streaming server; undefined: there is none. */
  readonly streamingAt: string | undefined;
  /** Starts so far per pod, container and image, for crashes that stop. */
  readonly starts: Map<string, number>;
  newId(): string;
  /** Where pods' addresses come from; undefined: there is no network yet. */
  readonly network: { podCidr: string | undefined };
  allocateIp(): string;
  emit(event: CriEvent): void;
  /** Opens and closes a container's ports and reports it. */
  readonly onChange: SimContainer['init']['onChange'];
}
