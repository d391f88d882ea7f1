/** Which store a cluster keeps its state in, as the user chose it; files are read when it is opened. */

export interface EtcdStoreChoice {
  readonly kind: 'etcd';
  /** URLs of members, all `http:` or all `https:`. */
  readonly endpoints: readonly string[];
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** As `--etcd-prefix`: default `/registry`. */
  readonly prefix?: string;
}

export type StoreChoice = { readonly kind: 'sqlite' } | { readonly kind: 'memory' } | EtcdStoreChoice;

/** The error of the URLs of an etcd cluster, or undefined. */
export function endpointsProblem(endpoints: readonly string[]): string | undefined {
  const wrong = endpoints.find((text) => !URL.canParse(text) || !/^https?:\/\/[^/]+\/?$/.test(text));
  if (wrong !== undefined) return `${wrong} is not a URL such as https://10.0.0.1:2379`;
  if (new Set(endpoints.map((text) => new URL(text).protocol)).size > 1)
    return 'http and https cannot be mixed: one unencrypted member would show everything';
  return undefined;
}
