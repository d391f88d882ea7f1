/**
 * The material by which a machine becomes a server of the cluster: the authorities and keys that all servers share,
 * and the etcd endpoints. It is served to bearers of a server token (`keelson token create --server`) over a
 * connection whose authority the token pins; whoever has it controls the cluster. Not in upstream; modelled on k3s'
 * server-bootstrap.
 */
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Principal } from '../../api/transport.ts';
import { SERVER_GROUP, SERVER_JOIN_PATH } from '../../apiserver/bootstrap/server-join.ts';
import { errorMessage } from '../../base/errors.ts';
import { AnswerTooLongError, answerText } from '../../platform/answer-text.ts';
import type { Platform } from '../../platform/platform.ts';
import { readEtcdFile } from '../etcd/etcd-file.ts';
import { PreflightError } from '../preflight-error.ts';
import { discoverCluster, type JoinedCluster } from './discover-cluster.ts';
import type { JoinToken } from './join-token.ts';

/** Files that all servers share, by their path below the folder of certificates. */
const SHARED_FILES = [
  'ca.crt',
  'ca.key',
  'front-proxy-ca.crt',
  'front-proxy-ca.key',
  'sa.key',
  'sa.pub',
  'etcd/ca.crt',
  'etcd/ca.key',
] as const;

/** Checked in addition to authorization, since the authorities' keys are worth more than any `get` on `*`. */
function mayFetch({ name, groups, extra }: Principal): boolean {
  if (groups.includes('system:masters')) return true;
  // A certificate with the same names is refused: it has a credential id, which a bootstrap token has not.
  return groups.includes(SERVER_GROUP) && name.startsWith('system:bootstrap:') && extra?.[CREDENTIAL_ID] === undefined;
}

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

const ANSWER_MS = 10_000;
const MAX_BYTES = 1_000_000;

interface ServerMaterial {
  readonly files: Readonly<Record<string, string>>;
  /** Client URLs. */
  readonly etcdEndpoints: readonly string[];
  /** The store is encrypted, so another server needs the same configuration. */
  readonly encrypted: boolean;
}

/** A cluster from the view of a new server. */
export interface JoinedServer extends Omit<JoinedCluster, 'caPem'> {
  readonly material: ServerMaterial;
}

/** Serves the material. */
export function serverJoinRoute(
  { files }: Pick<Platform, 'files'>,
  { dataDir, pkiDir, encrypted }: { readonly dataDir: string; readonly pkiDir: string; readonly encrypted: boolean },
): NonResourceRoute {
  return {
    path: SERVER_JOIN_PATH,
    methods: ['GET'],
    async serve({ user }) {
      if (!mayFetch(user))
        throw forbidden(
          { group: '', resource: '' },
          '',
          `only members of system:masters and bearers of server tokens (${SERVER_GROUP}) may become servers of the cluster`,
        );
      const texts = SHARED_FILES.map(async (name) => [name, await files.readText(`${pkiDir}/${name}`)] as const);
      const etcd = await readEtcdFile(files, dataDir);
      const material: ServerMaterial = {
        files: Object.fromEntries(await Promise.all(texts)),
        etcdEndpoints: etcd === undefined ? [] : [etcd.clientUrl, ...etcd.others],
        encrypted,
      };
      return {
        kind: 'bytes',
        status: 200,
        headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
        chunks: [Buffer.from(JSON.stringify(material))],
      };
    },
  };
}

/** Asks the first server that answers. Throws `PreflightError`, or the signal's reason. */
export async function fetchServerMaterial(
  platform: Platform,
  { servers, token }: { readonly servers: readonly string[]; readonly token: JoinToken },
  signal: AbortSignal,
): Promise<JoinedServer> {
  const { caPem, ...settings } = await discoverCluster(platform, servers, token, signal);
  let failure: unknown;
  for (const server of servers) {
    try {
      const { status, text } = await get(platform, `${server}${SERVER_JOIN_PATH}`, { caPem, token });
      if (status === 200) return { ...settings, material: checkMaterial(JSON.parse(text) as ServerMaterial, caPem) };
      throw new PreflightError(refusalText(status));
    } catch (error) {
      failure = error;
    }
  }
  throw new PreflightError(`cannot join as a server: ${errorMessage(failure)}`);
}

/** Writes the shared files to the paths of `ensureClusterPki` and `ensureEtcdPki`. */
export async function writeServerMaterial(
  { files }: Pick<Platform, 'files'>,
  pkiDir: string,
  material: ServerMaterial,
): Promise<void> {
  await files.makeDir(`${pkiDir}/etcd`, { mode: 0o700 });
  for (const name of SHARED_FILES)
    await files.writeFileAtomic(`${pkiDir}/${name}`, material.files[name]!, {
      mode: name.endsWith('.key') ? 0o600 : 0o644,
    });
}

function checkMaterial(material: ServerMaterial, caPem: string): ServerMaterial {
  const missing = SHARED_FILES.find((name) => typeof material.files[name] !== 'string');
  if (missing !== undefined || material.etcdEndpoints.length === 0)
    throw new PreflightError(`the server's answer lacks ${missing ?? 'the members of etcd'}`);
  if (material.files['ca.crt']!.trim() !== caPem.trim())
    throw new PreflightError('its certificate authority is not the one the token was made for');
  return material;
}

function refusalText(status: number): string {
  if (status === 403) return 'the token is for agents; make one with keelson token create --server';
  if (status === 404) return 'that cluster runs no etcd of its own (its first server: keelson server --cluster-init)';
  return `the server answered with ${status}`;
}

async function get(
  { net }: Platform,
  url: string,
  { caPem, token }: { caPem: string; token: JoinToken },
): Promise<{ status: number; text: string }> {
  const answer = await net.http({
    method: 'GET',
    url,
    headers: { authorization: `Bearer ${token.bootstrapToken}`, accept: 'application/json' },
    timeoutMs: ANSWER_MS,
    tls: { caPem },
  });
  const text = await answerText(answer, MAX_BYTES).catch((error: unknown) => {
    throw error instanceof AnswerTooLongError
      ? new PreflightError('the server answers with more than it should')
      : error;
  });
  return { status: answer.status, text };
}
