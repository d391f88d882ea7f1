/**
 * One question to one server: UDP from a new port with a random id, TCP when the response was truncated. Responses
 * that do not match the question are ignored, as they may be forged.
 */
import * as dnsPacket from 'dns-packet';
import { FrameInput } from '../base/frame-input.ts';
import type { Clock } from '../platform/clock.ts';
import type { Datagrams, SocketAddress } from '../platform/datagrams.ts';
import type { Net } from '../platform/net.ts';
import type { Random } from '../platform/random.ts';
import type { Question } from './resolver.ts';
import { decodeInSteps } from './decode-in-steps.ts';
import { frame } from './stream-connection.ts';

export interface ExchangeDeps {
  readonly datagrams: Datagrams;
  readonly net: Pick<Net, 'dial'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** A question for one server. */
interface ExchangeRequest {
  readonly server: SocketAddress;
  readonly question: Question;
  readonly timeoutMs: number;
}

const RECURSION_DESIRED = 1 << 8;
const UDP_SIZE = 1232;

/** Asks a server. Rejects when it does not answer in time or cannot be reached. */
export async function exchange(deps: ExchangeDeps, request: ExchangeRequest): Promise<dnsPacket.Packet> {
  const answer = await overUdp(deps, request, true);
  if (answer.flag_tc) return await overTcp(deps, request);
  // Servers that do not know EDNS answer FORMERR (RFC 6891, section 7), some NOTIMP.
  if (answer.rcode === 'FORMERR' || answer.rcode === 'NOTIMP') return await overUdp(deps, request, false);
  return answer;
}

function encodeQuery(id: number, { name, type }: Question, edns: boolean): Buffer {
  const additionals = edns ? [{ type: 'OPT', name: '.', udpPayloadSize: UDP_SIZE, flags: 0, options: [] }] : [];
  return dnsPacket.encode({
    type: 'query',
    id,
    flags: RECURSION_DESIRED,
    questions: [{ name, type, class: 'IN' }],
    additionals,
  });
}

/** Whether a message may be the answer, before it is read. */
function hasId(message: Uint8Array, id: number): boolean {
  return message.length >= 12 && Buffer.from(message.buffer, message.byteOffset, 2).readUInt16BE(0) === id;
}

/** The packet, if it answers this question. Rejects where the message is malformed. */
async function matching(
  message: Uint8Array,
  { question, clock }: { readonly question: Question; readonly clock: Clock },
): Promise<dnsPacket.Packet | undefined> {
  const packet = await decodeInSteps(message, clock);
  const [request] = packet.questions;
  const matches =
    packet.type === 'response' && request?.type === question.type && request.name.toLowerCase() === question.name;
  return matches ? packet : undefined;
}

async function overUdp(
  { datagrams, clock, random }: ExchangeDeps,
  { server, question, timeoutMs }: ExchangeRequest,
  edns: boolean,
): Promise<dnsPacket.Packet> {
  const id = random.int(65_536);
  const { promise, resolve, reject } = Promise.withResolvers<dnsPacket.Packet>();
  let isReading = false;
  const socket = await datagrams.openDatagrams(
    { address: server.address.includes(':') ? '::' : '0.0.0.0', port: 0 },
    (message, from) => {
      if (from.port !== server.port || from.address !== server.address || !hasId(message, id)) return;
      if (isReading) return; // of a server's many responses one is read at a time
      isReading = true;
      matching(Buffer.from(message), { question, clock })
        .then(
          (packet) => packet && resolve(packet),
          (error: unknown) => reject(new Error(`${server.address} sent a malformed answer`, { cause: error })),
        )
        .finally(() => (isReading = false));
    },
  );
  const cancel = clock.setTimer(timeoutMs, () => reject(timeout(server, timeoutMs)));
  try {
    socket.send(encodeQuery(id, question, edns), server);
    return await promise;
  } finally {
    cancel();
    await socket.close();
  }
}

async function overTcp(
  { net, clock, random }: ExchangeDeps,
  { server, question, timeoutMs }: ExchangeRequest,
): Promise<dnsPacket.Packet> {
  const id = random.int(65_536);
  const connection = await net.dial({ host: server.address, port: server.port, timeoutMs });
  const cancel = clock.setTimer(timeoutMs, () => connection.destroy(timeout(server, timeoutMs)));
  try {
    await connection.write(frame(encodeQuery(id, question, true)));
    const input = new FrameInput(connection.incoming, clock);
    const length = (await input.head(2))?.readUInt16BE(0);
    const message = length === undefined ? undefined : await input.head(length);
    const packet = message && hasId(message, id) ? await matching(message, { question, clock }) : undefined;
    if (packet !== undefined) return packet;
    if (message !== undefined) throw new Error(`${server.address} answered another question`);
    throw new Error(`${server.address} closed the connection without an answer`);
  } finally {
    cancel();
    connection.destroy();
  }
}

function timeout(server: SocketAddress, timeoutMs: number): Error {
  return Object.assign(new Error(`${server.address} did not answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
}
