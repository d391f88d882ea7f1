/** Addresses, responses, settings and signatures of S3, without a server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseTime } from '../../../api/time.ts';
import type { HttpAnswer, HttpCall } from '../../../platform/net.ts';
import { createSimPlatform } from '../../../platform/sim/sim-platform.ts';
import type { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { s3Url } from './s3-address.ts';
import { completeBody, readError, readListing, readUploadId } from './s3-answers.ts';
import { readCredentials, settleS3 } from './s3-config.ts';
import { bucketProblem, endpointProblem, folderProblem, type S3Config } from './s3-options.ts';
import { S3Bucket } from './s3-bucket.ts';
import { s3Request, type S3Deps } from './s3-request.ts';

const EXAMPLE: S3Config = {
  endpoint: 's3.amazonaws.com',
  region: 'us-east-1',
  bucket: 'examplebucket',
  folder: '',
  bucketLookup: 'auto',
  skipSslVerify: false,
  insecure: false,
  credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
  timeoutMs: 1000,
};

/** Responds with these statuses in turn, then always with the last one. */
function answering(...answers: readonly (readonly [number, string])[]): {
  deps: S3Deps;
  calls: HttpCall[];
  clock: VirtualClock;
} {
  const platform = createSimPlatform({ startMs: parseTime('2013-05-24T00:00:00Z') });
  const calls: HttpCall[] = [];
  const http = async (call: HttpCall): Promise<HttpAnswer> => {
    const [status, text] = answers[Math.min(calls.push(call), answers.length) - 1]!;
    async function* body() {
      yield Buffer.from(text);
    }
    return { status, headers: {}, body: body(), cancel: () => undefined };
  };
  return { deps: { ...platform, net: { ...platform.net, http } }, calls, clock: platform.clock };
}

