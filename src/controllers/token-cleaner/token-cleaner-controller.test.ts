import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Secrets } from '../../api/gen/resources.ts';
import { startServerHarness } from '../server-harness-fixture.ts';
import { createTokenCleanerController } from './token-cleaner-controller.ts';

it('deletes bootstrap tokens when they expire, and nothing else', async () => {
  const h = await startServerHarness([createTokenCleanerController]);
  const token = (id: string, expiration: string | undefined, type = 'bootstrap.kubernetes.io/token'): object => ({
    metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}` },
    type,
    stringData: {
      'token-id': id,
      'token-secret': '0123456789abcdef',
      ...(expiration === undefined ? {} : { expiration }),
    },
  });
  await h.create(Secrets, token('aaaaaa', '2026-01-01T01:00:00Z'));
  await h.create(Secrets, token('bbbbbb', undefined));
  await h.create(Secrets, token('cccccc', '2025-01-01T01:00:00Z', 'Opaque'));
  await h.create(Secrets, token('dddddd', '2026-01-01T05:00:00+03:00'));
  const left = async (): Promise<string[]> =>
    (await h.list(Secrets)).map((secret) => secret.metadata.name?.slice(-6) ?? '').sort();
  await h.clock.advance(59 * 60_000);
  assert.deepEqual(await left(), ['aaaaaa', 'bbbbbb', 'cccccc', 'dddddd']);
  await h.clock.advance(2 * 60_000);
  assert.deepEqual(await left(), ['bbbbbb', 'cccccc', 'dddddd']);
  await h.clock.advance(60 * 60_000);
  assert.deepEqual(await left(), ['bbbbbb', 'cccccc']);
  await h.stop();
});
