/**
 * Validates the PEM block and the outer structure of certificate requests. Admission and signers, which load a library for it,
 * check names, keys and signatures. Upstream: certificates.ParseCSR.
 */
import { derBytes, derContent, derElements, TAG, type DerElement } from '../../base/der.ts';
import { pemBlocks } from '../../base/pem.ts';

/** Upstream has no such limit. A request of 60,000 names blocked the event loop for more than a tenth of a second. */
const MAX_LENGTH = 256 * 1024;

/** The error of a request that is too long to be parsed; undefined for others. */
export function requestLengthProblem(pem: string): string | undefined {
  return pem.length > MAX_LENGTH ? `must be no longer than ${MAX_LENGTH} bytes` : undefined;
}

/** The error of the request; undefined for a valid one. */
export function requestProblem(pem: string): string | undefined {
  const tooLong = requestLengthProblem(pem);
  if (tooLong !== undefined) return tooLong;
  const [block] = pemBlocks(pem);
  if (block?.type !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  if (block.content.length === 0) return 'asn1: syntax error: sequence truncated';
  try {
    checkFrame(block.content);
    return undefined;
  } catch (error) {
    return `asn1: structure error: ${(error as Error).message}`;
  }
}

/** The number of names in a subject that are checked. */
const MAX_NAMES = 1000;

/** Throws when the bytes are not a PKCS #10 request. */
function checkFrame(bytes: Uint8Array): void {
  const [request, trailing] = derElements(bytes, 2);
  if (trailing !== undefined) throw new Error('trailing data');
  const [signed, algorithm, signature] = derContent(request, TAG.sequence, 3);
  checkAlgorithm(algorithm);
  derBytes(signature, TAG.bitString);
  const [version, subject, publicKey] = derContent(signed, TAG.sequence, 3);
  derBytes(version, TAG.integer);
  derContent(subject, TAG.sequence, MAX_NAMES);
  const [keyAlgorithm, key] = derContent(publicKey, TAG.sequence, 2);
  checkAlgorithm(keyAlgorithm);
  derBytes(key, TAG.bitString);
}

function checkAlgorithm(element: DerElement | undefined): void {
  derBytes(derContent(element, TAG.sequence, 1)[0], TAG.oid);
}
