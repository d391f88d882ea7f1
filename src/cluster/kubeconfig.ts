/** Generates the kubeconfig files that Keelson writes. Pure. */

/** The server, and the names of cluster and user. */
export interface KubeconfigInput {
  readonly server: string;
  readonly caPem: string;
  readonly user: string;
  readonly cluster: string;
}

/** Inline credentials, or a file with certificate and key that another process rotates. */
export type KubeconfigCredentials =
  | { readonly token: string }
  | { readonly certPem: string; readonly keyPem: string }
  | { readonly pairFile: string };

const b64 = (pem: string): string => Buffer.from(pem).toString('base64');

function userYaml(credentials: KubeconfigCredentials): string {
  if ('token' in credentials) return `    token: ${JSON.stringify(credentials.token)}`;
  return 'pairFile' in credentials
    ? `    client-certificate: ${credentials.pairFile}\n    client-key: ${credentials.pairFile}`
    : `    client-certificate-data: ${b64(credentials.certPem)}\n    client-key-data: ${b64(credentials.keyPem)}`;
}

/** The content of `cluster-info`: the cluster's address and authority, without credentials. */
export function clusterInfoYaml({ server, caPem }: Pick<KubeconfigInput, 'server' | 'caPem'>): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: ""
  cluster:
    server: ${server}
    certificate-authority-data: ${b64(caPem)}
`;
}

/** The same as JSON, which is valid YAML, for a process that does not load the YAML library. */
export function kubeconfigJson(input: KubeconfigInput & KubeconfigCredentials): string {
  const { server, caPem, user, cluster } = input;
  const credentials = userJson(input);
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: cluster, cluster: { server, 'certificate-authority-data': b64(caPem) } }],
    users: [{ name: user, user: credentials }],
    contexts: [{ name: cluster, context: { cluster, user } }],
    'current-context': cluster,
  });
}

function userJson(credentials: KubeconfigCredentials): object {
  if ('token' in credentials) return { token: credentials.token };
  return 'pairFile' in credentials
    ? { 'client-certificate': credentials.pairFile, 'client-key': credentials.pairFile }
    : {
        'client-certificate-data': b64(credentials.certPem),
        'client-key-data': b64(credentials.keyPem),
      };
}

/** A kubeconfig with one cluster, one user and one context. */
export function kubeconfigYaml(input: KubeconfigInput & KubeconfigCredentials): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: ${input.cluster}
  cluster:
    server: ${input.server}
    certificate-authority-data: ${b64(input.caPem)}
users:
- name: ${input.user}
  user:
${userYaml(input)}
contexts:
- name: ${input.cluster}
  context:
    cluster: ${input.cluster}
    user: ${input.user}
current-context: ${input.cluster}
`;
}
