/** The kubeconfig files Keelson writes. Pure text. */

/** Who connects where. */
export interface KubeconfigInput {
  readonly server: string;
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
  readonly user: string;
  readonly cluster: string;
}

/** A kubeconfig with one cluster, one user and one context, credentials inline. */
export function kubeconfigYaml(input: KubeconfigInput): string {
  const b64 = (pem: string): string => Buffer.from(pem).toString('base64');
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
    client-certificate-data: ${b64(input.certPem)}
    client-key-data: ${b64(input.keyPem)}
contexts:
- name: ${input.cluster}
  context:
    cluster: ${input.cluster}
    user: ${input.user}
current-context: ${input.cluster}
`;
}
