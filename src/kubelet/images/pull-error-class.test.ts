import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { pullErrorClass } from './pull-error-class.ts';

const texts: readonly (readonly [text: string, wanted: string])[] = [
  [
    'failed to pull and unpack image "docker.io/library/none:1": failed to resolve reference: docker.io/library/none:1: not found',
    'NotFound',
  ],
  [
    'failed to resolve image: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed',
    'Unauthorized',
  ],
  ['unexpected status from HEAD request to https://ghcr.io/v2/a/manifests/1: 403 Forbidden', 'Unauthorized'],
  [
    'failed to copy: httpReadSeeker: unexpected status code https://registry-1.docker.io/v2/: 429 Too Many Requests',
    'RateLimited',
  ],
  ['failed to do request: Head "https://none.example/v2/": dial tcp: lookup none.example: no such host', 'Network'],
  [
    'failed to do request: Head "https://r/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    'Network',
  ],
  ['something else went wrong in notfoundry', 'Unknown'],
];
for (const [text, wanted] of texts)
  test(`a pull error of class ${wanted}: ${text.slice(0, 40)}`, () =>
    assert.equal(pullErrorClass(new CriError('Unknown', text)), wanted));

test('a response that is no image is not a missing image, whatever its code', () => {
  const text =
    'failed to pull and unpack image "r/a:1": failed to unpack image on snapshotter overlayfs: unexpected media type text/html for sha256:3f2f: not found';
  for (const code of ['NotFound', 'Unknown'] as const)
    assert.equal(pullErrorClass(new CriError(code, text)), 'Unknown');
});

test('a code of gRPC counts more than the text', () => {
  assert.equal(pullErrorClass(new CriError('NotFound', '429 Too Many Requests')), 'NotFound');
  assert.equal(pullErrorClass(new Error('401 Unauthorized')), 'Unknown');
});
