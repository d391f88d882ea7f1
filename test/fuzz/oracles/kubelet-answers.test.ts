import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, GrpcExchange } from '../exchange.ts';
import { judgeGrpc } from './kubelet-answers.ts';

const HEAD_ALONE: Answer = { outcome: 'closed', durationMs: 1, headers: { ':status': '200' } };

function call(contentLength?: string): GrpcExchange {
  const type = ['content-type', 'application/grpc'] as const;
  const headers = contentLength === undefined ? [type] : [type, ['content-length', contentLength] as const];
  return {
    kind: 'grpc',
    to: 'devices',
    path: '/v1beta1.DevicePlugin/PreStartContainer',
    headers,
    parts: ['\0\0\0', '\0\0'],
  };
}

test('a call that ends after its head is a finding, unless the length of its body differs from the announced one', () => {
  assert.match(judgeGrpc(call(), HEAD_ALONE)?.signature ?? '', /without a status/);
  assert.match(judgeGrpc(call('5'), HEAD_ALONE)?.signature ?? '', /without a status/);
  assert.equal(judgeGrpc(call('4'), HEAD_ALONE), undefined);
});
