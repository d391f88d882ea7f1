/** The state that the simulated runtime's services share: ports, configuration, sandboxes and containers. */
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
  /** Opens a pod's HTTP port in the simulated network; returns a function that closes it. Absent: only `SimRuntime.http` reaches pods. */
  listen?(address: string, port: number, handler: HttpHandler): () => void;
  /** Forwards a pod's port to a server on a loopback port of this machine; returns a function that ends this. Needs `listen`. */
  listenServer?(address: string, port: number, serverPort: () => number): () => void;
  /** Connects to such a server. */
  dialServer?(serverPort: number): Promise<Duplex>;
  /** Serves HTTP on a connection until its end. Absent: port-forward is unimplemented. */
  serveHttp?(handler: HttpHandler, socket: Duplex): Promise<void>;
  /** For exec and port-forward over the network, besides `listen`: both or neither. */
  readonly crypto?: CryptoPort;
  readonly inflate?: InflateRaw;
  /** Interns values of environments; may be shared with other machines. Default: its own. */
  readonly texts?: TextInterner;
}

export interface SimRuntimeConfig {
  /** Whether the runtime supports user namespaces. Default false. */
  readonly userNamespaces?: boolean;
  /** Keeps only those parts of configurations that the runtime's responses contain. Default false: tests may inspect all. */
  readonly lean?: boolean;
  readonly images?: readonly SimImage[];
  /** Addresses of pods; the first is the gateway's. Default 10.244.0.0/16. */
  readonly podCidr?: string;
  /** How long RunPodSandbox takes. */
  readonly sandboxStart?: Duration;
  /** Images without a description: with `run` their containers run without end, with `refuse` their pull fails. Default run. */
  readonly unknownImages?: 'run' | 'refuse';
  /** The node's address on the simulated network, where exec is served; needs `listen` and `crypto`. */
  readonly nodeAddress?: string;
  /** Whether NetworkReady is true. Default true; 'with-range': once the kubelet has sent the node's pod range, from which pods get addresses. */
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
  /** Streams that `exec`, `attach` and `portForward` returned a URL for and no client has opened, by token. */
  readonly pendingStreams: Map<string, PendingStream | PendingForward>;
  /** Address and port of the streaming server; undefined: there is none. */
  readonly streamingAt: string | undefined;
  /** Starts so far by pod, container and image, for images that crash a number of times. */
  readonly starts: Map<string, number>;
  newId(): string;
  /** The range of pods' addresses; undefined: there is no network yet. */
  readonly network: { podCidr: string | undefined };
  allocateIp(): string;
  emit(event: CriEvent): void;
  /** Opens and closes a container's ports and reports it. */
  readonly onChange: SimContainer['init']['onChange'];
}
