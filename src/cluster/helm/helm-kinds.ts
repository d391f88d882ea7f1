/** HelmChart and HelmChartConfig, k3s's kinds (`helm.cattle.io/v1`), with the fields that are used here. */
import type { NamespacedObjectMeta } from '../../api/gen/meta-v1.ts';
import type { Int64 } from '../../api/int64.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';

export const HELM_GROUP = 'helm.cattle.io';

/** A reference by name, in the object's own namespace. */
interface LocalReference {
  readonly name?: string;
}

/** Keys of a Secret with values. Without `ignoreUpdates` the Secret must exist, and its changes upgrade the chart. */
export interface ValuesSecret {
  readonly name?: string;
  readonly keys?: readonly string[];
  readonly ignoreUpdates?: boolean;
}

type FailurePolicy = 'abort' | 'reinstall' | 'retry';
type ServerSide = 'true' | 'false' | 'auto';

/** The settings by which a HelmChartConfig extends or overrides the HelmChart with its name. */
interface ReleaseSettings {
  readonly values?: unknown;
  readonly valuesContent?: string;
  readonly valuesSecrets?: readonly ValuesSecret[];
  readonly failurePolicy?: FailurePolicy;
  readonly serverSide?: ServerSide;
  readonly forceConflicts?: boolean;
}

export interface HelmChartSpec extends ReleaseSettings {
  readonly targetNamespace?: string;
  readonly createNamespace?: boolean;
  readonly chart?: string;
  readonly version?: string;
  readonly repo?: string;
  readonly repoCA?: string;
  readonly repoCAConfigMap?: LocalReference;
  readonly set?: Readonly<Record<string, string | Int64>>;
  readonly helmVersion?: string;
  readonly bootstrap?: boolean;
  readonly takeOwnership?: boolean;
  readonly chartContent?: string;
  readonly jobImage?: string;
  readonly backOffLimit?: number;
  readonly timeout?: string;
  readonly authSecret?: LocalReference;
  readonly authPassCredentials?: boolean;
  readonly insecureSkipTLSVerify?: boolean;
  readonly plainHTTP?: boolean;
  readonly dockerRegistrySecret?: LocalReference;
  readonly podSecurityContext?: object;
  readonly securityContext?: object;
  readonly driver?: 'secret' | 'configmap';
}

export interface HelmChartCondition {
  readonly type: 'JobCreated' | 'Failed';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export interface HelmChart extends KubernetesObject {
  metadata: NamespacedObjectMeta;
  readonly spec?: HelmChartSpec;
  readonly status?: { readonly jobName?: string; readonly conditions?: readonly HelmChartCondition[] };
}

export interface HelmChartConfig extends KubernetesObject {
  metadata: NamespacedObjectMeta;
  readonly spec?: ReleaseSettings;
}

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

export const HelmCharts: ResourceInfo<HelmChart> = {
  group: HELM_GROUP,
  version: 'v1',
  resource: 'helmcharts',
  kind: 'HelmChart',
  listKind: 'HelmChartList',
  singular: 'helmchart',
  namespaced: true,
  verbs: VERBS,
  subresources: [
    { name: 'status', group: HELM_GROUP, version: 'v1', kind: 'HelmChart', verbs: ['get', 'patch', 'update'] },
  ],
  shortNames: ['hc'],
  categories: [],
};

export const HelmChartConfigs: ResourceInfo<HelmChartConfig> = {
  ...HelmCharts,
  resource: 'helmchartconfigs',
  kind: 'HelmChartConfig',
  listKind: 'HelmChartConfigList',
  singular: 'helmchartconfig',
  subresources: [],
  shortNames: ['hcc'],
};
