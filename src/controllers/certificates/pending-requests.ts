/** What the approvers read of a certificate request before they decide on it. */
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { parseKey } from '../../client/object-store.ts';
import { parseRequest, type ParsedRequest } from '../../component-helpers/pki/certificates.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { ReservedNames } from './reserved-names.ts';
import { isPending, signerProblem } from './signer-rules.ts';

/** How requests to one signer are read. */
export interface RequestReader {
  readonly requests: Pick<Informer<CertificateSigningRequest>, 'get'>;
  readonly signerName: string;
  readonly reserved: ReservedNames;
  readonly crypto: CryptoPort;
}

/**
 * The request of the key, if it can be approved by itself; undefined: it is for another signer, decided, gone, cannot
 * be parsed, or its signer would refuse it, so that it is left to people.
 */
export async function readPending(
  { requests, signerName, reserved, crypto }: RequestReader,
  key: string,
): Promise<{ readonly csr: Stored<CertificateSigningRequest>; readonly parsed: ParsedRequest } | undefined> {
  const current = (): Stored<CertificateSigningRequest> | undefined => {
    const csr = requests.get(parseKey(key));
    return csr?.spec.signerName === signerName && isPending(csr) ? csr : undefined;
  };
  const read = current();
  if (read === undefined) return undefined;
  const pem = Buffer.from(read.spec.request, 'base64').toString('utf8');
  const parsed = await parseRequest(crypto, pem).catch(() => undefined);
  // It may be gone by now, decided, or replaced by another of its name, whose event is still to come.
  const csr = current();
  if (parsed === undefined || csr === undefined || csr.metadata.uid !== read.metadata.uid) return undefined;
  return signerProblem(csr, parsed, reserved) === undefined ? { csr, parsed } : undefined;
}
