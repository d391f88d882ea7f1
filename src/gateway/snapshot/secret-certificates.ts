/**
 * The certificates in Secrets. One is read and checked once for each version of its Secret and is one object from then on, so
 * that snapshots hold it once whoever refers to it.
 */
import type { Secret } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import type { ClusterView, RouteProblem } from './cluster-view.ts';
import type { Certificate } from './snapshot-plan.ts';

/** Reads the DNS names in a certificate and checks that the key is its; throws for what is no certificate. */
export type InspectCertificate = (certPem: string, keyPem: string) => readonly string[];

/** A certificate and its key, or why there is none. */
type SecretCertificate =
  | { readonly certificate: Certificate; readonly problem?: undefined }
  | { readonly problem: RouteProblem };

/** Certificates that one Ingress or one Gateway may name; a chain with its key takes about 8 KiB. */
export const MAX_CERTIFICATES = 100;
/** The longest chain, and the longest key. */
const MAX_PEM_BYTES = 64 * 1024;

export class SecretCertificates {
  readonly #inspect: InspectCertificate;
  /** By the object that the informer holds, which is another one after each change. */
  readonly #known = new WeakMap<Secret, SecretCertificate>();

  constructor(inspect: InspectCertificate) {
    this.#inspect = inspect;
  }

  find(view: ClusterView, namespace: string, name: string): SecretCertificate {
    const secret = view.secret(namespace, name);
    if (secret === undefined)
      return { problem: { reason: 'SecretNotFound', message: `secret ${name} with the certificate does not exist` } };
    const known = this.#known.get(secret) ?? this.#read(name, secret);
    this.#known.set(secret, known);
    return known;
  }

  #read(name: string, { data }: Secret): SecretCertificate {
    const { 'tls.crt': chain = '', 'tls.key': key = '' } = data ?? {};
    if (chain === '' || key === '') return invalid(`secret ${name} lacks tls.crt or tls.key`);
    const longest = Math.max(Buffer.byteLength(chain, 'base64'), Buffer.byteLength(key, 'base64'));
    if (longest > MAX_PEM_BYTES)
      return invalid(`secret ${name}: tls.crt or tls.key has ${longest} bytes, more than ${MAX_PEM_BYTES}`);
    const [certPem, keyPem] = [textOf(chain), textOf(key)];
    try {
      return { certificate: { certPem, keyPem, ownNames: this.#inspect(certPem, keyPem) } };
    } catch (error) {
      return invalid(`secret ${name}: ${errorMessage(error)}`);
    }
  }
}

function invalid(message: string): SecretCertificate {
  return { problem: { reason: 'InvalidCertificate', message } };
}

function textOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('latin1');
}
