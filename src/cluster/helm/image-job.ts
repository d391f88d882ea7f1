/**
 * The Job that runs helm in an image such as rancher/klipper-helm, and the objects that its pod reads. Pure.
 * Upstream: helm-controller's job; differs: all values, including those of other Secrets, are in one Secret, and the
 * job is not suspended at first.
 */
import type { Job } from '../../api/gen/batch-v1.ts';
import type { ConfigMap, Container, EnvVar, PodSpec, Secret, Toleration, Volume } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { formatDurationMs } from '../../api/duration.ts';
import { accountName, CHART_LABEL, contentName, HASH_ANNOTATION, jobName, ownerOf, valuesName } from './chart-names.ts';
import { ChartProblem } from './chart-source.ts';
import type { HelmChart } from './helm-kinds.ts';
import type { ReleaseRequest } from './release-request.ts';

export interface ImageJobConfig {
  readonly image: string;
  /** The API server's port for pods on the host's network. */
  readonly httpsPort: number;
  readonly proxies: Readonly<Record<string, string>>;
  readonly hash: string;
  readonly action: 'install' | 'delete';
}

/** The folders that klipper-helm writes into. */
const SCRATCH = [
  ['klipper-helm', '/home/klipper-helm/.helm'],
  ['klipper-cache', '/home/klipper-helm/.cache'],
  ['klipper-config', '/home/klipper-helm/.config'],
  ['tmp', '/tmp'],
] as const;
const DEFAULT_BACKOFF_LIMIT = 1000;
const MAX_CONTENT_LENGTH = 1_000_000;

/** For charts that are installed before the nodes are ready. */
const BOOTSTRAP_TOLERATIONS: Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', operator: 'Equal', value: 'true', effect: 'NoSchedule' },
  { key: 'CriticalAddonsOnly', operator: 'Exists' },
  { key: 'node-role.kubernetes.io/etcd', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
];

export function imageJob(chart: Stored<HelmChart>, request: ReleaseRequest, config: ImageJobConfig): Job {
  const { name, namespace } = chart.metadata;
  const { spec } = request;
  const mounts = mountsOf(request, config.action);
  const labels = { [CHART_LABEL]: name };
  const container: Container = {
    name: 'helm',
    image: config.image,
    imagePullPolicy: 'IfNotPresent',
    args: argumentsOf(request, config.action),
    env: environmentOf(request, config),
    securityContext: spec.securityContext ?? {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    },
    volumeMounts: mounts.map(({ volume, mountPath }) => ({ name: volume.name, mountPath })),
  };
  const pod: PodSpec = {
    restartPolicy: 'OnFailure',
    containers: [container],
    serviceAccountName: accountName(name),
    securityContext: spec.podSecurityContext ?? { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    priorityClassName: 'system-cluster-critical',
    volumes: mounts.map(({ volume }) => volume),
    nodeSelector: { 'kubernetes.io/os': 'linux' },
  };
  if (spec.bootstrap === true) Object.assign(pod, { hostNetwork: true, tolerations: BOOTSTRAP_TOLERATIONS });
  const metadata = {
    name: jobName(config.action, name),
    namespace,
    labels,
    annotations: { [HASH_ANNOTATION]: config.hash },
    ownerReferences: config.action === 'install' ? [ownerOf(chart)] : undefined,
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      backoffLimit: spec.backOffLimit ?? DEFAULT_BACKOFF_LIMIT,
      template: { metadata: { labels, annotations: { [HASH_ANNOTATION]: config.hash } }, spec: pod },
    },
  };
}

/**
 * The objects that the pod of an install reads: a Secret with values and authorities, and the chart's archive.
 * @throws ChartProblem
 */
