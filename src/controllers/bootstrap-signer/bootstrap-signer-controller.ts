/**
 * Signs the kubeconfig in `kube-public/cluster-info` with each bootstrap token that may sign, so that a machine with
 * a token can trust the kubeconfig before it has the CA. Upstream: pkg/controller/bootstrap/bootstrapsigner.go,
 * jws.go.
 *
 * Watches: bootstrap tokens of kube-system, that ConfigMap. Writes alone: its `jws-kubeconfig-<token id>` entries.
 */
import { ConfigMaps, Secrets } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { ConfigMap, Secret } from '../../api/gen/core-v1.ts';
import { tokenExpiresAtMs, tokenField } from '../../component-helpers/token-secrets.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const ACCOUNT = 'bootstrap-signer';
const NAME = 'bootstrap-signer-controller';
const TOKEN_TYPE = 'bootstrap.kubernetes.io/token';
const PREFIX = 'jws-kubeconfig-';
const CLUSTER_INFO = { namespace: 'kube-public', name: 'cluster-info' };

export function createBootstrapSignerController(deps: ControllerDeps): Controller {
  const { clock, crypto } = deps.platform;
  const client = deps.clientFor(ACCOUNT).resource(ConfigMaps);
  const maps = deps.informers.informer(ConfigMaps, {
    namespace: CLUSTER_INFO.namespace,
    fieldSelector: `metadata.name=${CLUSTER_INFO.name}`,
  });
  const tokens = deps.informers.informer(Secrets, { namespace: 'kube-system' });
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'bootstrap_signer_queue',
    workers: 1,
    informers: informerList(maps, tokens),
    sync: signConfigMap,
  });

  async function signConfigMap(_: string, signal: AbortSignal): Promise<void> {
    const map = maps.get(CLUSTER_INFO);
    const kubeconfig = map?.data?.['kubeconfig'];
    if (map === undefined || kubeconfig === undefined) return;
    const data: Record<string, string> = {};
    for (const [key, value] of Object.entries(map.data ?? {})) if (!key.startsWith(PREFIX)) data[key] = value;
    for (const secret of tokens.list()) {
      const token = signingToken(secret, clock.nowMs());
      if (token !== undefined) data[PREFIX + token.id] = await signDetached(crypto, kubeconfig, token);
    }
    if (sameData(map, data)) return;
    await client.update({ ...map, data }, { signal }).catch(ignoreNotFound);
  }

  const again = (): void => loop.queue.add(CLUSTER_INFO.name);
  maps.addHandler({ onAdd: again, onUpdate: again });
  const onToken = (secret: Secret): void => {
    if (secret.type === TOKEN_TYPE) again();
  };
  tokens.addHandler({ onAdd: onToken, onUpdate: (_, secret) => onToken(secret), onDelete: onToken });
  return loop;
}

interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

/** The token of a secret that is complete, not expired and allowed to sign. */
function signingToken(secret: Secret, nowMs: number): BootstrapToken | undefined {
  if (secret.type !== TOKEN_TYPE) return undefined;
  const text = (key: string): string => tokenField(secret, key);
  const [id, key] = [text('token-id'), text('token-secret')];
  const expiresAtMs = tokenExpiresAtMs(secret);
  const usable =
    /^[a-z0-9]{6}$/.test(id) && /^[a-z0-9]{16}$/.test(key) && secret.metadata.name === `bootstrap-token-${id}`;
  if (!usable || text('usage-bootstrap-signing') !== 'true') return undefined;
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? undefined : { id, secret: key };
}

/** A detached JWS (HS256): the signature without the content. */
async function signDetached(crypto: CryptoPort, content: string, token: BootstrapToken): Promise<string> {
  const encode = (text: string): string => Buffer.from(text).toString('base64url');
  const header = encode(JSON.stringify({ alg: 'HS256', kid: token.id }));
  const { subtle } = crypto.webcrypto;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await subtle.importKey('raw', Buffer.from(token.secret), algorithm, false, ['sign']);
  const signature = await subtle.sign('HMAC', key, Buffer.from(`${header}.${encode(content)}`));
  return `${header}..${Buffer.from(signature).toString('base64url')}`;
}

function sameData({ data = {} }: ConfigMap, next: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(next);
  return keys.length === Object.keys(data).length && keys.every((key) => data[key] === next[key]);
}
