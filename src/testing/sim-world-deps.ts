/** What a simulated cluster is made from. */
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

/** What makes a cluster the one that its clients know, over restarts of its machines. */
export interface WorldIdentity {
  readonly serviceAccount: ClusterPki['serviceAccount'];
  readonly ca: Partial<ClusterPki['ca']> & { readonly certPem: string };
}

/** What a world is made from. */
export interface SimWorldDeps {
  /** The machine the control plane runs on; all others stand beside it. */
  readonly platform: SimPlatform<Clock>;
  /** Where nodes' warnings and errors go; they keep them without it. */
  readonly log?: Log;
  readonly store: Store;
  /** Where the history of objects is kept; absent: nowhere. */
  readonly history?: HistoryLog | undefined;
  readonly seed: string;
  /** True: results of real work (signing) are given out in a repeatable order. */
  readonly repeatable: boolean;
  /** Names of the controllers to run; all when absent, none when empty. */
  readonly controllers?: readonly string[];
  readonly scheduler: boolean;
  /** How the scheduler is configured; undefined: by its defaults. */
  readonly schedulerSetup?: () => SchedulerSetup | undefined;
  readonly images: () => readonly SimImage[];
  /** Reaches servers of the test on this machine. */
  readonly realNet: RealNet;
  readonly unknownImages: 'run' | 'refuse';
  /** Whether the controllers may ask for the machines behind nodes. */
  readonly cloud: boolean;
  readonly keepLines: boolean;
  /** Called with each API server that has started. */
  readonly onServerStart: (server: ApiServer) => void;
  /** The key that signs tokens and the CA certificate that pods are given; made up when absent. */
  readonly identity?: WorldIdentity | undefined;
  /** Port of the API server as the `kubernetes` service tells it. */
  readonly httpsPort?: number;
  /** As `--runtime-config`. */
  readonly runtimeConfig: string;
  /** Paths that the API server serves beside its own. */
  readonly routes?: readonly NonResourceRoute[] | undefined;
  /** What the console needs; absent: there is none. */
  readonly console?: LoadConsole | undefined;
}
