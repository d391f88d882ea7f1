// Smaller exchanges with the same effect: without headers and parameters, then with less and less of the body.
import { bytesOf, type Bytes, type Exchange, folded, type HttpExchange } from '../exchange.ts';
import { deltaDebug } from './delta-debug.ts';

type Fails = (exchange: Exchange) => Promise<boolean>;

const textOf = (bytes: Bytes): string => bytesOf(bytes).toString('latin1');

async function shorter(bytes: Bytes, fails: (text: string) => Promise<boolean>): Promise<Bytes> {
  // Pieces first, because most of a document only gives its shape; then single bytes of a short rest.
  const pieces = textOf(bytes).split(/(?<=[,{}[\]&\r\n])/);
  const fewer = (await deltaDebug(pieces, (some) => fails(some.join('')))).join('');
  if (fewer.length > 300) return fewer;
  return (await deltaDebug([...fewer], (some) => fails(some.join('')))).join('');
}

async function smallerHttp(exchange: HttpExchange, fails: Fails): Promise<HttpExchange> {
  let best = exchange;
  const attempt = async (next: HttpExchange): Promise<boolean> => {
    const isSame = await fails(next);
    if (isSame) best = next;
    return isSame;
  };
  await attempt({ ...best, over: 'h1' });
  await deltaDebug(best.headers, (headers) => attempt({ ...best, headers }));
  const [path = '', query] = textOf(best.path).split('?');
  if (query !== undefined)
    await deltaDebug(query.split('&'), (some) =>
      attempt({ ...best, path: some.length === 0 ? path : `${path}?${some.join('&')}` }),
    );
  if (best.body !== undefined) await shorter(best.body, (body) => attempt({ ...best, body }));
  return best;
}

/** The exchange without parts that its failure does not need. */
export async function smallerExchange(exchange: Exchange, fails: Fails): Promise<Exchange> {
  switch (exchange.kind) {
    case 'http': {
      const { body, ...rest } = await smallerHttp(exchange, fails);
      return { ...rest, path: folded(textOf(rest.path)), ...(body !== undefined && { body: folded(textOf(body)) }) };
    }
    case 'raw': {
      const parts = await deltaDebug(exchange.parts, (some) => fails({ ...exchange, parts: some }));
      return { ...exchange, parts: parts.map((part) => folded(textOf(part))) };
    }
    case 'grpc': {
      const parts = await deltaDebug(exchange.parts, (some) => fails({ ...exchange, parts: some }));
      const headers = await deltaDebug(exchange.headers, (some) => fails({ ...exchange, parts, headers: some }));
      return { ...exchange, headers, parts: parts.map((part) => folded(textOf(part))) };
    }
    case 'plugin': {
      const answers = await deltaDebug(Object.entries(exchange.answers), (some) =>
        fails({ ...exchange, answers: Object.fromEntries(some) }),
      );
      return { ...exchange, answers: Object.fromEntries(answers) };
    }
    case 'peers': {
      const answers = await deltaDebug(exchange.answers, (some) => fails({ ...exchange, answers: some }));
      const requests = await deltaDebug(exchange.requests, (some) => fails({ ...exchange, answers, requests: some }));
      return { ...exchange, answers, requests };
    }
    case 'dns':
      return { ...exchange, bytes: await shorter(exchange.bytes, (bytes) => fails({ ...exchange, bytes })) };
  }
}
