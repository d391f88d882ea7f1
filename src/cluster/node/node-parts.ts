/** The dependencies of a node and what its parts share. */
import type { Client } from '../../client/client.ts';
import type { EventBroadcaster } from '../../client/event-broadcaster.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { InformerFactory } from '../../client/informer.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { CredentialProviders } from '../../kubelet/images/credential-providers.ts';
import type { PullVerification } from '../../kubelet/images/pull-verification.ts';
import type { KubeletConfiguration } from '../../kubelet/kubelet-configuration.ts';
import type { KubeletDeps } from '../../kubelet/kubelet-contract.ts';
import type { WatchingObjectCache } from '../../kubelet/volumes/object-cache.ts';
import type { HostInfo } from '../../platform/host.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Tracer } from '../../platform/tracing.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import type { NodeUpkeep } from './node-upkeep.ts';

export interface NodeDeps {
  readonly platform: Platform;
  /** Acts as the node's user. */
  readonly client: Client;
  /** A client with its own rate limit for leases and events. Default: `client`. */
  readonly heartbeatClient?: Client;
  readonly eventClient?: Client;
  readonly cri: CriRuntime;
  /** The pod network; absent where the user's CNI plugin configures it. */
  readonly network?: Pick<PodNetwork, 'setPodCidr'>;
  readonly config: KubeletConfiguration;
  /** Whether the CSINode is created before any driver registers. Default true. */
  readonly csiNodeFirst?: boolean;
  /** Reports the machine's shutdown and the pods' grace periods. */
  readonly shutdown?: NonNullable<KubeletDeps['shutdown']>;
  /** Calls plugins by their sockets and gRPC health services of pods. Default: the machine's own. */
  readonly connectGrpc?: NonNullable<KubeletDeps['connectGrpc']>;
  /** Credential provider programs of image registries. */
  readonly credentialProviders?: CredentialProviders;
}

export interface NodeParts extends NodeDeps {
  readonly host: HostInfo;
  readonly informers: InformerFactory;
  readonly events: EventBroadcaster;
  readonly recorder: EventRecorder;
  readonly objects: WatchingObjectCache;
  readonly upkeep: NodeUpkeep;
  readonly verification?: PullVerification;
  readonly tracer: Tracer | undefined;
}
