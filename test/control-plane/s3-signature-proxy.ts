/**
 * A proxy in front of s3rver, which does not verify signatures of version 4: it refuses, as S3 does, requests with a wrong
 * signature or a wrong digest of the body. Written after AWS's description of SigV4, independent of the signer under test.
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

interface Keys {
  readonly accessKey: string;
  readonly secretKey: string;
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Listens on a port and forwards correctly signed requests. */
export async function startSignatureProxy(port: number, target: number, keys: Keys): Promise<Server> {
  const server = createServer((incoming, answer) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const body = Buffer.concat(pieces);
      const problem = problemOf(incoming, body, keys);
      if (problem === undefined) pass({ incoming, body, answer }, target);
      else {
        answer.writeHead(403, { 'content-type': 'application/xml' });
        answer.end(
          `<Error><Code>${problem}</Code><Message>The request is not signed as it should be</Message></Error>`,
        );
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

function problemOf({ method, url = '', headers }: IncomingMessage, body: Buffer, keys: Keys): string | undefined {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/;
  const [, accessKey, day = '', region = '', names = '', signature] = pattern.exec(headers.authorization ?? '') ?? [];
  if (accessKey === undefined) return url === '/' ? undefined : 'AccessDenied';
  if (accessKey !== keys.accessKey) return 'InvalidAccessKeyId';
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  const [path = '', query = ''] = url.split('?');
  const parameters = query
    .split('&')
    .filter((each) => each !== '')
    .toSorted();
  const lines = names.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`);
  const canonical = [method, path, parameters.join('&'), lines.join(''), names, sha256(body)].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${keys.secretKey}`, day), region));
  return hmac(key, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch';
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
  readonly answer: ServerResponse;
}

function pass({ incoming: { method, url, headers }, body, answer }: Exchange, port: number): void {
  const outgoing = request({ host: '127.0.0.1', port, method, path: url, headers }, (incoming) => {
    answer.writeHead(incoming.statusCode ?? 502, incoming.headers);
    incoming.pipe(answer);
  });
  outgoing.on('error', () => answer.destroy());
  outgoing.end(body);
}
