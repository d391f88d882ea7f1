/** Several sources in one directory, including service account tokens. Upstream: pkg/volume/projected. */
import type {
  ClusterTrustBundleProjection,
  Pod,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../../../api/gen/core-v1.ts';
import { isReason } from '../../../../api/status-error.ts';
import { errorMessage, aggregateText } from '../../../../base/errors.ts';
import type { Payload, ProjectedFile } from '../../atomic-writer.ts';
import { configMapPayload, DEFAULT_FILE_MODE, downwardPayload, secretPayload } from '../../projected-content.ts';
import type { SetUpRequest, SetUpResult, VolumePlugin, VolumePluginDeps } from '../../volume-plugin.ts';
import { trustAnchors } from '../../trust-anchors.ts';
import { fsGroupOf } from '../../volume-ownership.ts';
import { writeContent } from '../../write-content.ts';
import { podNamespace } from '../../../types/pod-update.ts';

const DEFAULT_TOKEN_SECONDS = 3600;
const TOKEN_MODE = 0o600;
const TRUST_REFRESH_MS = 60_000;
/** Sources with selected keys that are read in one turn. */
const SOURCES_PER_TURN = 100;

export const projectedPlugin: VolumePlugin = {
  name: 'kubernetes.io/projected',
  supports: (source) => source.projected !== undefined,
  place: 'memory',
  ownsContent: true,
  live: true,
  setUp: setUpProjected,
};

/** Whether the source has all keys of an object, which may be thousands. */
function isWhole({ configMap, secret }: VolumeProjection): boolean {
  const source = configMap ?? secret;
  return source !== undefined && (source.items ?? []).length === 0;
}

interface ProjectedContent {
  readonly files: Payload;
  readonly refreshAfterMs?: number;
}

async function setUpProjected(request: SetUpRequest, deps: VolumePluginDeps): Promise<SetUpResult> {
  const { sources = [], defaultMode = DEFAULT_FILE_MODE } = request.spec.source.projected!;
  const files = new Map<string, ProjectedFile>();
  const errors: string[] = [];
  let refreshAfterMs = Number.POSITIVE_INFINITY;
  for (const [at, source] of sources.entries()) {
    try {
      if (at > 0 && (at % SOURCES_PER_TURN === 0 || isWhole(source))) await deps.platform.clock.yield();
      const collected = await collect(source, { pod: request.pod, defaultMode, deps });
      for (const [path, file] of collected.files) files.set(path, file);
      refreshAfterMs = Math.min(refreshAfterMs, collected.refreshAfterMs ?? Number.POSITIVE_INFINITY);
    } catch (error) {
      errors.push(errorMessage(error));
    }
  }
  if (errors.length > 0) throw new Error(aggregateText(errors));
  const result = await writeContent(request, files, deps);
  return Number.isFinite(refreshAfterMs) ? { ...result, refreshAfterMs } : result;
}

interface Context {
  readonly pod: Pod;
  readonly defaultMode: number;
  readonly deps: VolumePluginDeps;
}

async function collect(source: VolumeProjection, context: Context): Promise<ProjectedContent> {
  const { pod, defaultMode, deps } = context;
  const namespace = podNamespace(pod);
  if (source.configMap !== undefined) {
    const { name = '', items, optional = false } = source.configMap;
    const configMap = await orEmpty(deps.objects.get('ConfigMap', namespace, name), optional);
    return { files: configMapPayload(configMap, { items, defaultMode, optional }) };
  }
  if (source.secret !== undefined) {
    const { name = '', items, optional = false } = source.secret;
    const secret = await orEmpty(deps.objects.get('Secret', namespace, name), optional);
    return { files: secretPayload(secret, { items, defaultMode, optional }) };
  }
  if (source.downwardAPI !== undefined) {
    return { files: downwardPayload({ items: source.downwardAPI.items, pod, node: deps.node(), defaultMode }) };
  }
  if (source.serviceAccountToken !== undefined) return collectToken(source.serviceAccountToken, context);
  if (source.clusterTrustBundle !== undefined) return collectTrust(source.clusterTrustBundle, context);
  throw new Error(`projected volume source ${Object.keys(source).join(', ') || '(none)'} is not supported yet`);
}

/** Period in which trust bundles are read again. */
async function collectTrust(
  projection: ClusterTrustBundleProjection,
  { deps, defaultMode }: Context,
): Promise<ProjectedContent> {
  const data = await trustAnchors(deps.client, projection);
  const files = new Map<string, ProjectedFile>();
  files.set(projection.path, { data: Buffer.from(data), mode: defaultMode });
  return { files, refreshAfterMs: TRUST_REFRESH_MS };
}

async function orEmpty<T extends { metadata: object }>(read: Promise<T>, optional: boolean): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (optional && isReason(error, 'NotFound')) return { metadata: {} } as T;
    throw error;
  }
}

async function collectToken(source: ServiceAccountTokenProjection, context: Context): Promise<ProjectedContent> {
  const { pod, deps } = context;
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  const token = await deps.tokens.get(namespace, pod.spec?.serviceAccountName ?? '', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: {
      ...(source.audience === undefined || source.audience === '' ? {} : { audiences: [source.audience] }),
      expirationSeconds: source.expirationSeconds ?? DEFAULT_TOKEN_SECONDS,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
    },
  });
  const fsUser = commonUser(pod);
  const restricted = fsUser !== undefined || fsGroupOf(pod).fsGroup !== undefined;
  const file: ProjectedFile = {
    data: token.token,
    mode: restricted ? TOKEN_MODE : context.defaultMode,
    ...(fsUser === undefined ? {} : { fsUser }),
  };
  return { files: new Map([[source.path, file]]), refreshAfterMs: token.refreshAfterMs };
}

/** The user of all containers, if it is the same and known. Upstream: util.FsUserFrom. */
function commonUser(pod: Pod): number | undefined {
  const spec = pod.spec;
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const users = new Set(
    containers.map((container) => container.securityContext?.runAsUser ?? spec?.securityContext?.runAsUser),
  );
  const [user] = users;
  return users.size === 1 && user !== undefined ? Number(user) : undefined;
}