export function imageJobObjects(chart: Stored<HelmChart>, request: ReleaseRequest): readonly [Secret, ConfigMap] {
  const { name, namespace } = chart.metadata;
  const { content = '', values, caPem } = request;
  if (content.length > MAX_CONTENT_LENGTH)
    throw new ChartProblem('the chart is too large for the ConfigMap that a job with an image reads it from');
  const meta = { namespace, labels: { [CHART_LABEL]: name }, ownerReferences: [ownerOf(chart)] };
  const files = caPem === '' ? values : { ...values, 'ca-file.pem': caPem };
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...meta, name: valuesName(name) },
    type: 'helmcharts.helm.cattle.io/values',
    data: Object.fromEntries(Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString('base64')])),
  };
  const configMap: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...meta, name: contentName(name) },
    data: content === '' ? {} : { [`${name}.tgz.base64`]: content },
  };
  return [secret, configMap];
}

interface Mount {
  readonly volume: Volume;
  readonly mountPath: string;
}

function mountsOf({ name, spec }: ReleaseRequest, action: ImageJobConfig['action']): Mount[] {
  const mounts: Mount[] = SCRATCH.map(([volume, mountPath]) => ({
    volume: { name: volume, emptyDir: { medium: 'Memory' } },
    mountPath,
  }));
  const { authSecret, dockerRegistrySecret } = spec;
  if (authSecret?.name)
    mounts.push({ volume: { name: 'auth', secret: { secretName: authSecret.name } }, mountPath: '/auth' });
  if (dockerRegistrySecret?.name) {
    const items = [{ key: '.dockerconfigjson', path: 'config.json' }];
    mounts.push({
      volume: { name: 'dockerconfig', secret: { secretName: dockerRegistrySecret.name, items } },
      mountPath: '/home/klipper-helm/.docker',
    });
  }
  if (action === 'delete') return mounts;
  mounts.push(
    { volume: { name: 'values', secret: { secretName: valuesName(name) } }, mountPath: '/config' },
    { volume: { name: 'content', configMap: { name: contentName(name) } }, mountPath: '/chart' },
  );
  return mounts;
}

function argumentsOf({ spec, setArguments }: ReleaseRequest, action: ImageJobConfig['action']): string[] {
  if (action === 'delete') return ['delete'];
  const { targetNamespace = '', version = '' } = spec;
  const args = ['install'];
  if (targetNamespace !== '') args.push('--namespace', targetNamespace);
  if (spec.createNamespace === true) args.push('--create-namespace');
  if (spec.takeOwnership === true) args.push('--take-ownership');
  if (version !== '') args.push('--version', version);
  return [...args, ...setArguments];
}

/** The environment of klipper-helm's entry point. */
function environmentOf(request: ReleaseRequest, { httpsPort, proxies, hash, action }: ImageJobConfig): EnvVar[] {
  const { name, namespace, targetNamespace, spec, source, timeoutMs } = request;
  const isRepository = source.kind === 'repository';
  const chart = isRepository ? `${name}/${source.chart}` : source.kind === 'location' ? source.url : '';
  const environment: Record<string, string> = {
    NAME: name,
    VERSION: spec.version ?? '',
    REPO: isRepository ? source.url : '',
    HELM_DRIVER: spec.driver ?? 'secret',
    CHART_NAMESPACE: namespace,
    CHART: chart,
    HELM_VERSION: spec.helmVersion ?? '',
    TARGET_NAMESPACE: targetNamespace,
    AUTH_PASS_CREDENTIALS: String(spec.authPassCredentials ?? false),
    INSECURE_SKIP_TLS_VERIFY: String(spec.insecureSkipTLSVerify ?? false),
    PLAIN_HTTP: String(spec.plainHTTP ?? false),
    ...proxies,
    FAILURE_POLICY: request.failurePolicy,
    SERVER_SIDE: request.serverSide,
    FORCE_CONFLICTS: String(request.forceConflicts),
  };
  if (timeoutMs !== undefined) environment['TIMEOUT'] = formatDurationMs(timeoutMs);
  if (action === 'install') environment['CONFIG_HASH'] = hash.slice(0, 63);
  if (spec.bootstrap === true)
    Object.assign(environment, {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT: String(httpsPort),
      BOOTSTRAP: 'true',
    });
  return Object.entries(environment).map(([key, value]) => ({ name: key, value }));
}
