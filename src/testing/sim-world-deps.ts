/** The dependencies of a simulated cluster. */
import type { SchedulerSetup } from '../cluster/control-plane/scheduler-setup.ts';
import type { ApiServer } from '../apiserver/api-server-contract.ts';
import type { LoadConsole } from '../apiserver/console/contract.ts';
import type { NonResourceRoute } from '../apiserver/non-resource-routes.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { SimImage } from '../cri/sim/sim-image.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { RealNet } from '../platform/sim/net.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';
import type { HistoryLog } from '../storage/history-log.ts';
import type { Store } from '../storage/store.ts';

/** The identity of a cluster, which stays the same after restarts of its machines. */
export interface WorldIdentity {
  readonly serviceAccount: ClusterPki['serviceAccount'];
  readonly ca: Partial<ClusterPki['ca']> & { readonly certPem: string };
}

export interface SimWorldDeps {
  /** The machine of the control plane, to which all others are connected. */
  readonly platform: SimPlatform<Clock>;
  /** Receives warnings and errors of nodes; without it the nodes keep them. */
  readonly log?: Log;
  readonly store: Store;
  /** The log of objects' history; absent when none is recorded. */
  readonly history?: HistoryLog | undefined;
  readonly seed: string;
  /** Results of real work (signing) are delivered in a repeatable order. */
  readonly repeatable: boolean;
  /** Names of the controllers to run; all when absent, none when empty. */
  readonly controllers?: readonly string[];
  readonly scheduler: boolean;
  /** The scheduler's configuration; undefined for the defaults. */
  readonly schedulerSetup?: () => SchedulerSetup | undefined;
  readonly images: () => readonly SimImage[];
  /** Reaches servers of the test on this machine. */
  readonly realNet: RealNet;
  readonly unknownImages: 'run' | 'refuse';
  /** Whether controllers may read the machines behind nodes. */
  readonly cloud: boolean;
  readonly keepLines: boolean;
  /** Called with each API server after its start. */
  readonly onServerStart: (server: ApiServer) => void;
  /** The key that signs tokens and the CA certificate for pods; generated when absent. */
  readonly identity?: WorldIdentity | undefined;
  /** The API server's port in the `kubernetes` service. */
  readonly httpsPort?: number;
  /** The value of `--runtime-config`. */
  readonly runtimeConfig: string;
  /** Paths that the API server serves beside its own. */
  readonly routes?: readonly NonResourceRoute[] | undefined;
  /** The console's loader; absent when ports serve no console. */
  readonly console?: LoadConsole | undefined;
}