describe('signatures', () => {
  for (const [query, signature] of [
    [{ lifecycle: '' }, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    [{ prefix: 'J', 'max-keys': '2' }, '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ] as const)
    test(`of AWS's own example with ${Object.keys(query).join()}`, async () => {
      const { deps, calls } = answering([200, '']);
      await s3Request(deps, EXAMPLE, { method: 'GET', key: '', query, doing: 'trying' });
      const { authorization } = calls[0]?.headers ?? {};
      assert.ok(String(authorization).endsWith(`Signature=${signature}`), String(authorization));
    });
});

describe('requests', () => {
  const call = { method: 'GET', key: 'x', doing: 'fetching x' } as const;

  test('a busy server is retried five times, with growing pauses', async () => {
    const { deps, calls, clock } = answering([503, '<Error><Code>SlowDown</Code><Message>wait</Message></Error>']);
    const outcome = assert.rejects(s3Request(deps, EXAMPLE, call), /^PreflightError: S3: fetching x: SlowDown: wait$/);
    await clock.advance(400);
    assert.equal(calls.length, 1);
    await clock.advance(60_000);
    await outcome;
    assert.equal(calls.length, 5);
  });

  test('the end of the server ends a request that hangs, and its repetitions', async () => {
    const { deps, calls, clock } = answering([503, '<Error><Code>SlowDown</Code><Message>wait</Message></Error>']);
    const end = new AbortController();
    const outcome = assert.rejects(s3Request({ ...deps, signal: end.signal }, EXAMPLE, call), /SlowDown/);
    await clock.advance(0);
    assert.equal(calls[0]?.signal, end.signal);
    end.abort(new Error('the server stops'));
    await clock.advance(0);
    await outcome;
    assert.equal(calls.length, 1);
    assert.equal(clock.pendingTimers, 0);
  });

  test('a refusal is not retried; an error in a response of 200 is one', async () => {
    for (const [status, text] of [
      [403, '<Error><Code>AccessDenied</Code><Message>no</Message></Error>'],
      [200, '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code><Message>no</Message></Error>'],
    ] as const) {
      const { deps, calls } = answering([status, text]);
      await assert.rejects(s3Request(deps, EXAMPLE, call), /S3: fetching x: AccessDenied: no$/);
      assert.equal(calls.length, 1);
    }
  });

  test('a wrong clock is named', async () => {
    const { deps } = answering([403, '<Error><Code>RequestTimeTooSkewed</Code><Message>far</Message></Error>']);
    await assert.rejects(s3Request(deps, EXAMPLE, call), /far; set the clock of this machine$/);
  });
});

test('addresses: the bucket in the host where the endpoint requires it, else in the path', () => {
  const url = (overrides: Partial<S3Config>): string => s3Url({ ...EXAMPLE, ...overrides }, "a b/c'(1)");
  const path = 'a%20b/c%27%281%29';
  assert.equal(url({}), `https://examplebucket.s3.amazonaws.com/${path}`);
  assert.equal(url({ bucket: 'a.b' }), `https://s3.amazonaws.com/a.b/${path}`);
  assert.equal(url({ endpoint: 'minio:9000', insecure: true }), `http://minio:9000/examplebucket/${path}`);
  assert.equal(url({ endpoint: 'minio:9000', bucketLookup: 'dns' }), `https://examplebucket.minio:9000/${path}`);
  assert.equal(url({ bucketLookup: 'path' }), `https://s3.amazonaws.com/examplebucket/${path}`);
  assert.equal(url({ endpoint: 'evil-amazonaws.com' }), `https://evil-amazonaws.com/examplebucket/${path}`);
});

test('responses are parsed with their escapes', () => {
  const xml = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>
<Contents><Key>f/a%20b%2Bc</Key><Size>12</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents></ListBucketResult>`;
  assert.deepEqual(readListing(xml), {
    objects: [{ key: 'f/a b+c', sizeBytes: 12, lastModified: '2026-01-01T00:00:00.000Z' }],
    continuationToken: 'a&b',
  });
  assert.equal(readUploadId('<R><UploadId>x&#45;y&#x2D;z</UploadId></R>'), 'x-y-z');
  assert.equal(readError('<html>busy</html>'), undefined);
  assert.ok(completeBody(['"a<b"']).includes('<ETag>&#34;a&#60;b&#34;</ETag>'));
});

describe('hostile endpoints', () => {
  const most = 4 * 1024 * 1024;
  /** A text of the maximum length of a response. */
  const flood = (piece: string): string => piece.repeat(most / piece.length);

  for (const piece of [
    '<Error>',
    '<Error ',
    '</Error>',
    '<Contents>',
    '<Key>',
    '<Contents><Key>',
    '<UploadId>',
    '&a',
    '<Code>',
  ])
    test(`a response that only repeats ${piece} is parsed in time linear in its length`, async () => {
      const { deps } = answering([200, flood(piece)]);
      const { text } = await s3Request(deps, EXAMPLE, { method: 'GET', key: '', doing: 'listing' });
      assert.deepEqual(readListing(text), { objects: [], continuationToken: undefined });
      assert.equal(readUploadId(text), undefined);
    });

  test('a response with more objects than a page is invalid', () => {
    assert.equal(readListing(flood('<Contents></Contents>')), undefined);
  });

  test('an endless listing is aborted', async () => {
    const page = `<Contents><Key>a</Key></Contents>`.repeat(1000);
    const end = '<IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken>';
    const { deps } = answering([200, page + end]);
    const bucket = new S3Bucket({ ...deps, files: createSimPlatform().files }, EXAMPLE);
    await assert.rejects(bucket.list(), /the folder has more than 100000 objects/);
  });

  test('a listing of endless empty pages is aborted', async () => {
    const { deps } = answering([
      200,
      '<IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken>',
    ]);
    const bucket = new S3Bucket({ ...deps, files: createSimPlatform().files }, EXAMPLE);
    await assert.rejects(bucket.list(), /the listing has more than 1000 pages/);
  });
});

test('a listing is read no further than 64 MiB, however its pages are made', async () => {
  const key = 'k'.repeat(4_000_000);
  const page = `<L><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>${key}</Key></Contents></L>`;
  const { deps, calls } = answering([200, page]);
  const { files } = createSimPlatform();
  await assert.rejects(
    new S3Bucket({ ...deps, files }, EXAMPLE).list(),
    /listing s3:\/\/examplebucket\/: the listing is longer than 67108864 bytes/,
  );
  assert.equal(calls.length, 17);
});

test('a stalled download is aborted', async () => {
  const { deps, clock } = answering();
  const { files } = createSimPlatform();
  const hanging = Promise.withResolvers<never>();
  const http = async (): Promise<HttpAnswer> => {
    async function* body() {
      yield Buffer.from('a');
      await hanging.promise;
    }
    return { status: 200, headers: {}, body: body(), cancel: () => hanging.reject(new Error('aborted')) };
  };
  const bucket = new S3Bucket({ ...deps, net: { ...deps.net, http }, files }, EXAMPLE);
  const outcome = assert.rejects(bucket.download('x', '/x'), /fetching s3:\/\/examplebucket\/x: nothing came for 1 s/);
  await clock.advance(1000);
  await outcome;
});

test('valid names', () => {
  for (const bad of ['ab', 'Abc', '-abc', 'a_b_c', 'a'.repeat(64)]) assert.notEqual(bucketProblem(bad), undefined, bad);
  for (const bad of ['https://x', 'x/y', 'x:y', '']) assert.notEqual(endpointProblem(bad), undefined, bad);
  for (const bad of ['a//b', '../b', 'a/./b']) assert.notEqual(folderProblem(bad), undefined, bad);
  assert.equal(endpointProblem('[::1]:9000'), undefined);
});

test('credentials: flags before the file; a file has its first profile alone', async () => {
  const { files } = createSimPlatform();
  await files.writeFileAtomic(
    '/c',
    '[a]\naws_access_key_id=A\naws_secret_access_key = S/+\n[b]\naws_access_key_id=B\n',
    {},
  );
  const options = { bucket: 'abc', credentialsFile: '/c' };
  const settle = async (more: object) =>
    (await settleS3({ files, client: undefined }, { ...options, ...more })).credentials;
  assert.deepEqual(await settle({}), { accessKeyId: 'A', secretAccessKey: 'S/+', sessionToken: undefined });
  assert.equal((await settle({ accessKey: 'F', secretKey: 'G' })).accessKeyId, 'F');
  assert.throws(() => readCredentials('[a]\n', '/c'), /S3: \/c has no aws_access_key_id/);
  await assert.rejects(settle({ configSecret: 's' }), /can be read only while the cluster runs/);
});
