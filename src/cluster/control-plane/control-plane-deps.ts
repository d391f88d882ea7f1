/** What a control plane is made from. */
import { type ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import type { LoadConsole } from '../../apiserver/console/contract.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import type { StepsOf } from '../../component-helpers/pod-trace/trace-step.ts';
import type { ExplainPod } from '../../component-helpers/pod-why.ts';
import type { ClusterPki } from '../../component-helpers/pki/cluster-pki.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { ControllerSettings } from '../../controllers/controller.ts';
import type { Platform } from '../../platform/platform.ts';
import type { HistoryLog } from '../../storage/history-log.ts';
import type { Store } from '../../storage/store.ts';
import type { ApiServerSetup } from './api-server-setup.ts';
import { type LedPart } from './component-health.ts';
import type { Instance } from '../instance/instance.ts';
import type { SchedulerSetup } from './scheduler-setup.ts';
import type { ServerSettings } from './server-settings.ts';

export interface ControlPlaneDeps {
  readonly platform: Platform;
  readonly store: Store;
  /** Where the history of objects is kept; absent: nowhere. It is its owner's to close. */
  readonly history?: HistoryLog | undefined;
  readonly pki: ControlPlanePki;
  readonly instance: Instance;
  /** Address of this machine that pods can reach. */
  readonly hostAddress: string;
  readonly runtimeConfig: string;
  readonly settings?: ServerSettings;
  /** Whether the cluster has the ingress class of Keelson's gateway. */
  readonly gatewayClass?: boolean;
  /** What the API server's options add and change. */
  readonly setup?: ApiServerSetup;
  readonly controllers?: ControllerSettings;
  /** Default: upstream's default scheduler. */
  readonly scheduler?: SchedulerSetup;
  /** Explains pods when the scheduler is not started through this control plane. */
  readonly explainPod?: () => ExplainPod | undefined;
  /** What that scheduler remembers of pods' starts. */
  readonly schedulerSteps?: () => StepsOf | undefined;
  /** Whether controllers or scheduler run in this process without having been started by `runControllers` or `startScheduler`. */
  readonly runsBeside?: (part: LedPart) => boolean;
  /** Serves what makes a machine another server of this cluster. */
  readonly serverJoin?: NonResourceRoute;
  /** Paths that the server serves beside its own. */
  readonly routes?: readonly NonResourceRoute[] | undefined;
  /** Gives what the console in the browser needs, at its first request. Absent: there is none. */
  readonly console?: LoadConsole | undefined;
  /** Wraps the token service: simulation orders its results repeatably. */
  readonly wrapTokens?: (tokens: ServiceAccountTokens) => ServiceAccountTokens;
}

/** Certificates and keys of the control plane itself; `serve` gets those of its server. */
export interface ControlPlanePki
  extends Pick<ClusterPki, 'kubeletClient' | 'serviceAccount'>, Partial<Pick<ClusterPki, 'frontProxy' | 'apiServer'>> {
  /** With its key the control plane signs certificate requests; without, it leaves them. */
  readonly ca: Pick<ClusterPki['ca'], 'certPem'> & Partial<ClusterPki['ca']>;
  /** What kubelets' certificates are verified against; absent: the authority of the cluster. */
  readonly kubeletTrust?: TlsOptions;
}
