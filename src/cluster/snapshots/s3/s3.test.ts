/** Addresses, answers, settings and signatures of S3, without a server. */
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

/** Answers with these statuses in turn, the last one for ever. */
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

  test('a busy server is asked again, later and later, and five times', async () => {
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

  test('a refusal is not repeated; an error in an answer of 200 is one', async () => {
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

test('addresses: the bucket in the host where the endpoint wants it, else in the path', () => {
  const url = (overrides: Partial<S3Config>): string => s3Url({ ...EXAMPLE, ...overrides }, "a b/c'(1)");
  const path = 'a%20b/c%27%281%29';
  assert.equal(url({}), `https://examplebucket.s3.amazonaws.com/${path}`);
  assert.equal(url({ bucket: 'a.b' }), `https://s3.amazonaws.com/a.b/${path}`);
  assert.equal(url({ endpoint: 'minio:9000', insecure: true }), `http://minio:9000/examplebucket/${path}`);
  assert.equal(url({ endpoint: 'minio:9000', bucketLookup: 'dns' }), `https://examplebucket.minio:9000/${path}`);
  assert.equal(url({ bucketLookup: 'path' }), `https://s3.amazonaws.com/examplebucket/${path}`);
  assert.equal(url({ endpoint: 'evil-amazonaws.com' }), `https://evil-amazonaws.com/examplebucket/${path}`);
});

test('answers are read with their escapes', () => {
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
  const most = 8 * 1024 * 1024;
  /** A text as long as an answer may be. */
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
    test(`an answer of ${piece} alone is read in time linear in its length`, async () => {
      const { deps } = answering([200, flood(piece)]);
      const { text } = await s3Request(deps, EXAMPLE, { method: 'GET', key: '', doing: 'listing' });
      assert.deepEqual(readListing(text), { objects: [], continuationToken: undefined });
      assert.equal(readUploadId(text), undefined);
    });

  test('an answer with more objects than a page is none', () => {
    assert.equal(readListing(flood('<Contents></Contents>')), undefined);
  });

  test('a listing without an end is given up', async () => {
    const page = `<Contents><Key>a</Key></Contents>`.repeat(1000);
    const end = '<IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken>';
    const { deps } = answering([200, page + end]);
    const bucket = new S3Bucket({ ...deps, files: createSimPlatform().files }, EXAMPLE);
    await assert.rejects(bucket.list(), /the folder has more than 100000 objects/);
  });

  test('a listing of empty pages without an end is given up', async () => {
    const { deps } = answering([
      200,
      '<IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken>',
    ]);
    const bucket = new S3Bucket({ ...deps, files: createSimPlatform().files }, EXAMPLE);
    await assert.rejects(bucket.list(), /the listing has more than 1000 pages/);
  });
});

test('what names may be', () => {
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
