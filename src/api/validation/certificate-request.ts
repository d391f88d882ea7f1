/**
 * Certificate requests, as far as validation reads them: their PEM block and their frame. Names, keys and signatures are for
 * admission and signers, which load a library for it. Upstream: certificates.ParseCSR.
 */
import { derBytes, derContent, derElements, TAG, type DerElement } from '../../base/der.ts';
import { pemBlocks } from '../../base/pem.ts';

/** What is wrong with the request; undefined for nothing. */
export function requestProblem(pem: string): string | undefined {
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

/** Names in a subject that are looked at. */
const MAX_NAMES = 1000;

/** Throws when the bytes are no PKCS #10 request. */
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
