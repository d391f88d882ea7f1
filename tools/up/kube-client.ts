// A client of the API server for `npm run up`: node:https with the certificates of a kubeconfig. It is small on purpose and
// independent of the sources, so that it also shows that other clients work.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';

import { parse } from 'yaml';

/** The fields of an API object that this client reads. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** A response; `body` is the decoded JSON, or the text of other responses. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** A request without its path. */
export interface Question {
  readonly method?: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

/** A connection to one API server. */
export interface KubeClient {
  readonly server: string;
  /** Sends one request; rejects only when there is no response. */
  send(path: string, question?: Question): Promise<Answer>;
  close(): void;
}

interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: readonly { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

const REQUEST_TIMEOUT_MS = 10_000;

/** A client for the one cluster and user of a kubeconfig file. @throws when the file is missing or of another form */
export function createKubeClient(kubeconfigPath: string): KubeClient {
  const config = parse(readFileSync(kubeconfigPath, 'utf8')) as Kubeconfig;
  const cluster = config.clusters[0]?.cluster;
  const user = config.users[0]?.user;
  if (!cluster || !user) throw new Error(`${kubeconfigPath} names no cluster or no user`);
  const agent = new Agent({
    ca: Buffer.from(cluster['certificate-authority-data'], 'base64'),
    cert: Buffer.from(user['client-certificate-data'], 'base64'),
    key: Buffer.from(user['client-key-data'], 'base64'),
    keepAlive: true,
  });
  return {
    server: cluster.server,
    send: (path, question = {}) => send(new URL(path, cluster.server), { ...question, agent }),
    close: () => agent.destroy(),
  };
}

function send(url: URL, { method = 'GET', body, contentType, agent }: Question & { agent: Agent }): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = { accept: 'application/json', ...(payload && { 'content-type': contentType ?? 'application/json' }) };
  const call = request(url, { method, agent, headers, timeout: REQUEST_TIMEOUT_MS }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (part: string) => (text += part));
    response.on('error', reject);
    response.on('end', () => resolve({ status: response.statusCode ?? 0, body: decode(text) }));
  });
  call.on('timeout', () => call.destroy(new Error(`no answer from ${url.host} in ${REQUEST_TIMEOUT_MS / 1000} s`)));
  call.on('error', reject);
  call.end(payload);
  return promise;
}

function decode(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // such as "ok" of /readyz
  }
}

const plurals: Readonly<Record<string, string>> = { Deployment: 'deployments', Service: 'services' };

/** The path of an object's collection. @throws for kinds that the demo does not use */
export function collectionPath({ apiVersion, kind, metadata }: ApiObject): string {
  const plural = plurals[kind];
  if (plural === undefined) throw new Error(`no path known for ${kind}`);
  const prefix = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${prefix}/namespaces/${metadata.namespace ?? 'default'}/${plural}`;
}

/**
 * Creates an object, or merges it into the existing one.
 * @returns 'created' or 'configured'
 * @throws Error with the server's message when it refuses
 */
export async function apply(client: KubeClient, object: ApiObject): Promise<'created' | 'configured'> {
  const collection = collectionPath(object);
  const created = await client.send(collection, { method: 'POST', body: object });
  if (created.status === 201) return 'created';
  const name = `${object.kind.toLowerCase()}/${object.metadata.name}`;
  if (created.status !== 409) throw new Error(`${name} was refused: ${messageOf(created)}`);
  const patched = await client.send(`${collection}/${object.metadata.name}`, {
    method: 'PATCH',
    body: object,
    contentType: 'application/merge-patch+json',
  });
  if (patched.status !== 200) throw new Error(`${name} was refused: ${messageOf(patched)}`);
  return 'configured';
}

/** The message of a Status, or the code. */
function messageOf({ status, body }: Answer): string {
  const message = (body as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : `status ${status}`;
}
