/**
 * The certificates in Secrets. A certificate is parsed once for each version of its Secret into one object, so that snapshots
 * contain it once however many objects refer to it.
 */
import type { Secret } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import type { ClusterView, RouteProblem } from './cluster-view.ts';
import type { Certificate } from './snapshot-plan.ts';

/** Parses the DNS names of a certificate and checks that the key fits; throws for an invalid certificate. */
export type InspectCertificate = (certPem: string, keyPem: string) => readonly string[];

/** A certificate and its key, or the reason why there is none. */
type SecretCertificate =
  | { readonly certificate: Certificate; readonly problem?: undefined }
  | { readonly problem: RouteProblem };

/** The limit of certificates of one Ingress or one Gateway; a chain with its key takes about 8 KiB. */
export const MAX_CERTIFICATES = 100;
/** The limit of a chain, and of a key. */
const MAX_PEM_BYTES = 64 * 1024;

export class SecretCertificates {
  readonly #inspect: InspectCertificate;
  /** By the informer's object, which is replaced at each change. */
  readonly #known = new WeakMap<Secret, SecretCertificate>();

  constructor(inspect: InspectCertificate) {
    this.#inspect = inspect;
  }

  find(view: ClusterView, namespace: string, name: string): SecretCertificate {
    const secret = view.secret(namespace, name);
    if (secret === undefined)
      return { problem: { reason: 'SecretNotFound', message: `secret ${name} with the certificate does not exist` } };
    const cached = this.#known.get(secret) ?? this.#read(name, secret);
    this.#known.set(secret, cached);
    return cached;
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
