// The address of the hostile peer, which is fixed so that an exchange is the same in every run.
import { pick, type Random } from '../draw.ts';

export const HOSTILE_PEER_PORT = 29_443;

/** The peer's responses; the path of its URL selects one. */
export const peerAnswers = [
  'allow',
  'deny',
  'patch',
  'bad-patch',
  'empty',
  'garbage',
  'huge',
  'hang',
  'reset',
  'status',
  'redirect',
  'no-uid',
  'proto',
  'gzip',
  'headers',
] as const;

export type PeerAnswer = (typeof peerAnswers)[number];

/** A webhook's clientConfig; its caBundle matches nothing, so most calls fail in TLS. */
export function hostilePeer(random: Random): { readonly url: string; readonly caBundle?: string } {
  return { url: `https://127.0.0.1:${HOSTILE_PEER_PORT}/${pick(random, peerAnswers)}` };
}
