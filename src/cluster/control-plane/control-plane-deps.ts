/** The dependencies of a control plane. */
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
  /** The history of objects; absent: none. Its owner closes it. */
  readonly history?: HistoryLog | undefined;
  readonly pki: ControlPlanePki;
  readonly instance: Instance;
  /** Address of this machine that pods can reach. */
  readonly hostAddress: string;
  readonly runtimeConfig: string;
  readonly settings?: ServerSettings;
  /** Whether the cluster gets the ingress class of Keelson's gateway. */
  readonly gatewayClass?: boolean;
  /** What the API server's options add or change. */
  readonly setup?: ApiServerSetup;
  readonly controllers?: ControllerSettings;
  /** Default: upstream's default scheduler. */
  readonly scheduler?: SchedulerSetup;
  /** Explains pods when the scheduler is not started through this control plane. */
  readonly explainPod?: () => ExplainPod | undefined;
  /** The scheduling steps of pods, from the scheduler that `explainPod` uses. */
  readonly schedulerSteps?: () => StepsOf | undefined;
  /** Whether controllers or scheduler run in this process without `runControllers` or `startScheduler`. */
  readonly runsBeside?: (part: LedPart) => boolean;
  /** Serves the material by which a machine joins as another server. */
  readonly serverJoin?: NonResourceRoute;
  /** Further paths of the server. */
  readonly routes?: readonly NonResourceRoute[] | undefined;
  /** Loads the browser console at its first request. Absent: there is none. */
  readonly console?: LoadConsole | undefined;
  /** Wraps the token service: a simulation makes the order of its results repeatable. */
  readonly wrapTokens?: (tokens: ServiceAccountTokens) => ServiceAccountTokens;
}

/** Certificates and keys of the control plane; `serve` gets those of its server. */
export interface ControlPlanePki
  extends Pick<ClusterPki, 'kubeletClient' | 'serviceAccount'>, Partial<Pick<ClusterPki, 'frontProxy' | 'apiServer'>> {
  /** With its key the control plane signs certificate requests. */
  readonly ca: Pick<ClusterPki['ca'], 'certPem'> & Partial<ClusterPki['ca']>;
  /** The authority of kubelets' certificates; absent: the cluster's. */
  readonly kubeletTrust?: TlsOptions;
}
